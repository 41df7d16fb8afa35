"""Segments that a run did not store, made again for a derivation: only the rows that the target's may be made from.

Rerun (section 6.1 of the augmented-lineage paper) with semi-join push-down: the target's condition goes down the whole plan
(`tracing.push_down`), then the segments are computed as the run would have stored them, and kept by Spark while the derivation lasts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from airflow_lineage_provider.errors import SourceUnavailable, TracingError
from airflow_lineage_provider.plan.expressions import Expression
from airflow_lineage_provider.plan.lineage_keys import ROW, AnyNumbers
from airflow_lineage_provider.recording import RecordedPlan, RecordedSource, missing_programs
from airflow_lineage_provider.spark.arrow_border import to_arrow
from airflow_lineage_provider.spark.executing.lost_executors import lost_executors
from airflow_lineage_provider.spark.executing.run import numbered, under_settings
from airflow_lineage_provider.spark.frames import columns_named, of_sql, persisted, renamed, selected
from airflow_lineage_provider.spark.identity import row_digest
from airflow_lineage_provider.spark.rereading.declared import declared_functions
from airflow_lineage_provider.spark.rereading.sources import changed, files_as_read
from airflow_lineage_provider.spark.rereading.tracing import SparkTracing, Views, spark_errors
from airflow_lineage_provider.spark.session import carefully
from airflow_lineage_provider.sql import ColumnRef, lower
from airflow_lineage_provider.tracing.binding import Key, LeafTable, bind, leaf_keys
from airflow_lineage_provider.tracing.program import Program
from airflow_lineage_provider.tracing.push_down import restricted

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.spark.rereading.tracing import Selections
    from airflow_lineage_provider.store import Materialization, Store
    from airflow_lineage_provider.store.kept_udfs import UdfsOfRun


@dataclass(frozen=True, kw_only=True)
class Restored:
    """Segments made again: ``recorded`` has them among the materialized ones, ``frames`` has their rows, with row numbers.

    ``tables`` are views over the frames, for tracing queries; ``tracing`` reads what the run has read and stored. ``lost_before``: the
    executors that had been lost until then.
    """

    recorded: RecordedPlan
    frames: Mapping[int, DataFrame]
    tables: Mapping[int, LeafTable]
    tracing: SparkTracing
    lost_before: frozenset[str]

    def read(self, number: int, columns: Sequence[str], rows: AnyNumbers) -> pa.Table:
        """Rows by number, in the order of their numbers.

        :raises TracingError: one of the numbers is not there (any more).
        """
        chosen = self.frames[number].where(F.col(ROW).isin([int(row) for row in rows])).orderBy(ROW)
        with under_settings(chosen.sparkSession, {}), spark_errors("reading rows that were made again"):
            found = to_arrow(columns_named(chosen, columns))
        wanted = {int(row) for row in rows if row >= 0}
        if found.num_rows != len(wanted):
            raise TracingError(
                f"{len(wanted):,} rows of segment {number} were made again for this answer, and {found.num_rows:,} are still there: Spark "
                "lost them (an executor died?) and numbered them anew. Ask again"
            )
        return found

    def matching(self, number: int, condition: str, limit: int) -> npt.NDArray[np.int64]:
        """The numbers of at most ``limit`` rows that meet a condition (Spark's SQL)."""
        with under_settings(self.frames[number].sparkSession, {}), spark_errors("finding the target rows"):
            found = self.frames[number].where(condition).select(ROW).orderBy(ROW).limit(limit).toArrow()
        numbers: npt.NDArray[np.int64] = found.column(0).to_numpy()
        return numbers

    def numbers(self, number: int) -> pa.Array:
        """The numbers of all rows."""
        frame = columns_named(self.frames[number], [ROW])
        with under_settings(frame.sparkSession, {}), spark_errors("numbering rows that were made again"):
            return to_arrow(frame).column(0).combine_chunks()

    def digests(self, number: int, columns: Sequence[str]) -> pa.Table:
        """Of each row its number, and a digest of these columns (`digested`)."""
        frame = columns_named(self.frames[number], [ROW, *columns])
        with under_settings(frame.sparkSession, dict(self.recorded.plan.conf)), spark_errors("comparing rows that were made again"):
            return to_arrow(digested(frame, 1))

    def written(self, output: RecordedSource) -> tuple[pa.Table, pa.ChunkedArray]:
        """Of each row of what the run wrote its lineage key (``key_0`` …), and a digest of its columns.

        :raises SourceUnavailable: it has vanished, or cannot be read.
        """
        names = [column.name for column in output.identity.columns]
        with self.tracing.settings(), spark_errors(f"reading the rows of {output.source.relation.name}", SourceUnavailable):
            frame = columns_named(self.tracing.as_read(output), [*names, *output.source.columns])
            found = to_arrow(digested(frame, len(names)))
        keys = found.select(range(len(names)))
        return keys.rename_columns([f"key_{at}" for at in range(len(names))]), found.column(len(names))

    def check_kept(self) -> None:
        """:raises TracingError: an executor was lost since: rows that it had kept were made anew, and may have other numbers."""
        if lost_executors(self.tracing.spark) - self.lost_before:
            raise TracingError("an executor was lost, and rows that were made again may have been numbered anew: ask again")


def digested(frame: DataFrame, first: int) -> DataFrame:
    """The first columns of a frame, ``c0`` …, and a ``digest`` of all others, whatever they are called."""
    rows = renamed(frame, [f"c{at}" for at in range(len(frame.columns))])
    return selected(rows, [*rows.columns[:first], f"{row_digest(rows.columns[first:])} AS digest"])


def restore(
    spark: SparkSession,
    store: Store,
    recorded: RecordedPlan,
    stored: Mapping[str, Materialization],
    udfs: UdfsOfRun,
    condition: Expression,
    stack: ExitStack,
    through: Selections | None = None,
) -> Restored:
    """The missing segments, for the result's rows that meet ``condition``; Spark forgets them when the stack is closed. Of sources only the
    rows are read that go ``through`` selections.

    :raises SourceUnavailable: a source is no longer what the run read: a rerun would be of other data.
    :raises UdfUnavailable, UdfVersionMismatch: the UDFs at hand are not those of the run.
    """
    _check_sources(spark, recorded)
    lost_before = lost_executors(spark)
    plan = restricted(recorded.plan, condition)
    made = missing_programs(replace(recorded, plan=plan))
    materialized = {**recorded.materialized, **{p.segment.number: p.materialized for p in made}}
    views = Views(spark, "restore", stack)
    names = declared_functions(spark, [p.plan for p in made], udfs, views.prefix, stack)
    tracing = SparkTracing(spark, store, recorded, stored, through=through)
    tables: dict[Key, LeafTable] = {}
    frames: dict[int, DataFrame] = {}
    for program in made:
        for key in leaf_keys(program.plan):
            if key not in tables:
                tables[key] = tracing.leaf_table(key, views)
        frame = _computed(spark, program, tables, names, dict(recorded.plan.conf), views.prefix)
        frames[program.segment.number] = frame
        stack.callback(frame.unpersist)
        spelled = {a.id: ColumnRef(text=a.name) for a in program.plan.output}
        name = program.materialized.name
        tables["segment", program.segment.number] = LeafTable(name=(views.add(frame, name),), by_id=spelled, label=name)
    views_of_frames = {number: tables["segment", number] for number in frames}
    again = replace(recorded, plan=plan, materialized=materialized)
    return Restored(recorded=again, frames=frames, tables=views_of_frames, tracing=tracing, lost_before=lost_before)


def _computed(
    spark: SparkSession, program: Program, tables: Mapping[Key, LeafTable], names: Mapping[int, str], conf: Mapping[str, str], owner: str
) -> DataFrame:
    text = lower(program.plan, bind(program.plan, tables), dialect="spark", udfs=names)
    with under_settings(spark, conf), spark_errors("making a segment again"):
        return carefully(spark, lambda: persisted(numbered(of_sql(spark, text), owner)))


def _check_sources(spark: SparkSession, recorded: RecordedPlan) -> None:
    for one in recorded.sources.values():
        if one.identity.kind == "snapshot":
            continue
        differences = changed(one.source.relation, one.version, spark)
        if differences and files_as_read(one.source.relation, one.version, spark) is None:
            raise SourceUnavailable(
                f"{one.source.relation.name} changed after the run ({differences[0]}), and the run stored nothing to answer from: under "
                "strategy rerun or auto a derivation runs the pipeline again. Restore the table, or run with function_materialization"
            )
