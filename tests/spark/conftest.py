"""The tables of the capture tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.tables import make_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder under which the tables' files lie."""
    folder = tmp_path_factory.mktemp("tables")
    make_tables(spark, folder)
    yield folder
    for name in ("client", "debt", "everything", "odd", "rich", "rich_names"):
        spark.catalog.dropTempView(name)
    spark.sql("DROP TABLE IF EXISTS loan")
