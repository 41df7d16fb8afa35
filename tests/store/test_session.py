"""Queries: read-only, uploads, types, timeouts, lost connections, threads."""

from __future__ import annotations

import datetime as dt
import itertools
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import LoadFailed, StoreError, StoreUnavailable
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.store import Column, Materialization, Store, connection, given_tables, session
from tests.store.conftest import sql


@pytest.fixture
def made(store: Store, begin: Callable[[], str]) -> Materialization:
    run = begin()
    columns = [Column("id", "int"), Column("v", "array<double>"), Column("t", "timestamp"), Column("s", "string")]
    found = store.create_materialization(run, "m", "source", columns)
    rows = {
        "id": pa.array([1, 2, 3], pa.int32()),
        "v": [[1.5, float("nan")], None, []],
        "t": pa.array([0, 1, None], pa.timestamp("us", "UTC")),
        "s": ["b", "B", "é"],
    }
    found.loader().load(0, 0, iter([pa.record_batch(rows)]))
    store.publish_run(run)
    return store.materializations(run)["m"]


def test_reading_some(store: Store, made: Materialization) -> None:
    found = store.read(made, ["s", "id"], where=f"{made.sql_column('id')} > 1", order_by=["id"], limit=1)
    assert found.to_pydict() == {"s": ["B"], "id": [2]}
    assert store.read(made, ["s"], order_by=["s"]).to_pydict() == {"s": ["B", "b", "é"]}, "by code point, as Spark"
    assert store.read(made, []).num_columns == 0
    with pytest.raises(StoreError, match="no column 'x'"):
        store.read(made, ["x"])
    with pytest.raises(StoreError, match="refused"):
        store.read(made, where="no such thing")


def test_typed_and_plain_results(store: Store, made: Materialization) -> None:
    chosen = f"FROM {made.table} WHERE {made.sql_column('id')} < 2 GROUP BY 1"
    query = f"SELECT {made.sql_column('v')} AS v, sum(1.25) AS n, count(*) AS c, NULL AS x {chosen}"
    found = store.query(query, {"v": "array<double>", "x": "int"})
    assert found.schema.field("v").type == pa.list_(pa.field("element", pa.float64()))
    assert str(found.column("v").to_pylist()) == "[[1.5, nan]]"
    assert found.column("n").to_pylist() == [Decimal("1.25")]
    assert (found.column("c").to_pylist(), found.column("x").to_pylist()) == ([1], [None])
    assert found.schema.field("x").type == pa.int32()
    assert store.query("SELECT 'NaN'::numeric AS n").column("n").to_pylist() == ["nan"]
    with pytest.raises(StoreError, match="'n' of the query's result cannot be read as int"):
        store.query("SELECT 'x' AS n", {"n": "int"})


def test_the_time_zone_is_the_caller_s(store: Store) -> None:
    query = "SELECT date_trunc('day', timestamptz '2024-01-01 02:00+00') AS t"
    assert [
        store.query(query, timezone=zone).column("t").cast(pa.int64()).to_pylist()[0] % 86_400_000_000
        for zone in ("UTC", "America/New_York")
    ] == [
        0,
        5 * 3_600_000_000,
    ]


@pytest.mark.parametrize("statement", ["DROP SCHEMA lineage CASCADE", "CREATE TABLE lineage_data.x (a int)", "SELECT 1; SELECT 2"])
def test_queries_only_read(store: Store, made: Materialization, statement: str) -> None:
    with pytest.raises(StoreError):
        store.query(statement)
    with store.session() as session:
        session.upload("t", pa.table({"a": [1]}))
        with pytest.raises(StoreError):
            session.query(statement)
        with pytest.raises(StoreError, match="read-only"):
            session.query(f"WITH d AS (DELETE FROM {made.table} RETURNING 1) SELECT * FROM d")
    assert store.read(made).num_rows == 3


def test_uploads_join_and_end_with_their_session(store: Store, made: Materialization) -> None:
    target = pa.table({"v": pa.array([[1.5, float("nan")]], pa.list_(pa.float64())), "k": pa.array(["x\x00"])})
    with store.session() as session:
        first, second = session.upload("target", target), session.upload("target", target.slice(0, 0))
        on = f"{made.sql_column('v', 'm')} = {first.sql_column('v', 'u')}"
        found = session.query(f"SELECT m.id, u.k FROM {made.table} m JOIN {first.table} u ON {on}", {"k": "string"})
        assert found.to_pydict() == {"id": [1], "k": ["x\x00"]}
        assert session.query(f"SELECT * FROM {second.table}").num_rows == 0
    with store.session() as session, pytest.raises(StoreError, match="gone"):
        session.query(f"SELECT * FROM {first.table}")
    with pytest.raises(StoreError, match="closed"):
        session.query("SELECT 1")


GIVEN: dict[str, tuple[str, list[Any]]] = {
    "text": ("string", ['a"b', "c\\d", "NULL", "{x,y}", "", "é\x00", None]),
    "whole": ("bigint", [0, -(2**63), 2**63 - 1, None]),
    "real": ("double", [0.1, float("nan"), float("inf"), -float("inf"), -0.0, None]),
    "single": ("float", [0.1, None]),
    "truth": ("boolean", [True, False, None]),
    "bytes": ("binary", [b'\x00\\"', b"", None]),
    "day": ("date", [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "moment": ("timestamp", [dt.datetime(2024, 2, 29, 23, 59, 59, 999999, dt.UTC), None]),
    "exact": ("decimal(38,10)", [Decimal("1234567890123456789012345678.0123456789"), None]),
    "nested": ("array<string>", [["a", None, '"'], [], None]),
}


@pytest.mark.parametrize("text_has_them", [True, False], ids=["in its text", "in a temporary table"])
def test_a_query_reads_tables_that_it_is_given(store: Store, monkeypatch: pytest.MonkeyPatch, text_has_them: bool) -> None:
    if not text_has_them:
        monkeypatch.setattr(given_tables, "_MOST_BYTES", -1)
    with store.session() as session:
        for name, (kind, values) in GIVEN.items():
            table = pa.table({name: pa.array(values, to_arrow(kind)), "at": pa.array(range(len(values)), pa.int64())})
            for given in (table, table.slice(0, 0)):
                found = session.query(f'SELECT "{name}", at FROM given ORDER BY at', {name: kind, "at": "bigint"}, tables={"given": given})
                assert repr(found.to_pydict()) == repr(given.to_pydict()), name
        temporary = session.query("SELECT count(*) AS n FROM pg_class WHERE relpersistence = 't'").column("n").to_pylist()
    assert (temporary == [0]) == text_has_them


def test_a_session_is_one_transaction_until_it_rests(store: Store, made: Materialization) -> None:
    number = "SELECT pg_current_xact_id_if_assigned() IS NULL AS reads, now() AS began"
    with store.session() as session:
        first = session.query(number).to_pydict()
        assert session.read(made, ["id"]).num_rows == 3
        with pytest.raises(StoreError):
            session.query("no such thing")
        second = session.query(number).to_pydict()
        third = session.query(number).to_pydict()
        session.rest()
        fourth = session.query(number).to_pydict()
    assert first["reads"] == second["reads"] == [True]
    assert first != second == third != fourth


def test_an_upload_of_another_type_is_refused(store: Store) -> None:
    with store.session() as session:
        with pytest.raises(LoadFailed, match="'a'"):
            session.upload("t", pa.table({"a": ["x"]}), [Column("a", "int")])
        assert session.query("SELECT 1 AS one").to_pydict() == {"one": [1]}


def test_a_slow_query_is_ended(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreError, match=r"longer than 0\.2 s"):
        store.query("SELECT pg_sleep(5)::text", timeout=0.2)
    monkeypatch.setenv("AIRFLOW_LINEAGE_STATEMENT_TIMEOUT", "0.1")
    with pytest.raises(StoreError, match="AIRFLOW_LINEAGE_STATEMENT_TIMEOUT"):
        store.query("SELECT pg_sleep(5)::text")


def test_lost_connections_are_replaced(store: Store) -> None:
    with store.session() as session:
        session.query("SELECT 1")
        with pytest.raises(StoreUnavailable):
            session.query("SELECT pg_terminate_backend(pg_backend_pid())")
    store.query("SELECT 1")
    ours = "pid <> pg_backend_pid() AND application_name = 'airflow-lineage'"
    sql(store.url, f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {ours}")
    assert store.query("SELECT 1 AS one").to_pydict() == {"one": [1]}
    assert store.runs(limit=1)


def test_a_connection_is_not_used_for_ever(own_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's process behind one remembers every table that it was ever asked about."""
    monkeypatch.setattr(session, "_USES", 3)
    monkeypatch.setattr(connection, "_RECYCLED", 0)
    asked = "SELECT pg_backend_pid() AS pid"
    with Store.open(own_url) as opened:
        pids = [opened.query(asked).to_pylist()[0]["pid"] for _ in range(10)]
        assert [len(list(same)) for _, same in itertools.groupby(pids)][1:3] == [3, 3]
        of_engine = []
        for _ in range(3):
            with opened._engine.connect() as one:
                of_engine.append(one.exec_driver_sql(asked).scalar_one())
            time.sleep(0.01)
        assert len({*of_engine}) == 3
        ended, deadline = {*pids, *of_engine} - {pids[-1], of_engine[-1]}, time.monotonic() + 60
        while left := ended & {row[0] for row in sql(own_url, "SELECT pid FROM pg_stat_activity")}:
            assert time.monotonic() < deadline, left
            time.sleep(0.05)


def test_threads_share_a_store(store: Store, made: Materialization) -> None:
    results: list[int] = []

    def work() -> None:
        for _ in range(10):
            with store.session() as session:
                upload = session.upload("t", pa.table({"id": pa.array([1, 2], pa.int32())}))
                results.append(session.query(f"SELECT 1 FROM {made.table} JOIN {upload.table} USING (id)").num_rows)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [2] * 60
