"""What several parts of the tests share: one Spark session and one results store."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

    from airflow_lineage_provider.store import Store


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A results store on an embedded server of the tests' own."""
    from airflow_lineage_provider.store import Store, stop_embedded

    home = tmp_path_factory.mktemp("home")
    before = {name: os.environ.pop(name, None) for name in ("AIRFLOW_LINEAGE_HOME", "AIRFLOW_LINEAGE_STORE")}
    os.environ["AIRFLOW_LINEAGE_HOME"] = str(home)
    try:
        with Store.open() as opened:
            yield opened
        stop_embedded()
    finally:
        os.environ.update({name: value for name, value in before.items() if value is not None})


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local Spark session."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

    warehouse = tmp_path_factory.mktemp("warehouse")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("lineage tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(warehouse))
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
