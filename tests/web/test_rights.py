"""Who is shown what: by login, by DAG, across DAGs, and by column."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from typing import Any

import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.deriving.kept.answers import record_of
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.web.headers import hash_of
from tests.deriving import kept_examples

API = "/lineage/api/v1"
Client = Callable[..., Any]
OnlyDag = Callable[[str, str], None]


def routes(runs: dict[str, str], derivation: str = "x") -> list[tuple[str, str, Any]]:
    of_run = f"{API}/runs/{runs['judged']}"
    views: dict[str, Any] = {"table": "client", "views": [{"name": "debt", "expression": "debt"}]}
    brushed = views | {"made": "x", "brushes": [None]}
    return [
        ("GET", of_run, None),
        ("POST", f"{of_run}/rows", {}),
        ("POST", f"{of_run}/explanation", {"where": "client_id = 49"}),
        ("POST", f"{of_run}/forward", {"table": "client", "where": "client_id = 49"}),
        ("POST", f"{of_run}/why-not", {"table": "client", "where": "client_id = 49"}),
        ("GET", f"{of_run}/crossfilter?table=client", None),
        ("POST", f"{of_run}/crossfilter", views),
        ("POST", f"{of_run}/crossfilter/counts", brushed),
        ("POST", f"{of_run}/crossfilter/rows", brushed),
        ("GET", f"{of_run}/columns", None),
        ("GET", f"{of_run}/derivations", None),
        ("GET", f"{API}/derivations/{derivation}", None),
    ]


@pytest.fixture(scope="module")
def kept(store: Store, runs: dict[str, str]) -> str:
    """A stored answer about the report, with rows of the examination behind it."""
    return Lineage(store=store).get_run(runs["reported"]).explain("client_id = 99").id


def test_nobody_is_told_anything(client: Client, runs: dict[str, str]) -> None:
    nobody = client(None)
    every = [
        *routes(runs),
        ("GET", f"{API}/runs", None),
        ("GET", f"{API}/store", None),
        ("GET", f"{API}/found?search=ab", None),
        ("GET", f"{API}/derivations", None),
        ("GET", f"{API}/picture", None),
        ("GET", f"{API}/openapi.json", None),
        ("GET", "/lineage/assets/x.js", None),
    ]
    for method, path, body in every:
        assert nobody.request(method, path, json=body).status_code == 401, path
    garbage = nobody.get(f"{API}/runs", headers={"Authorization": "Bearer garbage"})
    assert garbage.status_code == 403
    assert garbage.json()["error"]["name"] == "NotPermitted"


def test_every_route_of_the_api_asks_for_a_login(application: Any) -> None:
    """A route that somebody adds is refused, too, unless it is one of those that say nothing."""
    from airflow.api_fastapi.core_api.security import get_user

    from airflow_lineage_provider.web.app import create_app

    def asks(dependant: Any) -> bool:
        return dependant.call is get_user or any(map(asks, dependant.dependencies))

    open_to_all = {route.path for route in every_route(create_app()) if not asks(route.dependant)}
    assert open_to_all == {"/icon.svg", "/tab"}


def every_route(app: Any) -> list[Any]:
    found, waiting = [], list(app.routes)
    while waiting:
        route = waiting.pop()
        inner = getattr(route, "routes", None) or getattr(getattr(route, "original_router", None), "routes", None)
        if inner:
            waiting.extend(inner)
        elif hasattr(route, "dependant"):
            found.append(route)
    return found


def test_the_tab_alone_sends_to_the_login_and_comes_back(client: Client) -> None:
    answer = client(None).get("/lineage/tab?dag_id=a%20b")
    assert 'href="/api/v2/auth/login?next=/lineage/tab%3Fdag_id%3Da%2520b"' in answer.text
    (script,) = re.findall("<script>(.*?)</script>", answer.text)
    assert f"'{hash_of(script)}'" in answer.headers["content-security-policy"]
    odd = client(None).get('/lineage/tab?dag_id="><b>').text
    assert "<b>" not in odd


def test_another_dags_run_is_not_there(client: Client, runs: dict[str, str], only_dag: OnlyDag, store: Store) -> None:
    derivation = Lineage(store=store).get_run(runs["judged"]).explain("client_id = 49").id
    only_dag("ann", "loan_report")
    ann = client("viewer", "ann")
    for method, path, body in routes(runs, derivation):
        answer = ann.request(method, path, json=body)
        name = "DerivationNotFound" if "/derivations/" in path else "RunNotFound"
        assert (answer.status_code, answer.json()["error"]["name"]) == (404, name), path


def test_what_is_not_ones_own_is_told_like_what_is_not_there(client: Client, runs: dict[str, str], only_dag: OnlyDag, store: Store) -> None:
    derivation = Lineage(store=store).get_run(runs["judged"]).explain("client_id = 49").id
    only_dag("ann", "loan_report")
    ann = client("viewer", "ann")

    def told(path: str, given: str) -> str:
        return str(ann.get(f"{API}/{path}/{given}").json()).replace(given, "…")

    assert (
        told("runs", runs["judged"]) == told("runs", runs["judged"][:-1] + "0") == told("runs", runs["judged"][:12]) == told("runs", "zz")
    )
    others = (runs["judged"], runs["judged"][:-1] + "0", runs["judged"][:12], "zz")
    assert len({told("runs", given) for given in others}) == 1
    assert len({told("derivations", given) for given in (derivation, derivation[:-1] + "0", "zz")}) == 1


def test_lists_have_what_one_may_read(client: Client, only_dag: OnlyDag) -> None:
    only_dag("ann", "loan_report")
    assert [one["pipeline"] for one in client("viewer", "ann").get(f"{API}/runs").json()["runs"]] == ["loans.report"]
    assert client("viewer", "ann").get(f"{API}/runs?search=examine").json() == {"runs": [], "next": None}


@pytest.mark.parametrize(("role", "sees"), [("admin", True), ("op", True), ("user", False), ("viewer", False)])
def test_runs_of_no_dag_are_for_who_may_read_connections(client: Client, runs: dict[str, str], role: str, sees: bool) -> None:
    answer = client(role).get(f"{API}/runs/{runs['alone']}")
    assert (answer.status_code == 200) is sees
    assert ("notebook" in client(role).get(f"{API}/runs").text) is sees


def test_another_dags_rows_are_withheld_and_it_is_said(client: Client, runs: dict[str, str], only_dag: OnlyDag) -> None:
    asked = {"where": "client_id = 99"}
    only_dag("ann", "loan_report")
    found = client("viewer", "ann").post(f"{API}/runs/{runs['reported']}/explanation", json=asked).json()["document"]
    (table,) = found["source"].values()
    assert table["rows"] == []
    assert table["guarantee"]["level"] == "unavailable"
    assert "withheld" in table["guarantee"]["cause"]
    assert found["intermediate"] == {}
    assert found["target"]["links"] == []
    assert found["reasons"] == {}
    assert "client 99" not in str(found)
    page = client("viewer", "ann").post(f"{API}/runs/{runs['reported']}/explanation", json=asked | {"form": "page"}).json()["page"]
    assert "client 99" not in page
    assert "withheld" in page


def test_a_stored_answer_with_another_dags_rows_is_refused(client: Client, runs: dict[str, str], kept: str, only_dag: OnlyDag) -> None:
    assert client().get(f"{API}/derivations/{kept}").json()["document"]["intermediate"]
    assert kept in [one["id"] for one in client().get(f"{API}/runs/{runs['reported']}/derivations").json()["derivations"]]
    only_dag("ann", "loan_report")
    answer = client("viewer", "ann").get(f"{API}/derivations/{kept}")
    assert (answer.status_code, answer.json()["error"]["name"]) == (403, "NotPermitted")


@pytest.mark.parametrize(("remarked", "status"), [("reported", 403), ("judged", 200), ("gone", 403)])
def test_a_stored_answer_that_names_another_dags_run_is_refused(
    client: Client, runs: dict[str, str], store: Store, only_dag: OnlyDag, remarked: str, status: int
) -> None:
    """Also one that names a run of which nobody knows whose it is."""
    here = kept_examples.rows_of(run=Lineage(store=store).get_run(runs["judged"]).summary, asked_table="client")
    named = frozenset({runs.get(remarked, remarked)})
    answer = store.save_derivation(record_of(kept_examples.descendants(here=here, later={}, remarked=named)))
    only_dag("ann", "loan_examination")
    for params in ({}, {"form": "page"}, {"format": "csv"}):
        assert client("viewer", "ann").get(f"{API}/derivations/{answer}", params=params).status_code == status


# --- columns ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "name")
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "amount")


@pytest.mark.usefixtures("withheld")
def test_columns_that_are_withheld_are_in_no_answer(client: Client, runs: dict[str, str]) -> None:
    of_run = f"{API}/runs/{runs['judged']}"
    rows = client().post(f"{of_run}/rows", json={"where": "client_id = 49"}).json()
    assert [one["name"] for one in rows["columns"]] == ["client_id", "date", "amount", "judge"]
    assert rows["rows"][0][2] == "•••"
    why = client().post(f"{of_run}/explanation", json={"where": "client_id = 49"})
    page = client().post(f"{of_run}/explanation", json={"where": "client_id = 49", "form": "page"})
    details, columns = client().get(of_run), client().get(f"{of_run}/columns")
    for answer in (why, page):
        assert "client 49" not in answer.text
    document = why.json()["document"]
    assert [row[1] for row in document["source"]["loan"]["rows"]] == ["•••"]
    (decision,) = document["reasons"]["credit_exam"]["decisions"]
    assert {one["name"]: one["value"] for one in decision["arguments"]}["amount"] == "•••"
    assert [one["feature"] for one in decision["reason"]["features"]] == ["income", "debt", "withheld features"]
    assert decision["reason"]["features"][-1] == {"feature": "withheld features", "value": "•••", "contribution": {"$float": "NaN"}}
    assert (decision["reason"]["base_value"], decision["reason"]["output"]) == ({"$float": "NaN"}, None)
    assert details.json()["columns"] == ["client_id", "date", "judge"]
    assert "name" not in {one["name"] for one in columns.json()["columns"]}


def rule(table: str, column: str) -> str | None:
    """A house's own rule: no names, and of amounts no values."""
    return {"name": "hide", "amount": "mask"}.get(column)


def test_a_hook_withholds_like_patterns(client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK_HOOK", f"{__name__}:rule")
    test_columns_that_are_withheld_are_in_no_answer(client, runs)
    for asked in ({"where": "name LIKE 'client 4%'"}, {"sort": [{"column": "amount"}]}):
        answer = client().post(f"{API}/runs/{runs['judged']}/rows", json=asked)
        assert (answer.status_code, answer.json()["error"]["name"]) == (422, "InvalidTarget")


def failing(table: str, column: str) -> str | None:
    raise KeyError("the rule's own trouble")


@pytest.mark.parametrize("hook", ["tests.web.test_rights:failing", "tests.web.test_rights:API", "no.such:rule", "rule"])
def test_a_hook_that_does_not_work_shows_nothing(client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, hook: str) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK_HOOK", hook)
    for method, path, body in routes(runs)[1:4]:
        answer = client().request(method, path, json=body)
        assert (answer.status_code, answer.json()["error"]["name"]) == (500, "InvalidSetting"), path
        assert "client 49" not in answer.text


@pytest.mark.usefixtures("withheld")
@pytest.mark.parametrize("asked", [{"where": "name LIKE 'client 4%'"}, {"where": "amount > 180"}, {"sort": [{"column": "amount"}]}])
def test_no_question_finds_out_what_is_withheld(client: Client, runs: dict[str, str], asked: dict[str, Any]) -> None:
    answer = client().post(f"{API}/runs/{runs['judged']}/rows", json=asked)
    assert (answer.status_code, answer.json()["error"]["name"]) == (422, "InvalidTarget")
    if "where" in asked:
        answer = client().post(f"{API}/runs/{runs['judged']}/explanation", json=asked)
        assert (answer.status_code, answer.json()["error"]["name"]) == (422, "InvalidTarget")


@pytest.mark.usefixtures("withheld")
def test_no_error_names_a_hidden_column(client: Client, runs: dict[str, str]) -> None:
    for where in ("client_id = 999", "nothing = 1"):
        message = client().post(f"{API}/runs/{runs['judged']}/explanation", json={"where": where}).json()["error"]["message"]
        assert "judge" in message
        assert "•••" in message
        assert not {"name"} & set(message.replace(",", " ").split()), message


# --- what is written down, loaded and framed ----------------------------------------------------------------------------


def audited(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [json.loads(one.getMessage()) for one in caplog.records if one.name == "airflow_lineage_provider.audit"]


def test_every_question_is_put_down(client: Client, runs: dict[str, str], caplog: pytest.LogCaptureFixture, only_dag: OnlyDag) -> None:
    only_dag("ann", "loan_report")
    with caplog.at_level(logging.INFO, "airflow_lineage_provider.audit"):
        client().post(f"{API}/runs/{runs['judged']}/explanation?format=csv", json={"where": "client_id = 49"})
        client().post(f"{API}/runs/{runs['judged']}/rows", json={"where": "client_id ="})
        client("viewer", "ann").get(f"{API}/runs/{runs['judged']}")
        client("viewer", "ann").get(f"{API}/runs?search=secret&dag_id=loan_report")
    found = [{name: value for name, value in one.items() if name != "seconds"} for one in audited(caplog)]
    asked = {"event": "lineage_tab", "run_id": runs["judged"]}
    # All of it: no predicate, no row, and not what was searched for.
    assert found == [
        asked | {"user": "admin", "action": "explanation", "format": "csv", "outcome": "answered"},
        asked | {"user": "admin", "action": "rows", "outcome": "InvalidTarget"},
        asked | {"user": "ann", "action": "one_run", "outcome": "RunNotFound"},
        {"event": "lineage_tab", "user": "ann", "action": "list_runs", "dag_id": "loan_report", "outcome": "answered"},
    ]
    assert "client 49" not in caplog.text


def test_a_search_is_sent_in_a_body(client: Client, runs: dict[str, str], kept: str, only_dag: OnlyDag) -> None:
    """It is answered as one in the address is, which proxies and servers put down."""
    for path, search, rest in (("runs", "REPORT", ""), ("found", "income", ""), ("derivations", "client_id = 99", "dag_id=loan_report")):
        sent = client().post(f"{API}/{path}?{rest}", json={"search": search})
        asked = client().get(f"{API}/{path}?{rest}", params={"search": search, **dict([rest.split("=")] if rest else ())})
        assert (sent.status_code, sent.json()) == (200, asked.json()), path
        assert next(iter(sent.json().values())), path
        assert client(None).post(f"{API}/{path}", json={"search": search}).status_code == 401
        assert client().post(f"{API}/{path}", json={"search": ""}).status_code == 422
    only_dag("ann", "loan_report")
    assert client("viewer", "ann").post(f"{API}/runs", json={"search": "examine"}).json() == {"runs": [], "next": None}


def test_every_answer_of_the_api_is_put_down(client: Client, runs: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    more = [("GET", f"{API}/{path}", None) for path in ("runs", "picture?dag_id=a&dag_run_id=b", "found?search=ab", "derivations", "store")]
    every = [*routes(runs), *more]
    with caplog.at_level(logging.INFO, "airflow_lineage_provider.audit"):
        for method, path, body in every:
            client().request(method, path, json=body)
    assert len(audited(caplog)) == len(every)


def test_no_udf_is_called(client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_lineage_provider.web.asking import AskedLineage, Question

    assert isinstance(Question(None).lineage(), AskedLineage)
    assert Question(None).lineage().calls_udfs is False
    monkeypatch.setenv("AIRFLOW_LINEAGE_WEB_UDFS", "1")
    assert Question(None).lineage().calls_udfs is True


def test_pages_say_what_they_may_load(client: Client) -> None:
    policy = client().get(f"{API}/runs").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'self'" in policy
    assert "unsafe-inline" not in policy.split("style-src")[0]
    assert client().get(f"{API}/runs").headers["cache-control"] == "no-store"


def test_the_catalog_answers_while_rows_are_looked_through(client: Client) -> None:
    import threading

    import anyio

    from airflow_lineage_provider.web.asking import Question

    looked, found = threading.Event(), []

    async def ask() -> None:
        question = Question(None)

        async def look() -> None:
            found.append(await question.answered(lambda: looked.wait(30), about="rows"))

        async with anyio.create_task_group() as people:
            for _ in range(30):
                people.start_soon(look)
            await anyio.sleep(0.1)
            assert await question.answered(lambda: "the newest runs") == "the newest runs"
            assert not found
            looked.set()

    anyio.run(ask)
    assert found == [True] * 30


def test_no_form_of_another_site_can_ask(client: Client, runs: dict[str, str]) -> None:
    """What a page elsewhere can send with a person's cookie is a form, or a plain text, of which nothing is read."""
    body = '{"where": "client_id = 49"}'
    path = f"{API}/runs/{runs['judged']}/rows"
    assert client().post(path, content=body, headers={"content-type": "application/json"}).status_code == 200
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        refused = client().post(path, content=body, headers={"content-type": kind})
        assert (refused.status_code, refused.json()["error"]["name"]) == (422, "InvalidRequest")
        assert "client 49" not in refused.text
