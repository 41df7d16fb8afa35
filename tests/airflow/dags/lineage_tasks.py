"""Mapped, retried, templated and failing tasks for the tests."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from airflow.sdk import Param, dag, task

from airflow_lineage_provider.operators.capture import CaptureLineageOperator
from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator
from airflow_lineage_provider.operators.derive_sketch import DeriveSketchOperator
from airflow_lineage_provider.operators.lineage_pyspark import LineagePySparkOperator


def _dies_once(context: Any, result: Any) -> None:
    """A worker that dies once its run is recorded, and before Airflow hears of it."""
    if context["ti"].try_number == 1:
        raise RuntimeError("the worker died")


def _is_raised(_context: Any) -> None:
    """What somebody does who reads that lineage was too large to be captured."""
    del os.environ["AIRFLOW_LINEAGE_CAPTURE_LIMIT"]


@dag(schedule=None, params={"folder": Param("", type="string")})
def lineage_tasks() -> None:
    @task.lineage_pyspark(
        output="parquet:{{ params.folder }}/mapped-{{ ti.map_index }}+overwrite",
        capture="{{ 'eager' }}",
        sketches="{{ 'eager' }}",
        lineage_name="{{ dag.dag_id }}/mapped",
        clear_params=["rows", "factor"],
    )
    def mapped(spark: Any, rows: int, factor: int) -> Any:
        return spark.sql(f"SELECT id, id * {factor} AS scaled FROM range({rows})")

    @task.lineage_pyspark(retries=1, retry_delay=timedelta(0))
    def second_time_lucky(spark: Any, ti: Any) -> Any:
        from airflow_lineage_provider.reasons import reasoned_udf

        first = ti.try_number == 1

        @reasoned_udf("bigint", name="fragile")
        def fragile(number: int) -> int:
            if first and number == 2:
                raise ValueError("not yet")
            return number

        fragile.register(spark)
        return spark.sql("SELECT id, fragile(id) AS value FROM range(3)")

    @task.lineage_pyspark(
        store="postgresql://nobody:secret@127.0.0.1:1/away", on_store_failure="keep_result", output="{{ params.folder }}/kept+overwrite"
    )
    def without_store(spark: Any) -> Any:
        return spark.sql("SELECT id FROM range(3)")

    @task.lineage_pyspark(lineage=False, store="postgresql://nobody:secret@127.0.0.1:1/away", output="{{ params.folder }}/plain+overwrite")
    def plain(spark: Any, rows: int) -> Any:
        return spark.range(rows)

    @task.lineage_pyspark(retries=1, retry_delay=timedelta(0), output="{{ params.folder }}/appended+append", post_execute=_dies_once)
    def appended(spark: Any) -> Any:
        return spark.sql("SELECT id FROM range(3)")

    @task.lineage_pyspark
    def counts(spark: Any, folder: str, rows: int) -> int:
        numbers = spark.range(rows).selectExpr("id", "id % 2 = 1 AS odd")
        numbers.write.mode("overwrite").parquet(f"{folder}/numbers")
        spark.read.parquet(f"{folder}/numbers").where("odd").write.partitionBy("odd").mode("overwrite").parquet(f"{folder}/odd_numbers")
        return rows

    @task.lineage_pyspark(lineage_name="both", output="{{ params.folder }}/both+overwrite")
    def writes_and_returns(spark: Any, folder: str) -> Any:
        spark.range(4).write.mode("overwrite").parquet(f"{folder}/first")
        return spark.read.parquet(f"{folder}/first").where("id > 1")

    @task.lineage_pyspark(on_unsupported="incomplete")
    def samples(spark: Any, folder: str) -> None:
        spark.range(100).sample(True, 1.0, 1).write.mode("overwrite").parquet(f"{folder}/sampled")

    @task.lineage_pyspark(sketches="use")
    def large_numbers(spark: Any, folder: str) -> Any:
        spark.read.parquet(f"{folder}/numbers").createOrReplaceTempView("numbers")
        return spark.sql("SELECT id, count(*) AS n FROM numbers GROUP BY id HAVING max(id) > 3")

    @task.lineage_pyspark(
        retries=1, retry_delay=timedelta(0), capture="eager", output="{{ params.folder }}/required+append", on_retry_callback=_is_raised
    )
    def required(spark: Any) -> Any:
        os.environ |= {"AIRFLOW_LINEAGE_CAPTURE_REQUIRED": "1", "AIRFLOW_LINEAGE_CAPTURE_LIMIT": "1"}
        return spark.sql("SELECT id FROM range(3)")

    required()
    numbers, large = counts(folder="{{ params.folder }}", rows=6), large_numbers(folder="{{ params.folder }}")
    sketched = DeriveSketchOperator(
        task_id="sketched", lineage_run_id="{{ ti.xcom_pull('large_numbers')['lineage_run_id'] }}", sketch_on={"numbers": "{{ 'id' }}"}
    )
    numbers >> large >> sketched
    writes_and_returns(folder="{{ params.folder }}")
    samples(folder="{{ params.folder }}")
    appended()
    plain(rows=3)
    without_store()
    mapped.partial(factor=10).expand(rows=[2, 3])
    second_time_lucky()


@dag(schedule=None)
def classic_operators() -> None:
    def numbers(spark: Any, rows: int, ds: str) -> Any:
        return spark.sql(f"SELECT id, id % 2 = 1 AS odd, '{ds}' AS ds FROM range({rows})")

    run = LineagePySparkOperator(task_id="numbers", python_callable=numbers, op_kwargs={"rows": "{{ 2 * 5 }}"}, clear_params=["rows"])
    by_id = DeriveAugmentedLineageOperator(
        task_id="by_id",
        lineage_run_id="{{ ti.xcom_pull(task_ids='numbers')['lineage_run_id'] }}",
        target="odd AND ds = '{{ ds }}'",
        verify=True,
    )
    latest = DeriveAugmentedLineageOperator(task_id="latest", pipeline="classic_operators.numbers", target=[{"id": 3}])
    nothing = DeriveAugmentedLineageOperator(task_id="nothing", pipeline="classic_operators.numbers", target="id > 100", allow_empty=True)
    too_many = DeriveAugmentedLineageOperator(task_id="too_many", pipeline="classic_operators.numbers", target="id >= 0", max_rows=3)
    empty = DeriveAugmentedLineageOperator(task_id="empty", pipeline="classic_operators.numbers", target="id > 100")
    captured = CaptureLineageOperator(
        task_id="captured",
        lineage_run_id="{{ ti.xcom_pull(task_ids='numbers')['lineage_run_id'] }}",
        direction="{{ 'back' }}ward",  # type: ignore[arg-type]
    )
    run >> [by_id, latest, nothing, too_many, empty, captured]


lineage_tasks()
classic_operators()
