"""Runs: owners that die, runs side by side, failing, dropping, retirement."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count

import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import LoadFailed, RunNotComplete, RunNotFound, StoreError, StoreUnavailable
from airflow_lineage_provider.plan.lineage_keys import MaterializedSegment, SourceIdentity
from airflow_lineage_provider.reasons.description import UdfDescription
from airflow_lineage_provider.records.run import RecordedInput, RecordedOutput
from airflow_lineage_provider.records.versions import FilesVersion
from airflow_lineage_provider.store import Column, DerivationRecord, DerivationTable, RunRecord, Store, embedded, lifecycle, run_lock
from airflow_lineage_provider.store.ids import new_id
from airflow_lineage_provider.tracing.strategies import Choice
from tests.store.conftest import known, sql

COLUMNS = [Column("a", "int")]
BATCH = pa.record_batch({"a": pa.array([1, 2], pa.int32())})
LARGE = pa.record_batch({"a": pa.array(range(50_000), pa.int32())})
"""One that is sent: many small ones wait for each other, for seconds."""

DRIVER = """
import sys, time
import pyarrow as pa
from airflow_lineage_provider.store import Column, RunRecord, Store
store = Store.open(sys.argv[1])
run = store.begin_run(RunRecord(pipeline="killed"))
made = store.create_materialization(run, "m", "segment", [Column("a", "int")])
made.loader().load(0, 0, iter([pa.record_batch({"a": pa.array([1], pa.int32())})]))
print(run, made.table_name, flush=True)
time.sleep(60)
"""


def tables(url: str, name: str) -> int:
    return len(sql(url, f"SELECT 1 FROM pg_tables WHERE schemaname = 'lineage_data' AND tablename = '{name}'"))


def test_the_next_opening_cleans_up_after_a_killed_driver(own_url: str) -> None:
    Store.open(own_url).close()
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, own_url], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    run, table = driver.stdout.readline().split()
    with Store.open(own_url) as store:
        assert store.run(run).status == "running", "a live driver's run is left alone"
        assert tables(own_url, table) == 1
    os.kill(driver.pid, signal.SIGKILL)
    driver.communicate()
    _until(lambda: not sql(own_url, f"SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'lineage-run:{run}%'"))
    with Store.open(own_url, tidies=False) as store:
        assert store.run(run).status == "running", "who only asks changes nothing"
        assert tables(own_url, table) == 1
    with Store.open(own_url) as store:
        record = store.run(run)
        assert (record.status, record.error) == ("failed", lifecycle.DEAD)
        assert record.finished is not None
        assert tables(own_url, table) == 0
        with pytest.raises(RunNotComplete, match=lifecycle.DEAD):
            store.materializations(run)


def _until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_two_runs_at_once_do_not_meet(store: Store, server: object) -> None:
    with Store.open(store.url) as other:
        first, second = store.begin_run(RunRecord(pipeline="two")), other.begin_run(RunRecord(pipeline="two"))
        made = [s.create_materialization(r, "m", "segment", COLUMNS) for s, r in ((store, first), (other, second))]
        made[0].loader().load(0, 0, iter([BATCH]))
        made[1].loader().load(0, 0, iter([BATCH, BATCH]))
        store.publish_run(first)
        other.publish_run(second)
        assert [store.materializations(run)["m"].rows for run in (first, second)] == [2, 4]
        assert first < second
        assert [record.id for record in store.runs("two")] == [second, first]
        assert store.latest_run("two").id == second


def test_a_closed_store_gives_its_running_runs_up(own_url: str) -> None:
    with Store.open(own_url) as store:
        run = store.begin_run(RunRecord(pipeline="p"))
    with Store.open(own_url) as store:
        _until(lambda: store.run(run).status == "failed" or not lifecycle.clean_up(store._engine))
        assert store.run(run).error == lifecycle.DEAD


def test_a_failed_run_keeps_its_record_and_nothing_else(store: Store, begin: Callable[[], str]) -> None:
    run = begin()
    made = store.create_materialization(run, "m", "segment", COLUMNS)
    made.loader().load(0, 0, iter([BATCH]))
    store.fail_run(run, "udf \x00 \ud800 raised")
    assert (store.run(run).status, store.run(run).error) == ("failed", "udf \x00 \\ud800 raised")
    assert tables(store.url, made.table_name) == 0
    store.fail_run(run, "again")
    assert store.run(run).error == "udf \x00 \\ud800 raised"
    with pytest.raises(LoadFailed, match="is failed"):
        made.loader().load(0, 1, iter([BATCH]))


def test_failing_ends_the_loads_of_tasks_that_live_on(store: Store, begin: Callable[[], str]) -> None:
    run = begin()
    made = store.create_materialization(run, "m", "segment", COLUMNS)
    loading, errors = threading.Event(), []

    def endless() -> Iterator[pa.RecordBatch]:
        for number in count():
            yield LARGE
            if number == 2:  # the way to send them is chosen by the first two, before the load begins
                loading.set()
            time.sleep(0.01)

    def load() -> None:
        try:
            made.loader().load(0, 0, endless())
        except Exception as error:
            errors.append(error)

    task = threading.Thread(target=load)
    task.start()
    loading.wait(10)
    store.fail_run(run, "cancelled")
    task.join(20)
    assert not task.is_alive()
    assert isinstance(errors[0], StoreUnavailable)
    assert tables(store.url, made.table_name) == 0


def test_dropping_leaves_a_tombstone(store: Store, begin: Callable[[], str]) -> None:
    run = begin()
    made = store.create_materialization(run, "m", "segment", COLUMNS)
    made.loader().load(0, 0, iter([BATCH]))
    with pytest.raises(StoreError, match="still running"):
        store.drop_run(run)
    store.publish_run(run, output=RecordedOutput(kind="path", target="/x"))
    table = DerivationTable("source", pa.table({"a": [1]}), "exact")
    derivation = store.save_derivation(DerivationRecord(run_id=run, target="a = 1", tables={"t": table}))
    store.save_reasons(run, "f", {"d": ("1", "{}")})
    with pytest.raises(StoreError, match="complete"):
        store.fail_run(run, "no")
    store.drop_run(run)
    record = store.run(run)
    assert (record.status, record.plan, record.output, record.params) == ("dropped", "", None, {})
    assert record.pipeline
    assert tables(store.url, made.table_name) == 0
    with pytest.raises(StoreError, match="no derivation"):
        store.derivation(derivation)
    assert known(store, run, "f", ["d"]) == {}
    with pytest.raises(RunNotComplete, match="dropped"):
        store.materializations(run)
    with pytest.raises(StoreError, match="gone"):
        store.read(made)
    with pytest.raises(RunNotFound):
        store.drop_run("nothing")


def test_old_runs_retire(own_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(own_url) as store:
        old, failed, young = [store.begin_run(RunRecord(pipeline="p")) for _ in range(3)]
        table = store.create_materialization(old, "m", "segment", COLUMNS).table_name
        store.publish_run(old)
        store.publish_run(young)
        store.fail_run(failed, "x")
    sql(own_url, f"UPDATE lineage.runs SET finished = now() - interval '31 days' WHERE id <> '{young}'")
    Store.open(own_url).close()
    assert tables(own_url, table) == 1, "nothing is dropped unless it is asked for"
    monkeypatch.setenv("AIRFLOW_LINEAGE_RETENTION_DAYS", "30")
    Store.open(own_url, tidies=False).close()
    assert tables(own_url, table) == 1, "nor by who only asks"
    Store.open(own_url).close()
    statuses = {row[0]: row[1] for row in sql(own_url, "SELECT id, status FROM lineage.runs")}
    assert [statuses[run] for run in (old, failed, young)] == ["dropped", "dropped", "complete"]
    assert tables(own_url, table) == 0


def test_a_run_in_use_is_retired_later(own_url: str) -> None:
    import psycopg2

    with Store.open(own_url) as store:
        run = store.begin_run(RunRecord(pipeline="p"))
        table = store.create_materialization(run, "m", "segment", COLUMNS).table
        store.publish_run(run)
        sql(own_url, "UPDATE lineage.runs SET finished = now() - interval '31 days'")
        reader = psycopg2.connect(own_url)
        with reader.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {table}")
        assert lifecycle.retire(store._engine, 30) == []
        assert store.run(run).status == "complete"
        reader.close()
        _until(lambda: lifecycle.retire(store._engine, 30) == [run])
        assert lifecycle.retire(store._engine, 30) == []


def test_the_lock_is_taken_again_after_its_connection_was_lost(store: Store, begin: Callable[[], str]) -> None:
    run = begin()
    sql(store.url, f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'lineage-run:{run}'")
    store.publish_run(run)
    assert store.run(run).status == "complete"


def test_a_run_that_another_process_gave_up_cannot_be_published(
    store: Store, begin: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begin()
    monkeypatch.setattr(run_lock, "_is_held", lambda path: False)  # a server of another host: its clients do not see each other
    sql(store.url, f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'lineage-run:{run}'")
    Store.open(store.url).close()
    with pytest.raises(RunNotComplete, match=lifecycle.DEAD):
        store.publish_run(run)


def test_records_come_back_as_they_were(store: Store) -> None:
    given = RunRecord(
        pipeline="naïve 'p'; DROP TABLE lineage.runs; --",
        started=datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=UTC),
        strategy="rerun",
        reasons="eager",
        params={"a": [1, None, float("inf")], "b": "\x00 %s :x"},
        plan='{"text": "\\u0000"}',
        segments=(MaterializedSegment(segment=0, name="s", columns=((3, "c"),), inputs=()),),
        inputs=(
            RecordedInput(
                leaf=0,
                name="t",
                identity=SourceIdentity(kind="row_digest", columns=()),
                version=FilesVersion(count=1, bytes=2, files={"file:/t": (2, 3)}),
                files={"7": "file:/t"},
            ),
        ),
        udfs=(UdfDescription(function=1, name="u", module="m", version="v", has_reason=True, seed=0, libraries={"shap": "1"}),),
        choices=(Choice(segment=0, stored=True, because="it is the result"),),
        conf={"spark.sql.ansi.enabled": "true"},
        airflow={"dag_id": "d", "map_index": -1},
        versions={"spark": "4.3"},
    )
    run = store.begin_run(given)
    found = store.run(run)
    assert found == RunRecord(**{**given.__dict__, "id": run})
    with pytest.raises(StoreError, match="JSON"):
        store.begin_run(RunRecord(pipeline="p", params={"a": object()}))
    with pytest.raises(StoreError):
        store.begin_run(RunRecord(id=run, pipeline="p"))
    with pytest.raises(RunNotFound, match="no run 'x'"):
        store.run("x")


def test_ids_sort_by_time() -> None:
    made = [new_id() for _ in range(10_000)]
    assert made == sorted(set(made))
    assert made[0][14] == "7"


def test_a_store_that_is_forgotten_closes_itself(own_url: str) -> None:
    store = Store.open(own_url)
    store.begin_run(RunRecord(pipeline="p"))
    store.query("SELECT 1")
    del store
    gc.collect()
    _until(lambda: sql(own_url, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()") == [(1,)])


@pytest.mark.parametrize("held", ["row", "table"])
def test_opening_does_not_wait_for_a_dead_run_that_another_transaction_holds(own_url: str, held: str) -> None:
    import psycopg2

    with Store.open(own_url) as store:
        run = store.begin_run(RunRecord(pipeline="dead"))
        table = store.create_materialization(run, "m", "segment", COLUMNS).table
    stuck = psycopg2.connect(own_url)
    with stuck.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM lineage.runs WHERE id = '{run}' FOR UPDATE" if held == "row" else f"SELECT * FROM {table}")
    started = time.monotonic()
    with Store.open(own_url) as store:
        assert time.monotonic() - started < 3
        assert store.run(run).status == "running"
        assert store.query("SELECT 1 AS one").num_rows == 1
    stuck.close()
    with Store.open(own_url) as store:
        assert store.run(run).status == "failed"


def test_a_load_that_outlived_its_driver_is_ended(own_url: str) -> None:
    import psycopg2

    with Store.open(own_url) as store:
        run = store.begin_run(RunRecord(pipeline="dead"))
    load = psycopg2.connect(own_url, application_name=f"lineage-load:{run}")
    with load.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM lineage.runs WHERE id = '{run}' FOR SHARE")
    with Store.open(own_url) as store:
        assert store.run(run).status == "failed"


def test_loading_and_uploading_begin_one_transaction(store: Store, begin: Callable[[], str], server: embedded.Server) -> None:
    made = store.create_materialization(begin(), "m", "segment", COLUMNS)
    made.loader("adbc").load(0, 0, iter([BATCH]))
    with store.session() as session:
        session.upload("t", pa.table({"a": [1]}))
    said = "".join(piece.read_text() for piece in (server.home / "log").iterdir())
    assert "already a transaction in progress" not in said


def test_a_table_that_the_server_is_vacuuming_is_dropped(own_url: str) -> None:
    """PostgreSQL has its own vacuuming give way to who waits for the table for longer than its deadlock_timeout."""
    with Store.open(own_url) as store:
        run = store.begin_run(RunRecord(pipeline="vacuumed"))
        made = store.create_materialization(run, "m", "segment", COLUMNS)
        made.loader().load(0, 0, iter([pa.record_batch({"a": pa.array(range(100_000), pa.int32())})]))
        store.publish_run(run)
        slowly = "autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1, autovacuum_vacuum_insert_threshold = 1"
        sql(own_url, f"ALTER TABLE {made.table} SET ({slowly}, autovacuum_vacuum_insert_scale_factor = 0)")
        sql(own_url, "ALTER SYSTEM SET autovacuum_naptime = '1s'")
        try:
            sql(own_url, "SELECT pg_reload_conf()")
            seen = f"SELECT 1 FROM pg_stat_progress_vacuum WHERE relid = '{made.table}'::regclass"
            _until(lambda: bool(sql(own_url, seen)), 180.0)  # the server goes round its databases, of which there may be a hundred
            started = time.monotonic()
            store.drop_run(run)
            assert time.monotonic() - started < 10
        finally:
            sql(own_url, "ALTER SYSTEM RESET autovacuum_naptime")
            sql(own_url, "SELECT pg_reload_conf()")
        assert tables(own_url, made.table_name) == 0
