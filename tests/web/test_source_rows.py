"""Source rows that are followed forwards: what else they touched, why they are not in the result, and who may ask."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.render.withheld import text_shown
from airflow_lineage_provider.store import Store
from tests.web.test_files import read

API = "/lineage/api/v1"
Client = Callable[..., Any]
OnlyDag = Callable[[str, str], None]


def asked(client: Any, run_id: str, what: str, **body: Any) -> Any:
    return client.post(f"{API}/runs/{run_id}/{what}", json=body)


def behind(client_id: int, table: str) -> dict[str, Any]:
    return {"table": table, "behind": {"where": f"client_id = {client_id}"}, "row": 0}


def test_what_else_a_source_row_touched(client: Client, runs: dict[str, str], store: Store) -> None:
    """The inverse of what stands behind every row of the result."""
    lineage = Lineage(store=store)
    run = lineage.get_run(runs["judged"])
    behind_all = run.backward("client_id > 0", "client")
    ids = behind_all.rows.column("client_id").to_pylist()
    touched = {result for result, row in zip(*(one.to_pylist() for one in behind_all.links.columns), strict=True) if ids[row] == 49}
    expected = [run.result_table().to_pylist()[at] for at in sorted(touched)]
    answer = asked(client(), runs["judged"], "forward", **behind(49, "client")).json()
    (found,) = answer["results"]
    names = [one["name"] for one in found["result"]["columns"]]
    assert [dict(zip(names, row, strict=True))["amount"] for row in found["result"]["rows"]] == [one["amount"] for one in expected]
    assert expected
    assert (found["run"]["id"], found["table"], found["guarantee"]["level"]) == (runs["judged"], "client", "exact")
    assert answer["rows"]["rows"] == [[49, "client 49", 35.0, 0.0]]
    assert found["ask"]["command"].endswith(" --table client")
    assert found["ask"]["python"].startswith(f'lineage.get_run("{runs["judged"]}").forward("client_id = 49 AND name = \'client 49\'')
    by_number = client().post(f"{API}/runs/{runs['judged']}/explanation", json={"numbers": found["numbers"]})
    assert by_number.status_code == 200


def test_source_rows_by_a_predicate(client: Client, runs: dict[str, str]) -> None:
    (found,) = asked(client(), runs["judged"], "forward", table="CLIENT", where="client_id IN (3, 4)").json()["results"]
    assert sorted(row[0] for row in found["result"]["rows"]) == [3, 4]
    assert found["table"] == "client"


def test_a_source_row_behind_another_run_is_followed_in_that_run(client: Client, runs: dict[str, str]) -> None:
    answer = asked(client(), runs["reported"], "forward", **behind(99, "client")).json()
    (found,) = answer["results"]
    assert found["run"]["id"] == runs["judged"]
    assert [row[0] for row in found["result"]["rows"]] == [99]


def test_why_not_is_answered_where_the_rows_are_in_the_result(client: Client, runs: dict[str, str]) -> None:
    answer = asked(client(), runs["judged"], "why-not", **behind(49, "client")).json()
    assert answer["survived"] is True
    assert answer["found"]["results"][0]["result"]["total"] == 1
    assert asked(client(), runs["judged"], "why-not", table="client", where="client_id < 4").json()["survived"] is True


def test_why_not_of_a_row_that_was_dropped_is_sparks(client: Client, store: Store, runs: dict[str, str]) -> None:
    answer = asked(client(), runs["again"], "why-not", table="judged", where="client_id = 49")
    assert answer.status_code == 409
    error = answer.json()["error"]
    assert error["name"] == "SparkRequired"
    assert error["ask"]["command"] == f"airflow-lineage why-not {runs['again']} 'client_id = 49' --table judged"
    assert error["ask"]["python"] == f'lineage.get_run("{runs["again"]}").why_not("client_id = 49", table="judged")'


def test_a_row_is_named_to_the_dag_by_its_place(client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What a DAG run's parameters are is read by others than may read the rows. One of which nothing can be said is not asked about with
    all others."""

    (number,) = asked(client(), runs["judged"], "rows", where="client_id = 49").json()["numbers"]

    def conf(**behind: Any) -> Any:
        row = {"table": "client", "behind": behind, "row": 0}
        (found,) = asked(client(), runs["judged"], "forward", **row).json()["results"]
        return found["ask"]["conf"]

    told = conf(numbers=[number])
    place = told.pop("row")
    assert told == {"question": "forward", "lineage_run_id": runs["judged"], "table": "client", "across": False}
    assert {name: place[name] for name in ("run_id", "table", "row")} == {"run_id": runs["judged"], "table": "client", "row": 0}
    assert place["at"].isdigit()
    assert conf(where="client_id = 49")["row"] == {name: value for name, value in place.items() if name != "at"} | {
        "where": "client_id = 49"
    }
    assert re.fullmatch("[0-9a-f]{32}", place["seal"])
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "client.name")
    assert conf(numbers=[number])["row"]["seal"] != place["seal"]
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "client.*")
    assert conf(numbers=[number]) is None


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"table": "client", "where": "salary = 1"}, "InvalidTarget"),
        ({"table": "clients", "where": "client_id = 1"}, "InvalidTarget"),
        ({"table": "client", "where": "client_id ="}, "InvalidTarget"),
        ({"table": "client", "where": "client_id = 999"}, "EmptyTarget"),
        ({"table": "client", "where": "client_id > 0"}, "TargetTooLarge"),
        ({"table": "client", "behind": {"where": "client_id = 49"}, "row": 1}, "InvalidTarget"),
        ({"table": "nothing", "behind": {"where": "client_id = 49"}, "row": 0}, "InvalidTarget"),
        ({"table": "client", "behind": {"where": "client_id = 49"}}, "InvalidRequest"),
        ({"table": "client", "behind": {"where": "client_id = 49"}, "row": 0, "where": "client_id = 49"}, "InvalidRequest"),
        ({"table": "client"}, "InvalidRequest"),
    ],
)
@pytest.mark.parametrize("what", ["forward", "why-not"])
def test_source_rows_that_cannot_be_meant(client: Client, runs: dict[str, str], what: str, body: dict[str, Any], error: str) -> None:
    answer = asked(client(), runs["judged"], what, **body)
    assert (answer.status_code, answer.json()["error"]["name"]) == (422, error), answer.text


def test_another_dags_source_rows_are_withheld(client: Client, runs: dict[str, str], only_dag: OnlyDag) -> None:
    only_dag("ann", "loan_report")
    ann = client("viewer", "ann")
    source = client().post(f"{API}/runs/{runs['reported']}/forward", json={"table": "nothing", "where": "true"})
    table = source.json()["error"]["message"].split("it has ")[1].split(" ")[0]
    for what in ("forward", "why-not"):
        by_row = asked(ann, runs["reported"], what, **behind(99, "client"))
        assert by_row.json()["error"]["name"] == "InvalidTarget"
        assert "client 99" not in by_row.text
        by_predicate = asked(ann, runs["reported"], what, table=table, where="client_id = 99")
        assert (by_predicate.status_code, by_predicate.json()["error"]["name"]) == (403, "NotPermitted")
        allowed = asked(client(), runs["reported"], what, table=table, where="client_id = 99")
        assert allowed.status_code == 409  # its files are gone: Spark is to find the rows


@pytest.mark.parametrize("what", ["forward", "why-not"])
def test_columns_that_are_withheld(client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "client.name")
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "client.debt,amount")
    answer = asked(client(), runs["judged"], what, **behind(49, "client"))
    found = answer.json() if what == "forward" else answer.json()["found"]
    assert found["rows"]["rows"] == [[49, 35.0, "•••"]]
    assert "debt" not in found["results"][0]["ask"]["python"]
    amount = [one["name"] for one in found["results"][0]["result"]["columns"]].index("amount")
    assert found["results"][0]["result"]["rows"][0][amount] == "•••"
    for column in ("name = 'client 49'", "debt > 0"):
        refused = asked(client(), runs["judged"], what, table="client", where=column)
        assert (refused.status_code, refused.json()["error"]["name"]) == (422, "InvalidTarget")


def across(client: Any, runs: dict[str, str]) -> dict[str, Any]:
    answer = asked(client, runs["judged"], "forward", **behind(49, "client"), across=True)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_what_source_rows_touched_in_later_runs(client: Client, runs: dict[str, str], store: Store) -> None:
    """As the command says it; a run that only Spark could ask is left out, and the answer says so."""
    found = across(client(), runs)
    here, later = found["results"]
    assert (here["run"]["id"], here["table"], here["decides"]) == (runs["judged"], "client", True)
    assert (later["run"]["id"], later["table"], later["decides"]) == (runs["reported"], None, False)
    known = Lineage(store=store).get_run(runs["reported"])
    explained = known.explain(known.numbered([int(number) for number in later["numbers"]]), save=False)
    assert later["result"]["rows"] == [[49, 187.0, 2025]]
    assert 49 in explained.sources["client"].rows.column("client_id").to_pylist()
    assert "--across" in later["ask"]["command"]
    assert ", across=True" in later["ask"]["python"]
    # (Of runs that were dropped since, other tests' among them, it is said that nobody knows what they read.)
    assert found["page"] is None
    page = asked(client(), runs["judged"], "forward", **behind(49, "client"), across=True, form="page").json()["page"]
    assert page.startswith("<!DOCTYPE html>")
    told = re.sub("<[^>]*>", "", page)
    for words in ("1 row of the result of loans.report", "187", f"{runs['again']} of loans.again"):
        assert words in told
    assert runs["judged"] in told
    (remark,) = [one for one in found["remarks"] if one["level"] != "exact"]
    assert remark["level"] == "unavailable"
    assert f"{runs['again']} of loans.again" in remark["cause"]
    assert "needs a Spark session" in remark["cause"]


def test_each_runs_rows_are_a_file_of_their_own(client: Client, runs: dict[str, str]) -> None:
    """None is left out unsaid: where the rows are of several runs, a file is of one that is named."""
    path, body = f"{API}/runs/{runs['judged']}/forward", behind(49, "client") | {"across": True}
    found = client().post(path, json=body).json()["results"]
    assert [one["tables"] for one in found] == [["result", "links"], [f"result.{runs['reported']}", f"links.{runs['reported']}"]]
    for one in found:
        rows, links = (read(client().post(f"{path}?format=arrow", json=body | {"saved": name})) for name in one["tables"])
        assert rows.column_names == [column["name"] for column in one["result"]["columns"]]
        assert [[str(value) for value in row.values()] for row in rows.to_pylist()] == [[*map(str, row)] for row in one["result"]["rows"]]
        assert links.to_pylist() == [{"asked": 0, "row": at} for at in range(rows.num_rows)]
        name = client().post(f"{path}?format=csv", json=body | {"saved": one["tables"][0]}).headers["content-disposition"]
        assert one["run"]["id"] in name
    for named, why in ((None, "several runs"), ("result.nothing", "no table")):
        refused = client().post(f"{path}?format=csv", json=body | {"saved": named})
        assert (refused.status_code, refused.json()["error"]["name"]) == (422, "InvalidTarget")
        assert why in refused.json()["error"]["message"]
        assert f"links.{runs['reported']}" in refused.json()["error"]["message"]


def test_later_runs_of_other_dags_are_withheld(client: Client, runs: dict[str, str], only_dag: OnlyDag) -> None:
    only_dag("ann", "loan_examination")
    found = across(client("viewer", "ann"), runs)
    assert [one["run"]["id"] for one in found["results"]] == [runs["judged"]]
    assert any(one["cause"].startswith("withheld: 1 later run ") for one in found["remarks"])
    assert runs["reported"] not in str(found)
    assert "loans.report" not in str(found)


def test_columns_of_later_runs_that_are_withheld(client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "year")
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "amount")
    _, later = across(client(), runs)["results"]
    assert [one["name"] for one in later["result"]["columns"]] == ["client_id", "amount"]
    assert later["result"]["rows"] == [[49, "•••"]]
    page = asked(client(), runs["judged"], "forward", **behind(49, "client"), across=True, form="page").json()["page"]
    assert "•••" in page
    assert "187" not in page


def test_a_message_about_any_run_is_shown_without_what_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "run 01a of x could not be traced: salary > 40000 AND name = 'Ann'"
    assert text_shown(text) == text
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "sal*")
    assert text_shown(text) == "run 01a of x could not be traced: ••• > ••• AND name = •••"


def test_a_source_row_of_a_stored_answer_is_followed(client: Client, runs: dict[str, str], store: Store) -> None:
    """By its values, since a stored answer has no keys: as from the explanation itself, where no other row has them."""
    kept = Lineage(store=store).get_run(runs["judged"]).explain("client_id = 49").id
    for what in ("forward", "why-not"):
        body = {"table": "client", "derivation": kept, "row": 0}
        stored, direct = (asked(client(), runs["judged"], what, **one).json() for one in (body, behind(49, "client")))
        stored, direct = (stored, direct) if what == "forward" else (stored["found"], direct["found"])
        assert stored["rows"] == direct["rows"]
        (one,), (other,) = stored["results"], direct["results"]
        assert (one["result"], one["numbers"], one["ask"]["command"]) == (other["result"], other["numbers"], other["ask"]["command"])
        assert (one["guarantee"]["level"], other["guarantee"]["level"]) == ("superset", "exact")


def test_rows_of_stored_answers_that_cannot_be_followed(
    client: Client, runs: dict[str, str], store: Store, only_dag: OnlyDag, monkeypatch: pytest.MonkeyPatch
) -> None:
    lineage = Lineage(store=store)
    own, behind_it = (lineage.get_run(runs[name]).explain("client_id = 49").id for name in ("judged", "reported"))

    def refused(client: Any, run: str, **body: Any) -> tuple[int, str]:
        answer = asked(client, runs[run], "forward", **{"table": "client", "row": 0, "derivation": own} | body)
        assert "client 49" not in answer.text
        return answer.status_code, answer.json()["error"]["name"]

    assert refused(client(), "reported", derivation=behind_it) == (422, "InvalidTarget")  # an earlier run has read that table
    assert refused(client(), "reported") == (422, "InvalidTarget")  # it is about another run
    assert refused(client(), "judged", row=1) == (422, "InvalidTarget")
    assert refused(client(), "judged", table="nothing") == (422, "InvalidTarget")
    assert refused(client(), "judged", derivation="01zzz") == (404, "DerivationNotFound")
    assert refused(client(), "judged", where="true") == (422, "InvalidRequest")
    assert refused(client(), "judged", row=None) == (422, "InvalidRequest")
    only_dag("ann", "loan_report")
    assert refused(client("viewer", "ann"), "judged")[0] == 404
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "client.*")
    assert refused(client(), "judged") == (422, "InvalidTarget")  # nothing is left to know it by
