"""Reasoned UDFs, their reasons, and adapters for SHAP and LIME. Executors import this package: neither PySpark nor Airflow is
imported with it, and SHAP, LIME and scikit-learn only where an adapter is called."""

from __future__ import annotations

from airflow_lineage_provider.reasons import payload, registry
from airflow_lineage_provider.reasons.features import Feature
from airflow_lineage_provider.reasons.udf import ReasonedUdf, reasoned_udf

__all__ = ["Feature", "ReasonedUdf", "payload", "reasoned_udf", "registry"]
