"""Why source rows are not in a result: each is followed forwards, operator by operator, to where its last descendant was dropped."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.explanation import RunSummary
from airflow_lineage_provider.answers.fates import Fates, Way
from airflow_lineage_provider.answers.why_not import WhyNot
from airflow_lineage_provider.deriving.descent import Descent, stale_sources, worth_of_following
from airflow_lineage_provider.deriving.why_not.drops import drops_of
from airflow_lineage_provider.deriving.why_not.found_rows import found_rows, worth_of_copies
from airflow_lineage_provider.deriving.why_not.not_read import fates_of_unread, used_sketches
from airflow_lineage_provider.deriving.why_not.question import asked_of
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.plan.expressions import TRUE
from airflow_lineage_provider.plan.guarantees import weakest
from airflow_lineage_provider.plan.interval_columns import with_interval_types
from airflow_lineage_provider.plan.numbering import OperatorNumber
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.tracing.forward.columns import counted
from airflow_lineage_provider.tracing.forward.plans import ForwardPlan, Place, way

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.plan.lineage_keys import MaterializedSegment
    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing


@dataclass(frozen=True, kw_only=True)
class _Way:
    """A place where the plan reads the table: the operators up to the result, and the tag of the first row; the others count on."""

    leaf: int
    places: tuple[Place, ...]
    first: int


def why_not(run: AskedRun, rows: Any, table: str | None, *, at: Any = None, summary: RunSummary, limit: int) -> WhyNot:
    """What became of the rows of a source table: those that ``rows`` says, or those at the positions ``at``.

    :raises InvalidTarget, EmptyTarget, TargetTooLarge: the question cannot be answered as it is asked.
    :raises SparkRequired: there is no session. :raises SourceUnavailable: a source has vanished, or a rerun would be of other data.
    :raises ReadThroughSketch: the run has read some of the rows, and others of the table it has not.
    :raises UnsupportedOperator, TracingError: what became of the rows cannot be told otherwise.
    """
    started = time.perf_counter()
    recorded = run.recorded
    asked = asked_of(rows, table, recorded, run.on_demand.session, at=at)
    text = "following source rows to the result runs the pipeline's operators again: give a Spark session, Lineage(spark)"
    spark = run.on_demand.needed(SparkRequired(text))
    stale = stale_sources(recorded, spark)
    run.progress("finding the source rows")
    found = found_rows(asked, spark, limit)
    keys = [name for name in found.column_names if name.startswith("key_")]
    ways = tuple(
        _Way(leaf=one.source.leaf, places=way(recorded.plan, one.source.leaf), first=i * found.num_rows)
        for i, one in enumerate(asked.leaves)
    )
    copies, source = found.column("copies"), asked.leaves[0].source
    table_rows = found.drop_columns([*keys, "copies"]).rename_columns(list(source.columns))
    if used_sketches(run):
        fates, doubts = fates_of_unread(run, table_rows, {one.leaf: _told(one)[0] for one in ways}), list[str]()
    else:
        fates, doubts = _followed(run, spark, ways, found.select(keys))
    return WhyNot(
        run=summary,
        asked=asked.text,
        table=asked.table,
        rows=with_interval_types(table_rows, [a.type for a in source.output]),
        copies=tuple(copies.to_pylist()),
        fates=fates,
        guarantee=weakest(worth_of_following(stale, doubts), worth_of_copies(asked.table, copies)),
        stale=stale,
        seconds=time.perf_counter() - started,
    )


def _followed(run: AskedRun, spark: SparkTracing, ways: tuple[_Way, ...], keys: pa.Table) -> tuple[Fates, list[str]]:
    with ExitStack() as stack:
        follower = _Follower(run, spark, ways, keys.num_rows, stack)
        follower.ask(keys)
        follower.follow()
        return follower.fates(), follower.descent.doubts(follower.following)


class _Follower:
    """Follows the asked rows on all ways at once. A tag is a row's number on one way."""

    def __init__(self, run: AskedRun, spark: SparkTracing, ways: tuple[_Way, ...], rows: int, stack: ExitStack) -> None:
        self.ways = ways
        self.rows = rows
        self.progress = run.progress
        missing = run.recorded.missing
        known: dict[int, MaterializedSegment | None] = {**run.recorded.materialized, **dict.fromkeys(missing)}
        self.descent = Descent.of(run.recorded, known, {one.leaf for one in ways})
        self.plan: ForwardPlan = self.descent.plan
        if any(reading.joined and number in missing for number, reading in self.descent.readings.items()):
            spark, known = _restored(run, spark, stack)
        self.following = self.descent.following(spark, known, stack)
        self.found: dict[OperatorNumber, Numbers] = {}
        """How many rows have each tag, by the operator's number."""

    def ask(self, keys: pa.Table) -> None:
        """Tags for the rows with these lineage keys, at every place where the plan reads the table."""
        import numpy as np
        import pyarrow as pa

        each = pa.array(np.arange(self.rows + 1, dtype=np.int32))
        for one in self.ways:
            tags = pa.ListArray.from_arrays(each, pa.array(np.arange(one.first, one.first + self.rows)))
            self.descent.ask(one.leaf, tags, keys, self.following)

    def follow(self) -> None:
        """Segment by segment, from the leaves up, until no asked row has a descendant any more."""
        alive = {one.leaf for one in self.ways}
        for number in sorted(self.plan.segments, reverse=True):
            self.progress(f"following the rows through segment {number}")
            self.following.segment(number)
            places = {p.at.number: p.at for one in self.ways for p in one.places if p.segment == number and one.leaf in alive}
            wanted = {key: made for key, at in places.items() if (made := counted(self.plan, at)) is not None}
            self.found |= self.following.counts(wanted, self.rows * len(self.ways))
            alive = {one.leaf for one in self.ways if one.leaf in alive and self._goes_on(one, number)}
            if not alive:
                return

    def _goes_on(self, one: _Way, number: int) -> bool:
        """Whether a row has a descendant at the last operator of a way that has been counted."""
        last = [place for place in one.places if place.segment >= number and place.at.number in self.found]
        return not last or bool(self._of(one, self.found[last[-1].at.number]).any())

    def _of(self, one: _Way, counts: Numbers) -> Numbers:
        """Of the counts of all tags those of a way's rows."""
        return counts[one.first : one.first + self.rows]

    def fates(self) -> Fates:
        """What became of every row on every way, and why."""
        import numpy as np

        counts = [self._descendants(one) for one in self.ways]
        made = [Way(leaf=one.leaf, operators=_told(one), descendants=found, drops={}) for one, found in zip(self.ways, counts, strict=True)]
        lost: dict[tuple[OperatorNumber, int], list[Numbers]] = {}
        places: dict[tuple[OperatorNumber, int], Place] = {}
        for one, way_made in zip(self.ways, made, strict=True):
            for at in np.unique(way_made.lost[way_made.lost >= 0]).tolist():
                # A self-join may drop rows that come from either side.
                key = (one.places[at].at.number, one.places[at].side)
                places[key] = one.places[at]
                lost.setdefault(key, []).append(one.first + np.flatnonzero(way_made.lost == at))
        if lost:
            self.progress("looking at the rows that were dropped")
        drops = {key: drops_of(self.plan, places[key], np.sort(np.concatenate(some)), self.following) for key, some in lost.items()}
        ways = [
            replace(
                way_made,
                first=one.first,
                drops={at: drops[key] for at, place in enumerate(one.places) if (key := (place.at.number, place.side)) in drops},
            )
            for one, way_made in zip(self.ways, made, strict=True)
        ]
        return Fates(ways=tuple(ways), rows=self.rows)

    def _descendants(self, one: _Way) -> Numbers:
        """For each operator of a way a line with the number of rows that descend from each row."""
        import numpy as np

        found = np.zeros((len(one.places), self.rows), np.int64)
        for at, place in enumerate(one.places):
            known = self.found.get(place.at.number)
            # A projection has as many rows as its input; what was not counted stands above where all were lost.
            if known is not None:
                found[at] = self._of(one, known)
            elif at:
                found[at] = found[at - 1]
        return found


def _told(one: _Way) -> tuple[tuple[int, str], ...]:
    """The operators of a way as people read them, with their segments."""
    return tuple((place.segment, operator_text(place.node)) for place in one.places)


def _restored(run: AskedRun, spark: SparkTracing, stack: ExitStack) -> tuple[SparkTracing, dict[int, MaterializedSegment | None]]:
    """The segments that the run did not store, whole: what is not in the result has no target to narrow them by."""
    from airflow_lineage_provider.spark.rereading.restore import restore
    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing

    run.progress("computing segments again that were not stored")
    made = restore(spark.spark, run.store, run.recorded, run.stored, run.udfs, TRUE, stack)
    recorded = replace(made.recorded, plan=run.recorded.plan)
    return SparkTracing(spark.spark, run.store, recorded, run.stored, made.tables), dict(made.recorded.materialized)
