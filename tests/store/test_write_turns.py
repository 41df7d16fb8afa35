"""Who writes to a place now: one run of a store at a time, for as long as it says, or lives."""

from __future__ import annotations

import threading

import pytest

from airflow_lineage_provider.running.journal import Journal
from airflow_lineage_provider.store import RunRecord, Store
from airflow_lineage_provider.store.run_store import RunStore
from tests.store.conftest import sql

PLACE, OTHER = "file:/turns/out", "table turns"


@pytest.fixture
def runs(store: Store) -> list[str]:
    return [store.begin_run(RunRecord(pipeline="turns")) for _ in range(3)]


def test_a_place_is_held_by_all_its_names_or_by_none(store: Store, runs: list[str]) -> None:
    first, second, third = runs
    assert store.take_places(first, [PLACE]) is None
    assert store.take_places(second, [OTHER, PLACE]) == f"run {first}"
    assert store.take_places(third, [OTHER]) is None  # the second holds none of them
    store.leave_places(first, [PLACE])
    assert store.take_places(second, [OTHER, PLACE]) == f"run {third}"
    store.leave_places(third, [OTHER])
    assert store.take_places(second, [OTHER, PLACE]) is None
    assert store.take_places(third, ["file:/turns"]) is None
    for run in runs:
        store.fail_run(run, "ended by the test")


def test_a_run_that_ends_or_dies_holds_nothing(store: Store, runs: list[str]) -> None:
    first, second, third = runs
    assert store.take_places(first, [PLACE]) is None
    store.fail_run(first, "ended by the test")
    with Store.open(store.url) as own:
        dying = own.begin_run(RunRecord(pipeline="turns"))
        with journal(own, dying, []).turn([PLACE]):
            own.close()
    for run in (second, third):
        with journal(store, run, []).turn([PLACE]):
            pass
        store.fail_run(run, "ended by the test")


def test_whoever_waits_is_told_for_whom(store: Store, runs: list[str]) -> None:
    first, second, third = runs
    order, told = list[str](), list[str]()
    held, waits = threading.Event(), threading.Event()

    def write(run: str) -> None:
        held.wait(30)
        with journal(store, run, told, waits).turn([PLACE]):
            order.append(run)

    waiting = [threading.Thread(target=write, args=(run,)) for run in (second, third)]
    for thread in waiting:
        thread.start()
    with journal(store, first, []).turn([PLACE]):
        held.set()
        assert waits.wait(30)
        order.append(first)
    for thread in waiting:
        thread.join(30)
    assert order[0] == first
    assert sorted(order) == sorted(runs)
    assert f"run {first} writes to {PLACE} now: waiting until it has ended" in told
    for run in runs:
        store.fail_run(run, "ended by the test")


def test_a_server_that_was_away_gives_the_place_back(store: Store, runs: list[str]) -> None:
    first, second, *_ = runs
    assert store.take_places(first, [PLACE]) is None
    ended = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lineage-run:{first}'"
    assert sql(store.url, ended) == [(True,)]
    store._ensure_lock(first, "looking whether it is there")  # what every further step of the run does
    assert store.take_places(second, [PLACE]) == f"run {first}"
    for run in runs:
        store.fail_run(run, "ended by the test")


def journal(store: Store, run: str, told: list[str], event: threading.Event | None = None) -> Journal:
    def tell(text: str) -> None:
        told.append(text)
        if event is not None:
            event.set()

    return Journal(RunStore(lambda: store, store.url), run, progress=tell)
