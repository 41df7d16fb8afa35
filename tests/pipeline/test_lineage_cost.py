"""What a run says that its lineage cost: delays that are put into it stand on the side that they belong to."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.records.cost import LineageCost
from airflow_lineage_provider.store.load import PartitionLoader
from airflow_lineage_provider.store.run_store import RunStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.recorded_run import Run

pytestmark = pytest.mark.spark
DELAY = 1.0


@pytest.fixture
def slow(spark: SparkSession) -> None:
    @reasoned_udf("bigint", name="slow_exam")
    def slow_exam(number: int) -> int:
        time.sleep(DELAY if number == 1 else 0)
        return number * 2

    slow_exam.register(spark)


def pipeline(spark: SparkSession, *, waits: float = 0.0) -> Any:
    time.sleep(waits)
    return spark.sql("SELECT id, slow_exam(id) AS judged FROM range(3)")


def delayed(patch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    plain: Callable[..., Any] = getattr(owner, name)

    def slowly(*arguments: Any, **options: Any) -> Any:
        time.sleep(DELAY)
        return plain(*arguments, **options)

    patch.setattr(owner, name, slowly)


def cost(run: Run) -> tuple[LineageCost, float]:
    """What the lineage cost, and the seconds of the pipeline itself."""
    found = run.summary.lineage_cost
    assert found is not None
    assert found.share is not None
    plain = run.record.timings["total"] - found.seconds
    assert found.share == pytest.approx(found.seconds / plain)
    return found, plain


def test_what_is_the_pipelines_own_is_not_the_lineages(lineage: Lineage, slow: None) -> None:
    run = lineage.run(pipeline, params={"waits": DELAY}, name="slow itself")
    found, plain = cost(run)
    assert plain >= 2 * DELAY, "its function, and its UDF"
    assert found.seconds > 0
    assert found.at_least, "rows carried what they are found by"


def test_entering_and_storing_are_the_lineages(lineage: Lineage, slow: None, monkeypatch: pytest.MonkeyPatch) -> None:
    delayed(monkeypatch, RunStore, "begin")
    delayed(monkeypatch, PartitionLoader, "load_new")
    found, plain = cost(lineage.run(pipeline, name="slow store"))
    assert found.seconds >= 2 * DELAY
    assert plain >= DELAY, "its UDF"


def test_rows_of_the_session_are_stored_for_lineage_alone(lineage: Lineage, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    delayed(monkeypatch, PartitionLoader, "load_new")
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "id BIGINT, name STRING").where("id > 1")
    found, _ = cost(lineage.run(frame, name="of the session", strategy="rerun"))
    assert found.seconds >= DELAY
    assert not found.at_least, "the pipeline ran as it is"


def test_lists_say_the_same(lineage: Lineage, slow: None) -> None:
    run = lineage.run(pipeline, name="listed")
    (listed,) = lineage.runs("listed", 1)
    assert listed.lineage_cost == run.summary.lineage_cost
    assert lineage.summary(run.id).lineage_cost == run.summary.lineage_cost
