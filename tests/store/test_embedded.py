"""The embedded server: shared between processes, recovered after it was killed, stopped only on demand."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from airflow_lineage_provider.errors import EnvironmentProblem, RunNotComplete, StoreUnavailable
from airflow_lineage_provider.store import RunRecord, Store, embedded, server_data, server_life, stop_embedded
from airflow_lineage_provider.store.pid_file import is_postmaster
from tests.store.conftest import sql
from tests.store.copied_homes import initialise


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="lineage home ü-"))
    monkeypatch.setenv("AIRFLOW_LINEAGE_HOME", str(folder / "inner"))
    monkeypatch.delenv("AIRFLOW_LINEAGE_STORE", raising=False)
    yield folder / "inner"
    stop_embedded()
    shutil.rmtree(folder)


OPEN = """
from airflow_lineage_provider.store import RunRecord, Store
from airflow_lineage_provider.store.embedded import ensure_running
store = Store.open()
run = store.begin_run(RunRecord(pipeline="p"))
store.publish_run(run)
print(run, ensure_running().pid)
"""


def in_another_process() -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", OPEN], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def outcome(process: subprocess.Popen[str]) -> list[str]:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out.split()


def test_processes_share_a_server_that_outlives_them(home: Path) -> None:
    found = [outcome(process) for process in [in_another_process() for _ in range(3)]]
    assert len({pid for _, pid in found}) == 1, "three processes that start at once start one server"
    with Store.open() as store:
        assert {record.id for record in store.runs()} == {run for run, _ in found}
        assert int(found[0][1]) == embedded.ensure_running().pid
        assert sql(store.tcp_url, "SELECT inet_server_addr()::text") == [("127.0.0.1/32",)]
    assert is_postmaster(int(found[0][1]), home)
    assert oct((home / "postgres.password").stat().st_mode & 0o777) == "0o600"
    assert stop_embedded()
    assert not is_postmaster(int(found[0][1]), home)
    assert not stop_embedded()


def kill(postmaster: int) -> None:
    """Kill the postmaster, and wait for its children to notice."""
    children = psutil.Process(postmaster).children()
    os.kill(postmaster, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_server_killed_a_moment_ago_is_recovered(home: Path) -> None:
    with Store.open() as store:
        store.publish_run(run := store.begin_run(RunRecord(pipeline="p")))
    os.kill(embedded.ensure_running().pid, signal.SIGKILL)
    with Store.open() as store:
        assert store.run(run).status == "complete"


def test_a_server_killed_a_moment_ago_does_not_run(home: Path) -> None:
    """What served its clients has its lock still, and its number is a zombie's until somebody reaps it."""
    Store.open().close()
    server = psutil.Process(embedded.ensure_running().pid)
    late = next(child for child in server.children() if "checkpointer" in " ".join(child.cmdline()))
    late.suspend()
    server.kill()
    with suppress(psutil.NoSuchProcess):
        while server.status() != psutil.STATUS_ZOMBIE:  # it is not gone when the signal is sent
            time.sleep(0.01)
    threading.Timer(0.5, late.resume).start()
    assert not stop_embedded()
    with server_life.life(home) as free:
        assert free is not None, "nobody has its lock any more"


def test_a_killed_server_is_recovered(home: Path) -> None:
    store = Store.open()
    done = store.begin_run(RunRecord(pipeline="p"))
    store.publish_run(done)
    going_on = store.begin_run(RunRecord(pipeline="p"))
    kill(embedded.ensure_running().pid)
    with pytest.raises(StoreUnavailable):
        store.publish_run(going_on)
    with pytest.raises(StoreUnavailable):
        store.query("SELECT 1")
    with pytest.raises(StoreUnavailable):
        store.fail_run(going_on, "x")
    with Store.open() as again:
        assert again.run(done).status == "complete"
        assert again.run(going_on).status == "failed"
        with pytest.raises(RunNotComplete):
            store.publish_run(going_on)
    store.close()


def test_a_stale_pid_file_that_names_another_process_is_removed(home: Path) -> None:
    Store.open().close()
    pid_file = home / "postgres" / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    assert stop_embedded()
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
    Store.open().close()


def test_a_killed_initialisation_is_done_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_data, "initialise", initialise)
    (home / "postgres.new").mkdir(parents=True)
    (home / "postgres.new" / "junk").write_text("half-made")
    Store.open().close()
    assert not (home / "postgres.new").exists()


def test_another_port_when_the_old_one_is_taken(home: Path) -> None:
    import socket

    Store.open().close()
    port = int((home / "postgres.port").read_text())
    stop_embedded()
    Store.open().close()
    assert int((home / "postgres.port").read_text()) == port
    stop_embedded()
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        Store.open().close()
    assert int((home / "postgres.port").read_text()) != port


def test_the_pid_of_another_postgresql_is_not_taken_for_ours(home: Path, server: embedded.Server) -> None:
    Store.open().close()
    pid_file = home / "postgres" / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    assert stop_embedded()
    pid_file.write_text("\n".join([str(server.pid), *lines[1:]]) + "\n")
    with Store.open() as store:
        assert store.runs() == []
    assert embedded.ensure_running().pid != server.pid


def test_a_home_too_long_for_a_socket(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HOME", str(home / ("long" * 30)))
    with Store.open() as store:
        assert store.runs() == []
    assert stop_embedded()


def test_a_server_that_does_not_start_shows_its_log(home: Path) -> None:
    Store.open().close()
    stop_embedded()
    with open(home / "postgres" / "postgresql.conf", "a") as conf:
        conf.write("no_such_setting = 1\n")
    started = time.monotonic()
    with pytest.raises(StoreUnavailable, match="no_such_setting"):
        Store.open()
    assert time.monotonic() - started < 20


def test_without_the_wheel(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EnvironmentProblem, match=r"\[embedded\].*AIRFLOW_LINEAGE_STORE"):
        Store.open()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_s_server_does_not_run_as_root(home: Path) -> None:
    Store.open().close()
    assert psutil.Process(embedded.ensure_running().pid).uids().effective != 0
    folder = home.parent.stat()
    assert folder.st_mode & 0o077 == 0o001, "others may pass through the folders above and nothing else"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be someone else")
def test_another_user_is_told(home: Path) -> None:
    Store.open().close()
    # The interpreter itself may be out of the other user's reach, so it changes its user when it has started.
    program = "import os, psutil; from airflow_lineage_provider.store import Store; os.setgid(65534); os.setuid(65534); Store.open()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "EnvironmentProblem" in done.stderr
    assert "AIRFLOW_LINEAGE_STORE" in done.stderr
