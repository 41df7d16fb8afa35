"""An embedded server that dies under a store: it is started again, and its runs stay their driver's. Real servers, real kills."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest
import sqlalchemy as sa

from airflow_lineage_provider.errors import StoreTooSlow, StoreUnavailable
from airflow_lineage_provider.records.appends import KnownBy
from airflow_lineage_provider.records.run import RunHead
from airflow_lineage_provider.store import Column, RunRecord, Store, embedded, lifecycle, revival
from airflow_lineage_provider.store.run_store import RunStore
from tests.store.conftest import sql

BATCH = pa.record_batch({"a": pa.array([1, 2], pa.int32())})
COLUMNS = [Column("a", "int")]


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="lineage-revival-"))
    yield made
    embedded.stop(made)
    shutil.rmtree(made)


@pytest.fixture
def own(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store in the embedded server of this module."""
    monkeypatch.setenv("AIRFLOW_LINEAGE_HOME", str(home))
    monkeypatch.delenv("AIRFLOW_LINEAGE_STORE", raising=False)
    with Store.open() as opened:
        yield opened


def kill(home: Path) -> int:
    """With its sessions, which live on for a moment without it, and answer."""
    pid = int((home / "postgres" / "postmaster.pid").read_text().split()[0])
    all_of_it = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    os.kill(pid, signal.SIGKILL)
    while any(map(_lives, all_of_it)):
        time.sleep(0.01)
    return pid


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def crash(home: Path) -> int:
    """End one of the server's connections as a bug would: PostgreSQL ends all others, and recovers by itself."""
    pid = int((home / "postgres" / "postmaster.pid").read_text().split()[0])
    for child in psutil.Process(pid).children():
        if "lineage lineage" in " ".join(child.cmdline()):
            os.kill(child.pid, signal.SIGKILL)
            return pid
    raise AssertionError("nobody is connected")


NO_RUNS: list[RunHead] = []


def used_by(store: Store, **options: Any) -> RunStore:
    return RunStore(lambda: store, "embedded", **options)


@pytest.mark.parametrize("blow", [kill, crash])
def test_what_a_run_asks_is_asked_again(own: Store, home: Path, blow: Callable[[Path], int]) -> None:
    run = used_by(own)
    blow(home)
    run_id = run.begin(RunRecord(pipeline="asked again"))
    blow(home)
    made = run.create_materialization(run_id, "m", "segment", COLUMNS)
    assert made is not None
    made.loader().load(0, 0, iter([BATCH]))
    blow(home)
    run.ask("publishing", lambda store: store.publish_run(run_id), None, lambda store: store.publish_run(run_id, again=True))
    assert own.read(own.materializations(run_id)["m"]).num_rows == 2
    assert list((home / "runs").iterdir()) == []


def test_a_store_acts_as_its_owner_on_every_connection_before_and_after(own: Store, home: Path) -> None:
    def roles() -> list[str]:
        with own._engine.connect() as one, own._engine.connect() as other, own._engine.connect() as third:
            return [str(each.execute(sa.text("SELECT current_user")).scalar()) for each in (one, other, third)]

    assert roles() == ["lineage_owner"] * 3
    run = used_by(own)
    run.begin(RunRecord(pipeline="before"))
    kill(home)
    run.begin(RunRecord(pipeline="after"))
    assert roles() == ["lineage_owner"] * 3


def test_what_was_done_before_its_answer_was_lost_is_not_done_twice(own: Store, home: Path) -> None:
    """The server dies after each commit, and before the driver hears of it."""
    run = used_by(own)

    def lost_once(call: Callable[[Store], object]) -> Callable[[Store], object]:
        def first(store: Store) -> object:
            call(store)
            kill(home)
            raise StoreUnavailable("the answer was lost")

        return first

    record = RunRecord(id="0190a1b2-0000-7000-8000-000000000001", pipeline="done once")
    run.ask("", lost_once(lambda store: store.begin_run(record)), None, lambda store: store.begin_run(record, again=True))
    arguments = (record.id, "m", "segment", COLUMNS)
    create = lost_once(lambda store: store.create_materialization(*arguments))
    run = used_by(own)
    made = run.ask("", create, None, lambda store: store.create_materialization(*arguments, again=True))
    made.loader().load(0, 0, iter([BATCH]))  # type: ignore[attr-defined]

    def note(store: Store) -> None:
        store.intend_append(record.id, ["file:/x"], KnownBy())

    run.ask("", lost_once(note), None, note)
    assert sql(own.url, f"SELECT count(*) FROM lineage.outputs WHERE run_id = '{record.id}'") == [(1,)]
    publish = lost_once(lambda store: store.publish_run(record.id))
    used_by(own).ask("", publish, None, lambda store: store.publish_run(record.id, again=True))
    assert own.run(record.id).status == "complete"
    assert own.read(own.materializations(record.id)["m"]).num_rows == 2


def test_others_that_open_the_store_after_its_end_leave_a_run_to_its_driver(own: Store, home: Path) -> None:
    run_id = own.begin_run(RunRecord(pipeline="still going"))
    kill(home)
    Store.open().close()  # it starts the server, and cleans up after dead drivers
    with Store.open(embedded.ensure_running(home).url) as by_url:
        assert by_url.run(run_id).status == "running"
    used_by(own).ask("publishing", lambda store: store.publish_run(run_id), None)
    assert own.run(run_id).status == "complete"


DRIVER = """
import time
from airflow_lineage_provider.store import RunRecord, Store
store = Store.open()
print(store.begin_run(RunRecord(pipeline="both died")), flush=True)
time.sleep(60)
"""


def test_a_driver_that_died_with_the_server_is_cleaned_up_after(own: Store, home: Path) -> None:
    driver = subprocess.Popen([sys.executable, "-c", DRIVER], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    run_id = driver.stdout.readline().strip()
    assert len(list((home / "runs").iterdir())) == 1
    kill(home)
    os.kill(driver.pid, signal.SIGKILL)
    driver.communicate()
    with Store.open() as after:
        assert (after.run(run_id).status, after.run(run_id).error) == ("failed", lifecycle.DEAD)
    assert list((home / "runs").iterdir()) == []


def test_a_forked_child_does_not_keep_its_parent_s_run_alive(own: Store, home: Path) -> None:
    """The parent gives up; the child, which has a copy of its descriptors, lives on."""
    with Store.open() as parent:
        run_id = parent.begin_run(RunRecord(pipeline="forked"))
        hears, tells = os.pipe()
        child = os.fork()
        if not child:
            os.write(tells, b"born")  # what it does at a fork, letting go of its parent's files, is done
            time.sleep(30)
            os._exit(0)
        try:
            assert os.read(hears, 4) == b"born"
            sign = next((home / "runs").iterdir())
            os.close(parent._locks[run_id]._sign._descriptor)  # type: ignore[union-attr]  # as when the parent dies: the file stays
            parent._locks[run_id]._sign = None
            parent._locks[run_id].release()
            assert sign.exists()
            found: list[str] = []
            until = time.monotonic() + 10  # the server notices a moment later that a session has ended
            while run_id not in found and time.monotonic() < until:
                found += lifecycle.clean_up(own._engine)
            assert run_id in found
            assert not sign.exists()
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(hears)
            os.close(tells)


def test_it_is_not_started_for_ever(own: Store, home: Path) -> None:
    asked = []

    def deadly(store: Store) -> None:
        asked.append(kill(home))
        sql(store.url, "SELECT 1")

    def ask(store: Store) -> None:
        try:
            deadly(store)
        except Exception as error:
            raise StoreUnavailable("the store is away") from error

    with pytest.raises(StoreUnavailable, match=rf"the store is away.*after it had been started {revival.MOST} times.*log"):
        used_by(own).ask("dying", ask, None)
    assert len(asked) == len(set(asked)) == revival.MOST + 1
    kept = used_by(own, keeps_result=True)
    assert kept.ask("dying", ask, None) is None
    assert "after it had been started" in kept.lost


def test_a_server_that_cannot_be_started_again_is_named(own: Store, home: Path) -> None:
    kill(home)
    data, away = home / "postgres" / "global", home / "postgres" / "global.away"
    data.rename(away)
    try:
        with pytest.raises(StoreUnavailable, match=r"could not be started again.*does not start"):
            used_by(own).ask("asking", lambda store: store.runs(), NO_RUNS)
    finally:
        away.rename(data)
    assert used_by(own).ask("asking", lambda store: store.runs(), None) is not None


def test_a_slow_store_is_not_started_again(own: Store) -> None:
    assert not own.is_ended_by(StoreTooSlow("it took longer"))
    assert not own.is_ended_by(ValueError("of something else"))


def test_a_server_that_was_given_by_its_url_is_never_started(own: Store, home: Path) -> None:
    with Store.open(own.url) as given:
        kill(home)
        with pytest.raises(StoreUnavailable):
            used_by(given).ask("asking", lambda store: store.runs(), NO_RUNS)
    assert embedded.running(home) is None
