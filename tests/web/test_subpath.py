"""The tab below a path of its own, as behind a proxy: Airflow's real API server, with a base URL that has a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from airflow_lineage_provider.store import Store
from tests.web.served import served
from tests.web.test_browser import browser, pytestmark  # noqa: F401

PATH = "/some/where"


@pytest.fixture(scope="module")
def base(application: Any, store: Store, runs: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(store.url, tmp_path_factory.mktemp("server") / "log", PATH) as server:
        yield server.address


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
    wrong = [(url, status) for url, status in asked if status >= 400 or (url.startswith("http") and not url.startswith(f"{base}/"))]
    assert not wrong


def test_the_login_comes_back_below_the_path(base: str) -> None:
    import httpx

    answer = httpx.get(f"{base}/lineage/tab?dag_id=a", follow_redirects=False)
    assert f'href="{PATH}/api/v2/auth/login?next={PATH}/lineage/tab%3Fdag_id%3Da"' in answer.text
