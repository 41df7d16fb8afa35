"""Source rows followed forwards without Spark: what stands behind every row of a stored result, turned round."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from airflow_lineage_provider.deriving.descent import NotFollowed
from airflow_lineage_provider.deriving.engines import Engines
from airflow_lineage_provider.deriving.rows import StoredRows
from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
from airflow_lineage_provider.deriving.stale import harmed
from airflow_lineage_provider.deriving.stored_ends import RESULT_END, StoredEnd
from airflow_lineage_provider.deriving.why_not.found_rows import found_rows
from airflow_lineage_provider.errors import (
    EmptyTarget,
    IndexReplaced,
    LineageError,
    NotCaptured,
    SourceUnavailable,
    SparkRequired,
    TargetTooLarge,
)
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import TRUE
from airflow_lineage_provider.tracing.annotate import annotate
from airflow_lineage_provider.tracing.key_index import KeyIndex
from airflow_lineage_provider.tracing.maps import LineageMap, Rows, distinct_rows, numbered_rows
from airflow_lineage_provider.tracing.reserved import TAG, TAG_ATTRIBUTE, TARGET

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.derivation import Derivation
    from airflow_lineage_provider.deriving.why_not.question import Asked

WHOLE_RESULT = 100_000
"""A result of more rows is not traced as a whole to find the few that descend from a source row."""
MOST_TURNED = 1_000_000
"""Nor is one to find those that descend from rows of a stored segment, of which Spark is not asked."""
_UNCAPTURED = "capture the run's lineage, Run.capture(), and it is looked up"
_WITHOUT = "following source rows to the result runs the pipeline's operators again: give a Spark session, Lineage(spark)"


class AskedKeys(NamedTuple):
    """The lineage keys of source rows that are asked about, and how many rows have each (``copies``; None: one).

    ``stale`` says how the table in which they were found differs from what the run read: its rows have the keys of others now.
    """

    keys: pa.Table
    copies: pa.ChunkedArray | None
    stale: tuple[str, ...] = ()


def keys_asked(run: AskedRun, asked: Asked, limit: int) -> AskedKeys:
    """The lineage keys of the source rows that are asked about.

    :raises EmptyTarget, TargetTooLarge, InvalidTarget: they cannot be meant so. :raises SparkRequired: Spark alone can find them.
    """
    if asked.keys is not None:
        return AskedKeys(distinct_rows(asked.keys), None)
    if run.on_demand.session is None and (found := found_here(run, asked, limit)) is not None:
        return found  # (No engine but Spark reads files that are others now.)
    spark = run.on_demand.needed(SparkRequired(_WITHOUT))
    try:
        rows = found_rows(asked, spark, limit)
    except EmptyTarget as problem:
        if stale := harmed(asked.leaves, run.on_demand):
            raise EmptyTarget(f"{problem}; that is the table as it is now: {stale[0]}") from problem
        raise
    keys = rows.select([name for name in rows.column_names if name.startswith("key_")])
    return AskedKeys(keys, rows.column("copies"), harmed(asked.leaves, run.on_demand))


def found_here(run: AskedRun, asked: Asked, limit: int) -> AskedKeys | None:
    """The rows that meet a condition, where an engine other than Spark has the table, and means what Spark means; None where none does."""
    import pyarrow as pa

    condition = asked.condition if asked.given is None else asked.given.only_plain
    if condition is None:
        return None
    found = annotate(o.Filter(child=asked.leaves[0].source, condition=condition), run.recorded.traced.context)
    # A tracing query of one target, to which every row answers.
    whole = o.Join(left=o.SegmentOutput(segment=TARGET, output=(TAG_ATTRIBUTE,)), right=found.plan, kind="inner")
    plan = o.Project(child=whole, columns=(TAG_ATTRIBUTE, *found.identity_attributes))
    try:
        made = Engines(run.recorded, run.stored, run.session, SparkOnDemand()).run(plan, pa.table({TAG: pa.array([0], pa.int64())}))
    except SparkRequired:
        return None
    keys = made[0].drop_columns([made[0].column_names[0]])
    keys = keys.rename_columns([f"key_{at}" for at in range(keys.num_columns)])
    if any(pa.types.is_nested(column.type) for column in keys.schema):
        return None
    each = (
        keys.group_by(keys.column_names, use_threads=False)
        .aggregate([([], "count_all")])
        .sort_by([(name, "ascending") for name in keys.column_names])
    )
    if not each.num_rows:
        raise EmptyTarget(f"no row of {asked.table} matches {asked.text}; it has columns {', '.join(asked.leaves[0].source.columns)}")
    if each.num_rows > limit:
        raise TargetTooLarge(f"{asked.text} matches more than {limit:,} rows of {asked.table}; narrow it, or raise max_rows (--max-rows)")
    return AskedKeys(each.select(keys.column_names), each.column("count_all"))


def descendants(made: Derivation, rows: Rows, end: StoredEnd = RESULT_END) -> Rows:
    """The rows of the result, or of a stored segment, that descend from rows of a source, or of a stored segment.

    Without a session, or without the sources, they are those behind which the rows stand, of all rows of a result that the run stored: the
    same rows, which Spark finds with less work where the result is large. A session that could be started is started for nothing else.
    From rows of a stored segment they are found so in any case, where no index has them: no source is read.

    :raises SparkRequired: there is no session, and the result is not stored, or is too large.
    :raises SourceUnavailable: a source has vanished, and the same.
    :raises UnsupportedOperator, TracingError: what became of the rows cannot be told.
    """
    between = made.lineage.between(end.rows, rows.of)
    if made.spark.now is None:
        with suppress(SparkRequired), made.spark.not_started():
            return _followed(made, between, rows, end)
    return _followed(made, between, rows, end)


def _followed(made: Derivation, between: LineageMap, rows: Rows, end: StoredEnd) -> Rows:
    try:
        found = between.forward(rows)
    except NotFollowed:
        return _turned_round(made, between, rows, end, NotCaptured(_UNCAPTURED), MOST_TURNED)
    except (SparkRequired, SourceUnavailable) as needed:
        return _turned_round(made, between, rows, end, needed)
    if found.guarantee.level != "unavailable":
        return found
    try:
        # The sources are others now; what the run stored is not.
        return _turned_round(made, between, rows, end, SourceUnavailable(found.guarantee.cause or ""))
    except IndexReplaced:
        raise
    except LineageError:
        return found


def _turned_round(
    made: Derivation, between: LineageMap, rows: Rows, end: StoredEnd, needed: LineageError, most: int = WHOLE_RESULT
) -> Rows:
    """What stands behind all rows of an end, turned round.

    :raises LineageError: what is ``needed``, where there are more than ``most``, or they are not stored.
    """
    import pyarrow as pa

    total = made.run.record.row_counts.get(end.name)
    if end.segment not in made.recorded.materialized or total is None:
        raise needed
    if total > most:
        to = "its sources" if rows.of.kind == "source" else "the rows behind it"
        raise type(needed)(f"{end.in_words} has {total:,} rows, of which each would be traced to {to}; {needed}") from needed
    made.run.progress(f"tracing every row of {end.in_words}")
    numbers = made.rows.matching(TRUE, total) if end.is_result else StoredRows(made.run).numbers(end.segment).to_numpy()
    behind = between.backward(numbered_rows(end.rows, numbers))
    if made.worth_of(behind).level == "unavailable":
        raise needed
    places = KeyIndex(rows.keys.drop_columns([TAG])).places(behind.keys.drop_columns([TAG]))
    reached = pa.array(numbers).take(behind.keys.column(TAG).combine_chunks().take(pa.array(places.asked)))
    found = pa.table({TAG: rows.keys.column(TAG).combine_chunks().take(pa.array(places.row)), "key_0": reached})
    return Rows(of=end.rows, keys=distinct_rows(found), guarantee=behind.guarantee, engine=behind.engine)
