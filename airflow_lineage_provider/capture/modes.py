"""When the rows behind a segment's are found: after they were stored (*defer*), or while they are made (*inject*): Smoke, Sec. 3.2.

Neither is better for all: collecting what the rows of a group are known by costs for each of them, finding them later costs what the body
below the aggregation does, joins among it. So *inject* is for little lineage above joins, *defer* for most rows of a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.capture.recorded import RecordedWay

if TYPE_CHECKING:
    from airflow_lineage_provider.tracing.collecting import Sets
    from airflow_lineage_provider.words import CaptureMode

COLLECTING_A_ROW = 3e-6
"""Seconds that it takes to collect a row, to keep and to read it, about."""


@dataclass(frozen=True, kw_only=True)
class CaptureCost:
    """What earlier runs measured of a segment.

    :ivar collected: the rows that were collected. :ivar found: those that were found later, of the groups that were left by then.
    :ivar finding: seconds that finding them took. :ivar making: seconds in which Spark made the stored segment that stands on it, with all
        that it stands on: a body that is run again takes as long, about.
    """

    collected: int | None = None
    found: int | None = None
    finding: float | None = None
    making: float | None = None


def choose_modes(mode: CaptureMode, behind: Mapping[int, Sets], costs: Mapping[int, CaptureCost] | None = None) -> tuple[RecordedWay, ...]:
    """One choice for each segment that rows go back to sets by.

    >>> from airflow_lineage_provider.tracing.collecting import Sets
    >>> [one.mode for one in choose_modes("auto", {1: Sets(stored=0, joins=True), 2: Sets(stored=0), 3: Sets(stored=0, problem="because")})]
    ['inject', 'defer', 'defer']
    """
    return tuple(_chosen(mode, number, sets, (costs or {}).get(number, CaptureCost())) for number, sets in sorted(behind.items()))


def _chosen(mode: CaptureMode, number: int, sets: Sets, cost: CaptureCost) -> RecordedWay:
    if mode == "defer":
        return RecordedWay(segment=number, mode="defer", because="found after the run, as it is by default")
    if sets.problem:
        return RecordedWay(segment=number, mode="defer", because=sets.problem)
    if mode == "inject":
        return RecordedWay(segment=number, mode="inject", because="collected while the run is made, as was asked")
    return _by_cost(number, sets, cost)


def _by_cost(number: int, sets: Sets, cost: CaptureCost) -> RecordedWay:
    """Collecting pays when finding the rows afterwards takes longer."""
    # Of groups that were dropped above nobody has found the rows, but they would be collected.
    rows = cost.collected if cost.collected is not None else (None if sets.thinned else cost.found)
    finding = cost.finding if cost.finding is not None else cost.making
    if rows is None or finding is None:
        return _by_estimate(number, sets)
    collecting = rows * COLLECTING_A_ROW
    told = "finding them took" if cost.finding is not None else "making them took"
    compared = f"collecting {rows:,} rows takes {collecting:.2f} s, about, and {told} {finding:.2f} s in an earlier run"
    return RecordedWay(segment=number, mode="inject" if collecting < finding else "defer", because=compared)


def _by_estimate(number: int, sets: Sets) -> RecordedWay:
    if sets.joins:
        because = "rows are joined below it, and finding them would join again; nothing was measured yet"
        return RecordedWay(segment=number, mode="inject", because=because)
    because = "its groups hold rows of a table as they are, and finding them reads keys alone; nothing was measured yet"
    return RecordedWay(segment=number, mode="defer", because=because)
