"""Orders and clients as Parquet files."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from tests.pipeline.across.small_runs import CLIENTS, ORDERS, extent
from tests.pipeline.small_files import write_parquet


@pytest.fixture
def lineage(spark: SparkSession, store: Store) -> Lineage:
    extent.register(spark)
    return Lineage(spark, store=store)


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Path:
    assert write_parquet(tmp_path / "orders", ORDERS, "rid int, client string, amount int", files=2)
    assert write_parquet(tmp_path / "clients", CLIENTS, "client string, country string")
    return tmp_path
