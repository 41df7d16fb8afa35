"""When lineage that is captured is found: by what was measured, else by the plan."""

from __future__ import annotations

import pytest

from airflow_lineage_provider.capture.modes import COLLECTING_A_ROW, CaptureCost, choose_modes
from airflow_lineage_provider.tracing.collecting import Sets
from airflow_lineage_provider.words import CaptureMode

JOINED, ALONE = Sets(stored=0, joins=True), Sets(stored=0)
MUCH, LITTLE = round(2 / COLLECTING_A_ROW), round(0.5 / COLLECTING_A_ROW)


@pytest.mark.parametrize(
    ("sets", "cost", "mode", "because"),
    [
        (JOINED, CaptureCost(), "inject", "nothing was measured yet"),
        (ALONE, CaptureCost(), "defer", "nothing was measured yet"),
        (JOINED, CaptureCost(collected=MUCH, finding=1.0), "defer", "2.00 s, about, and finding them took 1.00 s"),
        (ALONE, CaptureCost(collected=LITTLE, finding=1.0), "inject", "0.50 s, about, and finding them took 1.00 s"),
        (ALONE, CaptureCost(found=LITTLE, finding=1.0), "inject", "finding them took 1.00 s"),
        (JOINED, CaptureCost(found=MUCH, finding=1.0), "defer", "finding them took 1.00 s"),
        (JOINED, CaptureCost(collected=LITTLE, making=1.0), "inject", "making them took 1.00 s"),
        # Of groups that were dropped nobody has found the rows.
        (Sets(stored=0, joins=True, thinned=True), CaptureCost(found=LITTLE, finding=1.0), "inject", "nothing was measured yet"),
        (Sets(stored=0, thinned=True), CaptureCost(found=LITTLE, finding=1.0), "defer", "nothing was measured yet"),
        (Sets(stored=0, thinned=True), CaptureCost(found=LITTLE, collected=MUCH, finding=1.0), "defer", "2.00 s"),
        (Sets(stored=0, joins=True, problem="there is no way"), CaptureCost(collected=1, finding=9.0), "defer", "there is no way"),
    ],
)
def test_auto(sets: Sets, cost: CaptureCost, mode: str, because: str) -> None:
    (found,) = choose_modes("auto", {3: sets}, {3: cost})
    assert (found.segment, found.mode) == (3, mode)
    assert because in found.because


@pytest.mark.parametrize(("mode", "found"), [("defer", ["defer", "defer"]), ("inject", ["inject", "defer"])])
def test_as_was_asked(mode: CaptureMode, found: list[str]) -> None:
    assert [one.mode for one in choose_modes(mode, {1: ALONE, 2: Sets(stored=0, problem="no")})] == found
