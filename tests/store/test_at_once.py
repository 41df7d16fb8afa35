"""A question and its kept answer are one transaction, whose part that reads cannot write; few rows come where they are looked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import RunNotComplete, StoreError, StoreNotPermitted, StoreUnavailable
from airflow_lineage_provider.records.derivation_sets import ChunkPlace, DerivationSetRecord
from airflow_lineage_provider.store import (
    Column,
    DerivationRecord,
    DerivationTable,
    Materialization,
    RunRecord,
    Store,
    derivations,
    embedded,
)
from airflow_lineage_provider.store.read import FEW
from tests.statements import noted
from tests.store.conftest import Granted, sql
from tests.store.strategies import TYPES, build

ROWS = 3 * FEW
READ_ONLY = "SELECT current_setting('transaction_read_only') AS it"
COLUMNS = [Column("id", "int"), Column("text", "string"), *(Column(text, text) for text in TYPES), Column("n", "bigint", role="row")]


@pytest.fixture
def made(store: Store, begin: Callable[[], str]) -> Materialization:
    run = begin()
    found = store.create_materialization(run, "m", "result", COLUMNS)
    numbers = pa.array(range(ROWS), pa.int64())
    columns = {"id": numbers.cast(pa.int32()), "text": [f"row {n}" for n in range(ROWS)], "n": numbers}
    columns |= {text: build([None] * ROWS, text) for text in TYPES}
    found.loader().load(0, 0, iter([pa.record_batch(columns)]))
    store.publish_run(run)
    return store.materializations(run)["m"]


def answer(run: str, **changes: Any) -> DerivationRecord:
    tables = {
        "source:a": DerivationTable("source", pa.table({"n": [1, 2]}), "exact"),
        "b": DerivationTable("target", pa.table({}), "exact"),
    }
    return DerivationRecord(**{"run_id": run, "target": "id = 1", "tables": tables, "relations": {"sha256:x": b"\x00\xff"}} | changes)


def test_a_question_that_is_kept_is_one_transaction(server: embedded.Server, store: Store, made: Materialization) -> None:
    store.query("SELECT 1 AS one")
    with noted(server, store.url) as asked, store.session(keeps=True) as session:
        assert store.may_derive(session)
        assert store.materializations(made.run_id, session)["m"] == made
        assert session.read(made, ["id"], where="id = 1").num_rows == 1
        kept = store.save_derivation(answer(made.run_id), session)
    assert (asked.transactions, asked.connections, len(asked.statements)) == (1, 1, 7), asked
    found = store.derivation(kept)
    assert {name: one.table for name, one in found.tables.items()} == {name: one.table for name, one in answer("").tables.items()}
    assert store.reason_relations(made.run_id, ["sha256:x"]) == {"sha256:x": b"\x00\xff"}


def test_both_ways_keep_the_same(store: Store, made: Materialization, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = DerivationTable("reasons", pa.table({"v": [float("nan")], "s": ["\x00"]}), "superset", "cause '\x00 \ud800")
    record = answer(
        made.run_id, target="'\x00 \ud800 \"$1", tables={"a.b '\x00": odd}, airflow={"a": "\x00", "n": float("nan")}, seconds=0.1
    )
    whole = store.save_derivation(record)
    monkeypatch.setattr(derivations, "is_small", lambda _: False)
    parted = store.save_derivation(record)
    for table, key in (("derivations", "id"), ("derivation_tables", "derivation_id")):
        one, other = (
            sql(store.url, f"SELECT to_jsonb(t) - '{key}' - 'created' FROM lineage.{table} t WHERE {key} = %s", [id_])
            for id_ in (whole, parted)
        )
        assert one == other != []


@pytest.mark.parametrize(
    "statement",
    [
        "WITH d AS (DELETE FROM lineage.runs RETURNING 1) SELECT * FROM d",
        "SELECT set_config('transaction_read_only', 'off', false)",
        "SELECT set_config('transaction_read_only', 'off', true)",
        "SELECT * FROM (ROLLBACK TO SAVEPOINT lineage_reads) AS it",
        "SELECT 1; ROLLBACK TO SAVEPOINT lineage_reads; DELETE FROM lineage.runs",
        "SELECT * FROM lineage.keep_answer('', '{}', '[]', '')",
    ],
)
def test_what_is_read_before_cannot_write(store: Store, made: Materialization, statement: str) -> None:
    with store.session(keeps=True) as session:
        assert session.query("SELECT 1 AS one").num_rows == 1
        for _ in range(2):
            with pytest.raises(StoreError):
                session.query(statement)
        assert session.query(READ_ONLY).to_pylist() == [{"it": "on"}]
    assert store.read(made, ["id"]).num_rows == ROWS


@pytest.mark.parametrize("before", ["nothing", "rest", "failure", "upload", "another zone"])
def test_an_answer_is_kept_whatever_was_asked_before(store: Store, made: Materialization, before: str) -> None:
    with store.session(keeps=True) as session:
        if before != "nothing":
            session.query("SELECT 1 AS one")
        if before == "rest":
            session.rest()
        elif before == "failure":
            with pytest.raises(StoreError):
                session.query("no such thing")
        elif before == "upload":
            session.upload("t", pa.table({"a": [1]}))
        elif before == "another zone":
            session.query("SELECT 1 AS one", timezone="America/New_York")
        kept = [store.save_derivation(answer(made.run_id), session) for _ in range(2)]
        assert session.query(READ_ONLY).to_pylist() == [{"it": "on"}]
    assert [one.id for one in store.derivations(made.run_id)] == kept[::-1]
    assert [one.id for one in store.derivations(made.run_id, 1)] == kept[-1:]


def test_a_large_answer_is_kept_in_parts(store: Store, made: Materialization) -> None:
    large = DerivationTable("source", pa.table({"text": ["x" * 5_000_000]}), "exact")
    with store.session(keeps=True) as session:
        session.query("SELECT 1 AS one")
        kept = store.save_derivation(answer(made.run_id, tables={"large": large}), session)
    assert store.derivation(kept).tables["large"].table == large.table


def test_a_run_that_is_dropped_meanwhile_keeps_no_answer(store: Store, made: Materialization) -> None:
    """What was read holds the table until the answer is kept; who drops the run waits for that, and then it is too late, or too early."""
    dropping = threading.Thread(target=store.drop_run, args=[made.run_id])
    with store.session(keeps=True) as session:
        session.read(made, ["id"])
        dropping.start()
        while not sql(store.url, "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = %s::regclass", [made.table]):
            pass
        with pytest.raises(RunNotComplete, match="dropped"):
            store.save_derivation(answer(made.run_id), session)
    dropping.join()
    assert store.derivations(made.run_id) == []


def test_a_lost_connection_keeps_nothing(store: Store, made: Materialization) -> None:
    with store.session(keeps=True) as session:
        session.query("SELECT 1 AS one")
        ours = "application_name = 'airflow-lineage' AND state = 'idle in transaction'"
        sql(store.url, f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {ours}")
        with pytest.raises(StoreUnavailable):
            store.save_derivation(answer(made.run_id), session)
    assert store.derivations(made.run_id) == []
    assert store.save_derivation(answer(made.run_id))


def test_roles(granted: Granted) -> None:
    with Store.open(granted.url) as store:
        run = store.begin_run(RunRecord(pipeline="p"))
        store.publish_run(run)
    for role, may in (("lineage_owner", True), ("lineage_deriver", True), ("lineage_reader", False)):
        with Store.open(granted.user(role)) as store, store.session(keeps=True) as session:
            assert store.may_derive(session) == store.may_derive() == may
            if may:
                begun = store.begin_derivation_set(DerivationSetRecord(run_id=run, question=role, target="t", rows=2, chunk_rows=1))
                chunks = [store.save_derivation(answer(run, place=ChunkPlace(begun.id, at, 2)), session) for at in (0, 1, 1)]
                assert chunks[1] == chunks[2] != chunks[0]
                assert asdict(store.derivation(chunks[1]))["place"] == asdict(ChunkPlace(begun.id, 1, 2))
            else:
                with pytest.raises(StoreNotPermitted):
                    store.save_derivation(answer(run), session)


@pytest.mark.parametrize("role", ["lineage_deriver", "lineage_reader"])
def test_users_who_are_read_only_by_default(granted: Granted, role: str) -> None:
    with Store.open(granted.url) as store:
        run = store.begin_run(RunRecord(pipeline="p"))
        store.publish_run(run)
    url = granted.user(role)
    sql(granted.url, f"ALTER ROLE {urlsplit(url).username} SET default_transaction_read_only = on")
    with Store.open(url) as store, store.session(keeps=True) as session:
        assert session.query(READ_ONLY).to_pylist() == [{"it": "on"}]
        with pytest.raises(StoreError):
            store.save_derivation(answer(run), session)
        assert session.query(READ_ONLY).to_pylist() == [{"it": "on"}]
    with Store.open(granted.url) as store:
        assert store.derivations(run) == []


@pytest.mark.parametrize(
    ("where", "limit"), [("id % 100 = 7", 1_000), ("id < 100", 1_000), ("id <= 100", 1_000), ("true", 100), ("false", 9)]
)
def test_few_rows_come_where_they_are_looked_for(store: Store, made: Materialization, where: str, limit: int) -> None:
    names = [column.name for column in COLUMNS]
    expected = store.read(made, names, where, order_by=["n"], limit=limit)
    numbers, few = store.matching(made, where, limit, names)
    assert numbers.tolist() == expected.column("n").to_pylist()
    assert few is None if len(numbers) > FEW else few is not None and few.equals(expected)
    again, none = store.matching(made, where, limit)
    assert (again.tolist(), none) == (numbers.tolist(), None)
    assert store.matching(made, where, limit, ["text"])[0].tolist() == numbers.tolist()
