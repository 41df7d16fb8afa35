"""A call of a server that may never answer ends all the same, and one that is only slow is waited for."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import psycopg2
import pytest

from airflow_lineage_provider.errors import StoreUnavailable
from airflow_lineage_provider.store import Store, embedded
from airflow_lineage_provider.store.handover import Abandoned, Handover, Patience, bounded


@pytest.fixture(scope="module")
def silent_port() -> Iterator[str]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"postgresql://someone:secret@127.0.0.1:{listening.getsockname()[1]}/db?connect_timeout=2"


def test_a_slow_call_of_a_server_that_lives_is_waited_for(server: embedded.Server) -> None:
    def slow() -> int:
        time.sleep(0.5)
        return 7

    assert bounded(slow, Patience(server.url, silence=0.1), "counting") == 7


def test_its_error_is_the_calls(server: embedded.Server) -> None:
    with pytest.raises(ZeroDivisionError):
        bounded(lambda: 1 / 0, Patience(server.url, silence=1), "dividing")


def test_a_limit_ends_a_slow_call(server: embedded.Server) -> None:
    with pytest.raises(StoreUnavailable, match=r"took longer than 0\.3 s \(AIRFLOW_LINEAGE_STORE_LIMIT\), counting"):
        bounded(lambda: time.sleep(2), Patience(server.url, silence=0.1, limit=0.3), "counting")


def test_a_server_that_says_nothing_is_given_up(silent_port: str) -> None:
    started = time.monotonic()
    with pytest.raises(StoreUnavailable, match="does not answer, counting: nothing came for") as given_up:
        bounded(lambda: time.sleep(20), Patience(silent_port, silence=0.1), "counting")
    assert time.monotonic() - started < 5
    assert "secret" not in str(given_up.value)


def test_a_server_that_refuses_by_a_word_of_its_own_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has too many connections, and what it was asked for is slow."""
    asked: list[str] = []

    def refuses(url: str) -> None:
        asked.append(url)
        raise psycopg2.OperationalError("FATAL:  sorry, too many clients already")

    def slow() -> int:
        time.sleep(0.5)
        return 7

    monkeypatch.setattr("airflow_lineage_provider.store.connection.psycopg2_connect", refuses)
    assert bounded(slow, Patience("postgresql://db/lineage", silence=0.1), "counting") == 7
    assert asked


def test_a_store_that_says_nothing_is_not_waited_for_at_the_start(silent_port: str) -> None:
    started = time.monotonic()
    with pytest.raises(StoreUnavailable):
        Store.open(silent_port)
    assert time.monotonic() - started < 5


def test_the_connect_timeout_is_a_setting(silent_port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_CONNECT_TIMEOUT", "2")
    started = time.monotonic()
    with pytest.raises(StoreUnavailable):
        Store.open(silent_port.partition("?")[0])
    assert time.monotonic() - started < 5


def test_nothing_is_sent_on_when_the_rows_stop_coming() -> None:
    asked = threading.Event()
    sent: list[object] = []

    def work(batches: Handover) -> None:
        asked.set()
        sent.extend(batches)
        sent.append("committed")

    handover = Handover(work, Patience("", silence=5), "sending")
    assert handover.wants_more()
    handover.give("one")
    assert handover.wants_more()
    handover.abandon()
    with pytest.raises(Abandoned):
        handover.result()
    assert handover.is_abandoned
    assert "committed" not in sent
