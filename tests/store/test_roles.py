"""Least privilege: what each role of the store may do, and what it may not."""

from __future__ import annotations

from urllib.parse import urlsplit

import psycopg2
import pyarrow as pa
import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.arrays.keeping import Said
from airflow_lineage_provider.errors import LoadFailed, StoreError, StoreNotPermitted
from airflow_lineage_provider.records.derivation_sets import ChunkPlace, DerivationSetRecord
from airflow_lineage_provider.store import Column, DerivationRecord, Materialization, RunRecord, Store, embedded, roles
from airflow_lineage_provider.store.connection import with_connect_timeout
from tests.store.conftest import Granted, known, sql

COLUMNS = [Column("a", "int")]
BATCH = pa.record_batch({"a": pa.array([1, 2], pa.int32())})


def published(store: Store) -> str:
    run = store.begin_run(RunRecord(pipeline="p"))
    store.create_materialization(run, "m", "segment", COLUMNS).loader().load(0, 0, iter([BATCH]))
    store.publish_run(run)
    return run


def refused(url: str, text: str) -> None:
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        sql(url, text)


def test_an_owner_runs_drops_and_upgrades_and_is_no_superuser(granted: Granted) -> None:
    first, second = granted.user("lineage_owner"), granted.user("lineage_owner")
    with Store.open(first) as store:
        run = published(store)
    with Store.open(second) as store:
        assert store.read(store.materializations(run)["m"]).num_rows == 2
        store.drop_run(run)
        assert store.run(run).status == "dropped", "what one owner made is another's to drop"
    Store.upgrade(second)
    refused(first, "SELECT pg_read_file('/etc/passwd')")


@pytest.fixture
def loading(granted: Granted, monkeypatch: pytest.MonkeyPatch) -> tuple[Store, Materialization, str]:
    loader = granted.user("lineage_loader")
    monkeypatch.setenv("AIRFLOW_LINEAGE_LOADER_STORE", loader)
    store = Store.open(granted.user("lineage_owner"))
    return store, store.create_materialization(store.begin_run(RunRecord(pipeline="p")), "m", "segment", COLUMNS), loader


@pytest.mark.parametrize("transport", ["adbc", "psycopg2"])
def test_a_loader_loads_and_reads_nothing(loading: tuple[Store, Materialization, str], transport: str) -> None:
    store, made, loader = loading
    with store:
        assert made.loader(transport).url == with_connect_timeout(loader)  # type: ignore[arg-type]
        assert made.loader(transport).load(0, 0, iter([BATCH])) == 2  # type: ignore[arg-type]
        assert made.loader(transport).load(0, 1, iter([BATCH, BATCH])) == 4, "a retry replaces"  # type: ignore[arg-type]
        refused(loader, f"SELECT * FROM {made.table}")
        refused(loader, f"DELETE FROM {made.table}")
        refused(loader, "SELECT * FROM lineage.runs")
        refused(loader, "UPDATE lineage.loads SET rows = 0")
        with pytest.raises(StoreError):
            Store.open(loader)
        store.publish_run(made.run_id)
        with pytest.raises(LoadFailed, match="is complete"):
            made.loader(transport).load(0, 2, iter([BATCH]))  # type: ignore[arg-type]
        refused(loader, f"INSERT INTO {made.table} VALUES (0, 3)")
        assert store.read(store.materializations(made.run_id)["m"]).num_rows == 4


def test_a_load_of_a_failed_run_s_loader_is_ended(loading: tuple[Store, Materialization, str]) -> None:
    store, made, loader = loading
    late = psycopg2.connect(loader, application_name=f"lineage-load:{made.run_id}")
    with store, late.cursor() as cursor:
        cursor.execute(f"SELECT lineage.begin_load('{made.run_id}', {made.id}, 0, 0)")
        store.fail_run(made.run_id, "cancelled")
        assert store.run(made.run_id).status == "failed"


def read_only(url: str) -> str:
    name = urlsplit(url).username
    return f"ALTER ROLE {name} SET default_transaction_read_only = on"


@pytest.mark.parametrize("always", [False, True])
def test_a_reader_opens_and_asks_and_writes_nothing(granted: Granted, always: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(granted.url) as store:
        run = published(store)
        dead = store.begin_run(RunRecord(pipeline="dead"))
    url = granted.user("lineage_reader")
    if always:
        sql(granted.url, read_only(url))
    monkeypatch.setenv("AIRFLOW_LINEAGE_RETENTION_DAYS", "1")
    with Store.open(url) as store:
        assert store.run(dead).status == "running", "cleaning up is not a reader's"
        made = store.materializations(run)["m"]
        assert store.read(made).num_rows == 2
        with store.session() as session:
            upload = session.upload("t", pa.table({"a": pa.array([2], pa.int32())}))
            assert session.query(f"SELECT 1 FROM {made.table} JOIN {upload.table} USING (a)").num_rows == 1
        assert not store.may_derive()
        for write in (
            lambda: store.save_derivation(DerivationRecord(run_id=run, target="a = 1")),
            lambda: store.save_reasons(run, "f", {"d": ("1", "{}")}),
            lambda: store.begin_run(RunRecord(pipeline="p")),
            lambda: store.drop_run(run),
            lambda: store.save_arrays(Said({"a": (1,)})),
        ):
            with pytest.raises(StoreError):
                write()
    refused(url, "INSERT INTO lineage.reasons VALUES ('x', 'f', 'd', '1', '{}')") if not always else None
    assert [record.id for record in Store.open(granted.url).derivations(run)] == []


def test_a_reader_is_told_what_it_may_not_do(granted: Granted) -> None:
    with Store.open(granted.user("lineage_reader")) as store, pytest.raises(StoreNotPermitted, match="store grant"):
        store.begin_run(RunRecord(pipeline="p"))


def test_a_deriver_keeps_answers_and_changes_no_run(granted: Granted) -> None:
    with Store.open(granted.url) as store:
        run = published(store)
    url = granted.user("lineage_deriver")
    with Store.open(url) as store:
        assert store.may_derive()
        kept = store.save_derivation(DerivationRecord(run_id=run, target="a = 1"))
        assert store.derivation(kept).target == "a = 1"
        begun = store.begin_derivation_set(DerivationSetRecord(run_id=run, question="q", target="a = 1", rows=2, chunk_rows=1))
        chunks = [store.save_derivation(DerivationRecord(run_id=run, target="t", place=ChunkPlace(begun.id, at, 2))) for at in (0, 1, 1)]
        assert [one.id for one in store.derivation_set(begun.id)[1]] == chunks[:2] == [chunks[0], chunks[2]]
        assert store.last_derivation_set("q", run, "") == begun
        store.save_reasons(run, "f", {"d": ("1", "{}")})
        assert known(store, run, "f", ["d"]) == {"d": ("1", "{}")}
        with pytest.raises(StoreNotPermitted):
            store.drop_run(run)
        with Lineage(store=store).arrays.of_derivation(kept) as log:
            log.array("image", (2, 2))
            log.array("box", (1,))
            log.lineage("image", "box", [(0, 1, 1)])
        assert {one.name for one in store.list_arrays("", 10)} == {f"derivation:{kept}/image", f"derivation:{kept}/box"}
    refused(url, "UPDATE lineage.reasons SET reason = 'another'")
    refused(url, "DELETE FROM lineage.arrays")
    refused(url, "DELETE FROM lineage.derivations")


def test_a_dropped_run_keeps_no_answers_of_a_deriver(granted: Granted) -> None:
    with Store.open(granted.url) as store, Store.open(granted.user("lineage_deriver")) as deriver:
        run = published(store)
        store.drop_run(run)
        with pytest.raises(StoreError, match="dropped"):
            deriver.save_derivation(DerivationRecord(run_id=run, target="a = 1"))


def test_nobody_else_may_anything(granted: Granted) -> None:
    url = granted.user()
    for text in ("SELECT * FROM lineage.runs", "SELECT lineage.hold_run('x')", "CREATE TABLE lineage_data.x (a int)"):
        refused(url, text)


def test_the_embedded_server_s_executors_are_no_superusers(server: embedded.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HOME", str(server.home))
    monkeypatch.delenv("AIRFLOW_LINEAGE_STORE", raising=False)
    with Store.open() as store:
        run = store.begin_run(RunRecord(pipeline="p"))
        made = store.create_materialization(run, "m", "segment", COLUMNS)
        loader, reader = made.urls.loader, made.urls.reader
        made.loader().load(0, 0, iter([BATCH]))
        store.publish_run(run)
        assert store.read(made).num_rows == 2
        asked = "SELECT current_user::text, rolsuper, current_setting('temp_file_limit') FROM pg_roles WHERE rolname = current_user"
        assert sql(loader, asked) == [(roles.LOADER, False, "10GB")]
        assert sql(reader, asked) == [(roles.READER, False, "10GB")]
        refused(loader, "SELECT * FROM lineage.runs")
        assert sql(reader, f"SELECT count(*) FROM {made.table}") == [(2,)]
        password = urlsplit(store.url).password
        assert password is not None
        assert password not in str(loader)
        assert password not in str(reader)


def test_limits_are_there_by_default(store: Store) -> None:
    with store.session() as session:
        found = session.query("SELECT current_setting('statement_timeout') AS s, current_setting('temp_file_limit') AS t").to_pylist()[0]
        assert found == {"s": "10min", "t": "10GB"}
    with store._transaction("asking") as connection:
        assert connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar() == "10min"


def test_a_query_that_fills_the_disk_is_ended(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_TEMP_FILE_LIMIT", "1")
    sort = "SELECT i FROM generate_series(1, 2000000) AS g(i) ORDER BY md5(i::text) OFFSET 1999999"
    with pytest.raises(StoreError, match="AIRFLOW_LINEAGE_TEMP_FILE_LIMIT"):
        store.query(sort)


def test_a_transaction_that_does_nothing_is_ended(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_IDLE_TIMEOUT", "0.1")
    import time

    from airflow_lineage_provider.store.connection import psycopg2_connect

    connection = psycopg2_connect(store.url)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        time.sleep(1)
        with pytest.raises(psycopg2.OperationalError):
            cursor.execute("SELECT 1")
    connection.close()


def test_a_store_that_was_opened_before_the_roles_were_granted_loads_a_partition_again_and_is_read(server: embedded.Server) -> None:
    sql(server.url, "CREATE DATABASE granted_late")
    url = server.url.replace("/lineage?", "/granted_late?")
    with Store.open(url) as store:
        Store.grant(url)
        run = store.begin_run(RunRecord(pipeline="p"))
        made = store.create_materialization(run, "m", "segment", COLUMNS)
        for attempt in (0, 1):
            made.loader().load(0, attempt, iter([BATCH]))
        store.publish_run(run)
        assert store.read(made).num_rows == 2
        rights = (
            "SELECT pg_get_userbyid(relowner), has_table_privilege('lineage_reader', oid, 'SELECT') FROM pg_class WHERE oid = %s::regclass"
        )
        assert sql(url, rights, [made.table]) == [("lineage_owner", True)]
