"""TPC-DS's tables are written once a session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.tpcds.data import Tables, write_tpcds


@pytest.fixture(scope="session")
def tpcds_files(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """The tables' files."""
    return write_tpcds(tmp_path_factory.mktemp("tpcds"))


@pytest.fixture(scope="module")
def tpcds(tpcds_files: Tables, spark: SparkSession) -> Iterator[SparkSession]:
    """A session that has the tables as views."""
    for name, path in tpcds_files.items():
        spark.read.parquet(str(path)).createOrReplaceTempView(name)
    yield spark
    for name in tpcds_files:
        spark.catalog.dropTempView(name)
