"""The tab's API, asked as people with different rights ask it, in Airflow's own application."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import StoreUnavailable
from airflow_lineage_provider.store import Store

if TYPE_CHECKING:
    from tests.airflow.conftest import DagResult

API = "/lineage/api/v1"
Client = Callable[..., Any]


def names(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [run["pipeline"] for run in answer.json()["runs"]]


# --- runs ---------------------------------------------------------------------------------------------------------------


def test_the_newest_runs_come_first_page_by_page(client: Client) -> None:
    admin = client()
    first = admin.get(f"{API}/runs?status=complete&limit=3")
    assert names(first) == ["notebook", "loans.again", "loans.report"]
    second = admin.get(f"{API}/runs?status=complete&limit=3&before={first.json()['next']}")
    assert names(second) == ["loans.examine"]
    assert second.json()["next"] is None


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("dag_id=loan_examination", ["loans.again", "loans.examine"]),
        ("dag_id=loan_examination&task_id=examine&map_index=-1", ["loans.examine"]),
        ("dag_id=loan_examination&map_index=0", []),
        ("dag_id=loan%25", []),
        ("pipeline=notebook", ["notebook"]),
        ("status=failed", []),
        ("search=REPORT", ["loans.report"]),
        ("search=%25", []),
        ("dag_run_id=manual__2025-12-31T06:00:00%2B00:00", ["loans.again", "loans.report", "loans.examine"]),
    ],
)
def test_runs_are_searched(client: Client, asked: str, found: list[str]) -> None:
    assert names(client().get(f"{API}/runs?{asked}")) == found


def test_one_run(client: Client, runs: dict[str, str]) -> None:
    found = client().get(f"{API}/runs/{runs['judged']}").json()
    assert found["run"]["rows"] == 120
    assert found["run"]["stored_bytes"] == sum(one["bytes"] for one in found["stored"])
    assert [one["name"] for one in found["stored"]] == ["result", "segment_1", "source_0", "source_1"]
    assert all(one["bytes"] > 0 for one in found["stored"])
    assert found["columns"] == ["client_id", "name", "date", "amount", "judge"]
    assert found["udfs"] == ["credit_exam"]


# --- rows ---------------------------------------------------------------------------------------------------------------


def rows(client: Any, run_id: str, **asked: Any) -> Any:
    return client.post(f"{API}/runs/{run_id}/rows", json=asked)


def test_rows_come_in_pages(client: Client, runs: dict[str, str], store: Store) -> None:
    every = Lineage(store=store).get_run(runs["judged"]).result_table().column("client_id").to_pylist()
    pages = [rows(client(), runs["judged"], offset=offset, limit=50).json() for offset in (0, 50, 100)]
    assert [row[0] for page in pages for row in page["rows"]] == every
    assert [page["more"] for page in pages] == [True, True, False]
    assert {page["total"] for page in pages} == {120}


def test_rows_are_filtered_and_sorted_as_spark_would(client: Client, runs: dict[str, str]) -> None:
    asked = {"where": "judge = 'Reject' AND amount BETWEEN 150 AND 160", "sort": [{"column": "amount", "descending": True}]}
    found = rows(client(), runs["judged"], **asked).json()
    shown = [(row[3], row[4]) for row in found["rows"]]
    assert shown
    assert shown == sorted(shown, reverse=True)
    assert {judge for _, judge in shown} == {"Reject"}
    assert found["total"] is None


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"where": "nonsense ="}, "InvalidTarget"),
        ({"where": "salary > 7"}, "InvalidTarget"),
        ({"sort": [{"column": "salary"}]}, "InvalidTarget"),
        ({"limit": 10_001}, "InvalidRequest"),
        ({"offset": -1}, "InvalidRequest"),
        ({"filter": "amount > 7"}, "InvalidRequest"),
    ],
)
def test_questions_that_cannot_be_meant(client: Client, runs: dict[str, str], asked: dict[str, Any], error: str) -> None:
    answer = rows(client(), runs["judged"], **asked)
    assert (answer.status_code, answer.json()["error"]["name"]) == (422, error)
    assert set(answer.json()["error"]) == {"name", "message", "ask"}


def test_a_result_that_was_not_stored(client: Client, runs: dict[str, str]) -> None:
    answer = rows(client(), runs["again"])
    assert (answer.status_code, answer.json()["error"]["name"], answer.json()["error"]["ask"]) == (409, "ResultNotStored", None)
    error = rows(client(), runs["again"], where="amount > 150").json()["error"]
    assert (error["name"], error["ask"]["python"]) == ("ResultNotStored", f'lineage.get_run("{runs["again"]}").explain("amount > 150")')


# --- explanations -------------------------------------------------------------------------------------------------------


def explain(client: Any, run_id: str, **asked: Any) -> Any:
    return client.post(f"{API}/runs/{run_id}/explanation", json=asked)


def test_why_is_what_python_says(client: Client, runs: dict[str, str], store: Store) -> None:
    row = rows(client(), runs["judged"], where="judge = 'Reject'", sort=[{"column": "client_id", "descending": True}], limit=1).json()
    answer = explain(client(), runs["judged"], numbers=row["numbers"]).json()
    expected = Lineage(store=store).get_run(runs["judged"]).explain(f"client_id = {row['rows'][0][0]}", save=False).to_dict()
    for part in ("answer", "target", "source", "reasons", "guarantee"):
        assert answer["document"][part] == expected[part]
    assert answer["document"]["reasons"]["credit_exam"]["decisions"][0]["value"] == "Reject"
    position = answer["asked"].split()[1]
    assert answer["ask"]["command"] == f"airflow-lineage explain {runs['judged']} --at {position}"
    by_position = Lineage(store=store).get_run(runs["judged"]).explain(at=position, save=False)
    assert by_position.target.to_pylist()[0]["client_id"] == row["rows"][0][0]


def test_the_page_is_the_page(client: Client, runs: dict[str, str], store: Store) -> None:
    before = store.derivations(runs["judged"])
    answer = explain(client(), runs["judged"], where="client_id = 49", form="page").json()
    assert "<!doctype html>" in answer["page"].lower()
    assert "credit_exam" in answer["page"]
    assert store.derivations(runs["judged"]) == before


def test_letters_about_decisions(client: Client, runs: dict[str, str], store: Store) -> None:
    asked = {"where": "client_id = 49"}
    assert explain(client(), runs["judged"], **asked).json()["letters"] == ["credit_exam"]
    answer = explain(client(), runs["judged"], **asked, form="letters", udf="credit_exam").json()
    expected = Lineage(store=store).get_run(runs["judged"]).explain(asked["where"], save=False).letters()
    assert answer["page"] == expected.to_html()
    assert "your amount" in answer["page"]
    assert answer["document"] == json.loads(json.dumps(expected.to_dict()))
    assert answer["tables"] == ["target", "source.client", "source.loan", "reasons.credit_exam"]
    assert answer["ask"]["python"] == f'lineage.get_run("{runs["judged"]}").explain("client_id = 49").letters("credit_exam")'
    assert answer["ask"]["command"] == f"airflow-lineage explain {runs['judged']} 'client_id = 49' --letters --udf credit_exam"
    refused = explain(client(), runs["judged"], **asked, form="letters", udf="another")
    assert (refused.status_code, refused.json()["error"]["name"]) == (422, "InvalidOption")


def test_letters_about_the_decisions_of_a_stored_answer(client: Client, derived: DagResult, store: Store) -> None:
    stored = derived.result("derive")["derivation_id"]
    answer = client().get(f"{API}/derivations/{stored}", params={"form": "letters", "udf": "credit_exam"}).json()
    expected = Lineage(store=store).derivation(stored).letters()
    assert answer["page"] == expected.to_html()
    assert answer["document"] == json.loads(json.dumps(expected.to_dict()))
    assert answer["ask"]["command"] == f"airflow-lineage letters {stored} --udf credit_exam"


def test_where_spark_is_needed_the_answer_says_how_to_ask(client: Client, runs: dict[str, str]) -> None:
    answer = explain(client(), runs["again"], where="amount > 150")
    assert answer.status_code == 409
    error = answer.json()["error"]
    assert error["name"] == "SparkRequired"
    assert error["ask"]["python"] == f'lineage.get_run("{runs["again"]}").explain("amount > 150")'
    assert error["ask"]["command"] == f"airflow-lineage explain {runs['again']} 'amount > 150'"


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"where": "client_id = 999"}, "EmptyTarget"),
        ({"where": "client_id > 0"}, "TargetTooLarge"),
        ({"numbers": ["77777777777"]}, "InvalidTarget"),
        ({"numbers": ["x"]}, "InvalidRequest"),
        ({}, "InvalidRequest"),
    ],
)
def test_targets_that_cannot_be_used(client: Client, runs: dict[str, str], asked: dict[str, Any], error: str) -> None:
    answer = explain(client(), runs["judged"], **asked)
    assert (answer.status_code, answer.json()["error"]["name"]) == (422, error)


def test_an_answer_ends_in_time(client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_lineage_provider.settings.web_seconds", lambda: 0.001)
    answer = explain(client(), runs["judged"], where="client_id = 49")
    assert (answer.status_code, answer.json()["error"]["name"]) == (504, "QueryTooSlow")
    assert answer.json()["error"]["ask"]["command"].startswith("airflow-lineage explain ")


def test_lineage_goes_on_through_the_run_that_wrote_what_was_read(client: Client, runs: dict[str, str]) -> None:
    found = explain(client(), runs["reported"], where="client_id = 99").json()["document"]
    assert set(found["source"]) == {"client", "loan"}
    assert [one["run"]["id"] for one in found["intermediate"].values()] == [runs["judged"]]


# --- columns, stored answers, description -------------------------------------------------------------------------------


def test_column_lineage(client: Client, runs: dict[str, str]) -> None:
    found = {one["name"]: one for one in client().get(f"{API}/runs/{runs['judged']}/columns").json()["columns"]}
    assert {(one["source"], one["column"]) for one in found["judge"]["inputs"]} >= {("client", "income"), ("loan", "amount")}


def test_column_lineage_through_other_runs(client: Client, runs: dict[str, str], only_dag: Callable[[str, str], None]) -> None:
    def sources(asked: Any, across: bool) -> set[str]:
        found = asked.get(f"{API}/runs/{runs['reported']}/columns?across={across}").json()
        return {one["source"] for column in found["columns"] for one in [*column["inputs"], *found["rows"]]}

    assert sources(client(), True) == {"client", "loan"}
    assert sources(client(), False) == {"judged"}
    # What another DAG's run read is not for everybody.
    only_dag("ann", "loan_report")
    assert sources(client("viewer", "ann"), True) == {"judged"}


def test_very_many_columns_are_told_elsewhere(client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_lineage_provider.web.api.columns.MOST_INPUTS", 3)
    error = client().get(f"{API}/runs/{runs['judged']}/columns").json()["error"]
    assert (error["name"], error["ask"]["command"]) == ("AnswerTooLarge", f"airflow-lineage columns {runs['judged']}")


def test_the_api_describes_itself(client: Client) -> None:
    found = client().get(f"{API}/openapi.json").json()
    assert {"401", "403", "404", "500"} <= found["paths"]["/api/v1/runs/{run_id}"]["get"]["responses"].keys()
    assert {f"/api/v1/runs/{{run_id}}/{part}" for part in ("rows", "explanation", "columns", "derivations")} <= set(found["paths"])
    assert client(None).get(f"{API}/openapi.json").status_code == 401


def test_a_store_that_is_away(client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> Store:
        raise StoreUnavailable("the results store does not answer, opening postgresql://nobody")

    monkeypatch.setattr("airflow_lineage_provider.web.asking.opened_store", away)
    answer = client().get(f"{API}/runs")
    assert (answer.status_code, answer.json()["error"]["name"]) == (503, "StoreUnavailable")


def test_a_run_that_failed_is_seen(client: Client, store: Store) -> None:
    from airflow_lineage_provider.store import RunRecord

    run_id = store.begin_run(RunRecord(pipeline="failing", airflow={"dag_id": "loan_failed"}))
    store.fail_run(run_id, "the disk is full")
    found = client().get(f"{API}/runs/{run_id}").json()
    assert (found["run"]["status"], found["run"]["error"], found["stored"]) == ("failed", "the disk is full", [])
    assert names(client().get(f"{API}/runs?dag_id=loan_failed")) == ["failing"]
    store.drop_run(run_id)
