"""Tasks of which OpenLineage is told, for the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import Param, dag, task

from airflow_lineage_provider.operators.capture import CaptureLineageOperator
from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator

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

    named: dict[str, Any] = {"lineage_run_id": "{{ ti.xcom_pull(task_ids='judge')['lineage_run_id'] }}"}
    asking = [
        DeriveAugmentedLineageOperator(task_id="why", target="id > 0", chunk_rows=3, **named),
        DeriveAugmentedLineageOperator(task_id="nobody", target="id > 99", allow_empty=True, **named),
        DeriveAugmentedLineageOperator(task_id="wrong", target="nothing = 1", **named),
        CaptureLineageOperator(task_id="capture", **named),
    ]
    judge(folder="{{ params.folder }}") >> asking
    fails(folder="{{ params.folder }}")


told()
