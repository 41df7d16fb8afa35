"""What the navigation view finds beside runs: tables and columns, stored answers, and the store itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from tests.store.conftest import sql
from tests.web.conftest import database
from tests.web.recorded_runs import restore

API = "/lineage/api/v1"
Client = Callable[..., Any]
OnlyDag = Callable[[str, str], None]


def found(client: Any, text: str) -> set[tuple[str, str, str, str, str]]:
    answer = client.get(f"{API}/found", params={"search": text})
    assert answer.status_code == 200, answer.text
    assert answer.json()["next"] is None
    return {(one["kind"], one["table"], one["name"], one["way"], one["pipeline"]) for one in answer.json()["hits"]}


def test_tables_and_columns_by_name(client: Client, runs: dict[str, str]) -> None:
    assert found(client(), "JUDGED") == {
        ("table", "judged", "judged", "writes", "loans.examine"),
        ("table", "judged", "judged", "reads", "loans.report"),
        ("table", "judged", "judged", "reads", "loans.again"),
    }
    assert found(client(), "income") == {("column", "client", "income", "reads", "loans.examine")}
    assert found(client(), "year") == {("column", "result", "year", "writes", name) for name in ("loans.report", "loans.again")}
    assert found(client(), "nothing like it") == set()
    assert client().get(f"{API}/found?search=x").status_code == 422


def test_what_was_not_looked_at_is_found_further_on(client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends an answer (so many pipelines, or hits, or the time), it says so, and where the others are."""
    whole = found(client(), "judged")
    for name, value in (("MOST_PIPELINES", 1), ("MOST_HITS", 1), ("_RUNS_LOOKED_AT", 1), ("settings.web_seconds_to_look", lambda: 0.0)):
        with monkeypatch.context() as patch:
            patch.setattr(f"airflow_lineage_provider.web.api.navigation.{name}", value)
            pages: list[Any] = []
            before: dict[str, str] = {}
            while not pages or before:
                page = client().get(f"{API}/found", params={"search": "judged", **before}).json()
                pages.append(page["hits"])
                before = {"before": page["next"]} if page["next"] else {}
                assert len(pages) < 60
        assert len(pages) > 2, name
        told = [(one["kind"], one["table"], one["name"], one["way"], one["pipeline"]) for page in pages for one in page]
        assert sorted(told) == sorted(whole), name  # and none twice


def test_only_what_one_may_see_is_found(client: Client, runs: dict[str, str], only_dag: OnlyDag, monkeypatch: pytest.MonkeyPatch) -> None:
    only_dag("ann", "loan_report")
    assert found(client("viewer", "ann"), "income") == set()
    assert {one[4] for one in found(client("viewer", "ann"), "judged")} == {"loans.report"}
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "client.income")
    assert found(client(), "income") == set()
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "")
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "income")
    assert len(found(client(), "income")) == 1


def test_stored_answers_of_all_runs(client: Client, runs: dict[str, str], only_dag: OnlyDag, store: Store) -> None:
    lineage = Lineage(store=store)
    made = [
        lineage.get_run(runs[name]).explain(target).id for name, target in [("judged", "client_id = 5"), ("reported", "client_id = 99")]
    ]
    answer = client().get(f"{API}/derivations?limit=2").json()
    assert [one["derivation"]["id"] for one in answer["derivations"]] == made[::-1]
    first = answer["derivations"][0]
    assert (first["pipeline"], first["dag_id"], first["derivation"]["asked"]) == ("loans.report", "loan_report", "client_id = 99")
    older = client().get(f"{API}/derivations?before={made[1]}&limit=1").json()
    assert [one["derivation"]["id"] for one in older["derivations"]] == made[:1]
    by_name = client().get(f"{API}/derivations?search=EXAMINE").json()
    assert {one["pipeline"] for one in by_name["derivations"]} == {"loans.examine"}
    only_dag("ann", "loan_report")
    told = client("viewer", "ann").get(f"{API}/derivations").json()["derivations"]
    assert {one["dag_id"] for one in told} == {"loan_report"}
    assert client("viewer").get(f"{API}/derivations?search=notebook").json() == {"derivations": [], "next": None}


def test_stored_answers_about_the_runs_of_a_dag_and_by_what_they_ask(
    client: Client, runs: dict[str, str], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    lineage = Lineage(store=store)
    asked = {"judged": "client_id = 7 AND name = 'client 7'", "reported": "client_id = 99 AND amount < 1e6"}
    made = {name: lineage.get_run(runs[name]).explain(target).id for name, target in asked.items()}

    def ids(**params: str) -> list[str]:
        return [one["derivation"]["id"] for one in client().get(f"{API}/derivations", params=params).json()["derivations"]]

    of_dag = client().get(f"{API}/derivations?dag_id=loan_report").json()["derivations"]
    assert (of_dag[0]["derivation"]["id"], {one["dag_id"] for one in of_dag}) == (made["reported"], {"loan_report"})
    assert ids(dag_id="loan_repor") == ids(dag_id="loan%") == []
    assert ids(search="CLIENT 7'") == [made["judged"]]
    assert ids(search="AMOUNT < 1E6", dag_id="loan_report") == [made["reported"]]
    assert ids(search="amount < 1e6", dag_id="loan_examination") == []
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "name")  # what is found would tell what was asked
    assert ids(search="client 7'") == []


def test_chunks_are_told_apart(client: Client, runs: dict[str, str], store: Store) -> None:
    made = Lineage(store=store).get_run(runs["judged"]).explain_in_chunks("client_id < 3", chunk_rows=1)
    told = client().get(f"{API}/runs/{runs['judged']}/derivations").json()["derivations"]
    assert [(one["id"], one["chunk"]) for one in told[: made.chunks]] == [
        (one, {"number": number, "of": made.chunks, "set_id": made.id}) for number, one in reversed(list(enumerate(made.ids, 1)))
    ]
    assert made.chunks > 1
    found = {one["derivation"]["id"]: one["derivation"]["chunk"] for one in client().get(f"{API}/derivations").json()["derivations"]}
    assert found[made.ids[0]]["number"] == 1


def test_targets_are_told_without_withheld_columns(
    client: Client, runs: dict[str, str], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Lineage(store=store).get_run(runs["judged"]).explain("name = 'client 5'").id
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "name")
    told = {one["derivation"]["id"]: one["derivation"] for one in client().get(f"{API}/derivations").json()["derivations"]}
    assert "client 5" not in told[made]["asked"]


def test_one_damaged_plan_costs_its_own_target_alone(
    client: Client, runs: dict[str, str], lineage_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(database(lineage_home, "damaged")) as store:
        ids = [restore(store, name) for name in ("judged", "reported")]
        lineage = Lineage(store=store)
        made = [lineage.get_run(one).explain("client_id = 49").id for one in ids]
        sql(
            store.url,
            "UPDATE lineage.runs SET plan = 'no plan', shared_plan = NULL WHERE id = %s",
            [ids[0]],
        )
        monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", store.url)
        for setting in ("", "name"):
            monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", setting)
            answer = client().get(f"{API}/derivations")
            assert answer.status_code == 200, answer.text
            told = {one["derivation"]["id"]: one["derivation"]["asked"] for one in answer.json()["derivations"]}
            # Nobody knows which of its words name columns.
            assert told == {made[0]: "" if setting else "client_id = 49", made[1]: "client_id = 49"}
            assert client().get(f"{API}/runs/{ids[0]}/derivations").json()["derivations"][0]["asked"] == told[made[0]]


def test_the_store(client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_RETENTION_DAYS", "30")
    admin = client().get(f"{API}/store").json()
    assert admin["bytes"] > 1_000_000
    assert admin["retention_days"] == 30
    assert client("viewer").get(f"{API}/store").json() == {"bytes": None, "retention_days": 30}
