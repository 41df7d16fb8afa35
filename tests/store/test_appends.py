"""The store's notes of appends: whose rows are still to be taken out, whose stay."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from airflow_lineage_provider.errors import AppendInProgress, RunNotComplete, StoreError
from airflow_lineage_provider.records.appends import KnownBy
from airflow_lineage_provider.store import RunRecord, Store, lifecycle
from airflow_lineage_provider.store.ids import new_id
from tests.store.conftest import sql

HOW = KnownBy(transaction=7, rows=2)


def begun(store: Store, place: str, *, keeps_result: bool = False, key: str = "") -> str:
    run_id = store.begin_run(RunRecord(pipeline="appends"))
    store.intend_append(run_id, [place], HOW, keeps_result=keeps_result, key=key)
    return run_id


def replaced(store: Store, *places: str, key: str = "k") -> list[str]:
    """The runs that a run which appends as the key replaces."""
    run_id = store.begin_run(RunRecord(pipeline="appends"))
    found = store.intend_append(run_id, places, HOW, key=key)
    for place in places:
        store.settle_append(run_id, place)
    store.fail_run(run_id, "it only asked")
    assert all(how.rows == 2 and place in places for _, place, how in found)
    return [run for run, _, _ in found]


def test_whose_rows_are_taken_out(store: Store) -> None:
    place = "file:/whose"
    living, published = begun(store, place), begun(store, place)
    store.publish_run(published)
    with Store.open(store.url) as own:
        dead, kept, said = begun(own, place), begun(own, place, keeps_result=True), begun(own, place, keeps_result=True)
        own.fail_run(said, "it failed")
        assert store.unfinished_appends(place) == [(said, HOW)]
    # The server's process of a session that has ended holds its locks a moment longer.
    end, found = time.monotonic() + 30, 0
    while found < 2 and time.monotonic() < end:
        time.sleep(0.05)
        with suppress(StoreError):
            found = len(store.unfinished_appends(place))
    assert store.unfinished_appends(place) == [(dead, HOW), (said, HOW)]
    assert store.unfinished_appends("file:/whose/other") == []
    assert (store.run(dead).error, store.run(kept).status) == (lifecycle.DEAD, "failed")
    assert "what it may have appended stays" in (store.run(kept).error or "")
    store.amend_append(dead, place, replace(HOW, undone=8))
    assert store.noted_append(dead, place) == replace(HOW, undone=8)
    store.settle_append(dead, place)
    assert store.noted_append(dead, place) is None
    assert store.unfinished_appends(place) == [(said, HOW)]
    store.fail_run(living, "it failed too")
    assert store.unfinished_appends(place) == [(living, HOW), (said, HOW)]


def test_a_run_that_was_ended_by_another_does_not_append(store: Store, begin: Callable[[], str]) -> None:
    run_id = begin()
    store.fail_run(run_id, "held for dead")
    with pytest.raises(RunNotComplete, match="cannot append"):
        store.intend_append(run_id, ["file:/ended"], HOW)
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
    assert _once_its_connection_is_gone(lambda: store.unfinished_appends(place)) == [(run_id, HOW)]


def _once_its_connection_is_gone(ask: Callable[[], list[Any]]) -> list[Any]:
    """What a run held is free when the server has noticed that its connection was closed, which may take a moment."""
    deadline, found = time.monotonic() + 20, list[Any]()
    while not found and time.monotonic() < deadline:
        with suppress(StoreError):
            found = ask()
    return found


def test_a_run_is_not_retired_before_its_rows_are_taken_out(store: Store) -> None:
    place = "file:/retired"
    run_id = begun(store, place)
    store.fail_run(run_id, "it failed")
    sql(store.url, f"UPDATE lineage.runs SET finished = now() - interval '900 days' WHERE id = '{run_id}'")
    assert run_id not in lifecycle.retire(store._engine, 800)
    store.settle_append(run_id, place)
    assert run_id in lifecycle.retire(store._engine, 800)


def test_of_appends_of_one_key_the_last_alone_is_to_stay(store: Store) -> None:
    place = "file:/keyed"
    first = begun(store, place, key="k")
    with pytest.raises(AppendInProgress, match=rf"{first}.*append_key 'k'.*still going"):
        begun(store, place, key="k")
    others = begun(store, place, key="other"), begun(store, place)  # they are nobody's concern
    store.publish_run(first)
    assert replaced(store, place) == [first]
    assert replaced(store, "file:/elsewhere") == []
    assert replaced(store, place, key="nobody's") == []
    second = begun(store, place, key="k")
    store.publish_run(second)
    store.settle_append(first, place)
    assert replaced(store, place) == [second]
    store.amend_append(second, place, replace(HOW, undone=8))
    assert store.noted_append(second, place) == replace(HOW, undone=8)
    for run_id in others:
        store.publish_run(run_id)


def test_a_place_of_two_names(store: Store) -> None:
    run_id = begun(store, "table t", key="k")
    store.publish_run(run_id)
    assert replaced(store, "file:/of/t", "table t") == [run_id]


def test_a_run_that_ends_without_the_store_is_known_by_its_key(store: Store) -> None:
    """Its driver dies; or it says later what it did, also of a place that the store never heard of."""
    place = "file:/unheard"
    with Store.open(store.url) as own:
        dead = begun(own, place, keeps_result=True, key="k")
    assert store.unfinished_appends(place) == []
    assert replaced(store, place) == [dead]
    away = RunRecord(id=new_id(), pipeline="appends")
    store.mark_incomplete(away, {}, [(place, HOW, "k")])
    store.mark_incomplete(away, {}, [(place, HOW, "k")])
    assert replaced(store, place) == [dead, away.id]


def test_a_key_is_known_as_long_as_its_rows_may_be_there(store: Store) -> None:
    """Retention forgets the run, and not its rows; who drops a run has seen to them."""
    place = "file:/long/ago"
    old, dropped = begun(store, place, key="k"), begun(store, place, key="l")
    for run_id in (old, dropped):
        store.publish_run(run_id)
    sql(store.url, f"UPDATE lineage.runs SET finished = now() - interval '900 days' WHERE id = '{old}'")
    assert old in lifecycle.retire(store._engine, 800)
    store.drop_run(dropped)
    assert (replaced(store, place, key="k"), replaced(store, place, key="l")) == ([old], [])
