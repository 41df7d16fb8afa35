"""CSV files that a run wrote and another read under other names: their columns are found again by place, backward and forward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.spark.executing.run import numbered as numbered_first
from airflow_lineage_provider.spark.rereading import restore
from airflow_lineage_provider.store import Store

pytestmark = pytest.mark.spark

SOURCE = [(1, 2), (2, 1), (5, 6), (6, 5), (6, 6)]
Read = Callable[[SparkSession, str], DataFrame]

# Everywhere what is called ``a`` is the second column of the files, which is the source's ``b``.
READS: dict[str, Read] = {
    "the names in another order": lambda spark, at: spark.read.schema("b INT, a INT").csv(f"{at}/bare"),
    "and a header that nobody asks": lambda spark, at: spark.read.option("header", True).schema("b INT, a INT").csv(f"{at}/headed"),
    "one name of them": lambda spark, at: spark.read.schema("x INT, a INT").csv(f"{at}/bare"),
    "no names": lambda spark, at: spark.read.csv(f"{at}/bare").selectExpr("_c1 AS a"),
    "a column of what cannot be read": lambda spark, at: spark.read.schema("_corrupt_record STRING, x INT, a INT").csv(f"{at}/bare"),
    "partitions": lambda spark, at: spark.read.schema("b INT, a INT, p INT").csv(f"{at}/parted"),
}


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store) -> Iterator[Lineage]:
    with Lineage(spark, store=store) as lineage:
        yield lineage


@pytest.fixture(scope="module")
def written(lineage: Lineage, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, tuple[Run, ...]]:
    at = str(tmp_path_factory.mktemp("by_place"))
    spark.createDataFrame(SOURCE, "a INT, b INT").write.parquet(f"{at}/source")
    source = spark.read.parquet(f"{at}/source")
    with lineage.recording(progress=False) as recording:
        source.write.csv(f"{at}/bare")
        source.write.option("header", True).csv(f"{at}/headed")
        source.selectExpr("a", "a % 2 AS p", "b").write.partitionBy("p").csv(f"{at}/parted")
    return at, recording.runs


@pytest.mark.parametrize("name", READS)
def test_the_source_rows_are_those_of_the_place(lineage: Lineage, written: tuple[str, tuple[Run, ...]], name: str) -> None:
    at, _ = written
    run = lineage.run(lambda spark: READS[name](spark, at), progress=False)
    for value in (1, 6):
        answer = run.explain(f"a = {value}", progress=False)
        found = sorted((row["a"], row["b"]) for row in answer.sources["source"].rows.to_pylist())
        assert found == sorted((a, b) for a, b in SOURCE if b == value), value
        assert answer.guarantee.level == "exact"


def test_a_row_is_followed_on_by_its_place(lineage: Lineage, written: tuple[str, tuple[Run, ...]]) -> None:
    at, (bare, _, __) = written
    swapped = lineage.run(lambda spark: READS["the names in another order"](spark, at), name="swapped", progress=False)
    unnamed = lineage.run(lambda spark: spark.read.csv(f"{at}/bare"), name="unnamed", progress=False)
    found = bare.forward("a = 1", "source", across=True)
    assert {run: rows.rows.to_pylist() for run, rows in found.later.items() if run in (swapped.id, unnamed.id)} == {
        swapped.id: [{"b": 1, "a": 2}],
        unnamed.id: [{"_c0": "1", "_c1": "2"}],
    }


def test_rows_that_are_numbered_otherwise_when_they_are_made_again(
    lineage: Lineage, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a run that stored no result: which rows were reached is told by their numbers, which others must not have then."""
    spark.createDataFrame(SOURCE, "a INT, b INT").write.parquet(f"{tmp_path}/first")
    writer = lineage.run(
        lambda spark: spark.read.parquet(f"{tmp_path}/first"), name="not stored", strategy="rerun", output=f"{tmp_path}/out", progress=False
    )
    reader = lineage.run(lambda spark: spark.read.parquet(f"{tmp_path}/out"), name="its reader", progress=False)
    found = writer.forward("a = 1", "first", across=True)
    assert [row["a"] for row in found.later[reader.id].rows.to_pylist()] == [1] * len(found.here.rows)
    others = iter((False, True))

    def numbered(frame: Any, owner: str) -> Any:
        return numbered_first(frame.orderBy(frame.columns[0], ascending=not next(others, True)), owner)

    monkeypatch.setattr(restore, "numbered", numbered)
    found = writer.forward("a = 1", "first", across=True)
    assert not found.later
    assert any("in another order when it is made again" in one.cause for one in found.remarks), found.remarks
