"""Large stored rows of a local Spark stand in the home of the embedded server, where nobody names another place; and go where it goes."""

from __future__ import annotations

import importlib.util
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.sources.file_uris import local_path
from airflow_lineage_provider.spark import session
from airflow_lineage_provider.store import Store, home_rows, stop_embedded
from airflow_lineage_provider.words import Strategy

pytestmark = pytest.mark.spark
FULL: Strategy = "full_materialization"


@pytest.fixture(autouse=True)
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_DATA_ROWS", "3")


@pytest.fixture(scope="module")
def moving() -> Iterator[Path]:
    """A folder for homes."""
    folder = Path(tempfile.mkdtemp(prefix="lineage-moving-"))
    yield folder
    for home in folder.iterdir():
        stop_embedded(home)
    shutil.rmtree(folder)


def in_files(lineage: Lineage, rows: int) -> bool:
    run = lineage.run(f"SELECT id FROM range({rows})", name="rows", strategy=FULL)
    run.close()
    return lineage.store.materializations(run.id)["result"].in_files


def test_many_rows_of_a_local_spark_stand_in_the_home(spark: SparkSession, store: Store) -> None:
    assert in_files(Lineage(spark, store=store), 3)
    assert not in_files(Lineage(spark, store=store), 2)
    assert stat.S_IMODE((store.home / home_rows.FOLDER).stat().st_mode) == 0o700


def test_where_a_user_wants_them_in_the_store_they_are(spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not in_files(Lineage(spark, store=store, data="store"), 3)
    monkeypatch.setenv("AIRFLOW_LINEAGE_DATA", "store")
    assert not in_files(Lineage(spark, store=store), 3)


def test_only_a_local_spark_and_an_embedded_server_have_that_place(
    spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(store.url) as by_url:
        assert not in_files(Lineage(spark, store=by_url), 3)
    monkeypatch.setattr(session, "is_local", lambda spark: False)
    assert not in_files(Lineage(spark, store=store), 3)


def test_without_duckdb_they_stay_in_the_store(spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "duckdb" else found(name))
    assert not in_files(Lineage(spark, store=store), 3)


def test_they_move_with_the_home(spark: SparkSession, moving: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HOME", str(moving / "old ü %41"))
    with Lineage(spark) as lineage:
        run = lineage.run("SELECT id, id % 2 AS odd FROM range(5)", name="moved", strategy=FULL)
        elsewhere = lineage.run("SELECT id FROM range(5)", name="elsewhere", strategy=FULL)
        run.close()
        elsewhere.close()
        # A place of another name is not the home's.
        engine = lineage.store._engine
        with engine.begin() as connection:
            text = f"UPDATE lineage.materializations SET folder = 'file:/mnt/rows/{elsewhere.id}/result' WHERE run_id = '{elsewhere.id}'"
            connection.exec_driver_sql(text)
    stop_embedded(moving / "old ü %41")
    shutil.move(moving / "old ü %41", moving / "new")
    monkeypatch.setenv("AIRFLOW_LINEAGE_HOME", str(moving / "new"))
    with Lineage() as asked:
        assert asked.get_run(run.id).result_table().column("id").to_pylist() == [0, 1, 2, 3, 4]
        folder = asked.store.materializations(run.id)["result"].folder
        assert folder is not None
        there = local_path(folder)
        assert there is not None
        assert there.is_relative_to(moving / "new")
        assert asked.store.materializations(elsewhere.id)["result"].folder == f"file:/mnt/rows/{elsewhere.id}/result"
        asked.drop(run.id)
        assert not there.exists()
