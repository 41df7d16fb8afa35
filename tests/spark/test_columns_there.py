"""The columns of the files at a place are those that Spark finds there, and where a footer has them it runs no job."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from airflow_lineage_provider.spark.executing.columns_there import columns_there
from airflow_lineage_provider.spark.executing.places import place_of

pytestmark = pytest.mark.spark

SQL = """SELECT id, id % 3 AS part, CAST('x' AS varchar(3)) AS v, struct(id AS a, array('b') AS b) AS s, map('k', 1.5BD) AS m,
    TIMESTAMP_NTZ'2024-01-01 00:00:00' AS t, DATE'2024-01-01' AS `d d`, id > 1 AS B FROM range(3)"""


def _other_columns(folder: Path, spark: SparkSession) -> None:
    """In a later file: Spark looks into the first."""
    spark.range(1).coalesce(1).write.parquet(str(folder / "other"))
    (file,) = (folder / "other").glob("*.parquet")
    file.rename(folder / "part-9.parquet")
    shutil.rmtree(folder / "other")


def _not_sparks(folder: Path, _spark: SparkSession) -> None:
    pq.write_table(pa.table({"x": pa.array([1], pa.int16())}), folder / "a.parquet")


def _none(folder: Path, _spark: SparkSession) -> None:
    for file in folder.glob("*"):
        file.unlink()


def _broken(folder: Path, _spark: SparkSession) -> None:
    (folder / "a.parquet").write_bytes(b"PAR1 and nothing more")


def _partitioned(folder: Path, spark: SparkSession) -> None:
    spark.sql(SQL).write.partitionBy("part").mode("overwrite").parquet(str(folder))


def _unseen(folder: Path, _spark: SparkSession) -> None:
    for name in (".a.parquet", "_temporary", "_SUCCESS"):
        (folder / name).write_bytes(b"")


def _hidden_in_part(folder: Path, spark: SparkSession) -> None:
    _other_columns(folder, spark)
    (folder / "part-9.parquet").rename(folder / "_a.parquet")


def told(found: object) -> object:
    """Whether values may be NULL is not told."""
    return [(one.name, one.dataType.simpleString()) for one in found] if isinstance(found, StructType) else found


KINDS: dict[str, tuple[Callable[[Path, SparkSession], None], int]] = {
    "as Spark wrote them": (lambda _folder, _spark: None, 0), "a later file of other columns": (_other_columns, 0),
    "a file that Spark did not write": (_not_sparks, 1), "none": (_none, 1), "a broken file": (_broken, 1),
    "partitions": (_partitioned, 1), "files that Spark does not see": (_unseen, 0), "a file that begins with _": (_hidden_in_part, 1),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_those_that_spark_finds(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    change, jobs = KINDS[kind]
    folder = tmp_path / "of spark"
    spark.sql(SQL).coalesce(1).write.parquet(str(folder))
    change(folder, spark)
    place = place_of(spark, str(folder))

    def found(look: Callable[[], object]) -> tuple[object, int]:
        """What is found, or the kind of the error; and the jobs that it took."""
        scheduler = spark.sparkContext._jsc.sc().dagScheduler()
        before = scheduler.nextJobId()
        try:
            one = look()
        except (PySparkException, Py4JJavaError) as error:
            one = type(error)
        return one, scheduler.nextJobId() - before

    ours, took = found(lambda: columns_there(spark, place, str(folder), "parquet"))
    sparks, _ = found(lambda: spark.read.parquet(str(folder)).schema)
    assert told(ours) == (None if kind == "none" else told(sparks))
    assert took == jobs


def test_by_all_files_where_spark_is_told_to_look_into_all(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "merged"
    spark.sql(SQL).coalesce(1).write.parquet(str(folder))
    _not_sparks(folder, spark)
    place = place_of(spark, str(folder))
    spark.conf.set("spark.sql.parquet.mergeSchema", "true")
    try:
        found = columns_there(spark, place, str(folder), "parquet")
    finally:
        spark.conf.unset("spark.sql.parquet.mergeSchema")
    assert found is not None
    assert {"x", "id"} <= set(found.names)
