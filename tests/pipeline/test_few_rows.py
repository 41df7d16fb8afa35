"""Few rows are loaded by the driver, many by the executors: the same rows either way, and nothing is made twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.reasons import ReasonedUdf
from airflow_lineage_provider.spark.executing import few_rows, loading
from airflow_lineage_provider.spark.executing.few_rows import collected
from airflow_lineage_provider.spark.executing.on_executors import loading_partitions
from airflow_lineage_provider.spark.executing.row_sizes import bytes_of, kept_size
from airflow_lineage_provider.spark.frames import renamed, selected
from airflow_lineage_provider.spark.session import apply_conf
from airflow_lineage_provider.store import Store
from tests.in_turn import sampled
from tests.store.conftest import sql

pytestmark = pytest.mark.spark

VALUES = (
    "id, CAST(id AS DECIMAL(20,3)) AS d, IF(id % 3 = 0, NULL, concat('x', id)) AS s, array(id, NULL) AS a, map('k', id) AS m, "
    "named_struct('x', id, 'y', array('q')) AS n, X'00FF' AS b, make_date(2024, 1, 1) AS day, make_timestamp(2024, 1, 1, 1, 2, id) AS at, "
    "make_dt_interval(1) AS dt, make_ym_interval(1) AS ym, CAST('NaN' AS DOUBLE) AS f"
)


def kept(spark: SparkSession, rows: int, partitions: int, *values: str) -> Any:
    frame = spark.range(0, rows, 1, partitions).selectExpr(*values, "monotonically_increasing_id() AS row")
    return renamed(selected(frame, ["*"]), [f"c{i}" for i in range(len(frame.columns))]).persist()


@pytest.mark.parametrize(
    ("rows", "partitions", "values", "whole"),
    sampled([
        (0, 2, "id", True),
        (10, 1, "id", True),
        (10, 4, "id", True),
        (200_000, 1, "id", True),
        (200_001, 1, "id", False),
        (100_000, 4, "id", True),
        (60_000, 50, "id", False),
        (50, 50, "id", True),
        (20_000, 2, "repeat('x', 100)", True),
        (4_000, 1, "repeat('x', 2000)", True),
        (20_000, 2, "repeat('x', 101)", False),
        (4, 1, "repeat('x', 1000000)", True),
        (4, 1, "repeat('x', 8000001)", False),
        (200, 2, "array(repeat('x', 50000))", False),
    ], 2),
)  # fmt: skip
def test_all_rows_or_none(spark: SparkSession, rows: int, partitions: int, values: str, whole: bool) -> None:
    frame = kept(spark, rows, partitions, values)
    found = collected(frame)
    if whole:
        assert found is not None
        expected = sorted(row[1] for row in frame.collect())
        assert [number for part in sorted(found) for number in found[part].column(1).to_pylist()] == expected
        assert all(number >> 33 == part for part, table in found.items() for number in table.column(1).to_pylist())
    else:
        assert found is None
    frame.unpersist()


def test_what_spark_keeps_is_measured_before_it_is_compressed(spark: SparkSession) -> None:
    frame = kept(spark, 300, 3, "id", "repeat('x', 1000)", "IF(id = 7, NULL, array(id + 10))")
    assert kept_size(frame, "c3") is None  # none is made yet, and what they are made of is in the plan
    assert bytes_of(frame, ["c0"]) == 300 * 8
    rows, size = kept_size(frame, "c3") or (0, 0)
    assert rows == 300
    assert 300 * (8 + 1000 + 8) < size < 300 * 1100
    assert bytes_of(frame, ["c1", "c3"]) == 300 * (1000 + 8)
    assert bytes_of(frame.where("c0 < 10"), ["c2"]) == 9 * len("[10]")
    assert bytes_of(frame.where("false"), ["c0", "c1"]) == 0
    assert kept_size(frame.where("c0 < 10"), "c3") == (rows, size)
    frame.unpersist()


@pytest.fixture
def calls(spark: SparkSession) -> Any:
    return spark.sparkContext.accumulator(0)


@pytest.fixture
def pipeline(spark: SparkSession, calls: Any) -> str:
    def judged(x: int) -> int:
        calls.add(1)
        return x % 3

    ReasonedUdf(judged, "bigint", name="judged_by_few", main_with_reason=lambda x: (x % 3, f"of {x}")).register(spark)
    return f"SELECT judged_by_few(id) AS v, * FROM (SELECT {VALUES} FROM range(0, 20, 1, 3))"


def stored(store: Store, run_id: str) -> Any:
    (made,) = store.materializations(run_id).values()
    loads = sql(store.url, f"SELECT partition, attempt, rows, escaped FROM lineage.loads WHERE materialization_id = {made.id} ORDER BY 1")
    rows = sql(store.url, f"SELECT CAST(one AS text) FROM {made.table} AS one ORDER BY lineage_row_number")
    return [load for load in loads if load[2]], rows, store.read(made, order_by=["lineage_row_number"])


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A word for each table that the executors have sent."""
    found: list[str] = []

    def noting(*given: Any) -> Any:
        found.append("executors")
        return loading_partitions(*given)

    monkeypatch.setattr(loading, "loading_partitions", noting)
    return found


def test_both_ways_store_the_same(
    spark: SparkSession, store: Store, pipeline: str, calls: Any, ways: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lineage = Lineage(spark, store=store)
    few = lineage.run(pipeline, name="few rows")
    assert (ways, calls.value) == ([], 20)
    monkeypatch.setattr(few_rows, "_ROWS", 1)
    many = lineage.run(pipeline, name="many rows")
    assert (ways, calls.value) == (["executors"], 40)
    ours, theirs = stored(store, few.id), stored(store, many.id)
    assert ours[:2] == theirs[:2]
    assert isinstance(ours[2], pa.Table)
    assert str(ours[2].to_pydict()) == str(theirs[2].to_pydict())
    assert len(ours[0]) == 3
    few.close()
    many.close()


def test_few_rows_that_spark_takes_for_gigantic(spark: SparkSession, store: Store, tmp_path: Path, ways: list[str]) -> None:
    """Where many rows would be made before they are stored, too; else they are sent by the executors, as they are made."""
    sql = "SELECT a.id, b.id AS other FROM range(100000) AS a JOIN range(100000) AS b ON a.id = b.id + 99990"
    runs = [
        Lineage(spark, store=store, data=data).run(sql, name="ten", strategy="full_materialization") for data in (str(tmp_path), "store")
    ]
    assert ways == ["executors"]
    assert [run.record.row_counts["result"] for run in runs] == [10, 10]
    assert stored(store, runs[0].id)[1] == stored(store, runs[1].id)[1]
    for run in runs:
        run.close()


def test_rows_that_are_shuffled_are_made_and_brought_by_one_job(spark: SparkSession, store: Store) -> None:
    """Adaptive execution would have kept rows made by a job of its own first. (One more job makes what is shuffled.)"""
    jobs = spark.sparkContext.statusTracker()
    with apply_conf(spark, {"spark.sql.adaptive.enabled": "true"}):
        before = max(jobs.getJobIdsForGroup(None), default=-1)
        run = Lineage(spark, store=store).run("SELECT id % 3 AS k, count(*) AS n FROM range(0, 9, 1, 2) GROUP BY id % 3", name="shuffled")
        assert max(jobs.getJobIdsForGroup(None)) - before == 2
        assert spark.conf.get("spark.sql.adaptive.enabled") == "true"
    assert sorted(map(tuple, run.result.collect())) == [(0, 3), (1, 3), (2, 3)]
    run.close()
