"""A real PostgreSQL of these tests' own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg2
import psycopg2.extensions
import pytest

from airflow_lineage_provider.store import embedded
from tests.sql.all_engines import Pairs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def postgres() -> Iterator[psycopg2.extensions.cursor]:
    """A cursor of an autocommitting connection."""
    home = Path(tempfile.mkdtemp(prefix="lineage-sql-tests-"))
    server = embedded.ensure_running(home)
    connection = psycopg2.connect(server.url)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("SET timezone TO 'UTC'")
        yield cursor
    connection.close()
    embedded.stop(home)
    shutil.rmtree(home)


@pytest.fixture(scope="session")
def pairs(spark: SparkSession, postgres: psycopg2.extensions.cursor, tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    return Pairs(spark, postgres, tmp_path_factory.mktemp("pairs"))
