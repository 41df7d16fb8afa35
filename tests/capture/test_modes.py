"""When lineage that is captured is found: by what was measured, else by the plan."""

from __future__ import annotations

import pytest

from airflow_lineage_provider.capture.modes import COLLECTING, COLLECTING_A_ROW, CaptureCost, choose_modes
from airflow_lineage_provider.tracing.collecting import Sets
from airflow_lineage_provider.words import CaptureMode

ALONE, THINNED = Sets(stored=0), Sets(stored=0, thinned=True)
MUCH, LITTLE = round((2 - COLLECTING) / COLLECTING_A_ROW), round((0.5 - COLLECTING) / COLLECTING_A_ROW)


@pytest.mark.parametrize(
    ("sets", "cost", "mode", "because"),
    [
        (ALONE, CaptureCost(), "defer", "was not measured yet"),
        (ALONE, CaptureCost(collected=MUCH, finding=1.0), "defer", "2.00 s, about, and finding them took 1.00 s"),
        (ALONE, CaptureCost(collected=LITTLE, finding=1.0), "inject", "0.50 s, about, and finding them took 1.00 s"),
        (ALONE, CaptureCost(found=LITTLE, finding=1.0), "inject", "finding them took 1.00 s"),
        (ALONE, CaptureCost(found=MUCH, finding=1.0), "defer", "finding them took 1.00 s"),
        (ALONE, CaptureCost(collected=LITTLE), "defer", "was not measured yet"),
        (ALONE, CaptureCost(collected=10, finding=0.1), "defer", "collecting 10 rows takes 0.20 s, about, and finding them took 0.10 s"),
        # Of groups that were dropped nobody has found the rows.
        (THINNED, CaptureCost(found=LITTLE, finding=1.0), "defer", "took 1.00 s in an earlier run, but nobody knows how many"),
        (THINNED, CaptureCost(collected=LITTLE, finding=1.0), "inject", "0.50 s, about, and finding them took 1.00 s"),
        (THINNED, CaptureCost(found=LITTLE, collected=MUCH, finding=1.0), "defer", "2.00 s"),
        (Sets(stored=0, problem="there is no way"), CaptureCost(collected=1, finding=9.0), "defer", "there is no way"),
    ],
)
def test_auto(sets: Sets, cost: CaptureCost, mode: str, because: str) -> None:
    (found,) = choose_modes("auto", {3: sets}, {3: cost})
    assert (found.segment, found.mode) == (3, mode)
    assert because in found.because


def test_groups_that_are_reached_by_way_of_others_are_collected_with_them_alone() -> None:
    """Nobody would have the numbers of what was collected for them."""
    above, below = Sets(stored=0, problem="no"), Sets(stored=0, through=frozenset({1}))
    (_, found) = choose_modes("inject", {1: above, 2: below})
    assert (found.mode, "found after the run (segment 1)" in found.because) == ("defer", True)
    deeper = Sets(stored=0, through=frozenset({2}))
    assert [one.mode for one in choose_modes("inject", {1: above, 2: below, 3: deeper})] == ["defer"] * 3
    assert [one.mode for one in choose_modes("inject", {1: ALONE, 2: below, 3: deeper})] == ["inject"] * 3
    both = Sets(stored=0, through=frozenset({1, None}))
    assert [one.mode for one in choose_modes("inject", {1: above, 2: both})] == ["defer", "inject"]


@pytest.mark.parametrize(("mode", "found"), [("defer", ["defer", "defer"]), ("inject", ["inject", "defer"])])
def test_as_was_asked(mode: CaptureMode, found: list[str]) -> None:
    assert [one.mode for one in choose_modes(mode, {1: ALONE, 2: Sets(stored=0, problem="no")})] == found
