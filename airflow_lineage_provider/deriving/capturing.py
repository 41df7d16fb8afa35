"""Lineage captured at the end of a run or later (Smoke, Sec. 3.2): what stands behind all rows of its stored segments, indexed.

It is found by the tracing queries for all rows (*defer*), or was collected while the run was made (*inject*: `tracing.collected`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from airflow_lineage_provider import settings
from airflow_lineage_provider.capture.build import Building
from airflow_lineage_provider.capture.parts import Parts
from airflow_lineage_provider.capture.recorded import RecordedClasses
from airflow_lineage_provider.capture.spooled import Room
from airflow_lineage_provider.capture.wanted import CaptureTable
from airflow_lineage_provider.deriving.capture_sizes import PAIRS_AT_ONCE, Counting, rows_at_once
from airflow_lineage_provider.deriving.captured_rows import CapturedRows
from airflow_lineage_provider.deriving.classes import DividedRows
from airflow_lineage_provider.deriving.derivation import derivation
from airflow_lineage_provider.deriving.found_sets import FoundSets
from airflow_lineage_provider.deriving.output_files import output_files
from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import TRUE
from airflow_lineage_provider.plan.walk import all_operators
from airflow_lineage_provider.running.capture_modes import CapturedWithRun
from airflow_lineage_provider.running.capture_options import checked_tables
from airflow_lineage_provider.running.numbered_result import check_whole
from airflow_lineage_provider.spark.rereading.sources import changed, files_as_read
from airflow_lineage_provider.tracing.collected import CollectedLost
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.trace import step
from airflow_lineage_provider.tracing.witnesses import WitnessTracer

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.capture.wanted import Capture
    from airflow_lineage_provider.capture.writing import BuiltIndex
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.derivation import Derivation
    from airflow_lineage_provider.plan.segments import SegmentedPlan
    from airflow_lineage_provider.recording import RecordedSource
    from airflow_lineage_provider.tracing.set_sizes import Sizes
    from airflow_lineage_provider.tracing.trace import StepOf

log = logging.getLogger(__name__)

_ROWS_AT_ONCE = 65_536


def captured(run: AskedRun, wanted: Capture, most: int, *, sets_alone: bool = False, with_run: CapturedWithRun | None = None) -> BuiltIndex:
    """The indexes of a run's lineage; with ``sets_alone`` only of segments whose rows go back to sets of rows: other rows hold their keys.
    What was collected ``with_run`` is not looked for again; all is, if it cannot be had any more.

    :raises InvalidCapture: the run has not read a table that is wanted.
    :raises ResultNotStored: the run neither stored its result nor wrote it to Parquet files, so that its rows have no numbers.
    :raises SourceUnavailable: a source, or that output, is no longer what the run read, or wrote.
    :raises TracingError: the rows of the output are not those that the pipeline gives when it is run again.
    :raises IndexTooLarge: there are more than ``most`` pairs of rows. :raises SparkRequired: Spark is needed, and there is no session.
    """
    ways = with_run or CapturedWithRun()
    try:
        return _built(run, wanted, most, sets_alone, ways)
    except CollectedLost as problem:
        log.warning("the lineage of run %s is found anew: %s", run.record.id, problem)
        return _built(run, wanted, most, sets_alone, ways.without(str(problem)))


def _built(run: AskedRun, wanted: Capture, most: int, sets_alone: bool, with_run: CapturedWithRun) -> BuiltIndex:
    output = None if 0 in run.recorded.materialized else output_files(run.record, run.recorded)
    started, engines, found = time.perf_counter(), set[str](), FoundSets(with_run)
    waiting = _of_sets(run) if sets_alone else {0}
    check_unchanged(run)
    tables = checked_tables(run.recorded, wanted)
    off = [leaf for leaf, one in (tables or {}).items() if one.is_off]
    leaves = None if tables is None else frozenset(tables) - {*off}
    room, leads_to = Room(settings.capture_memory()), _leads_to(run.recorded.plan)
    if output is not None:
        check_whole(f"captured lineage of run {run.record.id}", (tables or {}).values())
        output.check_unchanged(run.record.id, run.on_demand.session)
    with derivation(replace(run, subqueries=wanted.subqueries), TRUE) as made:
        rows = CapturedRows(made, output)
        building = Building(
            counts=rows.counts(), most=most, wanted=leaves, leads_to=leads_to, room=room, difference=wanted.difference
        )  # fmt: skip
        while to_ask := waiting | building.pending | building.sides:
            # The lowest number first: what stands behind its rows, sets of them, and its right side, has greater ones.
            segment = min(to_ask)
            run.progress(f"capturing what stands behind segment {segment}")
            if segment in waiting:
                engines |= set(_rows_captured(rows, segment, building, found))
            elif segment in building.pending:
                engines |= set(_sets_captured(made, segment, building, found))
            else:
                engines |= set(_side_captured(made, segment, building, found))
            waiting = (waiting if sets_alone else building.reached()) - building.begun
        if wanted.witnesses:
            run.progress("capturing which source rows together made each row")
            engines |= _witnesses(rows, building)
        rows.check_kept()
        in_parts = {leaf: one for leaf, one in (tables or {}).items() if one != CaptureTable() and not one.is_off}
        run.progress("writing indexes")
        captured, seconds, engine = datetime.now(UTC), time.perf_counter() - started, ", ".join(sorted(engines))
        divided, parts = DividedRows(made, in_parts) if in_parts else None, Parts(settings.capture_memory())
        built = building.indexes(wanted.direction, captured, seconds, engine, divided, parts)
    classes = (*built.index.classes, *(RecordedClasses(leaf=leaf, granularity=()) for leaf in off))
    told = found.ways(run.recorded, frozenset(building.begun))
    index = replace(built.index, subqueries=wanted.subqueries, classes=classes, ways=told, of_output=output is not None)
    return replace(built, index=index)


def _leads_to(plan: SegmentedPlan) -> Mapping[int, frozenset[int]]:
    """For each segment the source leaves that stand behind it. What stands behind a segment has greater numbers."""
    found: dict[int, frozenset[int]] = {}
    for segment in reversed(plan.segments):
        nodes = [*all_operators(segment.plan)]
        below = [found[node.segment] for node in nodes if isinstance(node, o.SegmentOutput)]
        found[segment.number] = frozenset(node.leaf for node in nodes if isinstance(node, o.Source)).union(*below)
    return found


def _of_sets(run: AskedRun) -> set[int]:
    """The stored segments whose rows go back to groups, frames or partners: of these they hold what they are found by."""
    plan, stored = run.recorded.plan, run.recorded.materialized
    sets = {n for n, one in stored.items() if plan.segments[n].aggregations or any(each.kind == "link" for each in one.inputs)}
    return sets & plan.traceable


def _rows_captured(captured: CapturedRows, segment: int, building: Building, sets: FoundSets) -> Iterator[str]:
    """Find what stands behind all rows of a stored segment; who was asked."""
    import pyarrow as pa

    made, (numbers, kept) = captured.made, captured.of(segment)
    rows = pa.table({"key_0": numbers})
    building.begin(segment, pa.table({"key_0": kept}))
    counting, collected = Counting(made, building), sets.with_run.collected
    is_collected = collected is not None and segment in collected.carried
    sizes = None if is_collected else counting.of_rows(segment, numbers)
    yield from _in_parts(counting, segment, "rows", rows, 0, sizes, sets)


def _sets_captured(made: Derivation, segment: int, building: Building, sets: FoundSets) -> Iterator[str]:
    """Find what stands behind the sets of rows of a segment that is not stored, which rows of others go back to; who was asked."""
    sizes_above = Counting(made, building).of_rows_above(segment)
    if sizes_above is not None:
        yield from _behind_rows_above(made, segment, building, sets, sizes_above)
        return
    for of, first, targets in building.begin_sets(segment):
        counting = Counting(made, building)
        sizes = counting.of_sets(segment, targets) if of == "sets" else None
        yield from _in_parts(counting, segment, of, targets, first, sizes, sets)


def _side_captured(made: Derivation, segment: int, building: Building, sets: FoundSets) -> Iterator[str]:
    """Find all rows of the right side of a difference, once for all rows that passed it; who was asked."""
    import pyarrow as pa

    building.begin_side(segment)
    target = pa.table({TAG: pa.array([0], pa.int64()), "present": [True]})
    Counting(made, building).check_side(segment, target)
    found, queries = step(made.recorded.traced, segment, target, made.executor, "side", subqueries=made.run.subqueries)
    building.add(segment, 0, found, "side")
    sets.add(found, queries)
    yield from (query.engine for query in queries)


def _behind_rows_above(made: Derivation, segment: int, building: Building, sets: FoundSets, sizes: list[Sizes]) -> Iterator[str]:
    """Find what stands behind rows by way of sets that overlap, row by row in place of set by set; who was asked."""
    import numpy as np

    above = building.rows_above(segment)
    building.leave_sets(segment)
    for ((kind, number), rows), own in zip(above, sizes, strict=True):
        target = rows.sort_by(TAG)
        begins = np.append(np.searchsorted(target.column(0).to_numpy(), own.tags), target.num_rows)
        first = 0
        while first < len(own.tags):
            stop = min(first + rows_at_once(own.rows, first, _ROWS_AT_ONCE), len(own.tags))
            part = target.slice(begins[first], begins[stop] - begins[first])
            found, queries = step(made.recorded.traced, segment, part, made.executor, "sets", subqueries=made.run.subqueries)
            building.add(number, 0, found, "rows" if kind == "segment" else "sets")
            sets.add(found, queries)
            yield from (query.engine for query in queries)
            first = stop


def _in_parts(
    counting: Counting, segment: int, of: StepOf, targets: pa.Table, before: int, sizes: Numbers | None, sets: FoundSets
) -> Iterator[str]:
    """Ask about so many targets at once as there is memory for what is behind them, by the ``sizes`` that were counted; ``before``: the
    number of the first."""
    import pyarrow as pa

    made, first, size = counting.made, 0, _ROWS_AT_ONCE
    while first < targets.num_rows:
        part = targets.slice(first, rows_at_once(sizes, first, size))
        found, queries = step(
            made.recorded.traced, segment, part.add_column(0, TAG, pa.array(range(part.num_rows), pa.int64())), made.executor, of,
            subqueries=made.run.subqueries, collected=sets.with_run.collected,
        )  # fmt: skip
        counting.building.add(segment, before + first, found, of)
        sets.add(found, queries)
        yield from (query.engine for query in queries)
        first += part.num_rows
        size = _next_size(part.num_rows, sum(query.rows for query in queries))


def _witnesses(captured: CapturedRows, building: Building) -> set[str]:
    """Find which source rows together made each row of the result, part by part, by the sizes of their sets; who was asked."""
    import pyarrow as pa

    made, numbers = captured.made, captured.of(0).asked
    sizes = Counting(made, building).of_rows(0, numbers, further=True)
    tracer, first, size = WitnessTracer(run=made.recorded.traced, executor=made.executor), 0, _ROWS_AT_ONCE
    while first < len(numbers):
        part = numbers.slice(first, rows_at_once(sizes, first, size))
        found = tracer.of_result(pa.table({TAG: pa.array(range(len(part)), pa.int64()), "key_0": part}))
        building.add_witnesses(first, found)
        first += len(part)
        size = _next_size(len(part), len(found.tags))
    return tracer.engines


def _next_size(rows: int, pairs: int) -> int:
    """How many rows to ask about next, so that about so many pairs are found as memory is to hold."""
    return max(1, min(rows * PAIRS_AT_ONCE // max(pairs, 1), 4 * rows, 1_000_000))


def check_unchanged(run: AskedRun, sources: Iterable[RecordedSource] | None = None, what: str = "lineage is captured") -> None:
    """What is read again, of all sources or of these, is what the run read; ``what`` is done with it.

    :raises SourceUnavailable: it is not. :raises SparkRequired: only Spark can tell.
    """
    spark = run.spark.spark if run.spark is not None else None
    for one in run.recorded.sources.values() if sources is None else sources:
        if one.identity.kind == "snapshot":
            continue
        relation = one.source.relation
        found = changed(relation, one.version, spark)
        if found and files_as_read(relation, one.version, spark) is None:
            raise SourceUnavailable(f"{what} of what run {run.record.id} read, and {relation.name} is another now: {found[0]}")
