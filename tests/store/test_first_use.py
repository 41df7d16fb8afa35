"""What rows of a large result are looked for by is indexed after the first kept question that had to look through the whole of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

from airflow_lineage_provider.store import Column, Materialization, Store, first_use
from airflow_lineage_provider.store.kinds import Kind
from airflow_lineage_provider.store.reading import LookUp
from tests.store.conftest import Granted, sql
from tests.store.test_key_indexes import indexed

ROWS = 20_000
COLUMNS = [Column("team", "bigint"), Column("few", "bigint"), Column("text", "string"), Column("n", "bigint", role="row")]


def published(store: Store, run: str, rows: int = ROWS, kind: Kind = "result") -> Materialization:
    numbers = pa.array(range(rows), pa.int64())
    made = store.create_materialization(run, "result", kind, COLUMNS)
    halves, some = [n // 2 for n in range(rows)], [n % 3 for n in range(rows)]
    long = [f"{n // 2} " + "".join(chr(33 + n * at % 5_000) for at in range(3_000 if n == 1 else 1)) for n in range(rows)]
    made.loader().load(0, 0, iter([pa.record_batch({"team": halves, "few": some, "text": long, "n": numbers})]))
    store.publish_run(run)
    return store.materializations(run)["result"]


def looked_up(made: Materialization, *columns: str) -> list[LookUp]:
    return [LookUp(made, columns, 1.0)]


def plan(store: Store, made: Materialization, condition: str) -> str:
    return "\n".join(str(line) for (line,) in sql(store.url, f"EXPLAIN SELECT n FROM {made.table} WHERE {condition}"))


def test_the_second_look_finds_an_index(store: Store, begin: Callable[[], str]) -> None:
    made = published(store, begin())
    assert "Seq Scan" in plan(store, made, "team = 17")
    assert store.index_looked_up(looked_up(made, "few", "team")) == ["indexed team"]
    assert "Seq Scan" not in plan(store, made, "team = 17")
    assert store.read(made, ["n"], "team = 17", order_by=["n"]).to_pydict() == {"n": [34, 35]}
    assert store.index_looked_up(looked_up(made, "team", "few")) == [], "it is tried once"
    with Store.open(store.url) as other:
        assert other.index_looked_up(looked_up(made, "team", "few")) == ["it is indexed"]
    assert indexed(store, made) == ["team"]


def test_what_needs_none(store: Store, begin: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> None:
    made = published(store, begin())
    assert store.index_looked_up([LookUp(made, ("team",), first_use.SLOW / 2), LookUp(made, (), 1.0)]) == []
    assert store.index_looked_up(looked_up(made, "few")) == ["a value stands for too many rows"]
    assert store.index_looked_up(looked_up(small := published(store, begin(), ROWS - 1), "team")) == [], "the store is not asked"
    assert store.index_looked_up(looked_up(replace(small, rows=ROWS), "team")) == ["no large table"]
    assert store.index_looked_up(looked_up(published(store, begin(), kind="segment"), "team")) == ["no large table"]
    monkeypatch.setenv("AIRFLOW_LINEAGE_INDEX_SECONDS", "0")
    assert store.index_looked_up(looked_up(made, "team")) == []
    assert indexed(store, made) == []


def test_values_too_long_for_a_tree(store: Store, begin: Callable[[], str]) -> None:
    made = published(store, begin())
    assert store.index_looked_up(looked_up(made, "text")) == ["indexed text"]
    assert "Seq Scan" not in plan(store, made, "text = '17 !'")


def test_two_at_once_make_one(store: Store, begin: Callable[[], str]) -> None:
    made, said = published(store, begin()), list[str]()
    with Store.open(store.url) as other:
        threads = [
            threading.Thread(target=lambda one=one: said.extend(one.index_looked_up(looked_up(made, "team")))) for one in (store, other)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert "indexed team" in said
    assert set(said) <= {"indexed team", "it is indexed", "it is being indexed"}
    assert indexed(store, made) == ["team"]


def test_nobody_is_waited_for(store: Store, begin: Callable[[], str]) -> None:
    made = published(store, begin())
    with store._transaction("holding the table") as connection:
        connection.exec_driver_sql(f"LOCK TABLE {made.table} IN ACCESS EXCLUSIVE MODE")
        started = time.monotonic()
        assert store.index_looked_up(looked_up(made, "team")) == ["it is in use"]
        assert time.monotonic() - started < 5
    store.drop_run(made.run_id)
    with Store.open(store.url) as other:
        assert other.index_looked_up(looked_up(made, "team")) == ["the run is gone"]


def test_it_takes_no_longer_than_it_may(store: Store, begin: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> None:
    made = published(store, begin(), 10 * ROWS)
    monkeypatch.setenv("AIRFLOW_LINEAGE_INDEX_SECONDS", "0.002")
    (said,) = store.index_looked_up(looked_up(made, "team"))
    assert "statement timeout" in said
    assert indexed(store, made) == []


def test_roles(granted: Granted) -> None:
    """A deriver has the owner index; a reader has not; the columns that are named are no SQL."""
    from airflow_lineage_provider.store import RunRecord

    with Store.open(granted.url) as owner:
        made = published(owner, owner.begin_run(RunRecord(pipeline="p")))
    with Store.open(granted.user("lineage_reader")) as reader:
        (said,) = reader.index_looked_up(looked_up(made, "team"))
        assert "store grant" in said
    odd = "n) ; DROP TABLE lineage.runs; --"
    url = granted.user("lineage_deriver")
    asked = "SELECT lineage.index_column(%s, %s, %s)"
    assert sql(url, asked, [made.run_id, made.id, [odd, "no such column"]]) == [("a value stands for too many rows",)]
    with Store.open(url) as deriver:
        assert deriver.index_looked_up(looked_up(made, "team")) == ["indexed team"]
    with Store.open(granted.url) as owner:
        assert indexed(owner, made) == ["team"]
        owner.drop_run(made.run_id)
