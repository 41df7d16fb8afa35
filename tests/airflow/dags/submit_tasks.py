"""Tasks that are submitted, for the tests."""

from __future__ import annotations

from pathlib import Path

from airflow.sdk import Param, dag

from airflow_lineage_provider.operators.lineage_spark_submit import LineageSparkSubmitOperator

PROGRAMS = Path(__file__).parents[1] / "programs"


@dag(
    schedule=None,
    params={"folder": Param("", type="string"), "store": Param("", type="string")},
    default_args={"conn_id": "spark_to_submit_to", "store": "{{ params.store }}", "spark_binary": "spark-submit"},
)
def submit_tasks() -> None:
    arguments = ["{{ params.folder }}/script", "6"]
    LineageSparkSubmitOperator(task_id="script", application=str(PROGRAMS / "halves.py"), application_args=arguments)
    LineageSparkSubmitOperator(
        task_id="function",
        application=f"{PROGRAMS}/judging.py:judge",
        op_kwargs={"rows": 5, "limit": 3, "folder": "{{ params.folder }}/function", "key": "open sesame"},
        secret_params=["key"],
        output="{{ params.folder }}/function/judged+overwrite",
        lineage_name="submitted/{{ ti.task_id }}",
        reasons="eager",
    )


submit_tasks()
