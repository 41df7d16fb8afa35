"""Sources read again from their description, and changes noticed."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airflow_lineage_provider.errors import SourceUnavailable, SparkRequired, UnsupportedOperator
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.records.versions import FilesVersion, NoVersion, RowsVersion
from airflow_lineage_provider.spark.capturing.capture import CapturedPipeline, capture
from airflow_lineage_provider.spark.rereading.sources import changed, reopen, version_of
from airflow_lineage_provider.typed_json import read, written
from tests.spark.pipelines import rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("tables")]


def only(df: DataFrame) -> tuple[CapturedPipeline, Source]:
    captured = capture(df)
    assert len(captured.sources) == 1
    return captured, captured.sources[0]


@pytest.mark.parametrize("name", ["client", "debt", "everything", "odd", "loan"])
def test_a_source_is_read_again_with_the_same_columns_and_types(spark: SparkSession, name: str) -> None:
    captured, source = only(spark.table(name))
    again = reopen(spark, source)
    assert again.schema.simpleString() == captured.leaves[0].schema.simpleString()
    assert rows(again) == rows(captured.leaves[0])


@pytest.mark.parametrize("kind", ["json", "orc", "text", "csv"])
def test_files_of_every_format(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    spark.sql("SELECT concat('x', id) AS s FROM range(3)").write.format(kind).save(f"{tmp_path}/a [b]*{{c}} é")
    reader = spark.read.schema("s string").format(kind).option("mode", "FAILFAST")
    captured, source = only(reader.load(str(tmp_path / "a \\[b\\]\\*\\{c\\} é")))
    assert source.relation.kind == "files"
    assert source.relation.format == kind
    assert source.relation.name == "a [b]*{c} é"
    assert dict(source.relation.options) == {"mode": "FAILFAST"}
    assert rows(reopen(spark, source)) == ["['x0']", "['x1']", "['x2']"]
    assert changed(source.relation, version_of(spark, captured.leaves[0], source.relation)) == ()


def test_partitioned_files(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("SELECT id, id % 2 AS part, 'é=/' AS text FROM range(4)").write.partitionBy("part", "text").parquet(f"{tmp_path}/p")
    captured, source = only(spark.read.parquet(f"{tmp_path}/p"))
    assert source.relation.partition_columns == ("part", "text")
    version = version_of(spark, captured.leaves[0], source.relation)
    assert isinstance(version, FilesVersion)
    assert version.complete
    assert rows(reopen(spark, source)) == rows(captured.leaves[0])
    spark.sql("SELECT 9 AS id, 7 AS part, 'z' AS text").write.mode("append").partitionBy("part", "text").parquet(f"{tmp_path}/p")
    (difference,) = changed(source.relation, version)
    assert "part=7" in difference
    assert difference.endswith("is new")


def test_a_change_of_a_file_is_noticed_without_spark(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "client"
    spark.table("client").coalesce(1).write.parquet(str(folder))
    captured, source = only(spark.read.parquet(str(folder)))
    version = read(FilesVersion, json.loads(json.dumps(written(version_of(spark, captured.leaves[0], source.relation)))))
    assert changed(source.relation, version) == ()
    (part,) = folder.glob("part-*")
    os.utime(part, (1, 1))
    assert changed(source.relation, version) == (f"file:{part} was written again",)
    part.write_bytes(part.read_bytes() + b"x")
    assert "bytes; it had" in changed(source.relation, version)[0]
    shutil.rmtree(folder)
    assert changed(source.relation, version) == (f"file:{part} is gone",)
    with pytest.raises(SourceUnavailable, match=str(folder)):
        reopen(spark, source)


def test_a_catalog_table_that_changes_and_vanishes(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE `select` USING parquet AS SELECT 1 AS a")
    captured, source = only(spark.table("`select`"))
    version = version_of(spark, captured.leaves[0], source.relation)
    assert source.relation.kind == "table"
    assert changed(source.relation, version, spark) == ()
    spark.sql("INSERT INTO `select` VALUES (2)")
    assert changed(source.relation, version)[0].endswith("is new")
    assert rows(reopen(spark, source)) == ["[1]", "[2]"]
    spark.sql("ALTER TABLE `select` ADD COLUMNS (b int)")
    assert reopen(spark, source).columns == ["a"]
    spark.sql("DROP TABLE `select`")
    with pytest.raises(SourceUnavailable, match="select"):
        reopen(spark, source)


def test_a_range_and_data_of_the_session(spark: SparkSession) -> None:
    captured, source = only(spark.range(2, 9, 3).toDF("n"))
    assert rows(reopen(spark, source)) == ["[2]", "[5]", "[8]"]
    version = version_of(spark, captured.leaves[0], source.relation)
    assert changed(source.relation, version) == ()
    captured, source = only(spark.createDataFrame([(1,)], "a int"))
    assert source.relation.kind == "local"
    assert version_of(spark, captured.leaves[0], source.relation) == NoVersion()
    with pytest.raises(SourceUnavailable, match="session"):
        reopen(spark, source)


def test_jdbc_without_its_password(spark: SparkSession, tmp_path: Path) -> None:
    url = f"jdbc:derby:{tmp_path}/db;create=true;user=me;password=hush"
    options = {"url": url, "driver": "org.apache.derby.jdbc.EmbeddedDriver"}
    spark.sql("SELECT 1 AS id, 'x' AS word UNION ALL SELECT 2, 'y'").write.format("jdbc").options(**options, dbtable="words").save()
    captured, source = only(
        spark.read.format("jdbc").options(**options, dbtable="words", user="me", password="hush").load().where("id = 1")
    )
    assert source.relation.kind == "jdbc"
    assert source.relation.name == "words"
    assert "hush" not in repr(source.relation)
    version = version_of(spark, captured.leaves[0], source.relation)
    assert version == RowsVersion(count=2)
    assert rows(reopen(spark, source, jdbc_options={"user": "me", "password": "hush"})) == rows(captured.leaves[0])
    with pytest.raises(SparkRequired, match="words"):
        changed(source.relation, version)
    assert changed(source.relation, version, spark)[0].startswith("words cannot be read: ")
    spark.conf.set("spark.airflow_lineage.jdbc.user", "me")
    assert changed(source.relation, version, spark) == ()
    spark.sql("SELECT 3 AS id, 'z' AS word").write.format("jdbc").options(**options, dbtable="words").mode("append").save()
    assert changed(source.relation, version, spark) == ("words has 3 rows; it had 2",)
    gone = replace(
        source, relation=replace(source.relation, options=tuple((k, v.replace("words", "gone")) for k, v in source.relation.options))
    )
    with pytest.raises(SourceUnavailable, match="gone"):
        reopen(spark, gone)
    spark.conf.unset("spark.airflow_lineage.jdbc.user")


def test_a_missing_column_is_named(spark: SparkSession) -> None:
    _, source = only(spark.table("loan"))
    columns = tuple("gone" if name == "amount" else name for name in source.columns)
    with pytest.raises(SourceUnavailable, match="no longer has column gone"):
        reopen(spark, replace(source, columns=columns))


def test_a_stream_is_refused(spark: SparkSession) -> None:
    with pytest.raises(UnsupportedOperator, match="stream"):
        capture(spark.readStream.format("rate").load())


def test_remote_files_need_a_session() -> None:
    relation = Relation(name="far", kind="files", format="parquet", paths=("s3a://bucket/far",))
    with pytest.raises(SparkRequired, match="far"):
        changed(relation, FilesVersion(files={}, count=0, bytes=0))
