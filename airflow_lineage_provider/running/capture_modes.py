"""When the lineage of a run that is to be captured is found, segment by segment: decided before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from airflow_lineage_provider import settings
from airflow_lineage_provider.capture.modes import CaptureCost, choose_modes
from airflow_lineage_provider.recording import plan_text, wanted_tables
from airflow_lineage_provider.running.costs import earlier_runs
from airflow_lineage_provider.running.many_rows import rows_expected
from airflow_lineage_provider.tracing.collecting import sets_behind

if TYPE_CHECKING:
    from airflow_lineage_provider.capture.recorded import RecordedWay
    from airflow_lineage_provider.capture.wanted import Capture
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.records.run import RunRecord
    from airflow_lineage_provider.running.run import Request
    from airflow_lineage_provider.store import Store
    from airflow_lineage_provider.store.run_store import RunStore
    from airflow_lineage_provider.tracing.collected import Collected
    from airflow_lineage_provider.tracing.collecting import Sets

_RUNS = 10
"""So many earlier runs are looked at."""


def wanted_leaves(recorded: RecordedPlan, wanted: Capture) -> frozenset[int] | None:
    """The source leaves whose lineage is to be captured; None: all."""
    tables = wanted_tables(recorded, wanted)
    return None if tables is None else frozenset(leaf for leaf, one in tables.items() if not one.is_off)


def capture_modes(
    request: Request, store: RunStore, recorded: RecordedPlan, straight: frozenset[str]
) -> tuple[tuple[RecordedWay, ...], Mapping[int, int]]:
    """A choice for each segment that rows go back to sets by; and those that are collected, each with the stored segment on it. Of a batch,
    whose lineage is not captured, and of a run that does not store its result there are none.

    ``straight`` are the names of stored segments that go into files without being kept by Spark.
    """
    wanted, costs = request.capture, dict[int, CaptureCost]()
    if wanted is None or request.batch is not None or 0 not in recorded.materialized:
        return (), {}
    behind = dict(sets_behind(recorded.traced.context, wanted_leaves(recorded, wanted)))
    if wanted.mode != "defer":
        behind = {number: _kept(number, one, recorded, straight) for number, one in behind.items()}
    if wanted.mode == "auto":
        plan = request.secrets.sealed(plan_text(recorded))
        costs = store.ask("reading what capturing cost", lambda opened: _measured(opened, request.name, plan, behind), costs)
    ways = choose_modes(wanted.mode, behind, costs)
    return ways, {one.segment: behind[one.segment].stored for one in ways if one.mode == "inject"}


def _kept(number: int, sets: Sets, recorded: RecordedPlan, straight: frozenset[str]) -> Sets:
    """The same, with what keeps this run from collecting."""
    if sets.problem:
        return sets
    if recorded.materialized[sets.stored].name in straight:
        return replace(sets, problem=f"the rows of segment {sets.stored} go straight into files, and Spark keeps none of them")
    most = settings.inject_limit()
    rows = rows_expected(recorded, recorded.plan.segments[number].aggregations[-1].child, most)
    if rows > most:
        told = f"about {rows:,} rows would be collected, and the lists of {most:,} may be more than executors hold"
        return replace(sets, problem=f"{told} (AIRFLOW_LINEAGE_INJECT_LIMIT)")
    return sets


def _measured(store: Store, pipeline: str, plan: str, behind: Mapping[int, Sets]) -> dict[int, CaptureCost]:
    """What capturing cost in the newest complete runs of the pipeline with the same plan, as JSON, its secrets sealed."""
    found: dict[int, CaptureCost] = {}
    for record in islice(earlier_runs(store, pipeline, plan), _RUNS):
        _learn(record, behind, found)
    return found


def _learn(record: RunRecord, behind: Mapping[int, Sets], found: dict[int, CaptureCost]) -> None:
    """What a run tells that newer ones have not told. (Where the result had no rows nothing was looked for, nor counted.)"""
    for way in record.captured.ways if record.captured is not None else ():
        if way.segment not in behind or way.mode == "stored" or not way.rows:
            continue
        known = found.get(way.segment, CaptureCost())
        if way.mode == "inject":
            known = replace(known, collected=way.rows if known.collected is None else known.collected)
        elif known.finding is None:
            known = replace(known, found=way.rows, finding=way.seconds)
        found[way.segment] = known


@dataclass(frozen=True, kw_only=True)
class CapturedWithRun:
    """When the lineage of a run is found, as it was decided before, and what was ``collected`` while it was made."""

    ways: tuple[RecordedWay, ...] = ()
    collected: Collected | None = None

    def without(self, because: str) -> CapturedWithRun:
        """The same where nothing that was collected can be had: all is found afterwards."""
        ways = (replace(one, mode="defer", because=because) if one.mode == "inject" else one for one in self.ways)
        return CapturedWithRun(ways=tuple(ways))
