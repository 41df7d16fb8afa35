"""A table that is made in the transaction of its one load: all of it is there, or nothing; and nothing is written twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import LoadFailed, StoreNotPermitted
from airflow_lineage_provider.store import Column, Materialization, RunRecord, Store
from airflow_lineage_provider.store.materialized import new_table
from airflow_lineage_provider.store.transport import Chosen
from tests.store.conftest import Granted, sql

COLUMNS = [Column("row", "bigint", "row"), Column("text", "string"), Column("odd '\x00 name", "string")]
WAYS = pytest.mark.parametrize("transport", ["adbc", "psycopg2"])


def rows(*numbers: int, text: str = "x") -> pa.Table:
    return pa.table({"row": pa.array(numbers, pa.int64()), "text": [text] * len(numbers), "odd '\x00 name": ["\x00"] * len(numbers)})


def load(made: Materialization, partitions: dict[int, pa.Table], transport: Chosen = "auto", *, again: bool = False) -> int:
    return made.loader(transport).load_new(new_table(made, again=again), partitions)[0]


def planned(store: Store, run: str, name: str = "m") -> Materialization:
    return store.planned_materialization(run, name, "segment", COLUMNS)


def kept(store: Store, run: str) -> list[Any]:
    """What the catalog has of a run's tables, but for keys and times."""
    tables = f"SELECT to_jsonb(m) - 'id' - 'run_id' - 'table_name' FROM lineage.materializations m WHERE run_id = '{run}' ORDER BY id"
    loads = (
        "SELECT l.partition, l.attempt, l.rows, l.escaped, l.loaded IS NULL FROM lineage.loads l JOIN lineage.materializations m"
        f" ON m.id = l.materialization_id WHERE m.run_id = '{run}' ORDER BY 1"
    )
    return [sql(store.url, tables), sql(store.url, loads)]


@WAYS
def test_it_is_as_if_it_had_been_made_before(store: Store, begin: Callable[[], str], transport: Chosen) -> None:
    partitions = {3: rows(1, 2), 0: rows(3), 7: rows()}
    first, second = begin(), begin()
    made = store.create_materialization(first, "m", "segment", COLUMNS)
    made.loader(transport).load_together(partitions)
    new = planned(store, second)
    number = load(new, partitions, transport)
    assert kept(store, first) == kept(store, second) != [[], []]
    found = []
    for run in (first, second):
        store.publish_run(run, indexes={"m": [["row"]]})
        found.append(store.materializations(run)["m"])
    assert found[1].id == number
    assert found[0].escaped == found[1].escaped == {"odd '\x00 name"}
    assert store.read(found[0], order_by=["row"]) == store.read(found[1], order_by=["row"])
    assert store.partitions(found[0]) == store.partitions(found[1])
    described = "SELECT obj_description(%s::regclass), relowner, relacl::text FROM pg_class WHERE oid = %s::regclass"
    one, other = (sql(store.url, described, [of.table, of.table])[0] for of in found)
    assert one[1:] == other[1:]
    assert (second in str(other[0]), "of pipeline" in str(other[0])) == (True, True)


@WAYS
def test_a_load_that_fails_leaves_nothing(store: Store, begin: Callable[[], str], transport: Chosen) -> None:
    made = planned(store, begin())
    wrong = rows(2).set_column(0, "row", pa.array(["no number"]))
    with pytest.raises(LoadFailed, match="row"):
        load(made, {0: rows(1), 1: wrong}, transport)
    assert kept(store, made.run_id) == [[], []]
    assert sql(store.url, "SELECT to_regclass(%s)", [made.table]) == [(None,)]
    load(made, {0: rows(1)}, transport)
    assert store.read(made).num_rows == 1


def test_no_rows_make_an_empty_table(store: Store, begin: Callable[[], str]) -> None:
    made = planned(store, begin())
    load(made, {})
    store.publish_run(made.run_id)
    assert store.read(store.materializations(made.run_id)["m"]).num_rows == 0


@WAYS
def test_again_after_the_answer_was_lost(store: Store, begin: Callable[[], str], transport: Chosen) -> None:
    made = planned(store, begin())
    first = load(made, {0: rows(1), 1: rows(2)}, transport)
    with pytest.raises(LoadFailed, match="with a materialization of this name"):
        load(made, {0: rows(1)}, transport)
    assert load(made, {0: rows(1), 1: rows(2)}, transport, again=True) == first
    assert store.read(made, ["row"], order_by=["row"]).to_pydict() == {"row": [1, 2]}
    store.publish_run(made.run_id)
    assert store.materializations(made.run_id)["m"].rows == 2


@pytest.mark.parametrize("ended", ["failed", "complete", "dropped"])
def test_a_run_that_has_ended_takes_no_table(store: Store, begin: Callable[[], str], ended: str) -> None:
    made = planned(store, begin())
    if ended == "failed":
        store.fail_run(made.run_id, "cancelled")
    else:
        store.publish_run(made.run_id)
    if ended == "dropped":
        store.drop_run(made.run_id)
    for again in (False, True):
        with pytest.raises(LoadFailed, match=f"is {ended}"):
            load(made, {0: rows(1)}, again=again)
    assert sql(store.url, "SELECT to_regclass(%s)", [made.table]) == [(None,)]


def test_a_server_that_writes_ahead_no_more_than_it_must_writes_the_rows_once(store: Store, begin: Callable[[], str]) -> None:
    """(Unless it was started with another ``wal_level`` than the embedded server's.)"""
    assert sql(store.url, "SHOW wal_level") == [("minimal",)]
    many, written = {0: rows(*range(20_000), text="y" * 200)}, []
    for new in (False, True):
        run = begin()
        before = sql(store.url, "SELECT pg_current_wal_insert_lsn()")[0]
        made = planned(store, run)
        if new:
            load(made, many)
        else:
            store.create_materialization(run, "m", "segment", COLUMNS).loader().load_together(many)
        difference = sql(store.url, "SELECT (pg_current_wal_insert_lsn() - %s::pg_lsn)::bigint", [before[0]])
        written.append(int(str(difference[0][0])))
        assert sql(store.url, f"SELECT count(*) FROM {made.table}") == [(20_000,)]
        store.fail_run(run, "at the end of the test")
    assert written[0] > 4_000_000 > 10 * written[1], written


def test_roles(granted: Granted) -> None:
    """Tables are the store owner's; a loader's rights do for rows, and not for tables."""
    with Store.open(granted.user("lineage_owner")) as store:
        made = planned(store, store.begin_run(RunRecord(pipeline="p")))
        for user in (granted.user("lineage_loader"), granted.user("lineage_deriver")):
            with pytest.raises(StoreNotPermitted):
                made.loader(url=user).load_new(new_table(made, again=False), {0: rows(1)})
        load(made, {0: rows(1)})
        load(made, {0: rows(1)}, again=True)
        other = store.create_materialization(made.run_id, "other", "segment", COLUMNS)
        owner = "SELECT relowner::regrole::text, relacl::text FROM pg_class WHERE oid = %s::regclass"
        assert sql(granted.url, owner, [made.table]) == sql(granted.url, owner, [other.table])
        assert sql(granted.url, owner, [made.table])[0][0] == "lineage_owner"
        assert sql(granted.user("lineage_reader"), f"SELECT count(*) FROM {made.table}") == [(1,)]
        store.publish_run(made.run_id)
        assert store.read(made).num_rows == 1
