"""When the rows behind a segment's are found: after they were stored (*defer*), or while they are made (*inject*): Smoke, Sec. 3.2.

Neither is better for all: collecting what the rows of a group are known by costs for each of them, finding them later costs what the body
below the aggregation does, joins among it. So *inject* is for little lineage above joins, *defer* for most rows of a table, and for what is
found without Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.capture.recorded import RecordedWay

if TYPE_CHECKING:
    from airflow_lineage_provider.tracing.collecting import Sets
    from airflow_lineage_provider.words import CaptureMode

COLLECTING, COLLECTING_A_ROW = 0.2, 2e-6
"""Seconds that it takes, about, to make groups apart and read what was collected; and more for each row. (TPC-H on two cores: 0.15 to 0.3,
and 1 to 2.5 millionths: `tests.bench.experiments.capture`.)"""


@dataclass(frozen=True, kw_only=True)
class CaptureCost:
    """What earlier runs measured of a segment.

    :ivar collected: all rows that were collected. :ivar found: those that were found later, of the groups that were left by then.
    :ivar finding: seconds that finding them took.
    """

    collected: int | None = None
    found: int | None = None
    finding: float | None = None


def choose_modes(mode: CaptureMode, behind: Mapping[int, Sets], costs: Mapping[int, CaptureCost] | None = None) -> tuple[RecordedWay, ...]:
    """One choice for each segment that rows go back to sets by.

    >>> from airflow_lineage_provider.tracing.collecting import Sets
    >>> [one.mode for one in choose_modes("inject", {1: Sets(stored=0), 2: Sets(stored=0, problem="because")})]
    ['inject', 'defer']
    """
    costs = costs or {}
    chosen = {number: _chosen(mode, number, sets, costs.get(number, CaptureCost())) for number, sets in sorted(behind.items())}
    while lost := [number for number, one in chosen.items() if one.mode == "inject" and not _is_reached(behind[number], chosen)]:
        for number in lost:
            groups = ", ".join(map(str, sorted(one for one in behind[number].through if one is not None)))
            chosen[number] = _defer(number, f"its rows are found by way of groups that are found after the run (segment {groups})")
    return tuple(chosen.values())


def _is_reached(sets: Sets, chosen: Mapping[int, RecordedWay]) -> bool:
    """Whether anybody has the numbers of its groups: rows of a stored segment, or what is collected for other groups."""
    return any(one is None or chosen[one].mode == "inject" for one in sets.through)


def _chosen(mode: CaptureMode, number: int, sets: Sets, cost: CaptureCost) -> RecordedWay:
    if mode == "defer":
        return _defer(number, "found after the run, as it is by default")
    if sets.problem:
        return _defer(number, sets.problem)
    if mode == "inject":
        return _inject(number, "collected while the run is made, as was asked")
    if cost.finding is None:
        return _defer(number, "what finding its rows takes was not measured yet")
    # Of groups that were dropped above nobody has found the rows, but they would be collected.
    rows = cost.collected if cost.collected is not None else (None if sets.thinned else cost.found)
    if rows is None:
        return _defer(number, f"finding its rows took {cost.finding:.2f} s in an earlier run, but nobody knows how many would be collected")
    collecting = COLLECTING + rows * COLLECTING_A_ROW
    compared = f"collecting {rows:,} rows takes {collecting:.2f} s, about, and finding them took {cost.finding:.2f} s in an earlier run"
    return _inject(number, compared) if collecting < cost.finding else _defer(number, compared)


def _defer(number: int, because: str) -> RecordedWay:
    return RecordedWay(segment=number, mode="defer", because=because)


def _inject(number: int, because: str) -> RecordedWay:
    return RecordedWay(segment=number, mode="inject", because=because)
