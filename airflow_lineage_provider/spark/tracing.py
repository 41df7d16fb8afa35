"""Tracing queries in Spark: over sources as they can be read again, and materializations read from the store by the executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.recording import RecordedPlan, RecordedSource
from airflow_lineage_provider.spark.identity import with_identity
from airflow_lineage_provider.spark.session import apply_conf
from airflow_lineage_provider.spark.sources import reopen
from airflow_lineage_provider.sql import ColumnRef, lower
from airflow_lineage_provider.tracing.binding import Key, LeafTable, bind, leaf_keys, target_table
from airflow_lineage_provider.tracing.trace import TARGET

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.store import Materialization, MaterializationReader, Store

_ROWS_PER_READ = 100_000


class SparkTracing:
    """Runs tracing queries and reads source rows in Spark, for one recorded run, under the session settings of the run."""

    def __init__(self, spark: SparkSession, store: Store, recorded: RecordedPlan, stored: Mapping[str, Materialization]) -> None:
        self.spark = spark
        self.store = store
        self.recorded = recorded
        self.stored = stored

    def query(self, plan: o.Plan, target: pa.Table) -> tuple[pa.Table, str]:
        """Execute a tracing query: its rows and the SQL that was run."""
        with ExitStack() as stack:
            stack.enter_context(apply_conf(self.spark, dict(self.recorded.plan.conf)))
            tables = {key: self._table(key, plan, target, stack) for key in leaf_keys(plan)}
            text = lower(plan, bind(plan, tables), dialect="spark", ansi=self.recorded.ansi)
            return self.spark.sql(text).toArrow(), text

    def source_rows(self, recorded: RecordedSource, keys: pa.Table) -> pa.Table:
        """The source rows with the given keys: the key's columns as ``key_0`` …, then the table's, in the table's order."""
        with apply_conf(self.spark, dict(self.recorded.plan.conf)):
            frame = with_identity(reopen(self.spark, recorded.source), recorded.identity)
            names = [column.name for column in recorded.identity.columns]
            positions = [frame.columns.index(name) for name in names]
            numbered = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
            wanted = self.spark.createDataFrame(keys)
            condition = [numbered[f"c{at}"].eqNullSafe(wanted[f"key_{i}"]) for i, at in enumerate(positions)]
            joined = numbered.join(wanted.hint("broadcast"), condition, "inner")
            columns = [f"key_{i}" for i in range(len(names))] + [f"c{i}" for i in range(len(recorded.source.columns))]
            return joined.select(*columns).toArrow()

    def filter(self, materialization: Materialization, frame_filter: Callable[[DataFrame], DataFrame]) -> pa.Table:
        """The stored rows that a filter leaves."""
        with apply_conf(self.spark, dict(self.recorded.plan.conf)):
            return frame_filter(read_materialization(self.spark, self.store, materialization)).toArrow()

    def _table(self, key: Key, plan: o.Plan, target: pa.Table, stack: ExitStack) -> LeafTable:
        kind, number = key
        if key == ("segment", TARGET):
            name = self._view(self.spark.createDataFrame(target), "target", stack)
            return target_table(plan, TARGET, (name,), target.column_names)
        if kind == "segment":
            segment = self.recorded.materialized[number]
            name = self._view(read_materialization(self.spark, self.store, self.stored[segment.name]), segment.name, stack)
            return LeafTable(name=(name,), by_id={i: ColumnRef(text=column) for i, column in segment.columns}, label=segment.name)
        recorded = self.recorded.sources[number]
        if recorded.identity.kind == "snapshot":
            frame = read_materialization(self.spark, self.store, self.stored[f"source_{number}"])
        else:
            frame = with_identity(reopen(self.spark, recorded.source), recorded.identity)
        return LeafTable(name=(self._view(frame, f"source_{number}", stack),), label=recorded.source.relation.name)

    def _view(self, frame: DataFrame, name: str, stack: ExitStack) -> str:
        full = f"lineage_tracing_{name}"
        frame.createOrReplaceTempView(full)
        stack.callback(self.spark.catalog.dropTempView, full)
        return full


def read_materialization(spark: SparkSession, store: Store, materialization: Materialization) -> DataFrame:
    """A materialization as a frame; the executors read it from the store by ranges of row numbers."""
    schema = ", ".join(f"c{i} {column.type}" for i, column in enumerate(materialization.columns))
    names = [column.name for column in materialization.columns]
    ranges = _ranges(store.partitions(materialization))
    if not ranges:
        return spark.createDataFrame([], schema).toDF(*names)
    frame = spark.createDataFrame(ranges, "lower bigint, upper bigint").repartition(min(len(ranges), spark.sparkContext.defaultParallelism))
    return frame.mapInArrow(_reading(materialization.reader()), schema).toDF(*names)


def _ranges(partitions: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of row numbers (first, end): Spark numbers the rows of partition p from p · 2³³."""
    ranges = []
    for partition, rows in partitions:
        first = partition << 33
        ranges += [(at, min(at + _ROWS_PER_READ, first + rows)) for at in range(first, first + rows, _ROWS_PER_READ)]
    return ranges


def _reading(reader: MaterializationReader) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def read_ranges(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for one in batch.to_pylist():
                rows = reader.read(one["lower"], one["upper"])
                yield from rows.rename_columns([f"c{i}" for i in range(rows.num_columns)]).to_batches()

    return read_ranges
