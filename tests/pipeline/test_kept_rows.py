"""Frames that the session keeps (cache, persist, CACHE TABLE): what the pipeline reads is what is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.spark.capturing.capture import capture
from airflow_lineage_provider.spark.rereading.sources import reopen
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.answers import guarantees_of, sources_of

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _forget(spark: SparkSession) -> Iterator[None]:
    yield
    spark.catalog.clearCache()


def write(path: Path, *rows: tuple[int, str]) -> Path:
    """A table of one file, written by no Spark that could notice."""
    path.mkdir(exist_ok=True)
    parquet.write_table(pa.table({"id": [i for i, _ in rows], "word": [w for _, w in rows]}), path / "part.parquet")
    return path


def kept(frame: DataFrame) -> DataFrame:
    frame.cache().count()
    return frame


def words(found: Any, table: str) -> list[str]:
    return sorted(found.sources[table].column("word").to_pylist())


def test_a_kept_table_is_read_as_its_files(lineage: Lineage, spark: SparkSession, store: Store, tmp_path: Path) -> None:
    path = str(write(tmp_path / "loans", (1, "a"), (2, "b")))
    frame = kept(spark.read.parquet(path))
    one = lineage.run(lambda _: frame.where("id = 1"), name="one")
    other = lineage.run(lambda session: session.read.parquet(path).where("id > 0"), name="other")
    for run in (one, other):
        found = Lineage(store=store).get_run(run.id).explain("id = 1")
        assert words(found, "loans") == ["a"]
        assert (guarantees_of(found)["loans"].level, guarantees_of(found)["loans"].cause) == ("exact", "")


def test_a_frame_kept_in_the_middle(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    path = str(write(tmp_path / "loans", (1, "a"), (2, "b")))
    frame = spark.read.parquet(path)
    joined = kept(kept(frame.where("id > 0")).join(frame.selectExpr("id AS other"), F.expr("id <= other")))
    run = lineage.run(lambda _: joined.groupBy("word").count(), name="middle")
    assert sorted(run.result.collect()) == sorted(joined.groupBy("word").count().collect())
    found = run.explain("word = 'b'")
    assert words(found, "loans") == ["b"]
    assert found.guarantee.cause == ""


@pytest.mark.parametrize("strategy", ["function_materialization", "rerun"])
def test_a_kept_table_whose_files_have_changed(lineage: Lineage, spark: SparkSession, tmp_path: Path, strategy: Strategy) -> None:
    path = write(tmp_path / "loans", (1, "old"), (2, "old too"))
    more = write(tmp_path / "more", (1, "more"))
    frame = kept(spark.read.parquet(str(path)))
    write(path, (1, "new"), (3, "new too"))
    joined = frame.join(spark.read.parquet(str(more)).selectExpr("id", "word AS w"), "id")
    run = lineage.run(lambda _: joined, name="changed", strategy=strategy)
    assert run.result.collect() == joined.collect() == [(1, "old", "more")]
    found = run.explain("id = 1")
    assert sorted(str(table.to_pylist()) for table in sources_of(found).values()) == [
        "[{'id': 1, 'word': 'more'}]",
        "[{'id': 1, 'word': 'old'}]",
    ]
    assert guarantees_of(found)["more"].cause == ""
    assert [one.origin for name, one in guarantees_of(found).items() if name != "more"] == ["unknown"]


def test_other_files_than_those_that_are_kept(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "loans", (1, "old"))
    kept(spark.read.parquet(str(path)))
    parquet.write_table(pa.table({"id": [2], "word": ["added"]}), path / "more.parquet")
    again = spark.read.parquet(str(path))
    assert lineage.run(lambda _: again, name="added").result.collect() == again.collect() == [(1, "old")]


def test_two_runs_of_one_plan_over_changing_files(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "loans", (1, "old"))
    pipeline = lambda session: session.read.parquet(str(path))  # noqa: E731
    first = lineage.run(pipeline, name="twice", strategy="rerun")
    write(path, (2, "new"))
    second = lineage.run(pipeline, name="twice", strategy="rerun")
    assert (first.result.collect(), second.result.collect()) == ([(1, "old")], [(2, "new")])
    assert words(second.explain("id = 2"), "loans") == ["new"]


def test_a_source_is_read_again_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "loans", (1, "old"))
    spark.sql(f"CREATE TABLE kept_loans USING parquet LOCATION '{path}'")
    spark.sql("CACHE TABLE kept_loans")
    try:
        frame = kept(spark.read.parquet(str(path)))
        sources = [capture(one).sources[0] for one in (frame, spark.table("kept_loans"))]
        write(path, (2, "new"))
        spark.catalog.refreshTable("kept_loans")
        assert [reopen(spark, source).collect() for source in sources] == [[(2, "new")], [(2, "new")]]
    finally:
        spark.sql("DROP TABLE kept_loans")


def test_what_cannot_be_told_is_said(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    options = {"url": f"jdbc:derby:{tmp_path}/db;create=true", "driver": "org.apache.derby.jdbc.EmbeddedDriver"}
    spark.sql("SELECT 1 AS id, 'x' AS word").write.format("jdbc").options(**options, dbtable="words").save()
    table = kept(spark.read.format("jdbc").options(**options, dbtable="words").load())
    spark.sql("SELECT 2 AS id, 'y' AS word").write.format("jdbc").options(**options, dbtable="words").mode("append").save()
    captured = capture(table)
    assert captured.doubtful == {0}
    assert captured.leaves[0].count() == 2
    random = kept(spark.read.parquet(str(write(tmp_path / "loans", (1, "a")))).selectExpr("id", "word", "rand() AS r"))
    run = lineage.run(lambda _: random.where("id > 0"), name="random")
    assert "kept" in guarantees_of(run.explain("id = 1"))["loans"].cause
