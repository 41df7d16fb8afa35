"""Forked children: what the parent has open stays the parent's."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import StoreError
from airflow_lineage_provider.store import RunRecord, Store, home_files
from tests.store.conftest import sql


def in_a_child(work: Callable[[], None]) -> None:
    """Run something in a forked child, and fail where it fails."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            gc.collect()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0


def test_a_child_has_connections_of_its_own_and_leaves_the_parent_s(store: Store) -> None:
    backend = "SELECT pg_backend_pid() AS pid"
    store.runs(limit=1)
    mine = store.query(backend).column("pid").to_pylist()

    def work() -> None:
        assert store.query(backend).column("pid").to_pylist() != mine
        run = store.begin_run(RunRecord(pipeline="of a child"))
        store.publish_run(run)
        assert store.run(run).status == "complete"
        store.close()

    in_a_child(work)
    assert store.query(backend).column("pid").to_pylist() == mine, "the child did not close the parent's connection"
    assert [record.status for record in store.runs("of a child", 1)] == ["complete"]


def _squares(at: int) -> list[int]:
    assert _shared is not None
    with _shared.session() as session:
        upload = session.upload("t", pa.table({"a": [at]}))
        return [session.query(f"SELECT a * a AS b FROM {upload.table}").column("b").to_pylist()[0] for _ in range(5)]


_shared: Store | None = None


def test_a_pool_of_children_gets_its_own_rows(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "_shared", store)
    store.query("SELECT 1")
    store.runs(limit=1)
    with multiprocessing.get_context("fork").Pool(3) as pool:
        found = pool.map(_squares, range(12), chunksize=1)
    assert found == [[at * at] * 5 for at in range(12)]


def test_a_session_is_not_used_in_a_child(store: Store) -> None:
    with store.session() as session:
        upload = session.upload("t", pa.table({"a": [1]}))

        def work() -> None:
            with pytest.raises(StoreError, match="forked"):
                session.query("SELECT 1")
            session.__exit__(None, None, None)

        in_a_child(work)
        assert session.query(f"SELECT * FROM {upload.table}").num_rows == 1


def test_a_run_is_its_parent_s(store: Store) -> None:
    run = store.begin_run(RunRecord(pipeline="forked"))
    in_a_child(store.close)
    Store.open(store.url).close()
    assert store.run(run).status == "running", "the child's end is not the driver's"
    store.publish_run(run)


DRIVER = """
import os, sys, time
from airflow_lineage_provider.store import RunRecord, Store
store = Store.open(sys.argv[1])
run = store.begin_run(RunRecord(pipeline="killed"))
store.query("SELECT 1")
child = os.fork()
if not child:
    time.sleep(30)
    os._exit(0)
print(run, child, flush=True)
time.sleep(60)
"""


def test_a_child_that_outlives_its_parent_does_not_keep_its_run_going(own_url: str) -> None:
    Store.open(own_url).close()
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, own_url], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    run, child = driver.stdout.readline().split()
    try:
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait()
        deadline = time.monotonic() + 10
        others = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        while sql(own_url, others):
            assert time.monotonic() < deadline, "the child keeps a connection of its parent"
            time.sleep(0.05)
        with Store.open(own_url) as store:
            assert store.run(run).status == "failed"
    finally:
        os.kill(int(child), signal.SIGKILL)
        driver.stdout.close()


def test_a_child_does_not_hold_the_home_s_locks(tmp_path: Path) -> None:
    with home_files.starting(tmp_path):
        child = os.fork()
        if child == 0:
            time.sleep(30)
            os._exit(0)
    try:
        with home_files.starting(tmp_path):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
