"""The DAG that the lineage tab triggers for answers that need Spark. Copy this file into your DAG folder, and unpause the DAG."""

from __future__ import annotations

from airflow_lineage_provider.operators.derivation_dag import derivation_dag

# Where Spark and the results store are: conn_id="spark_default", store_conn_id="lineage_store"; by default a local Spark, and the settings.
dag = derivation_dag(config_kwargs={"spark.ui.enabled": False})
