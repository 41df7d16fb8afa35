"""The tab's store: opened once for all who ask, closed when another is meant, and waited for no longer than one attempt takes."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from airflow_lineage_provider.errors import StoreUnavailable
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.web import opened
from airflow_lineage_provider.web.asking import Question
from airflow_lineage_provider.web.opened import opened_store
from tests.store.conftest import sql


@pytest.fixture(autouse=True)
def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened, "_attempts", {})


def test_who_waits_for_a_store_that_is_away_waits_for_one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[float] = []
    begun, end = threading.Event(), threading.Event()

    def away(_url: str | None, **_: bool) -> Store:
        attempts.append(time.monotonic())
        begun.set()
        end.wait(30)
        raise StoreUnavailable("it does not answer")

    monkeypatch.setattr(Store, "open", away)

    def asked(_: int) -> str:
        try:
            opened_store()
        except StoreUnavailable as error:
            return str(error)
        return "opened"

    with ThreadPoolExecutor(8) as threads:
        told = [threads.submit(asked, at) for at in range(8)]
        assert begun.wait(10)
        time.sleep(0.2)
        end.set()
        assert {one.result(10) for one in told} == {"it does not answer"}
    assert len(attempts) == 1
    asked(0)  # the next who asks tries again
    assert len(attempts) == 2


def test_a_question_asks_for_the_connection_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow's secrets backends may be far away."""
    asked = []

    def backend(conn_id: str) -> str:
        asked.append(conn_id)
        return store.url

    monkeypatch.setenv("AIRFLOW_LINEAGE_WEB_CONN_ID", "far_away")
    monkeypatch.setattr(opened, "_of_connection", backend)
    question = Question(None)
    assert question.lineage().store is question.lineage(2.0).store
    assert question.heads(["no run"]) == {}
    assert asked == ["far_away"]
    Question(None).lineage()
    assert len(asked) == 2


def sessions(store: Store) -> set[object]:
    """The processes of the server that somebody is connected to."""
    return {
        pid for (pid,) in sql(store.url, "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
    }


def test_a_store_that_is_not_meant_any_more_is_closed_when_nobody_has_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def meant(seconds: int) -> Store:
        monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", f"{store.url}&connect_timeout={seconds}")
        return opened_store()

    before = sessions(store)
    first: Any = meant(7)
    assert meant(7) is first
    assert first.size() > 0
    own = sessions(store) - before
    assert own
    second = meant(8)
    assert first.size() > 0  # an answer that had begun goes on
    known = weakref.ref(first)
    del first
    gc.collect()
    assert known() is None
    ends = time.monotonic() + 10
    while sessions(store) & own and time.monotonic() < ends:
        time.sleep(0.05)
    assert not sessions(store) & own
    assert second.size() > 0
