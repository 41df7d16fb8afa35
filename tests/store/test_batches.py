"""Batches of streams in the catalog: one run each that counts, however often and by whomever they are recorded."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from airflow_lineage_provider.errors import BatchError
from airflow_lineage_provider.records.batches import BatchKey
from airflow_lineage_provider.store import RunRecord, Store
from tests.store.conftest import sql

RECORD = RunRecord(pipeline="judge", plan="the plan")


def key(query: str, batch: int = 0) -> BatchKey:
    return BatchKey(pipeline="judge", query=query, batch=batch)


def status(store: Store, of: BatchKey) -> str | None:
    found = store.batch_run(of)
    return None if found is None else found.status


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
    assert [(one.query, one.batches) for one in store.batch_groups("in order")] == [("b", 4), ("a", 2)]
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
