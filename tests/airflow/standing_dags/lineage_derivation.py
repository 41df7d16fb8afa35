"""The DAG that the lineage tab has answer what needs Spark."""

from __future__ import annotations

from datetime import timedelta

from airflow_lineage_provider.operators.derivation_dag import derivation_dag

conf = {"spark.ui.enabled": "false", "spark.master": "local[2]"}
dag = derivation_dag(config_kwargs=conf, default_args={"retries": 0, "retry_delay": timedelta(0)})
