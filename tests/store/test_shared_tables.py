"""Batches of a stream in tables that they share: each has its rows, and no others; what is dropped is gone, and never an empty answer."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import LoadFailed, StoreError
from airflow_lineage_provider.records.batches import BatchKey
from airflow_lineage_provider.store import Column, Materialization, RunRecord, Store, embedded, shared_tables
from airflow_lineage_provider.store.batch_groups import BatchGroup
from airflow_lineage_provider.store.materialized import new_table
from airflow_lineage_provider.store.transport import Chosen
from tests.statements import noted
from tests.store.conftest import Granted, sql

COLUMNS = [Column("n", "bigint", "row"), Column("id", "int"), Column("text", "string"), Column("_materialization", "int")]
WAYS = pytest.mark.parametrize("transport", ["adbc", "psycopg2"])
INDEXES = {"result": [["n"], ["id"], ["id", "text"]]}


def rows(*ids: int, text: str = "x") -> pa.Table:
    numbers = pa.array(range(len(ids)), pa.int64())
    values = pa.array(ids, pa.int32())
    return pa.table({"n": numbers, "id": values, "text": [text] * len(ids), "_materialization": values})


class Stream:
    """Batches of one query, each with a result."""

    def __init__(self, store: Store, name: str, query: str = "q") -> None:
        self.store, self.name, self.query, self.batch = store, name, query, 0

    def begin(self) -> str:
        key = BatchKey(pipeline=self.name, query=self.query, batch=self.batch)
        run = self.store.begin_run(RunRecord(pipeline=self.name, plan="a plan"), batch=key)
        self.batch += 1
        return run

    def load(
        self, run: str, table: pa.Table, transport: Chosen = "auto", columns: list[Column] = COLUMNS, *, again: bool = False
    ) -> str | None:
        made = self.store.planned_materialization(run, "result", "result", columns)
        return made.loader(transport).load_new(new_table(made, again=again), {0: table.slice(0, 1), 1: table.slice(1)})[1]

    def record(self, table: pa.Table, transport: Chosen = "auto") -> str:
        """A complete batch; its run."""
        run = self.begin()
        self.load(run, table, transport)
        self.store.publish_run(run, indexes=INDEXES)
        return run

    def result(self, run: str) -> Materialization:
        return self.store.materializations(run)["result"]


@pytest.fixture
def stream(store: Store, request: pytest.FixtureRequest) -> Stream:
    return Stream(store, request.node.name)


def tables(store: Store, *runs: str) -> set[object]:
    return {name for (name,) in sql(store.url, "SELECT table_name FROM lineage.materializations WHERE run_id = ANY (%s)", [list(runs)])}


def exists(store: Store, table: object) -> bool:
    return sql(store.url, "SELECT to_regclass('lineage_data.' || quote_ident(%s)) IS NOT NULL", [table]) == [(True,)]


def ids(store: Store, made: Materialization) -> list[int]:
    found: list[int] = store.read(made, ["id"], order_by=["n"]).column(0).to_pylist()
    return found


@WAYS
def test_each_batch_has_its_rows(store: Store, stream: Stream, transport: Chosen) -> None:
    runs = [stream.record(rows(batch, batch + 1, 7), transport) for batch in range(5)]
    (table,) = tables(store, *runs)
    for batch, run in enumerate(runs):
        made = stream.result(run)
        assert (made.is_shared, made.table_name, made.rows) == (True, table, 3)
        assert store.read(made, order_by=["n"]).to_pydict() == {
            "n": [0, 1, 2], "id": [batch, batch + 1, 7], "text": ["x"] * 3, "_materialization": [batch, batch + 1, 7],
        }  # fmt: skip
        assert store.rows(made, ["id"], [1]).to_pydict() == {"id": [batch + 1]}
        assert store.matching(made, "id = 7", 10)[0].tolist() == [2]
        assert store.numbers_at(made, [0, 2, 3]) == [0, 2]
        assert store.positions_of(made, [0, 2]) == [0, 2]
        assert store.partitions(made) == [(0, 1), (1, 2)]
        assert made.reader().read(1, 3, ["id"]).to_pydict() == {"id": [batch + 1, 7]}


def test_runs_that_are_no_batches_have_their_own(store: Store, begin: Callable[[], str]) -> None:
    made = store.planned_materialization(begin(), "result", "result", COLUMNS)
    assert made.loader().load_new(new_table(made, again=False), {0: rows(1)})[1] is None
    store.publish_run(made.run_id)
    assert not store.materializations(made.run_id)["result"].is_shared


def test_streams_queries_and_columns_share_nothing(store: Store, stream: Stream) -> None:
    others = [stream, Stream(store, stream.name, "another query"), Stream(store, f"{stream.name} 2")]
    shared = tables(store, *(one.record(rows(1)) for one in others for _ in range(2)))
    assert len(shared) == 3
    run = stream.begin()
    assert stream.load(run, rows(1).drop(["text"]), columns=[one for one in COLUMNS if one.name != "text"]) not in shared


def test_what_is_dropped_is_gone_and_the_others_are_not(store: Store, stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [stream.record(rows(batch)) for batch in range(3)]
    kept = [stream.result(run) for run in runs]
    store.drop_run(runs[1])
    assert [ids(store, made) for made in (kept[0], kept[2])] == [[0], [2]]
    assert sql(store.url, f'SELECT count(*) FROM lineage_data."{kept[0].table_name}"') == [(2,)]
    with pytest.raises(StoreError, match=r"is gone, its run was probably dropped.*the run of these rows was dropped"):
        store.read(kept[1])
    # Even where the table is there, and has no row at all.
    monkeypatch.setattr(shared_tables, "sweep", lambda _: [])
    store.drop_run(runs[0])
    store.drop_run(runs[2])
    assert sql(store.url, f'SELECT count(*) FROM lineage_data."{kept[0].table_name}"') == [(0,)]
    sql(store.url, f'VACUUM ANALYZE lineage_data."{kept[0].table_name}"')
    for made in kept:
        for question in (
            lambda one=made: store.read(one),
            lambda one=made: store.count(_uncounted(one)),
            lambda one=made: store.matching(one, "id = 1", 1),
        ):
            with pytest.raises(StoreError, match="its run was probably dropped"):
                question()
    monkeypatch.undo()
    assert kept[0].table_name in shared_tables.sweep(store._engine)
    assert not exists(store, kept[0].table_name)


def _uncounted(made: Materialization) -> Materialization:
    from dataclasses import replace

    return replace(made, rows=None)


def test_the_last_batch_takes_the_table_with_it(store: Store, stream: Stream) -> None:
    runs = [stream.record(rows(batch)) for batch in range(2)]
    (table,) = tables(store, *runs)
    store.drop_run(runs[1])
    assert exists(store, table)
    store.drop_run(runs[0])
    assert not exists(store, table)
    again = stream.record(rows(5))
    assert ids(store, stream.result(again)) == [5]


def test_a_batch_that_fails_leaves_nothing(store: Store, stream: Stream) -> None:
    good = stream.record(rows(1))
    bad = stream.begin()
    stream.load(bad, rows(2, 3))
    store.fail_run(bad, "cancelled")
    made = stream.result(good)
    assert sql(store.url, f'SELECT id FROM lineage_data."{made.table_name}"') == [(1,)]
    stream.batch -= 1
    third = stream.record(rows(2, 3))
    assert [ids(store, stream.result(run)) for run in (good, third)] == [[1], [2, 3]]


@WAYS
def test_again_after_the_answer_was_lost(store: Store, stream: Stream, transport: Chosen) -> None:
    stream.record(rows(1))
    run = stream.begin()
    table = stream.load(run, rows(2, 3), transport)
    with pytest.raises(LoadFailed, match="with a materialization of this name"):
        stream.load(run, rows(2), transport)
    assert stream.load(run, rows(2, 3), transport, again=True) == table
    store.publish_run(run, indexes=INDEXES)
    assert ids(store, stream.result(run)) == [2, 3]
    assert stream.result(run).rows == 2


def test_a_load_that_fails_leaves_nothing(store: Store, stream: Stream) -> None:
    run = stream.begin()
    with pytest.raises(LoadFailed):
        stream.load(run, rows(1, 2).set_column(1, "id", pa.array(["a", "b"])))
    assert tables(store, run) == set()
    stream.load(run, rows(1))
    store.publish_run(run)
    assert ids(store, stream.result(run)) == [1]


def test_values_too_long_for_an_index_come_later(store: Store, stream: Stream) -> None:
    """The table's indexes are there when they come: none of them may refuse one."""
    import hashlib

    noise = "".join(hashlib.sha256(str(at).encode()).hexdigest() for at in range(500))
    runs = [stream.record(rows(batch, text=text)) for batch, text in enumerate(("x", noise, "y"))]
    for run, text in zip(runs, ("x", noise, "y"), strict=True):
        assert store.read(stream.result(run), ["text"], f"text = '{text}'").to_pydict() == {"text": [text]}


def test_a_table_that_is_full_gives_way_to_the_next(store: Store, stream: Stream) -> None:
    runs = [stream.record(rows(1))]
    sql(store.url, "UPDATE lineage.shared_tables SET batches = 9999 WHERE table_name = %s", list(tables(store, *runs)))
    runs += [stream.record(rows(2)), stream.record(rows(3))]
    one, two, three = (stream.result(run) for run in runs)
    assert one.table_name == two.table_name != three.table_name
    assert [ids(store, made) for made in (one, two, three)] == [[1], [2], [3]]


def test_one_batch_of_many_is_looked_up(store: Store, stream: Stream) -> None:
    runs = [stream.record(rows(*range(batch * 20, batch * 20 + 20))) for batch in range(129)]
    made = stream.result(runs[100])
    sql(store.url, f'ANALYZE lineage_data."{made.table_name}"')
    for condition, order in (("id = 2007", " ORDER BY n LIMIT 10"), ("n = 7", ""), ("text = 'x' AND id = 2007", "")):
        plan = "\n".join(str(line) for (line,) in sql(store.url, f"EXPLAIN SELECT n FROM {made.table} WHERE {condition}{order}"))
        assert "Seq Scan" not in plan, plan
        assert re.search(r"One-Time Filter: (lineage\.)?still_stored", plan), plan
    made_once = "SELECT count(*) FROM pg_index WHERE indrelid = ('lineage_data.' || quote_ident(%s))::regclass"
    assert sql(store.url, made_once, [made.table_name]) == [(4,)]
    assert ids(store, made) == list(range(2000, 2020))
    sizes = [store.table_sizes(run)["result"] for run in runs]
    (whole,) = sql(store.url, "SELECT pg_total_relation_size(('lineage_data.' || quote_ident(%s))::regclass)", [made.table_name])
    assert 0 <= int(str(whole[0])) - sum(sizes) < len(runs)
    assert sum(store.stored_bytes(runs).values()) == sum(sizes)


def test_batches_with_certain_rows_are_found_at_once(store: Store, stream: Stream, server: embedded.Server) -> None:
    """By one statement of each table: the same that have such rows when each is asked by itself, and no others."""
    runs = [stream.record(rows(batch, batch % 3)) for batch in range(12)]
    sql(store.url, "UPDATE lineage.shared_tables SET batches = 10000 WHERE table_name = %s", list(tables(store, *runs)))
    runs += [stream.record(rows(batch, 1)) for batch in range(12, 15)]
    other = Stream(store, stream.name, query="another")
    elsewhere = other.record(rows(1))
    stream.load(running := stream.begin(), rows(1))
    store.drop_run(runs.pop(4))

    def batches(group: BatchGroup) -> int:
        return len(store.batches_of_group(group, -1, 99))

    groups = store.batch_groups(stream.name, "q")
    assert [batches(one) for one in groups] == [11, 3]
    for where in ("id = 1", "id > 5 AND text = 'x'", "id < 0", "n = 1"):
        with noted(server, store.url) as asked:
            found = [one.run_id for group in groups for one in store.batches_with_rows(group, where, None)]
        assert found == [run for run in runs if store.read(stream.result(run), ["id"], where).num_rows], where
        assert len([text for text in asked.texts if "WITH found" in text]) == len(groups), asked
    assert [one.batch for one in store.batches_with_rows(groups[0], "id < 3", 2)] == [0, 1]
    assert [(one.query, batches(one)) for one in store.batch_groups(stream.name)] == [("q", 11), ("q", 3), ("another", 1)]
    assert [one.run_id for one in store.batches_with_rows(store.batch_groups(stream.name, "another")[0], "id = 1", 9)] == [elsewhere]
    store.publish_run(running)
    for run in runs[-3:]:
        store.drop_run(run)
    assert [one.run_id for one in store.batches_with_rows(groups[1], "id = 1", None)] == [running]


def test_batches_come_and_go_at_once(store: Store, stream: Stream) -> None:
    """Old batches are dropped while new ones come: each that stays has its rows, and nothing else is in the table."""
    runs, problems = [stream.record(rows(batch)) for batch in range(4)], list[BaseException]()

    def drop() -> None:
        try:
            for run in runs[:4]:
                store.drop_run(run)
        except BaseException as error:
            problems.append(error)

    dropping = threading.Thread(target=drop)
    dropping.start()
    runs += [stream.record(rows(batch)) for batch in range(4, 24)]
    dropping.join()
    assert problems == []
    assert [ids(store, stream.result(run)) for run in runs[4:]] == [[batch] for batch in range(4, 24)]
    shared = {stream.result(run).table_name for run in runs[4:]}
    assert sum(int(str(sql(store.url, f'SELECT count(*) FROM lineage_data."{name}"')[0][0])) for name in shared) == 20


def test_retention_drops_batches_by_age(store: Store, stream: Stream) -> None:
    runs = [stream.record(rows(batch)) for batch in range(4)]
    sql(store.url, "UPDATE lineage.runs SET finished = now() - interval '40 days' WHERE id = ANY (%s)", [runs[:3]])
    assert set(runs[:3]) <= set(store.retire(30))
    made = stream.result(runs[3])
    assert sql(store.url, f'SELECT id FROM lineage_data."{made.table_name}"') == [(3,)]
    sql(store.url, "UPDATE lineage.runs SET finished = now() - interval '40 days' WHERE id = ANY (%s)", [runs[3:]])
    store.retire(30)
    assert not exists(store, made.table_name)


def test_roles(granted: Granted) -> None:
    """The owner's drivers write; readers read; executors, whose tables are a run's own, put nothing into it."""
    with Store.open(granted.user("lineage_owner")) as store:
        stream = Stream(store, "p")
        runs = [stream.record(rows(batch)) for batch in range(2)]
        made = stream.result(runs[1])
        with Store.open(granted.user("lineage_reader")) as reader:
            assert ids(reader, reader.materializations(runs[1])["result"]) == [1]
        query = "SELECT has_table_privilege('lineage_loader', ('lineage_data.' || quote_ident(%s))::regclass, 'INSERT, SELECT')"
        assert sql(granted.url, query, [made.table_name]) == [(False,)]
        open_run = stream.begin()
        stream.load(open_run, rows(9))
        assert sql(granted.url, query, [made.table_name]) == [(False,)]


def test_a_store_of_the_release_before(empty_url: str) -> None:
    """Down and up again: each batch has a table of its own then, and the next ones share one."""
    from alembic import command

    from airflow_lineage_provider.store import migrate

    def moved(store: Store, down: bool) -> None:
        config = migrate._config()
        with store._engine.begin() as connection:
            config.attributes["connection"] = connection
            (command.downgrade if down else command.upgrade)(config, "0021" if down else "head")

    with Store.open(empty_url) as store:
        stream = Stream(store, "p")
        runs = [stream.record(rows(batch)) for batch in range(3)]
        before: list[Any] = [store.read(stream.result(run), order_by=["n"]) for run in runs]
        moved(store, down=True)
        moved(store, down=False)
        assert [stream.result(run).is_shared for run in runs] == [False] * 3
        runs += [stream.record(rows(batch)) for batch in range(3, 5)]
        assert [store.read(stream.result(run), order_by=["n"]) for run in runs[:3]] == before
        assert len(tables(store, *runs)) == 4
        store.drop_run(runs[0])
        assert ids(store, stream.result(runs[4])) == [4]
