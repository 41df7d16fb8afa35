"""Small tables of files under temporary names, and the source rows of an explanation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from airflow_lineage_provider import reasoned_udf


def view(spark: SparkSession, path: Path, name: str, rows: list[Any], schema: str, format: str = "parquet") -> None:
    """A table of files under a temporary name."""
    where = str(path / name)
    if format != "parquet" or not write_parquet(path / name, rows, schema):
        spark.createDataFrame(rows, schema).coalesce(1).write.format(format).save(where)
    spark.read.format(format).schema(schema).load(where).createOrReplaceTempView(name)


_PLAIN = {
    t.IntegerType: pa.int32(), t.LongType: pa.int64(), t.DoubleType: pa.float64(), t.StringType: pa.string(), t.BooleanType: pa.bool_(),
    t.DateType: pa.date32(),
}  # fmt: skip


def write_parquet(folder: Path, rows: Sequence[Any], schema: str, files: int = 1) -> bool:
    """Write rows into a new folder of Parquet files, if Arrow has just the same types and there is none yet.

    For Spark that is a job, which takes longer than what many a test then asks.
    """
    fields = t.DataType.fromDDL(schema)
    assert isinstance(fields, t.StructType)
    plain = all(type(field.dataType) in _PLAIN for field in fields) and all(isinstance(row, tuple) for row in rows)
    if not plain or folder.exists():
        return False
    folder.mkdir(parents=True)
    arrow = pa.schema([(field.name, _PLAIN[type(field.dataType)]) for field in fields])
    for at in range(files):
        columns = zip(*rows[at::files], strict=True) if rows[at::files] else [()] * len(arrow)
        table = pa.table([pa.array(column, kind.type) for column, kind in zip(columns, arrow, strict=True)], schema=arrow)
        pq.write_table(table, folder / f"part-{at}.parquet")
    return True


@contextmanager
def views(spark: SparkSession, path: Path, tables: Mapping[str, DataFrame]) -> Iterator[Path]:
    """Tables of files under temporary names, for a while: a file for each partition of a frame."""
    for name, frame in tables.items():
        frame.write.parquet(str(path / name))
        spark.read.parquet(str(path / name)).createOrReplaceTempView(name)
    yield path
    for name in tables:
        spark.catalog.dropTempView(name)


def rids(found: Any, table: str) -> list[int]:
    return sorted(found.sources[table].column("rid").to_pylist())


@reasoned_udf("string")
def kind_of(x: int) -> str:
    return "odd" if x % 2 else "even"
