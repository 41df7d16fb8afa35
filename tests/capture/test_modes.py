"""When lineage that is captured is found: by what was measured, else by the plan."""

from __future__ import annotations

import pytest

from airflow_lineage_provider.capture.modes import COLLECTING, COLLECTING_A_ROW, CaptureCost, choose_modes
from airflow_lineage_provider.tracing.collecting import Sets
from airflow_lineage_provider.words import CaptureMode

JOINED, ALONE, THINNED = Sets(stored=0, joins=True), Sets(stored=0), Sets(stored=0, joins=True, thinned=True)
MUCH, LITTLE = round((2 - COLLECTING) / COLLECTING_A_ROW), round((0.5 - COLLECTING) / COLLECTING_A_ROW)


@pytest.mark.parametrize(
    ("sets", "cost", "mode", "because"),
    [
        (JOINED, CaptureCost(), "inject", "was not measured yet"),
        (ALONE, CaptureCost(), "defer", "was not measured yet"),
        (JOINED, CaptureCost(collected=MUCH, finding=1.0), "defer", "2.00 s, about, and finding them took 1.00 s"),
        (ALONE, CaptureCost(collected=LITTLE, finding=1.0), "inject", "0.50 s, about, and finding them took 1.00 s"),
        (ALONE, CaptureCost(found=LITTLE, finding=1.0), "inject", "finding them took 1.00 s"),
        (JOINED, CaptureCost(found=MUCH, finding=1.0), "defer", "finding them took 1.00 s"),
        (JOINED, CaptureCost(collected=LITTLE, making=1.0), "inject", "their segment took 1.00 s to make"),
        (JOINED, CaptureCost(collected=10, finding=0.1), "defer", "collecting 10 rows takes 0.20 s, about, and finding them took 0.10 s"),
        # Of groups that were dropped nobody has found the rows.
        (THINNED, CaptureCost(found=LITTLE, finding=1.0), "inject", "what collecting them costs was not measured yet"),
        (Sets(stored=0, thinned=True), CaptureCost(found=LITTLE, finding=1.0), "defer", "was not measured yet"),
        (THINNED, CaptureCost(found=LITTLE, finding=0.1), "defer", "took 0.10 s in an earlier run"),
        (THINNED, CaptureCost(found=LITTLE, collected=MUCH, finding=1.0), "defer", "2.00 s"),
        (Sets(stored=0, joins=True, problem="there is no way"), CaptureCost(collected=1, finding=9.0), "defer", "there is no way"),
    ],
)
def test_auto(sets: Sets, cost: CaptureCost, mode: str, because: str) -> None:
    (found,) = choose_modes("auto", {3: sets}, {3: cost})
    assert (found.segment, found.mode) == (3, mode)
    assert because in found.because


def test_what_may_be_found_without_spark_is_found_first_to_see_what_that_takes() -> None:
    (found,) = choose_modes("auto", {3: JOINED}, {}, frozenset({3}))
    assert (found.mode, "may be found without Spark" in found.because) == ("defer", True)
    assert [one.mode for one in choose_modes("auto", {3: JOINED}, {3: CaptureCost(found=LITTLE, finding=1.0)}, frozenset({3}))] == [
        "inject"
    ]


@pytest.mark.parametrize(("mode", "found"), [("defer", ["defer", "defer"]), ("inject", ["inject", "defer"])])
def test_as_was_asked(mode: CaptureMode, found: list[str]) -> None:
    assert [one.mode for one in choose_modes(mode, {1: ALONE, 2: Sets(stored=0, problem="no")})] == found
