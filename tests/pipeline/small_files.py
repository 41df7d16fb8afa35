"""Small tables of files under temporary names, and the source rows of an explanation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from airflow_lineage_provider import reasoned_udf


def view(spark: SparkSession, path: Path, name: str, rows: list[Any], schema: str, format: str = "parquet") -> None:
    """A table of files under a temporary name."""
    where = str(path / name)
    spark.createDataFrame(rows, schema).coalesce(1).write.format(format).save(where)
    spark.read.format(format).schema(schema).load(where).createOrReplaceTempView(name)


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
