"""Rows that are made again, since the executor that kept them is gone, are those that were stored, or the run fails."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.errors import LoadFailed
from airflow_lineage_provider.spark.executing import lost_executors
from airflow_lineage_provider.spark.executing.run import Execution

QUERY = "SELECT id, {udf}(id) AS judged, map('id', id) AS m FROM lost_ids"


@reasoned_udf("string")
def judged_once(n: int) -> str:
    return f"{n} is judged"


@reasoned_udf("string", deterministic=False)
def judged_anew(n: int) -> str:
    return f"{n} is judged by {uuid.uuid4()}"


@pytest.fixture(autouse=True)
def loses_an_executor(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What Spark keeps is gone at the end of the run, and an executor is said to be lost."""
    parquet.write_table(pa.table({"id": range(5)}), tmp_path / "ids.parquet")
    spark.read.parquet(str(tmp_path)).createOrReplaceTempView("lost_ids")
    said: Iterator[frozenset[str]] = iter([frozenset({"0"}), frozenset({"0", "1"})])
    real = lost_executors.check_kept_rows

    def check(execution: Execution) -> None:
        for frame in execution.kept:
            frame.unpersist(blocking=True)
        real(execution)

    monkeypatch.setattr(lost_executors, "lost_executors", lambda _: next(said))
    monkeypatch.setattr(lost_executors, "check_kept_rows", check)
    yield
    spark.catalog.dropTempView("lost_ids")


def test_the_same_rows_again(lineage: Lineage, spark: SparkSession) -> None:
    judged_once.register(spark)
    told: list[str] = []
    run = lineage.run(QUERY.format(udf="judged_once"), name="lost", progress=told.append)
    assert "comparing result, since an executor was lost" in told
    assert run.explain("id = 3").sources["lost_ids"].rows.to_pylist()[0]["id"] == 3


def test_other_rows(lineage: Lineage, spark: SparkSession) -> None:
    judged_anew.register(spark)
    with pytest.raises(LoadFailed, match=r"an executor was lost, and the rows of 'segment_1' .* made again, in another order or"):
        lineage.run(QUERY.format(udf="judged_anew"), name="lost otherwise")
    assert [one.status for one in lineage.runs(pipeline="lost otherwise")] == ["failed"]


def test_other_rows_whose_result_is_kept(lineage: Lineage, spark: SparkSession) -> None:
    judged_anew.register(spark)
    run = lineage.run(QUERY.format(udf="judged_anew"), name="lost and kept", on_store_failure="keep_result")
    assert run.summary.status == "incomplete"
    assert "an executor was lost" in run.lineage_lost


def test_a_driver_that_works_alone_loses_none(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert lost_executors.lost_executors(spark) == frozenset()
