"""Stored rows as a frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from airflow_lineage_provider.spark.arrow_border import arrow_frame, received, schema_of
from airflow_lineage_provider.spark.executing.stored_files import read
from airflow_lineage_provider.spark.frames import renamed
from airflow_lineage_provider.spark.reach import are_kept_out

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.store import Materialization, MaterializationReader, Store

_ROWS_PER_READ = 100_000


def read_materialization(spark: SparkSession, store: Store, materialization: Materialization) -> DataFrame:
    """A materialization as a frame; the executors read it from its files, or from the store by ranges of row numbers, where they get to it.

    :raises StoredRowsGone: a file is gone, or is not the one that the run wrote.
    """
    import pyarrow as pa

    types = [column.type for column in materialization.columns]
    names = [column.name for column in materialization.columns]
    if materialization.in_files:
        return renamed(read(spark, materialization), names)
    ranges = _ranges(store.partitions(materialization))
    if not ranges:
        return received(spark.createDataFrame([], schema_of(types)), types).toDF(*names)
    reader = materialization.reader()
    if are_kept_out(spark, reader.url, "adbc"):
        here = materialization.reader(url=store.url)
        return arrow_frame(spark, pa.concat_tables([here.read(*bounds) for bounds in ranges]), types).toDF(*names)
    # From Arrow it is a local relation, of which every core has its part without a shuffle.
    bounds = {name: pa.array([one[at] for one in ranges], pa.int64()) for at, name in enumerate(("lower", "upper"))}
    frame = spark.createDataFrame(pa.table(bounds))
    return received(frame.mapInArrow(_reading(reader), schema_of(types)), types).toDF(*names)


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
