"""A store whose server was restarted behind the API, or stands still: kept connections are gone, and the next question is answered."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import psycopg2
import pytest

from airflow_lineage_provider.store import Store
from tests.silent_proxy import silent_proxy
from tests.store.conftest import sql

API = "/lineage/api/v1"
END = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@pytest.mark.parametrize("path", ["runs", "runs/{}", "POST runs/{}/rows", "runs/{}/columns", "questions", "store"])
def test_the_next_question_is_answered(client: Callable[..., Any], store: Store, runs: dict[str, str], path: str) -> None:
    posted, place = path.startswith("POST"), f"{API}/{path.format(runs['judged']).removeprefix('POST ')}"
    client_of_all = client()

    def ask() -> Any:
        return client_of_all.post(place, json={}) if posted else client_of_all.get(place)

    before = ask()
    assert before.status_code == 200, before.text
    ended = sql(store.url, END)
    assert any(was_there for (was_there,) in ended)
    again = ask()
    assert (again.status_code, again.json()) == (200, before.json()), again.text


def test_and_so_is_a_derivation(client: Callable[..., Any], store: Store, runs: dict[str, str]) -> None:
    one, place = client(), f"{API}/runs/{runs['judged']}/explanation"
    answers = []
    for _ in range(2):
        answers.append(one.post(place, json={"where": "client_id = 49"}))
        assert answers[-1].status_code == 200, answers[-1].text
        sql(store.url, END)
    assert answers[0].json().keys() == answers[1].json().keys()


def test_a_lock_is_not_waited_for_longer_than_an_answer_may_take(
    client: Callable[..., Any], store: Store, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_WEB_SECONDS", "1")
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", store.url + "&application_name=locked")  # (it is opened anew)
    with closing(psycopg2.connect(store.url)) as other:
        other.cursor().execute("LOCK TABLE lineage.runs IN ACCESS EXCLUSIVE MODE")
        answer = client().get(f"{API}/runs")
    assert (answer.status_code, answer.json()["error"]["name"]) == (503, "StoreTooSlow")


@pytest.mark.parametrize("path", ["runs", "POST runs/{}/rows"])
def test_a_server_that_stands_still_takes_no_thread_for_good(
    client: Callable[..., Any], store: Store, runs: dict[str, str], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    posted, place = path.startswith("POST"), f"{API}/{path.format(runs['judged']).removeprefix('POST ')}"
    monkeypatch.setenv("AIRFLOW_LINEAGE_CONNECT_TIMEOUT", "2")
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE_SILENCE", "0.3")
    one = client()
    with silent_proxy(store.url) as way:
        monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", way.url)

        def ask() -> Any:
            return one.post(place, json={}) if posted else one.get(place)

        assert ask().status_code == 200
        way.is_silent = True
        began = time.monotonic()
        answer = ask()
        assert (answer.status_code, answer.json()["error"]["name"]) == (503, "StoreUnavailable")
        assert time.monotonic() - began < 20
        way.is_silent = False
        assert ask().status_code == 200
