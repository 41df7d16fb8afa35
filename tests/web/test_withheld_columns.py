"""What is withheld of a source table is withheld of the results that carry its values: renamed, computed, written and read again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from tests.in_turn import in_turn
from tests.store.conftest import sql
from tests.web.conftest import database
from tests.web.recorded_runs import restore
from tests.web.test_source_rows import behind

API = "/lineage/api/v1"
Client = Callable[..., Any]
SETTINGS = ("AIRFLOW_LINEAGE_HIDE", "AIRFLOW_LINEAGE_MASK")
_COORDINATES = re.compile(r'\b[xy]\d?=\\?"[\d.]+\\?"')
"""Of the plan's drawing."""
_AMOUNT = re.compile(r"(?<![\w.])187(?:\.0)?(?![\w.-])")
WHERE = {"where": "client_id = 49"}
"""Their loan is of 187; the second run reads what the first has written."""


def told(client: Client, run_id: str) -> list[str]:
    """All that the API tells of that row, in every form."""
    asked: list[tuple[str, dict[str, Any]]] = [("rows", WHERE)]
    asked += [("explanation", WHERE | {"form": form}) for form in ("json", "page")]
    asked += [("forward", behind(49, "client") | {"across": across}) for across in (False, True)]
    found = [client().post(f"{API}/runs/{run_id}/{path}", json=body) for path, body in asked]
    tables = found[1].json()["tables"]
    found += [client().post(f"{API}/runs/{run_id}/explanation?format=csv", json=WHERE | {"table": one}) for one in tables]
    found += [client().post(f"{API}/runs/{run_id}/rows?format={form}", json=WHERE) for form in ("csv", "arrow")]
    assert {one.status_code for one in found} == {200}
    return [_COORDINATES.sub("", one.text) for one in found]


@pytest.mark.parametrize(("setting_name", "run"), in_turn(SETTINGS, ["judged", "reported"]))
def test_no_answer_has_its_values(
    client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, setting_name: str, run: str
) -> None:
    assert all(_AMOUNT.search(one) for one in told(client, runs[run])[:5])
    monkeypatch.setenv(setting_name, "loan.amount")
    for one in told(client, runs[run]):
        assert not _AMOUNT.search(one)


@pytest.mark.parametrize("setting_name", SETTINGS)
def test_what_is_computed_of_it_is_withheld_through_runs(
    client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, setting_name: str
) -> None:
    """Its year, of the date that a text was cast to; the decision, a model's own, stays."""
    monkeypatch.setenv(setting_name, "loan.date")
    judged, reported = (client().post(f"{API}/runs/{runs[name]}/rows", json={"limit": 9}).json() for name in ("judged", "reported"))
    assert "2025" not in str(judged["rows"]) + str(reported["rows"])
    assert [one["name"] for one in judged["columns"] if not one["masked"]] == ["client_id", "name", "amount", "judge"]
    assert [one["name"] for one in reported["columns"] if not one["masked"]] == ["client_id", "amount"]


def test_what_a_model_decided_is_shown(client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "client.income,client.debt,loan.amount")
    rows = client().post(f"{API}/runs/{runs['judged']}/rows", json=WHERE).json()["rows"]
    assert [row[-1] for row in rows] == ["Reject"]


def test_no_question_may_read_it(client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "loan.amount")
    asked: list[tuple[str, dict[str, Any]]] = [("rows", {"where": "amount = 187"}), ("rows", {"sort": [{"column": "amount"}]})]
    asked += [("explanation", {"where": "amount = 187"}), ("forward", {"table": "judged", "where": "amount = 187"})]
    for name in ("judged", "reported"):
        for path, body in asked:
            refused = client().post(f"{API}/runs/{runs[name]}/{path}", json=body)
            assert (refused.status_code, refused.json()["error"]["name"]) == (422, "InvalidTarget"), (name, path)
        assert "amount" not in client().get(f"{API}/runs/{runs[name]}").json()["columns"]
    (source,) = client().get(f"{API}/runs/{runs['reported']}").json()["sources"]
    assert "amount" not in source["columns"]


def test_a_stored_answer_is_shown_so_too(client: Client, runs: dict[str, str], store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Lineage(store=store).get_run(runs["reported"]).explain("client_id = 49")
    path = f"{API}/derivations/{kept.id}"
    assert _AMOUNT.search(client().get(path).text)
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "loan.amount")
    for form in ("json", "page"):
        assert not _AMOUNT.search(client().get(f"{path}?form={form}").text)
    for table in client().get(path).json()["tables"]:
        assert not _AMOUNT.search(client().get(f"{path}?format=csv&table={table}").text)


def test_column_lineage_and_the_search_have_no_hidden_column(client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert client().get(f"{API}/found?search=amount").json()["hits"]
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "loan.amount")
    for across in (False, True):
        found = client().get(f"{API}/runs/{runs['reported']}/columns?across={across}").json()
        assert [one["name"] for one in found["columns"]] == ["client_id", "year"]
        assert "amount" not in str(found)
    assert client().get(f"{API}/found?search=amount").json()["hits"] == []


@pytest.mark.parametrize("how", ["hide", "mask"])
def test_what_an_argument_withholds_goes_by_the_plan_in_every_answer(runs: dict[str, str], store: Store, how: str) -> None:
    """Of the setting's and of the argument's patterns an explanation, and rows that others stand behind, say the same."""
    run = Lineage(store=store).get_run(runs["judged"])
    forward, explained = run.forward("client_id = 49", "client"), run.explain("client_id = 49", save=False)
    behind_it = run.backward("client_id = 49", "loan")
    for answer in (forward, explained, behind_it):
        withheld: dict[str, Any] = {how: ["loan.amount"]}
        for made in (lambda **by: json.dumps(answer.to_dict(**by), default=str), answer.to_html):  # noqa: B023  (made and called here)
            assert _AMOUNT.search(_COORDINATES.sub("", made()))
            assert not _AMOUNT.search(_COORDINATES.sub("", made(**withheld)))
    shown = forward.to_dict(**{how: ["client.name"]})
    assert "client 49" in json.dumps(forward.to_dict(), default=str)
    assert "client 49" not in json.dumps(shown, default=str)


def test_a_kept_answer_is_withheld_by_the_plan_also_when_its_run_is_gone(runs: dict[str, str], lineage_home: Path) -> None:
    """Then nobody knows what its columns carry."""
    with Store.open(database(lineage_home, "kept_and_withheld")) as own:
        lineage, made = Lineage(store=own), restore(own, "judged")
        kept = lineage.get_run(made).forward("client_id = 49", "client", save=True).id
        answer = lineage.answer(kept)
        told = json.dumps(answer.to_dict(mask=["loan.amount"]), default=str)
        assert _AMOUNT.search(json.dumps(answer.to_dict(), default=str))
        assert not _AMOUNT.search(told)
        assert "client 49" in told
        sql(own.url, "UPDATE lineage.runs SET plan = 'no plan', shared_plan = NULL WHERE id = %s", [made])
        unknown = json.dumps(lineage.answer(kept).to_dict(mask=["loan.amount"]), default=str)
        assert "client 49" not in unknown
