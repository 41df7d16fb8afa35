"""Airflow's real API server in a process of its own: the tab below a path, as behind a proxy; and it is killed in the middle of an answer,
of which nothing is left, and which the next server gives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg2
import pytest

from airflow_lineage_provider.store import Store
from tests.airflow.standing import until
from tests.airflow.submitting import tables
from tests.store.conftest import sql
from tests.web.served import Served, served
from tests.web.test_browser import browser  # noqa: F401
from tests.web.test_browser import pytestmark as in_a_browser

PATH = "/some/where"
SESSIONS = """SELECT pid, application_name, state, wait_event_type FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""


def sessions(store: Store, others: list[object]) -> list[tuple[object, ...]]:
    return [one for one in sql(store.url, SESSIONS) if one[0] not in others]


def left(store: Store, run: str) -> Any:
    """What an answer may leave, and what can be locked."""
    return tables(store), store.derivations(run), [one.table for one in store.materializations(run).values()]


@pytest.fixture(scope="module")
def others(store: Store, runs: dict[str, str]) -> list[object]:
    """The store's sessions before the server has any: those of this process, which asks nothing else than before."""
    left(store, runs["judged"])
    return [pid for pid, *_ in sessions(store, [])]


@pytest.fixture(scope="module")
def server(
    application: Any, store: Store, runs: dict[str, str], others: list[object], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """Until the last test kills it."""
    with served(store.url, tmp_path_factory.mktemp("server") / "log", PATH, AIRFLOW_LINEAGE_WEB_SECONDS="50") as started:
        yield started


@pytest.fixture
def base(server: Served) -> str:
    return server.address


def in_browser(test: Callable[..., None]) -> Callable[..., None]:
    for mark in in_a_browser:
        test = mark(test)
    return test


@in_browser
def test_the_tab_stands_below_a_path(
    base: str,
    browser: Any,  # noqa: F811
    token: Callable[[str, str], str],
    runs: dict[str, str],
) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.add_cookies([{"name": "_token", "value": token("admin", "admin"), "url": base}])
    page = context.new_page()
    page.set_default_timeout(30_000)
    asked: list[tuple[str, int]] = []
    page.on("response", lambda answer: asked.append((answer.url, answer.status)))
    page.goto(f"{base}/lineage/tab#run={runs['judged']}&where=client_id+%3D+49&why=where")
    page.frame_locator("iframe").get_by_text("credit_exam").first.wait_for()
    page.get_by_text("There is no DAG lineage_derivation").or_(page.get_by_role("button", name="Ask it with Spark")).or_(
        page.get_by_text("The DAG lineage_derivation")
    ).first.wait_for()
    page.goto(f"{base}/plugin/lineage_nav")
    page.frame_locator("iframe").get_by_role("link", name="loans.examine", exact=True).wait_for()
    context.close()
    above = base.removesuffix(PATH) + "/api/v2/version"  # Airflow 3.2's own page asks there
    wrong = [(url, status) for url, status in asked if status >= 400 or not url.startswith((f"{base}/", above, "data:", "blob:"))]
    assert not wrong


def test_the_login_comes_back_below_the_path(base: str) -> None:
    import httpx

    answer = httpx.get(f"{base}/lineage/tab?dag_id=a", follow_redirects=False)
    assert f'href="{PATH}/api/v2/auth/login?next={PATH}/lineage/tab%3Fdag_id%3Da"' in answer.text


def test_nothing_is_left_of_the_answer_of_a_server_that_is_killed(
    client: Callable[..., Any],
    store: Store,
    runs: dict[str, str],
    token: Callable[[str, str], str],
    others: list[object],
    server: Served,
) -> None:
    import httpx

    question = {"where": "client_id = 49"}
    headers, path = {"Authorization": f"Bearer {token('admin', 'admin')}"}, f"/lineage/api/v1/runs/{runs['judged']}/explanation"
    before = left(store, runs["judged"])

    def ask(address: str) -> Any:
        return httpx.post(f"{address}{path}", json=question, headers=headers, timeout=60)

    held = psycopg2.connect(store.url)
    with held.cursor() as cursor:
        for table in before[-1]:
            cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
    others.append(held.get_backend_pid())
    broken: list[Exception] = []

    def asks() -> None:
        try:
            ask(server.address)
        except httpx.HTTPError as error:
            broken.append(error)

    asking = threading.Thread(target=asks)
    asking.start()
    until(lambda: [one for one in sessions(store, others) if one[3] == "Lock"])  # the answer has come so far as to wait
    server.kill()
    asking.join(60)
    assert broken, "the answer was given"
    held.close()
    until(lambda: not sessions(store, others))
    assert left(store, runs["judged"]) == before
    answer = client("admin").post(path, json=question)  # of the server in this process
    assert answer.status_code == 200, answer.text
    assert answer.json()["document"]["source"]["client"]["rows"] == [[49, "client 49", 35.0, 0.0]]
