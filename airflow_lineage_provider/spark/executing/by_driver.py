"""Rows of a frame by way of the driver, a partition after the other, for executors that do not get to the store (`spark.reach`)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def brought(frame: DataFrame) -> Iterator[tuple[int, Iterator[pa.RecordBatch]]]:
    """The partitions that have rows, with their numbers; each is to be read to its end before the next.

    The driver holds two of them at a time: one that is read, and one that is on its way (``spark.driver.maxResultSize`` holds for each).
    """
    import pyarrow as pa

    rows = frame.mapInArrow(_sent, "partition int, rows binary").toLocalIterator(prefetchPartitions=True)
    for partition, batches in groupby(rows, key=lambda row: int(row["partition"])):
        yield partition, (batch for row in batches for batch in pa.ipc.open_stream(bytes(row["rows"])))


def _sent(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """On an executor: each batch as one value, with its partition."""
    import pyarrow as pa
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None
    for batch in batches:
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, batch.schema) as stream:
            stream.write_batch(batch)
        told = [pa.array([task.partitionId()], pa.int32()), pa.array([out.getvalue().to_pybytes()], pa.binary())]
        yield pa.RecordBatch.from_arrays(told, names=["partition", "rows"])
