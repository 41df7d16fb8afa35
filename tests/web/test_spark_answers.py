"""Answers that need Spark: the derivation DAG, and what the tab is told of it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_lineage_provider.operators.derivation_dag import AskedDerivationOperator
from tests.airflow.conftest import DagResult

API = "/lineage/api/v1"
Client = Callable[..., Any]


def test_the_dag_keeps_the_answer_where_the_tab_finds_it(client: Client, runs: dict[str, str], derived: DagResult) -> None:
    assert derived.states == {("derive", -1): "success"}
    found = client().get(f"{API}/runs/{runs['judged']}/derivations").json()["derivations"]
    (mine,) = [one for one in found if one["dag_run_id"] == derived.run_id]
    assert (mine["id"], mine["asked"]) == (derived.result("derive")["derivation_id"], "client_id = 49")
    document = client().get(f"{API}/derivations/{mine['id']}").json()["document"]
    assert document["source"]["client"]["rows"] == [[49, "client 49", 35.0, 0.0]]


def test_many_rows_are_answered_in_chunks(client: Client, runs: dict[str, str], derived_in_chunks: DagResult) -> None:
    found = client().get(f"{API}/runs/{runs['judged']}/derivations").json()["derivations"]
    mine = [one for one in found if one["dag_run_id"] == derived_in_chunks.run_id]
    assert [(one["chunk"]["number"], one["chunk"]["of"], one["counts"]["target"]) for one in mine] == [(3, 3, 1), (2, 3, 2), (1, 3, 2)]
    told = derived_in_chunks.result("derive")
    assert (told["derivation_id"], told["derivation_ids"]) == (None, [one["id"] for one in reversed(mine)])


@pytest.mark.parametrize(("stores", "chunk_rows", "in_chunks"), [(True, 2, True), (False, 2, False), (True, None, False)])
def test_rows_that_have_no_lasting_order_are_one_answer(stores: bool, chunk_rows: int | None, in_chunks: bool) -> None:
    with DAG("asked"):
        task = AskedDerivationOperator(task_id="derive", chunk_rows=chunk_rows)
    run: Any = SimpleNamespace(plan=SimpleNamespace(materialized={0: "result"} if stores else {}))
    assert task._is_in_chunks(run) is in_chunks


def test_the_dag_is_paused_until_somebody_unpauses_it(
    client: Client, dags: dict[str, Any], derived: DagResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert dags["lineage_derivation"].is_paused_upon_creation
    client().patch("/api/v2/dags/lineage_derivation", json={"is_paused": True})  # another test may have unpaused it
    told = client().get(f"{API}/derivation-dag").json()
    assert (told["dag_id"], told["state"]) == ("lineage_derivation", "paused")
    assert "lineage_derivation" in told["message"]
    client().patch("/api/v2/dags/lineage_derivation", json={"is_paused": False})
    assert client().get(f"{API}/derivation-dag").json() == {"dag_id": "lineage_derivation", "state": "ready", "message": ""}
    viewer = client("viewer").get(f"{API}/derivation-dag").json()
    assert viewer["state"] == "not_permitted"
    refused = client("viewer").post("/api/v2/dags/lineage_derivation/dagRuns", json={"logical_date": None, "conf": {}})
    assert refused.status_code == 403
    monkeypatch.setenv("AIRFLOW_LINEAGE_DERIVATION_DAG", "another")
    missing = client().get(f"{API}/derivation-dag").json()
    assert missing["state"] == "missing"
    assert "another" in missing["message"]


def test_an_error_has_the_question_as_the_dag_takes_it(client: Client, runs: dict[str, str]) -> None:
    answer = client().post(f"{API}/runs/{runs['again']}/explanation", json={"where": "amount > 150"})
    assert answer.json()["error"]["ask"]["conf"] == {"lineage_run_id": runs["again"], "target": "amount > 150"}
    row = client().post(f"{API}/runs/{runs['judged']}/rows", json={"limit": 1, "offset": 3}).json()
    answer = client().post(f"{API}/runs/{runs['judged']}/explanation", json={"numbers": row["numbers"]})
    assert answer.json()["ask"]["conf"] == {"lineage_run_id": runs["judged"], "at": "3"}


@pytest.mark.parametrize(
    ("params", "hide"),
    [({"target": "name = 'client 49'", "at": None}, "name"), ({"target": "true", "at": "3"}, ""), ({"target": None, "at": None}, "")],
)
def test_questions_that_the_dag_refuses(
    runs: dict[str, str], airflow_home: Any, dags: dict[str, Any], params: dict[str, Any], hide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_lineage_provider import Lineage
    from airflow_lineage_provider.errors import InvalidTarget

    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", hide)
    task = dags["lineage_derivation"].get_task("derive")
    asked = task.prepare_for_execution() if hasattr(task, "prepare_for_execution") else task
    asked.lineage_run_id, asked.target, asked.at = runs["judged"], params["target"], params["at"]
    with Lineage() as lineage, pytest.raises(InvalidTarget):
        asked._run(lineage)
