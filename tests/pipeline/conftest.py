"""What most tests of pipelines need; some make a `lineage` of their own, over tables of theirs."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.store.schema import sketches


@pytest.fixture
def lineage(spark: SparkSession, store: Store) -> Lineage:
    return Lineage(spark, store=store)


def forget_sketches(store: Store) -> None:
    """Those of other tests, which would serve."""
    with store._transaction("a test") as connection:
        connection.execute(sketches.delete())


@pytest.fixture
def no_sketches(store: Store) -> None:
    """None is there when the test begins."""
    forget_sketches(store)
