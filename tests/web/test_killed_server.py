"""An API server that is killed in the middle of an answer: nothing of the answer is left, and the next server gives it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from airflow_lineage_provider.store import Store
from tests.airflow.standing import until
from tests.airflow.submitting import tables
from tests.store.conftest import sql
from tests.web.served import served

SESSIONS = """SELECT pid, application_name, state, wait_event_type FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""


def sessions(store: Store, others: list[object]) -> list[tuple[object, ...]]:
    return [one for one in sql(store.url, SESSIONS) if one[0] not in others]


@pytest.mark.timeout(300)
def test_nothing_of_its_answer_is_left(
    client: Callable[..., Any], store: Store, runs: dict[str, str], token: Callable[[str, str], str], tmp_path: Path
) -> None:
    import httpx

    question = {"where": "client_id = 49"}
    headers, path = {"Authorization": f"Bearer {token('admin', 'admin')}"}, f"/lineage/api/v1/runs/{runs['judged']}/explanation"
    before, derivations, others = tables(store), store.derivations(runs["judged"]), [pid for pid, *_ in sessions(store, [])]

    def ask(address: str) -> Any:
        return httpx.post(f"{address}{path}", json=question, headers=headers, timeout=60)

    with served(store.url, tmp_path / "first.log", AIRFLOW_LINEAGE_WEB_SECONDS="50") as first:
        held = psycopg2.connect(store.url)
        with held.cursor() as cursor:
            for stored in store.materializations(runs["judged"]).values():
                cursor.execute(f"LOCK TABLE {stored.table} IN ACCESS EXCLUSIVE MODE")
        others.append(held.get_backend_pid())
        broken: list[Exception] = []

        def asks() -> None:
            try:
                ask(first.address)
            except httpx.HTTPError as error:
                broken.append(error)

        asking = threading.Thread(target=asks)
        asking.start()
        until(lambda: [one for one in sessions(store, others) if one[3] == "Lock"])  # the answer has come so far as to wait
        first.kill()
        asking.join(60)
        assert broken, "the answer was given"
        held.close()
    until(lambda: not sessions(store, others))
    assert tables(store) == before
    assert store.derivations(runs["judged"]) == derivations
    answer = client("admin").post(path, json=question)  # of the server in this process
    assert answer.status_code == 200, answer.text
    assert answer.json()["document"]["source"]["client"]["rows"] == [[49, "client 49", 35.0, 0.0]]
