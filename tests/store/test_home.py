"""The embedded server's home folder: shared with other containers, on network file systems, half-written, and seen by others."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from airflow_lineage_provider.errors import EnvironmentProblem, StoreDamaged, StoreInUse
from airflow_lineage_provider.store import Store, embedded, file_systems, server_life, server_log, stop_embedded
from airflow_lineage_provider.store.home_files import write_whole
from tests.in_turn import sampled
from tests.store.conftest import sql

FILES = ("postgres.port", "postgres.password", "postgres.owner", "postgres/postmaster.pid")
CONTAINER = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]


def containers() -> bool:
    """Whether this user may make PID namespaces."""
    return bool(shutil.which("unshare")) and subprocess.run([*CONTAINER, "true"], capture_output=True, check=False).returncode == 0


in_containers = pytest.mark.skipif(not containers(), reason="unshare --pid is not permitted here (it needs root)")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One home for most tests: making one takes a second."""
    found = Path(tempfile.mkdtemp(prefix="lineage-home-"))
    yield found / "home"
    stop_embedded(found / "home")
    shutil.rmtree(found)


@pytest.fixture
def home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HOME", str(folder))
    monkeypatch.delenv("AIRFLOW_LINEAGE_STORE", raising=False)
    return folder


PROGRAM = """
import sys
from airflow_lineage_provider.store import RunRecord, Store
from airflow_lineage_provider.store.embedded import ensure_running
with Store.open() as store:
    run = store.begin_run(RunRecord(pipeline="p"))
    store.publish_run(run)
    print(run, ensure_running().pid, flush=True)
    sys.stdin.read()
"""


def in_a_container(*before: str) -> subprocess.Popen[str]:
    """A process that opens the store, publishes a run, and waits, in a PID namespace of its own."""
    command = [*CONTAINER, *before, sys.executable, "-c", PROGRAM]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    line = process.stdout.readline().split()
    if not line:
        process.wait()
        assert process.stderr is not None
        raise AssertionError(process.stderr.read())
    return line


def end(process: subprocess.Popen[str], home: Path) -> None:
    """Kill a container, and wait until the last of its processes is gone."""
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 10
    while (home / "postgres.owner").exists() and not free(home):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def free(home: Path) -> bool:
    with server_life.life(home) as lock:
        owner = server_life.noted(home)
        return lock is not None or (owner is not None and owner.is_here())


@in_containers
def test_a_second_container_uses_the_first_ones_server(home: Path) -> None:
    with Store.open() as store:
        pid_file = (home / "postgres" / "postmaster.pid").read_text()
        other = in_a_container()
        run, pid = said(other)
        assert int(pid) == embedded.ensure_running().pid, "the same server"
        assert store.run(run).status == "complete"
        assert (home / "postgres" / "postmaster.pid").read_text() == pid_file
        end(other, home)
        assert store.run(run).status == "complete"


@in_containers
def test_a_container_that_is_gone_leaves_the_store_to_the_next(home: Path) -> None:
    stop_embedded(home)
    other = in_a_container()
    run, _ = said(other)
    with Store.open() as store:
        assert store.run(run).status == "complete"
    with pytest.raises(StoreInUse, match="another container of this machine"):
        stop_embedded(home)
    end(other, home)  # all its processes are killed with it
    with Store.open() as store:
        assert store.run(run).status == "complete"
        assert store.runs(limit=1)


@in_containers
def test_a_server_out_of_reach_is_named_and_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    # A home too long for a socket: it lies in the temporary folder, which the other container has for itself.
    inner = Path(tempfile.mkdtemp(prefix="lineage-", dir="/var/tmp"))
    home = inner / ("long" * 30)
    monkeypatch.setenv("AIRFLOW_LINEAGE_HOME", str(home))
    monkeypatch.delenv("AIRFLOW_LINEAGE_STORE", raising=False)
    (inner / "tmp").mkdir()
    script = 'mount -t tmpfs tmpfs "$0" && chmod 755 "$0" && TMPDIR="$0" exec "$@"'
    other = in_a_container("unshare", "--mount", "sh", "-c", script, str(inner / "tmp"))
    try:
        said(other)
        before = (home / "postgres" / "postmaster.pid").read_text()
        monkeypatch.setattr(embedded, "_UNREACHABLE_SECONDS", 0.5)
        with pytest.raises(StoreInUse, match=r"another container.*AIRFLOW_LINEAGE_HOME"):
            Store.open()
        assert (home / "postgres" / "postmaster.pid").read_text() == before
    finally:
        end(other, home)
        stop_embedded(home)
        shutil.rmtree(inner)


def test_the_lock_lives_as_long_as_the_server(home: Path) -> None:
    Store.open().close()
    with server_life.life(home) as lock:
        assert lock is None, "the server holds it"
    assert stop_embedded(home)
    # The last process of a server ends a moment after the one that is told to.
    ends = time.monotonic() + 10
    while True:
        with server_life.life(home) as lock:
            if lock is not None:
                return
        assert time.monotonic() < ends, "nobody lives who could hold it"
        time.sleep(0.05)


# Network file systems

MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 0:44 / /home rw - nfs4 server:/home rw,vers=4.2
41 40 0:45 / /home/local\\040disk rw - xfs /dev/sdb rw
42 27 0:46 / /data rw - ext4 /dev/sdc rw
43 27 0:47 / /data rw - nfs server:/data rw
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [("/home/me/x", "nfs4"), ("/home/local disk/x", "xfs"), ("/homely", "ext4"), ("/data/x", "nfs"), ("/", "ext4")],
)
def test_the_file_system_of_a_folder(folder: str, kind: str) -> None:
    assert file_systems.file_system(Path(folder), MOUNTS) == kind


def test_network_file_systems_are_refused_unless_allowed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_life, "shared_file_system", lambda folder: "nfs4")
    stop_embedded(home)
    with pytest.raises(EnvironmentProblem, match=r"nfs4.*AIRFLOW_LINEAGE_NETWORK_HOME"):
        Store.open()
    monkeypatch.setenv("AIRFLOW_LINEAGE_NETWORK_HOME", "1")
    Store.open().close()


def test_on_a_network_file_system_another_host_s_pid_file_stays(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store.open().close()
    pid_file = home / "postgres" / "postmaster.pid"
    before = pid_file.read_text()
    stop_embedded(home)
    pid_file.write_text(before)
    there = replace(server_life.here(), host="other-host", boot="another boot")
    write_whole(home / "postgres.owner", json.dumps(there.__dict__))
    monkeypatch.setattr(server_life, "shared_file_system", lambda folder: "nfs4")
    monkeypatch.setenv("AIRFLOW_LINEAGE_NETWORK_HOME", "1")
    with pytest.raises(StoreInUse, match=r"'other-host'.*postmaster\.pid"):
        Store.open()
    assert pid_file.read_text() == before
    monkeypatch.undo()
    monkeypatch.setenv("AIRFLOW_LINEAGE_HOME", str(home))
    Store.open().close()  # on a local disk the lock says that nobody lives


# Damaged files


@pytest.mark.parametrize(("damage", "name"), sampled(product(["", "54 x", "\x00\x00\x00"], FILES), 2))
def test_a_damaged_file_is_mended_at_the_next_start(home: Path, name: str, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    if not (home / "postgres").exists():
        Store.open().close()
    stop_embedded(home)
    (home / name).write_text(damage)
    started = time.monotonic()
    with Store.open() as store:
        assert store.runs(limit=1) is not None
    assert time.monotonic() - started < 20
    assert name.rpartition("/")[2].partition(".")[0] in caplog.text or damage == ""


def test_a_wrong_password_is_named_while_the_server_runs_and_mended_at_its_start(home: Path) -> None:
    Store.open().close()
    (home / "postgres.password").write_text("half")
    started = time.monotonic()
    with pytest.raises(StoreDamaged, match=r"postgres\.password.*store stop"):
        Store.open()
    assert time.monotonic() - started < 10
    assert stop_embedded(home)
    with Store.open() as store:
        assert store.runs(limit=1) is not None


def test_a_damaged_pid_file_of_a_live_server_is_named(home: Path) -> None:
    Store.open().close()
    pid_file = home / "postgres" / "postmaster.pid"
    before = pid_file.read_text()
    pid_file.write_text(before[:3])
    with pytest.raises(StoreDamaged, match=r"postmaster\.pid is damaged"):
        Store.open()
    pid_file.write_text(before)
    Store.open().close()


def test_a_file_is_whole_or_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    write_whole(file, "before")

    def full(descriptor: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        write_whole(file, "after")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
    assert file.read_text() == "before"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


# Others on the machine


def test_nobody_else_can_read_or_lock_the_home_s_files(home: Path) -> None:
    stop_embedded(home)
    (home / "postgres.lock").chmod(0o644)  # of an earlier release
    Store.open().close()
    others = {path.name for path in home.iterdir() if path.stat().st_mode & 0o077}
    assert others == set()
    assert home.stat().st_mode & 0o077 in (0, 0o001), "the server's user may pass through"
    assert not (home / "run").stat().st_mode & 0o077


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be someone else")
def test_another_user_cannot_block_the_store(home: Path) -> None:
    Store.open().close()
    program = (
        "import os, sys, fcntl\nos.setgid(65534); os.setuid(65534)\n"
        "for name in sys.argv[1:]:\n"
        "    try: fcntl.flock(os.open(name, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB); print('locked', name)\n"
        "    except PermissionError: print('refused', name)\n"
    )
    files = [str(home / "postgres.lock"), str(home / "postgres.alive")]
    done = subprocess.run(["python3", "-c", program, *files], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["refused", files[0], "refused", files[1]]


# The log


def test_the_log_is_kept_in_pieces(home: Path) -> None:
    with Store.open() as store:
        assert sql(store.url, "SHOW log_rotation_size") == [("10MB",)]
        assert sql(store.url, "SHOW logging_collector") == [("on",)]
        for i in range(8):
            (home / "log" / f"postgres-2020010{i + 1}-000000.log").write_text("old")
    Store.open().close()
    pieces = sorted(path.name for path in (home / "log").iterdir())
    assert len(pieces) == 5
    assert not any("2020010" in name for name in pieces[-1:])
    assert server_log.tail(home)
