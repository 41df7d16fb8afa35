"""What a pipeline makes of a source some of whose rows are others: the rows that are gone, and those that are there instead, by Spark.

Only what the rows touch is computed (`tracing.changes`), over the sources as they are now.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from airflow_lineage_provider.errors import AnswerTooLarge
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.recording import RecordedSource
from airflow_lineage_provider.spark.arrow_border import arrow_frame, to_arrow
from airflow_lineage_provider.spark.executing.run import under_settings
from airflow_lineage_provider.spark.frames import of_sql
from airflow_lineage_provider.spark.rereading.asked_rows import source_frame
from airflow_lineage_provider.spark.rereading.declared import declared_functions
from airflow_lineage_provider.spark.rereading.tracing import SparkTracing, Views, spark_errors
from airflow_lineage_provider.spark.session import carefully
from airflow_lineage_provider.sql import ColumnRef, lower
from airflow_lineage_provider.tracing.binding import Key, LeafTable, bind, leaf_keys
from airflow_lineage_provider.tracing.changes import Changes
from airflow_lineage_provider.tracing.reserved import Part, revised_table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from airflow_lineage_provider.store.kept_udfs import UdfsOfRun


@dataclass(frozen=True, kw_only=True)
class RevisedRows:
    """Rows of a source table, with all its columns, that are gone, and those that are there instead; ``keys`` are the lineage keys of the
    first, each once."""

    leaves: Sequence[RecordedSource]
    keys: pa.Table
    gone: pa.Table
    instead: pa.Table


def revised_result(tracing: SparkTracing, found: Changes, revised: RevisedRows, udfs: UdfsOfRun, most: int) -> tuple[pa.Table, pa.Table]:
    """The rows of the result that are gone, and those that are there instead; a row may be among both.

    :raises AnswerTooLarge: there are more than ``most`` of either. :raises SourceUnavailable: a source has vanished.
    :raises TracingError: Spark failed. :raises UdfUnavailable, UdfVersionMismatch: the UDFs are not those of the run.
    """
    with ExitStack() as stack:
        stack.enter_context(under_settings(tracing.spark, dict(tracing.recorded.plan.conf)))
        stack.enter_context(spark_errors("computing anew what the rows touch"))
        views, plans = Views(tracing.spark, "revised", stack), (found.gone, found.instead)
        tables = _tables(tracing, plans, revised, views, stack)
        names = declared_functions(tracing.spark, plans, udfs, views.prefix, stack)

        def rows(plan: o.Plan) -> pa.Table:
            text = lower(plan, bind(plan, tables), dialect="spark", udfs=names, ansi=tracing.recorded.ansi)
            given = carefully(tracing.spark, lambda: to_arrow(of_sql(tracing.spark, text).limit(most + 1)))
            if given.num_rows > most:
                raise AnswerTooLarge(
                    f"more than {most:,} rows of the result would have to be computed anew: revise fewer rows, or raise "
                    "AIRFLOW_LINEAGE_SOURCE_LIMIT"
                )
            return given

        return rows(found.gone), rows(found.instead)


def _tables(tracing: SparkTracing, plans: Sequence[o.Plan], revised: RevisedRows, views: Views, stack: ExitStack) -> dict[Key, LeafTable]:
    parts: dict[int, tuple[RecordedSource, Part]] = {}
    for source in revised.leaves:
        for part in ("gone", "instead", "revised"):
            parts[revised_table(source.source.leaf, part)] = (source, part)
    tables: dict[Key, LeafTable] = {}
    for key in dict.fromkeys(key for plan in plans for key in leaf_keys(plan)):
        if key[1] not in parts:
            tables[key] = tracing.leaf_table(key, views)
            continue
        source, part = parts[int(key[1])]
        frame = _part(tracing, source, part, revised, stack)
        leaves = [node for plan in plans for node in operators(plan) if isinstance(node, o.SegmentOutput) and node.segment == key[1]]
        by_id = {a.id: ColumnRef(text=f"c{at}") for leaf in leaves for at, a in enumerate(leaf.output)}
        name = f"{part}_{source.source.leaf}"
        tables[key] = LeafTable(name=(views.add(frame, name),), by_id=by_id, label=name)
    return tables


def _part(tracing: SparkTracing, source: RecordedSource, part: Part, revised: RevisedRows, stack: ExitStack) -> DataFrame:
    """Columns ``c0`` … are the table's."""
    types = [a.type for a in source.source.output]
    if part == "gone":
        return arrow_frame(tracing.spark, revised.gone, types)
    instead = arrow_frame(tracing.spark, revised.instead, types)
    if part == "instead":
        return instead
    frame, keys = source_frame(tracing, source, stack)
    old = arrow_frame(tracing.spark, revised.keys, [column.type for column in source.identity.columns])
    old = old.toDF(*(f"key_{at}" for at in range(len(keys))))
    same: Column = reduce(lambda a, b: a & b, (frame[key].eqNullSafe(old[f"key_{at}"]) for at, key in enumerate(keys)))
    left = frame.join(F.broadcast(old), same, "left_anti").select(*(f"c{at}" for at in range(len(types))))
    return left.unionAll(instead)
