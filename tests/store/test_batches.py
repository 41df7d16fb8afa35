"""Batches of streams in the catalog: one run each that counts, however often and by whomever they are recorded."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa
import pytest

from airflow_lineage_provider.answers.batches import ExplainedBatches
from airflow_lineage_provider.errors import BatchError
from airflow_lineage_provider.records.batches import BatchKey, NotAsked
from airflow_lineage_provider.store import Column, RunRecord, Store, migrate, unasked_batches
from airflow_lineage_provider.store.batch_groups import BatchGroup
from airflow_lineage_provider.store.connection import Connector, make_engine
from airflow_lineage_provider.store.materialized import new_table
from tests.store.conftest import sql

RECORD = RunRecord(pipeline="judge", plan="the plan")


def key(query: str, batch: int = 0) -> BatchKey:
    return BatchKey(pipeline="judge", query=query, batch=batch)


def status(store: Store, of: BatchKey) -> str | None:
    found = store.batch_run(of)
    return None if found is None else found.status


def in_group(store: Store, group: BatchGroup) -> list[int]:
    return [one.batch for one in store.batches_of_group(group, -1, 99)]


def test_a_batch_is_that_of_one_run(store: Store) -> None:
    assert status(store, key("one run")) is None
    run_id = store.begin_run(RECORD, batch=key("one run"))
    assert status(store, key("one run")) == "running"
    with pytest.raises(BatchError, match=f"batch 0 of query one run is that of run {run_id}, which is running"):
        store.begin_run(RECORD, batch=key("one run"))
    store.publish_run(run_id)
    found = store.batch_run(key("one run"))
    assert found is not None
    assert (found.run_id, found.status, found.is_done) == (run_id, "complete", True)
    with pytest.raises(BatchError, match="which is complete"):
        store.begin_run(RECORD, batch=key("one run"))
    store.drop_run(run_id)  # that it was recorded stays known
    found = store.batch_run(key("one run"))
    assert found is not None
    assert (found.status, found.is_done) == ("dropped", True)


def test_a_run_that_failed_is_replaced(store: Store) -> None:
    first = store.begin_run(RECORD, batch=key("failed"))
    store.fail_run(first, "by accident")
    found = store.batch_run(key("failed"))
    assert found is not None
    assert (found.status, found.error, found.is_done) == ("failed", "by accident", False)
    second = store.begin_run(RECORD, batch=key("failed"))
    assert [one.head.id for one in store.batches("judge", "failed")] == [second]
    store.fail_run(second, "at the end of the test")


def test_two_drivers_at_once(store: Store) -> None:
    made: list[str] = []
    refused: list[str] = []

    def begin() -> None:
        try:
            made.append(store.begin_run(RECORD, batch=key("at once")))
        except BatchError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(refused)) == (1, 3)
    assert sql(store.url, "SELECT count(*) FROM lineage.batches WHERE query = 'at once'") == [(1,)]
    store.fail_run(made[0], "at the end of the test")


def test_batches_are_told_by_query_and_number(store: Store) -> None:
    record = replace(RECORD, pipeline="in order")
    order = [("b", 0), ("a", 0), ("b", 1), ("a", 1), ("b", 10), ("b", 2)]
    for query, number in order:
        store.publish_run(store.begin_run(record, batch=BatchKey(pipeline="in order", query=query, batch=number)))
    found = [(one.query, one.batch) for one in store.batches("in order")]
    assert found == [("b", 0), ("b", 1), ("b", 2), ("b", 10), ("a", 0), ("a", 1)]
    assert [(one.query, one.batch) for one in store.batches("in order", limit=2)] == [("b", 2), ("b", 10)]
    assert [one.batch for one in store.batches("in order", "a")] == [0, 1]
    store.begin_run(record, batch=BatchKey(pipeline="in order", query="a", batch=2))
    assert [(one.query, in_group(store, one)) for one in store.batch_groups("in order")] == [("b", [0, 1, 2, 10]), ("a", [0, 1])]
    (group,) = store.batch_groups("in order", "a")
    assert (group.result, group.shared_table) == (None, None)
    assert [[one.batch for one in store.batches_of_group(group, after, 1)] for after in (-1, 0, 1)] == [[0], [1], []]


def test_the_plan_of_batches_is_kept_once(store: Store) -> None:
    record = replace(RECORD, plan="a plan of \x00 their own")
    runs = [store.begin_run(record, batch=key("plan", number)) for number in range(3)]
    for run_id in runs:
        store.publish_run(run_id)
    assert {store.run(run_id).plan for run_id in runs} == {one.plan for one in store.records(runs)} == {record.plan}
    kept = "SELECT count(*), count(DISTINCT shared_plan) FROM lineage.runs WHERE id = ANY(%s) AND plan IS NULL"
    assert sql(store.url, kept, [runs]) == [(3, 1)]
    plans = "SELECT count(*) FROM lineage.plans WHERE plan LIKE 'a plan of %% their own' AND %s"
    for left in (1, 1, 0):
        store.drop_run(runs.pop())
        assert sql(store.url, plans, [True]) == [(left,)]


ENDINGS = (
    "crrcfc ii.dd.cfff"  # of batches 0 to 16 in order, by the first letter of their status; r: dropped ("retired"); blank, dot: nothing
)
NAMES = {"c": "complete", "r": "dropped", "d": "dropped", "f": "failed", "i": "incomplete", " ": "unrecorded", ".": "unrecorded"}


def record(store: Store, pipeline: str, query: str, endings: str) -> list[str | None]:
    """Batches that ended like that; their runs."""
    runs: list[str | None] = []
    for number, ending in enumerate(endings):
        if NAMES[ending] == "unrecorded":
            runs.append(None)
            continue
        run_id = store.begin_run(replace(RECORD, pipeline=pipeline), batch=BatchKey(pipeline=pipeline, query=query, batch=number))
        runs.append(run_id)
        if ending == "f":
            store.fail_run(run_id, "by accident")
        elif ending == "i":
            store.mark_incomplete(replace(RECORD, id=run_id, pipeline=pipeline, error="the store was away"), {})
        else:
            store.publish_run(run_id)
        if NAMES[ending] == "dropped":
            store.drop_run(run_id)
    return runs


def numbers(told: NotAsked) -> list[tuple[str, int]]:
    return [(span.query, number) for span in told.spans for number in range(span.first, span.last + 1)]


def expected(endings: Iterable[tuple[str, str]]) -> dict[str, list[tuple[str, int]]]:
    found: dict[str, list[tuple[str, int]]] = {}
    for query, its in endings:
        for number, ending in enumerate(its):
            found.setdefault(NAMES[ending], []).append((query, number))
    found.pop("complete")
    return found


def test_batches_that_cannot_be_looked_into_are_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every number up to the largest is that of a batch in a group, or is told."""
    other = "..cr"
    record(store, "left out", "q", ENDINGS)
    record(store, "left out", "r", other)
    record(store, "left out, another", "q", "ccc")
    found = store.batches_not_asked("left out")
    assert {status: numbers(one) for status, one in found.items()} == expected([("q", ENDINGS), ("r", other)])
    assert {status: one.count for status, one in found.items()} == {
        status: len(some) for status, some in expected([("q", ENDINGS), ("r", other)]).items()
    }
    alone = store.batches_not_asked("left out", "q")
    assert {status: numbers(one) for status, one in alone.items()} == expected([("q", ENDINGS)])
    assert list(alone) == ["incomplete", "failed", "unrecorded", "dropped"]
    assert str(alone["failed"]) == "4 failed (4, 14 to 16)"
    assert str(found["dropped"]) == "5 dropped (1 to 2 of query q, 10 to 11 of query q, 3 of query r)"
    assert [in_group(store, group) for group in store.batch_groups("left out", "q")] == [[0, 3, 5, 13]]
    assert store.batches_not_asked("left out, another") == store.batches_not_asked("nobody's") == {}
    going_on = store.begin_run(RECORD, batch=BatchKey(pipeline="left out, another", query="q", batch=3))
    assert str(store.batches_not_asked("left out, another")["running"]) == "1 running (3)"
    store.fail_run(going_on, "at the end of the test")
    monkeypatch.setattr(unasked_batches, "SPANS", 1)
    assert str(store.batches_not_asked("left out", "q")["failed"]) == "4 failed (4, …)"
    monkeypatch.setattr(unasked_batches, "MOST", 3)
    assert str(store.batches_not_asked("left out", "q")["failed"]) == "at least 3 failed (4, …)"
    assert str(store.batches_not_asked("left out", "q")["unrecorded"]) == "3 unrecorded (6, …)"


# What the batches of a group have in common, and how many numbers are missing below one, by looking at each batch.
BY_LOOKING = """
    SELECT b.pipeline, b.query, b.batch, r.status, (coalesce(r.shared_plan, r.id), coalesce(r.segments, ''), coalesce(m.layout, ''),
            coalesce(m.escaped, ''), CASE WHEN m.shared IS NOT NULL THEN m.table_name ELSE '' END, m.id IS NULL, m.folder IS NULL)::text,
        b.batch - 1 - lag(b.batch, 1, -1::bigint) OVER (PARTITION BY b.pipeline, b.query ORDER BY b.batch), b.form, b.gap
    FROM lineage.batches b JOIN lineage.runs r ON r.id = b.run_id
    LEFT JOIN lineage.materializations m ON m.run_id = r.id AND m.name = 'result' ORDER BY 1, 2, 3"""


def test_the_database_keeps_what_batches_are_asked_by(own_url: str) -> None:
    """Whoever changes a run, also an earlier release by statements of its own, and where the schema is upgraded."""
    with Store.open(own_url) as store:
        record(store, "p", "q", ENDINGS)
        for number in range(3):
            run = store.begin_run(replace(RECORD, plan=f"plan {number // 2}"), batch=key("r", number))
            columns = [Column("id", "int"), *([Column("text", "string")] if number else [])]
            made = store.planned_materialization(run, "result", "result", columns)
            table = pa.table({one.name: pa.array([None], pa.int32() if one.name == "id" else pa.string()) for one in columns})
            made.loader().load_new(new_table(made, again=False), {0: table})
            store.publish_run(run)
        late = store.begin_run(RECORD, batch=key("s", 5))
        store.begin_run(RECORD, batch=key("s", 0))
        dropped = store.begin_run(RECORD, batch=key("s", 3))
        store.publish_run(dropped)
        sql(own_url, "UPDATE lineage.runs SET status = 'complete' WHERE id = %s", [late])
        sql(own_url, "UPDATE lineage.runs SET status = 'dropped', shared_plan = NULL WHERE id = %s", [dropped])
        again = store.begin_run(replace(RECORD, pipeline="p"), batch=BatchKey(pipeline="p", query="q", batch=4))  # it failed
        assert sql(own_url, "SELECT form FROM lineage.batches WHERE run_id = %s", [again]) == [("running",)]
        before = check_forms(own_url)
    move(own_url, "downgrade", "0025")
    move(own_url, "upgrade", "head")
    assert check_forms(own_url) == before


def check_forms(url: str) -> list[tuple[object, ...]]:
    found = sql(url, BY_LOOKING)
    wanted: dict[object, object] = {}
    for _, query, _, status, common, missing, form, gap in found:
        assert gap == missing
        assert form == (wanted.setdefault((query, common), form) if status == "complete" else status)
    assert len(set(wanted.values())) == len(wanted) >= 4
    return found


def move(url: str, way: str, to: str) -> None:
    from alembic import command

    engine = make_engine(Connector(url))
    with engine.begin() as connection:
        config = migrate._config()
        config.attributes["connection"] = connection
        getattr(command, way)(config, to)
    engine.dispose()


def test_explained_batches_show_what_was_not_asked(store: Store) -> None:
    assert repr(ExplainedBatches()) == "[]"
    record(store, "shown", "q", "ccfr")
    shown = ExplainedBatches(not_asked=store.batches_not_asked("shown"))
    assert (shown, repr(shown)) == ([], "<0 explained batches: []; not asked: 1 failed (2); 1 dropped (3)>")
