"""What changes between two questions about one run: it is dropped, its record is damaged, a right is taken away. The next answer says so,
however few statements a question takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider.store import Store, embedded
from tests.statements import noted
from tests.store.conftest import sql
from tests.web.conftest import database
from tests.web.recorded_runs import restore

API = "/lineage/api/v1"
Client = Callable[..., Any]


@pytest.fixture(scope="module")
def changing(lineage_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, list[str]]]:
    """A store of its own, with runs whose rows stand in files."""
    with Store.open(database(lineage_home, "changing")) as store:
        folder = tmp_path_factory.mktemp("changing")
        yield store, [restore(store, name, folder=folder / name) for name in ("judged", "reported")]


@pytest.fixture(autouse=True)
def setting(changing: tuple[Store, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """The tab reads that store."""
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", changing[0].url)


def test_a_question_takes_few_statements(client: Client, changing: tuple[Store, list[str]], lineage_home: Path) -> None:
    """Each without a transaction around it; once what it asks with is there."""
    (store, (run_id, _)), admin = changing, client()
    views: dict[str, tuple[str, Any, int]] = {
        "rows": (f"runs/{run_id}/rows", {"limit": 5}, 3),  # the record, what is stored, its partitions
        "sorted": (f"runs/{run_id}/rows", {"limit": 5, "sort": [{"column": "client_id"}]}, 2),
        "columns": (f"runs/{run_id}/columns", None, 1),
    }
    for name, (path, body, most) in views.items():

        def ask(path: str = path, body: Any = body) -> Any:
            return admin.get(f"{API}/{path}") if body is None else admin.post(f"{API}/{path}", json=body)

        before = ask()
        with noted(embedded.ensure_running(lineage_home), store.url) as asked:
            answer = ask()
        assert (answer.status_code, answer.json()) == (200, before.json()), name
        assert len(asked.statements) == asked.transactions == most, (name, asked)
        assert asked.connected == 0, name


def test_a_search_reads_no_record_twice(client: Client, changing: tuple[Store, list[str]], lineage_home: Path) -> None:
    admin = client()
    before = admin.get(f"{API}/found?search=client")
    with noted(embedded.ensure_running(lineage_home), changing[0].url) as asked:
        assert admin.get(f"{API}/found?search=client").json() == before.json()
    assert len(asked.statements) == 4, asked  # whose runs there are, in a transaction


def test_each_answer_is_of_what_there_is_now(client: Client, changing: tuple[Store, list[str]], only_dag: Callable[..., None]) -> None:
    store, (kept, dropped) = changing
    admin, other = client(), client("viewer", name="bob")

    def status(who: Any, run_id: str) -> list[tuple[int, str]]:
        answers = [
            who.post(f"{API}/runs/{run_id}/rows", json={"limit": 2}),
            who.post(f"{API}/runs/{run_id}/explanation", json={"numbers": ["0"]}),
            who.get(f"{API}/runs/{run_id}/columns"),
        ]
        return [(one.status_code, one.json().get("error", {}).get("name", "")) for one in answers]

    def hits(who: Any) -> set[str]:
        return {one["run_id"] for one in who.get(f"{API}/found?search=client").json()["hits"]}

    assert status(admin, kept) == status(other, kept) == status(admin, dropped) == [(200, "")] * 3
    assert kept in hits(other)
    only_dag("bob", "no such DAG")
    assert status(other, kept) == [(404, "RunNotFound")] * 3
    assert hits(other) == set()
    store.drop_run(dropped)
    assert {name for _, name in status(admin, dropped)} == {"RunNotComplete"}
    assert dropped not in hits(admin)
    sql(store.url, "UPDATE lineage.runs SET segments = '[{' WHERE id = %s", [kept])
    assert {name for _, name in status(admin, kept)} == {"RecordDamaged"}
    assert status(other, kept) == [(404, "RunNotFound")] * 3, "that its record is damaged is not told"
    assert hits(admin) <= {kept}, "its names may be known"
