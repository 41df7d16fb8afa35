"""The console command ``airflow-lineage``. It starts fast: neither PySpark, pandas nor SQLAlchemy is imported before a verb needs them."""

from __future__ import annotations

from airflow_lineage_provider.cli.main import main

__all__ = ["main"]
