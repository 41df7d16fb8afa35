"""Rows that are not found soon: the page says so, and how they are had, and its thread is free again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider.sources.kept import KEPT
from airflow_lineage_provider.store import Store
from tests.web.conftest import database
from tests.web.recorded_runs import restore

API = "/lineage/api/v1"
SORT = [{"column": "amount", "descending": True}]


@pytest.fixture(scope="module")
def in_files(lineage_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, str]]:
    """A run whose stored rows are files, in a store of its own."""
    with Store.open(database(lineage_home, "looks")) as store:
        yield store, restore(store, "judged", folder=tmp_path_factory.mktemp("looks"))


@pytest.fixture
def ask(client: Callable[..., Any], in_files: tuple[Store, str], setting: None, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    store, run_id = in_files
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", store.url)
    KEPT.clear()
    return lambda what="rows", **body: client().post(f"{API}/runs/{run_id}/{what}", json=body)


def test_a_filter_that_takes_long_is_offered_to_spark(
    ask: Callable[..., Any], in_files: tuple[Store, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_lineage_provider.settings.web_seconds_to_look", lambda: 0.0)
    answer = ask(where="amount > 100")
    assert (answer.status_code, answer.json()["error"]["name"]) == (504, "QueryTooSlow")
    conf = answer.json()["error"]["ask"]["conf"]
    assert conf == {"lineage_run_id": in_files[1], "target": "amount > 100"}
    assert ask(sort=SORT).json()["error"]["ask"]["python"].startswith("lineage.get_run(")
    longer = ask(where="amount > 100", sort=SORT, longer=True).json()
    at = [one["name"] for one in longer["columns"]].index("amount")
    amounts = [row[at] for row in longer["rows"]]
    assert amounts == sorted(amounts, reverse=True)
    assert min(amounts) > 100


def test_no_thread_stays_taken(ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("airflow_lineage_provider.settings.web_seconds_to_look", lambda: 0.0)
        assert {ask(where=f"amount > {at}").status_code for at in range(9)} == {504}  # more than there are threads
    assert ask(where="amount > 100").status_code == 200


def test_an_explanation_looks_no_longer_than_an_answer_may_take(ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ask("explanation", where="client_id = 49").json()["document"]["target"]
    assert expected["rows"]
    KEPT.clear()
    monkeypatch.setattr("airflow_lineage_provider.settings.web_seconds", lambda: 0.0)
    answer = ask("explanation", where="client_id = 49")
    assert (answer.status_code, answer.json()["error"]["name"]) == (504, "QueryTooSlow")
