"""A server that stands still: who waits for it is told, on whichever connection, and goes on when it does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg2
import pytest

from airflow_lineage_provider.errors import StoreUnavailable
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.store.watchdog import Watchdog
from tests.silent_proxy import SilentProxy, silent_proxy

SILENCE, PROMPT = 0.5, 20
"""Seconds; without a watchdog these wait for ever."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_CONNECT_TIMEOUT", "2")
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE_SILENCE", str(SILENCE))


@pytest.fixture
def way(own_url: str) -> Iterator[SilentProxy]:
    with silent_proxy(own_url) as made:
        yield made


WAYS: dict[str, Callable[[Store], Any]] = {
    "the catalog's transactions": lambda store: store.runs(),
    "statements that are asked often": lambda store: store.find_head("01a", whole=True),
    "queries over stored rows": lambda store: store.query("SELECT 1 AS one").to_pylist(),
    "statements by themselves": lambda store: list(store._statements("asking").__enter__().exec_driver_sql("SELECT 1")),
}


@pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS)
def test_who_waits_is_told_and_asks_again(way: SilentProxy, ask: Callable[[Store], Any]) -> None:
    with Store.open(way.url) as store:
        before = _outcome(ask, store)
        way.is_silent = True
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match="does not answer"):
            ask(store)
        assert SILENCE < time.monotonic() - began < PROMPT
        way.is_silent = False
        assert _outcome(ask, store) == before


def _outcome(ask: Callable[[Store], Any], store: Store) -> str:
    try:
        return str(ask(store))
    except Exception as problem:
        return str(problem)


def test_one_that_is_only_slow_is_waited_for(way: SilentProxy) -> None:
    with Store.open(way.url) as store:
        assert store.query(f"SELECT 1 AS one FROM pg_sleep({4 * SILENCE})").to_pylist() == [{"one": 1}]


@pytest.mark.parametrize(("refusal", "is_shut"), [("FATAL:  sorry, too many clients already", False), ("timeout expired", True)])
def test_a_server_that_refuses_lives(own_url: str, monkeypatch: pytest.MonkeyPatch, refusal: str, is_shut: bool) -> None:
    with Store.open(own_url) as store:

        def refuses(url: str) -> Any:
            raise psycopg2.OperationalError(refusal)

        monkeypatch.setattr("airflow_lineage_provider.store.connection.psycopg2_connect", refuses)
        question = f"SELECT 1 AS one FROM pg_sleep({4 * SILENCE})"
        if is_shut:
            with pytest.raises(StoreUnavailable):
                store.query(question)
        else:
            assert store.query(question).num_rows == 1


def test_its_thread_ends_when_nothing_is_asked_and_a_child_has_none(own_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE_SILENCE", "0.1")
    watchdog = Watchdog(own_url)
    with watchdog.watching():
        thread = watchdog._thread
        assert thread is not None
        reading, writing = os.pipe()
        if (child := os.fork()) == 0:
            with watchdog.watching():
                os.write(writing, b"another" if watchdog._thread is not thread else b"the same")
            os._exit(0)
        assert (os.read(reading, 9), os.waitpid(child, 0)[1]) == (b"another", 0)
    thread.join(PROMPT)
    assert not thread.is_alive()
    with watchdog.watching():
        assert watchdog._thread is not thread
