"""What most tests of pipelines need; some make a `lineage` of their own, over tables of theirs."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store


@pytest.fixture
def lineage(spark: SparkSession, store: Store) -> Lineage:
    return Lineage(spark, store=store)
