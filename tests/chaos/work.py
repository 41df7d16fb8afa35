"""What the drivers run: rows that everybody can work out again, and a pipeline over them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

PARTITIONS = 3
BATCHES = 4
ROWS = 50
OUTPUT = "chaos_output"
PIPELINE = "chaos"
SOURCE_ROWS = 600
QUERY = "SELECT x % 7 AS g, slow_double(x) AS y FROM numbers WHERE x >= 60"


def batch(partition: int, number: int) -> pa.RecordBatch:
    """One batch of a partition."""
    first = (partition * BATCHES + number) * ROWS
    return pa.record_batch({"x": pa.array(range(first, first + ROWS), pa.int64())})


def batches(partition: int) -> Iterator[pa.RecordBatch]:
    """A partition's batches."""
    return (batch(partition, number) for number in range(BATCHES))


def expected() -> tuple[int, int]:
    """Rows, and the sum of their values, of everything that the driver without Spark loads."""
    total = PARTITIONS * BATCHES * ROWS
    return total, total * (total - 1) // 2


def expected_of_query() -> tuple[int, int]:
    """Rows of the pipeline's result, and the sum of ``y``."""
    values = [2 * x for x in range(60, SOURCE_ROWS)]
    return len(values), sum(values)


def write_source(folder: Path) -> Path:
    """The pipeline's table: two files of Parquet."""
    folder.mkdir()
    for part in range(2):
        rows = range(part * SOURCE_ROWS // 2, (part + 1) * SOURCE_ROWS // 2)
        pq.write_table(pa.table({"x": pa.array(rows, pa.int64())}), folder / f"part-{part}.parquet")
    return folder


def told_in(folder: Path, driver: int) -> Path:
    """Where a driver on Spark writes down what its executors do."""
    return folder / f"executors-{driver}.json"
