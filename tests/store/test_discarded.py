"""Folders of stored rows whose runs are gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_lineage_provider.errors import LoadFailed
from airflow_lineage_provider.store import Column, RunRecord, Store
from airflow_lineage_provider.store.ids import new_id
from tests.store.conftest import sql

COLUMNS = [Column("a", "int"), Column("lineage_row_number", "bigint", "row", nullable=False)]


def made(store: Store, place: Path) -> tuple[str, Path]:
    """A running run with a folder of one file, of three rows in two partitions."""
    run = store.begin_run(RunRecord(pipeline="files"))
    folder = place / run / "result"
    stored = store.create_materialization(run, "result", "result", COLUMNS, folder=f"file:{folder}")
    folder.mkdir(parents=True)
    (folder / "part-00000.parquet").write_bytes(b"rows")
    store.enter_files(stored, {"part-00000.parquet": 4}, {0: 1, 4: 2})
    return run, folder


def test_the_catalog_knows_files_as_it_knows_tables(store: Store, tmp_path: Path) -> None:
    run, folder = made(store, tmp_path)
    store.publish_run(run)
    stored = store.materializations(run)["result"]
    assert (stored.folder, stored.files, stored.rows, stored.in_files) == (f"file:{folder}", {"part-00000.parquet": 4}, 3, True)
    assert store.partitions(stored) == [(0, 1), (4, 2)]
    assert store.table_sizes(run) == {"result": 4}
    with pytest.raises(LoadFailed, match=f"run {run} is complete: 'result' takes no more rows"):
        store.enter_files(stored, {}, {})
    store.drop_run(run)
    assert list(tmp_path.iterdir()) == []
    assert store.table_sizes(run) == {}


def test_a_run_that_failed_has_no_files(store: Store, tmp_path: Path) -> None:
    run, _ = made(store, tmp_path)
    (tmp_path / run / "another").mkdir()
    store.fail_run(run, "no")
    assert [path.name for path in (tmp_path / run).iterdir()] == ["another"], "what the run did not make stays"


def test_files_that_come_after_their_run_was_ended_are_removed_later(store: Store, tmp_path: Path) -> None:
    """Another process has ended the run, and found no folder yet; the driver goes on, and only then learns of it."""
    run = store.begin_run(RunRecord(pipeline="files"))
    folder = tmp_path / run / "result"
    stored = store.create_materialization(run, "result", "result", COLUMNS, folder=f"file:{folder}")
    store.fail_run(run, "its driver seemed dead")
    folder.mkdir(parents=True)
    with pytest.raises(LoadFailed, match="is failed"):
        store.enter_files(stored, {"part-0": 1}, {0: 1})
    Store.open(store.url).close()
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_may_be_another_machines(store: Store, tmp_path: Path) -> None:
    run, folder = made(store, tmp_path)
    folder.rename(tmp_path / "elsewhere")
    store.fail_run(run, "no")
    assert (f"file:{folder}", run) in store.discarded_folders()
    sql(store.tcp_url, f"UPDATE lineage.discarded_folders SET discarded = now() - interval '31 days' WHERE run_id = '{run}'")
    Store.open(store.url).close()
    assert (f"file:{folder}", run) not in store.discarded_folders()


def test_what_may_not_be_looked_at_is_no_error(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = Path.is_dir

    def refused(path: Path) -> bool:
        if path.is_relative_to(tmp_path):
            raise PermissionError(13, "Permission denied", str(path))
        return there(path)

    run, folder = made(store, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "is_dir", refused)
        store.fail_run(run, "no")
        Store.open(store.url).close()
    assert folder.exists()
    Store.open(store.url).close()
    assert not folder.exists()


def test_no_other_folder_is_removed_whatever_the_list_says(store: Store, tmp_path: Path) -> None:
    run = new_id()
    other, away = tmp_path / "mine" / "data", tmp_path / run / ".." / ".." / tmp_path.name / run / "result"
    for folder, of in ((other, run), (other, "mine"), (away, run)):
        folder.mkdir(parents=True, exist_ok=True)
        insert = f"INSERT INTO lineage.discarded_folders VALUES ('file:{folder}', '{of}', now()) ON CONFLICT DO NOTHING"
        sql(store.tcp_url, insert)
    Store.open(store.url).close()
    assert other.is_dir()
    assert (tmp_path / run / "result").is_dir()
    sql(store.tcp_url, f"DELETE FROM lineage.discarded_folders WHERE folder LIKE 'file:{tmp_path}%'")
