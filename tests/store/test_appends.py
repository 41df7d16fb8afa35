"""The store's notes of appends: whose rows are still to be taken out, whose stay."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_lineage_provider.errors import RunNotComplete, StoreError
from airflow_lineage_provider.store import RunRecord, Store, lifecycle
from tests.store.conftest import sql

HOW = {"transaction": 7, "rows": 2}


def begun(store: Store, place: str, *, keeps_result: bool = False) -> str:
    run_id = store.begin_run(RunRecord(pipeline="appends"))
    store.intend_append(run_id, place, HOW, keeps_result=keeps_result)
    return run_id


def test_whose_rows_are_taken_out(store: Store) -> None:
    place = "file:/whose"
    living, published = begun(store, place), begun(store, place)
    store.publish_run(published)
    with Store.open(store.url) as own:
        dead, kept, said = begun(own, place), begun(own, place, keeps_result=True), begun(own, place, keeps_result=True)
        own.fail_run(said, "it failed")
        assert store.unfinished_appends(place) == [(said, HOW)]
    assert store.unfinished_appends(place) == [(dead, HOW), (said, HOW)]
    assert store.unfinished_appends("file:/whose/other") == []
    assert (store.run(dead).error, store.run(kept).status) == (lifecycle.DEAD, "failed")
    assert "what it may have appended stays" in (store.run(kept).error or "")
    store.amend_append(dead, place, {**HOW, "undone": 8})
    assert store.intended_append(dead, place) == {**HOW, "undone": 8}
    store.settle_append(dead, place)
    assert store.intended_append(dead, place) is None
    assert store.unfinished_appends(place) == [(said, HOW)]
    store.fail_run(living, "it failed too")
    assert store.unfinished_appends(place) == [(living, HOW), (said, HOW)]


def test_a_run_that_was_ended_by_another_does_not_append(store: Store, begin: Callable[[], str]) -> None:
    run_id = begin()
    store.fail_run(run_id, "held for dead")
    with pytest.raises(RunNotComplete, match="cannot append"):
        store.intend_append(run_id, "file:/ended", HOW)
    assert store.unfinished_appends("file:/ended") == []


def test_a_failure_that_cannot_be_said_can_be_seen(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise StoreError("away")

    place = "file:/seen"
    with monkeypatch.context() as patch:
        patch.setattr(lifecycle, "fail", away)
        run_id = begun(store, place)
        with pytest.raises(StoreError):
            store.fail_run(run_id, "it failed")
    assert store.unfinished_appends(place) == [(run_id, HOW)]


def test_a_run_is_not_retired_before_its_rows_are_taken_out(store: Store) -> None:
    place = "file:/retired"
    run_id = begun(store, place)
    store.fail_run(run_id, "it failed")
    sql(store.url, f"UPDATE lineage.runs SET finished = now() - interval '900 days' WHERE id = '{run_id}'")
    assert run_id not in lifecycle.retire(store._engine, 800)
    store.settle_append(run_id, place)
    assert run_id in lifecycle.retire(store._engine, 800)
