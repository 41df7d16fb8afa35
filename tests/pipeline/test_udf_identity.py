"""Which Python function is run: the one that the pipeline calls, whatever else has its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from airflow_lineage_provider import Lineage, reasoned_udf
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
