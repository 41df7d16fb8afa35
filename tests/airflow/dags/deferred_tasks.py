"""A derivation that waits for a cluster without a worker."""

from __future__ import annotations

from airflow.sdk import DAG, Param

from airflow_lineage_provider.operators.derivation_dag import AskedDerivationOperator, derivation_dag
from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator

CONN_ID = "yarn_of_deferred"

with DAG(
    "deferred_tasks", schedule=None, catchup=False,
    params={"run": Param(type="string"), "target": Param(type="string"), "store": Param(type="string")},
) as dag:  # fmt: skip
    DeriveAugmentedLineageOperator(
        task_id="derive", lineage_run_id="{{ params.run }}", target="{{ params.target }}", store="{{ params.store }}", conn_id=CONN_ID,
        deferrable=True, status_poll_interval=0.2, allow_empty=True,
    )  # fmt: skip

asked = derivation_dag("deferred_questions", conn_id=CONN_ID, deferrable=True)
for one in asked.tasks:
    assert isinstance(one, AskedDerivationOperator)
    one.status_poll_interval = 0.2
