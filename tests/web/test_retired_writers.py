"""What a run wrote that is dropped now is withheld of those that read it, where a pattern may mean the columns of a table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.reasons.discretion import MASK
from airflow_lineage_provider.store import Store
from tests.web.conftest import database
from tests.web.recorded_runs import restore

API = "/lineage/api/v1"
Client = Callable[..., Any]
OnlyDag = Callable[[str, str], None]


@dataclass(frozen=True)
class Retired:
    """A store in which the run that judged is dropped, and an answer of the one that reported, traced through it."""

    store: Store
    reported: str
    answer: str


@pytest.fixture(scope="module")
def retired(lineage_home: Path) -> Iterator[Retired]:
    with Store.open(database(lineage_home, "retired")) as store:
        runs = {name: restore(store, name) for name in ("judged", "reported")}
        lineage = Lineage(store=store)
        kept = lineage.get_run(runs["reported"]).explain("client_id = 49")
        assert re.search(r"\b187\b", json.dumps(kept.to_dict()))
        lineage.drop(runs["judged"])
        yield Retired(store, runs["reported"], kept.id)


@pytest.fixture
def elsewhere(retired: Retired, monkeypatch: pytest.MonkeyPatch) -> Retired:
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", retired.store.url)
    # (Runs have these ids in the other store, too, where none is dropped.)
    monkeypatch.setattr("airflow_lineage_provider.web.asking._carried", {})
    return retired


def rows(client: Client, run_id: str) -> list[list[Any]]:
    told = client().post(f"{API}/runs/{run_id}/rows", json={"limit": 9})
    assert told.status_code == 200, told.text
    found: list[list[Any]] = told.json()["rows"]
    return found


@pytest.mark.parametrize("setting_name", ["AIRFLOW_LINEAGE_HIDE", "AIRFLOW_LINEAGE_MASK"])
def test_a_reader_outlives_the_writer(client: Client, elsewhere: Retired, monkeypatch: pytest.MonkeyPatch, setting_name: str) -> None:
    assert "145.0" in str(rows(client, elsewhere.reported))
    monkeypatch.setenv(setting_name, "loan.amount")
    assert {each for row in rows(client, elsewhere.reported) for each in row} == {MASK}
    monkeypatch.setenv(setting_name, "nothing_like_it")
    assert "145.0" in str(rows(client, elsewhere.reported))


def test_a_stored_answer_through_it_can_be_opened(client: Client, elsewhere: Retired, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "loan.amount")
    found = Lineage(store=elsewhere.store).derivation(elsewhere.answer)
    told = json.dumps(found.to_dict(), ensure_ascii=False)
    assert MASK in told
    assert not re.search(r"\b187(\.0)?\b", told)


def test_whether_one_may_have_it_is_asked_first(
    client: Client, runs: dict[str, str], store: Store, only_dag: OnlyDag, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Lineage(store=store).get_run(runs["judged"]).explain("client_id = 49")
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "loan.amount")
    monkeypatch.setattr("airflow_lineage_provider.web.asking.AskedLineage.carried_by", lambda *_: pytest.fail("asked"))
    only_dag("ann", "loan_report")
    assert client("viewer", "ann").get(f"{API}/derivations/{kept.id}").status_code == 404
