"""Airflow operators. They hand all work to `airflow_lineage_provider.pipeline`; Spark and the store are imported while a task runs."""
