"""A derivation that waits for a cluster, which the test has, without a worker."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param

from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator

with DAG("deferred", schedule=None, catchup=False, params={"run": Param("", type="string"), "target": Param("", type="string")}) as dag:
    DeriveAugmentedLineageOperator(
        task_id="derive", lineage_run_id="{{ params.run }}", target="{{ params.target }}", conn_id="cluster", deferrable=True,
        status_poll_interval=0.5, retries=1, retry_delay=timedelta(0),
    )  # fmt: skip
