"""The tab below a path of its own, as behind a proxy: Airflow's real API server, with a base URL that has a path."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider.store import Store
from tests.web.test_browser import browser, pytestmark  # noqa: F401

PATH = "/some/where"


@pytest.fixture(scope="module")
def base(application: Any, store: Store, runs: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server in a process of its own, on the database, the secret and the store of these tests."""
    import httpx

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    address = f"http://127.0.0.1:{port}{PATH}"
    environment = os.environ | {"AIRFLOW__API__BASE_URL": address, "AIRFLOW_LINEAGE_STORE": store.url}
    command = [str(Path(sys.executable).parent / "airflow"), "api-server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("w") as output:
        server = subprocess.Popen(
            command, env=environment, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
        )
        try:
            ends = time.monotonic() + 120
            while True:
                try:
                    httpx.get(f"{address}/lineage/icon.svg", timeout=5).raise_for_status()
                    break
                except httpx.HTTPError:
                    assert server.poll() is None, log.read_text()[-3000:]
                    assert time.monotonic() < ends, log.read_text()[-3000:]
                    time.sleep(0.3)
            yield address
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(30)


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
    page.frame_locator("iframe").get_by_role("link", name="loans.examine").wait_for()
    context.close()
    wrong = [(url, status) for url, status in asked if status >= 400 or (url.startswith("http") and not url.startswith(f"{base}/"))]
    assert not wrong


def test_the_login_comes_back_below_the_path(base: str) -> None:
    import httpx

    answer = httpx.get(f"{base}/lineage/tab?dag_id=a", follow_redirects=False)
    assert answer.status_code == 307
    assert answer.headers["location"] == f"{PATH}/api/v2/auth/login?next={PATH}/lineage/tab%3Fdag_id%3Da"
