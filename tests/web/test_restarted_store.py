"""A store whose server was restarted behind the API: every kept connection is gone, and the next question is answered all the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airflow_lineage_provider.store import Store
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
