"""When the rows behind a segment's are found: after they were stored (*defer*), or while they are made (*inject*): Smoke, Sec. 3.2.

Neither is better for all: collecting what the rows of a group are known by costs for each of them, finding them later costs what the body
below the aggregation does, joins among it. So *inject* is for little lineage above joins, *defer* for most rows of a table, and for what is
found without Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
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
    :ivar finding: seconds that finding them took. :ivar making: seconds in which Spark made the stored segment that stands on it, with all
        that it stands on: a body that is run again takes as long, about.
    """

    collected: int | None = None
    found: int | None = None
    finding: float | None = None
    making: float | None = None


def choose_modes(
    mode: CaptureMode, behind: Mapping[int, Sets], costs: Mapping[int, CaptureCost] | None = None, here: Set[int] = frozenset()
) -> tuple[RecordedWay, ...]:
    """One choice for each segment that rows go back to sets by. Those ``here`` are of sources that this process may read without Spark.

    >>> from airflow_lineage_provider.tracing.collecting import Sets
    >>> [one.mode for one in choose_modes("auto", {1: Sets(stored=0, joins=True), 2: Sets(stored=0), 3: Sets(stored=0, problem="because")})]
    ['inject', 'defer', 'defer']
    """
    costs = costs or {}
    return tuple(_chosen(mode, number, sets, costs.get(number, CaptureCost()), number in here) for number, sets in sorted(behind.items()))


def _chosen(mode: CaptureMode, number: int, sets: Sets, cost: CaptureCost, here: bool) -> RecordedWay:
    if mode == "defer":
        return _defer(number, "found after the run, as it is by default")
    if sets.problem:
        return _defer(number, sets.problem)
    if mode == "inject":
        return _inject(number, "collected while the run is made, as was asked")
    # Of groups that were dropped above nobody has found the rows, but they would be collected.
    rows = cost.collected if cost.collected is not None else (None if sets.thinned else cost.found)
    finding = cost.finding if cost.finding is not None else cost.making
    if rows is None or finding is None:
        return _by_plan(number, sets, cost.finding, here)
    collecting = COLLECTING + rows * COLLECTING_A_ROW
    told = f"finding them took {finding:.2f} s" if cost.finding is not None else f"their segment took {finding:.2f} s to make"
    compared = f"collecting {rows:,} rows takes {collecting:.2f} s, about, and {told} in an earlier run"
    return _inject(number, compared) if collecting < finding else _defer(number, compared)


def _by_plan(number: int, sets: Sets, finding: float | None, here: bool) -> RecordedWay:
    """What the plan says, where it was not measured yet how many rows would be collected."""
    if finding is not None and finding <= COLLECTING:
        return _defer(number, f"finding what stands behind its groups took {finding:.2f} s in an earlier run")
    if not sets.joins:
        return _defer(number, "its groups hold rows of a table as they are, which are found by their keys alone; more was not measured yet")
    if finding is None and here:
        return _defer(number, "its sources are on this machine, where rows may be found without Spark; nothing was measured yet")
    return _inject(number, "rows are joined below it, and finding them would join again; what collecting them costs was not measured yet")


def _defer(number: int, because: str) -> RecordedWay:
    return RecordedWay(segment=number, mode="defer", because=because)


def _inject(number: int, because: str) -> RecordedWay:
    return RecordedWay(segment=number, mode="inject", because=because)
