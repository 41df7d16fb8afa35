"""Orders and clients as Parquet files."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from tests.pipeline.across.small_runs import CLIENTS, ORDERS, extent


@pytest.fixture
def lineage(spark: SparkSession, store: Store) -> Lineage:
    extent.register(spark)
    return Lineage(spark, store=store)


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Path:
    spark.createDataFrame(ORDERS, "rid int, client string, amount int").repartition(2, "rid").write.parquet(str(tmp_path / "orders"))
    spark.createDataFrame(CLIENTS, "client string, country string").coalesce(1).write.parquet(str(tmp_path / "clients"))
    return tmp_path
