"""Tasks of which OpenLineage is told, for the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import Param, dag, task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dag(schedule=None, params={"folder": Param("", type="string")})
def told() -> None:
    @task.lineage_pyspark(output="{{ params.folder }}/judged")
    def judge(spark: Any, folder: str) -> DataFrame:
        from tests.airflow.test_openlineage import pipeline

        frame: DataFrame = pipeline(spark, folder)
        return frame

    @task.lineage_pyspark
    def fails(spark: Any, folder: str) -> None:
        spark.read.parquet(f"{folder}/in").write.parquet(f"{folder}/before")
        raise ValueError("it is not to be")

    judge(folder="{{ params.folder }}")
    fails(folder="{{ params.folder }}")


told()
