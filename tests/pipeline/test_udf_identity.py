"""Which Python function is run: the one that the pipeline calls, whatever else has its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from airflow_lineage_provider import Lineage, Run, reasoned_udf
from tests.pipeline.small_files import kind_of, view

pytestmark = pytest.mark.spark


@reasoned_udf("string")
def plainly_named(x: int) -> str:
    return "reasoned"


def test_a_plain_udf_with_a_declared_name_stays_the_users_own(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a")], "rid int, g string")

    def answer(x):  # type: ignore[no-untyped-def]
        return "plain"

    answer.__name__ = "plainly_named"
    own = F.udf(answer, "string")
    run = lineage.run(lambda session: session.table("w").select(own("rid").alias("x")))
    assert run.result.collect() == [("plain",)]


def test_the_registered_udf_is_run_not_the_latest_declared(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a")], "rid int, g string")

    def declare(answer: str) -> Any:
        @reasoned_udf("string", name="declared_twice")
        def declared_twice(x: int) -> str:
            return answer

        return declared_twice

    declare("first").register(spark)
    declare("second")
    run = lineage.run("SELECT declared_twice(rid) AS x FROM w")
    assert run.result.collect() == spark.sql("SELECT declared_twice(rid) AS x FROM w").collect()


def test_running_leaves_the_users_udf_as_it_is(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a")], "rid int, g string")
    kind_of.register(spark)
    run = lineage.run("SELECT kind_of(max(rid)) AS k FROM w")
    run.explain("k = 'odd'", verify=True)
    assert kind_of.spark_function("normal").deterministic


def test_a_model_that_was_fitted_again_explains_nothing_of_before(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a"), (3, "b")], "rid int, g string")
    model, text = {"limit": 2.0}, "SELECT beyond(rid) AS x, g FROM w"

    @reasoned_udf("boolean", name="beyond", model=model)
    def beyond(rid: int) -> bool:
        return rid > model["limit"]

    @beyond.with_reason
    def _(rid: int) -> tuple[bool, dict[str, float]]:
        return rid > model["limit"], dict(model)

    def reason(run: Run, row: str) -> Any:
        (found,) = run.explain(f"g = '{row}'", save=False).reasons["beyond"].rows.column("reason").to_pylist()
        return json.loads(found)["value"]

    beyond.register(spark)
    before = lineage.run(text)
    assert reason(before, "a") == {"limit": 2}
    model["limit"] = 2.5
    # The run kept what decided in it, and Spark holds that, too, until it is registered again.
    assert reason(before, "b") == {"limit": 2}
    held = lineage.run(text)
    assert reason(held, "b") == {"limit": 2}
    beyond.register(spark)
    after = lineage.run(text)
    assert reason(after, "b") == {"limit": 2.5}
    assert held.udfs[0].version == before.udfs[0].version != after.udfs[0].version
