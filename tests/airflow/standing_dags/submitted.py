"""A task that submits an application to a cluster, which the test has, and says which process it is."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param

from airflow_lineage_provider.operators.lineage_spark_submit import LineageSparkSubmitOperator

AWAITED = Path(__file__).parents[1] / "programs" / "awaited.py"


def tell(context: Any) -> None:
    Path(context["params"]["folder"], f"task-{os.getpid()}").touch()


with DAG("submitted", schedule=None, catchup=False, params={"folder": Param("", type="string")}) as dag:
    LineageSparkSubmitOperator(
        task_id="judge", application=f"{AWAITED}:judge", op_kwargs={"folder": "{{ params.folder }}"}, lineage_name="submitted",
        output="{{ params.folder }}/out+overwrite", conn_id="cluster", yarn_track_via_rm_api=True, status_poll_interval=1,
        retries=1, retry_delay=timedelta(0), pre_execute=tell,
    )  # fmt: skip
