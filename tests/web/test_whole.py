"""A whole Airflow behind a browser, once: API server, scheduler, DAG processor and triggerer, a task that records, and a person who clicks.

Of `make faults`, since it takes minutes. What it goes through is tested part by part in every run: the tab in a browser (`test_browser`),
the derivation DAG as it is triggered (`test_spark_answers`, `test_asked_of_spark`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_lineage_provider.store import Store
from tests.airflow.standing import WITH_TRIGGERER, Standing, standing
from tests.chromium import SHOTS, needs_chromium, started
from tests.web.front_end import TAB

pytestmark = [
    needs_chromium,
    pytest.mark.skipif("FAULTS" not in os.environ, reason="make faults"),
    pytest.mark.skipif(not (TAB / "index.html").is_file(), reason="the tab was not built: make web, with Node.js 20 or newer"),
    pytest.mark.timeout(0),
]
RUN = "seen+by:somebody"


@pytest.fixture(scope="module")
def airflow(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    """With one DAG run whose task has recorded a run."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "numbers").mkdir()
    pq.write_table(pa.table({"id": pa.array(range(8), pa.int64())}), folder / "numbers" / "part-0.parquet")
    with standing(tmp_path_factory.mktemp("airflow"), store.tcp_url, WITH_TRIGGERER) as made:
        made.trigger("judged", RUN, folder=str(folder), wait=False)
        assert made.ended("judged", RUN, 600) == "success"
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started() as made:
        yield made


def logged_in(browser: Any, airflow: Standing, name: str) -> Any:
    """A page of a person who has logged in by Airflow's own form."""
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{airflow.address}/")
    page.locator("input[name=username]").fill(name)
    page.locator("input[name=password]").fill(airflow.logins[name])
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/login" not in url)
    return page


def shot(page: Any, name: str) -> None:
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"whole-{name}.png"))


TASK = f"dags/judged/runs/{quote(RUN, safe='')}/tasks/judge/plugin/lineage_task_instance"
PLACES = {
    "plugin/lineage_nav": "Runs, newest first",
    "dags/judged/plugin/lineage_dag": "judged: runs, newest first",
    "dags/judged/tasks/judge/plugin/lineage_task": "judged: runs, newest first",
    f"dags/judged/runs/{quote(RUN, safe='')}/plugin/lineage_dag_run": "runs and tables are shown",
    TASK: "Rows 1 to 8 of 8 rows.",
}


@pytest.mark.parametrize("path", PLACES)
def test_each_place_of_the_ui_has_its_view(browser: Any, airflow: Standing, path: str) -> None:
    page = logged_in(browser, airflow, "admin")
    page.goto(f"{airflow.address}/{path}")
    page.frame_locator("iframe").first.get_by_text(PLACES[path]).first.wait_for()
    shot(page, path.rpartition("_")[2] + ("-instance" if "instance" in path else ""))
    page.context.close()


def test_the_link_of_the_task_opens_its_view(browser: Any, airflow: Standing) -> None:
    links = airflow.asked("GET", f"/dags/judged/dagRuns/{quote(RUN, safe='')}/taskInstances/judge/links")["extra_links"]
    page = logged_in(browser, airflow, "admin")
    page.goto(links["Lineage"])
    page.frame_locator("iframe").first.get_by_text("Rows 1 to 8 of 8 rows.").wait_for()
    page.context.close()


def test_spark_is_asked_by_a_click_and_the_answer_opens(browser: Any, airflow: Standing) -> None:
    """With reasons that nobody has asked for yet: the UDF is called in the derivation's task."""
    page = logged_in(browser, airflow, "admin")
    page.goto(f"{airflow.address}/{TASK}")
    tab = page.frame_locator("iframe").first
    tab.get_by_label("Filter, as Spark's SQL says it").fill("id = 5")
    tab.get_by_role("button", name="Filter", exact=True).click()
    tab.get_by_role("link", name="Why? Row 1").click()
    tab.get_by_role("button", name="Ask it with Spark").first.click()
    tab.get_by_text("A question to Spark").wait_for()
    shot(page, "asked")
    tab.get_by_role("link", name="Open the answer").click(timeout=600_000)
    answer = tab.frame_locator("iframe")
    answer.get_by_text("judge").first.wait_for()
    answer.get_by_text("numbers").first.wait_for()
    shot(page, "answered")
    page.context.close()


def test_a_viewer_may_look_and_not_ask(browser: Any, airflow: Standing) -> None:
    page = logged_in(browser, airflow, "viewer")
    page.goto(f"{airflow.address}/{TASK}")
    tab = page.frame_locator("iframe").first
    tab.get_by_role("link", name="Why? Row 1").first.click()
    tab.get_by_text("Asking Spark needs the right to trigger the DAG lineage_derivation.").first.wait_for()
    shot(page, "viewer")
    page.context.close()
