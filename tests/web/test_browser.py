"""The tab in a real browser, before Airflow's own API server: as an administrator and a viewer, by keyboard, narrow, dark, and by axe."""

from __future__ import annotations

import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urljoin, urlsplit

import pyarrow.parquet as pq
import pytest

from airflow_lineage_provider import Lineage, Run
from airflow_lineage_provider.answers.answer import Answer
from airflow_lineage_provider.deriving.kept.answers import record_of
from airflow_lineage_provider.errors import QueryTooSlow
from airflow_lineage_provider.store import Store
from tests.chromium import SHOTS, needs_chromium, started
from tests.deriving import kept_examples
from tests.in_turn import EVERY
from tests.web.conftest import Flights
from tests.web.front_end import AXE, TAB, large, mapped

pytestmark = [
    needs_chromium,
    pytest.mark.skipif(not (TAB / "index.html").is_file(), reason="the tab was not built: make web, with Node.js 20 or newer"),
]


@pytest.fixture(scope="module")
def address(application: Any, runs: dict[str, str]) -> Iterator[str]:
    """Airflow's API server, on a thread of this process."""
    import uvicorn

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(application, host="127.0.0.1", port=port, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(20)


EXPECTED = ("409", "504")
"""Answers that say how it is had otherwise, of which the browser complains."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started() as made:
        yield made


@pytest.fixture(scope="module")
def logged_in(browser: Any, address: str, token: Callable[[str, str], str]) -> Iterator[Callable[[str], Any]]:
    """The browser of a person of a role, who opens one page after another: the tab keeps nothing there beyond a page."""
    contexts: dict[str, Any] = {}

    def of(role: str) -> Any:
        if role not in contexts:
            contexts[role] = browser.new_context(accept_downloads=True)
            contexts[role].add_cookies([{"name": "_token", "value": token(role, role), "url": address}])
        return contexts[role]

    yield of
    for context in contexts.values():
        context.close()


@pytest.fixture
def opened(logged_in: Callable[[str], Any], address: str) -> Iterator[Callable[..., Any]]:
    """Pages of a person who is logged in; what the page complains of fails the test."""
    pages, complaints = [], []

    def open_page(path: str, role: str = "admin", width: int = 1280, scheme: str = "light") -> Any:
        page = logged_in(role).new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda said: complaints.append(said.text) if said.type == "error" and not any(one in said.text for one in EXPECTED) else None,
        )
        page.goto(f"{address}/{path}")
        return page

    yield open_page
    for page in pages:
        page.close()
    assert not complaints


def look(page: Any, name: str) -> None:
    """Nothing that axe calls serious, nothing to be scrolled to sideways; and a picture, to be looked at (``WEB_SHOTS``)."""
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())  # (it is there where the tab was built)
    # Of what is as it should be nothing is told, which takes longer than looking.
    found = page.evaluate("axe.run(document, {iframes: false, resultTypes: ['violations']}).then(found => found.violations)")
    serious = [(one["id"], [node["html"] for node in one["nodes"]]) for one in found if one["impact"] in ("serious", "critical")]
    assert not serious, json.dumps(serious, indent=1)


TASK = "lineage/tab?dag_id=loan_examination&dag_run_id=manual__2025-12-31T06%3A00%3A00%2B00%3A00&task_id=examine&map_index={MAP_INDEX}"
_SIZES = [(1280, "light"), (390, "dark")]
_turns = itertools.count()


def SIZES(test: Callable[..., None]) -> Callable[..., None]:
    """Wide and light, narrow and dark, test by test in turn: the pages are of one style sheet. `make pairs` has each test in both."""
    sizes = _SIZES if EVERY else [_SIZES[next(_turns) % len(_SIZES)]]
    sized: Callable[..., None] = pytest.mark.parametrize(("width", "scheme"), sizes)(test)
    return sized


@SIZES
def test_all_runs(opened: Callable[..., Any], width: int, scheme: str) -> None:
    page = opened("lineage/tab", width=width, scheme=scheme)
    page.get_by_role("link", name="loans.examine", exact=True).wait_for()
    look(page, f"home-{width}")
    sent: list[tuple[str, str]] = []
    page.on("request", lambda one: sent.append((one.url, one.post_data or "")))
    page.get_by_role("searchbox").press_sequentially("report", delay=20)
    page.get_by_role("link", name="loans.examine", exact=True).wait_for(state="detached")
    page.get_by_role("link", name="loans.report").wait_for()
    assert page.get_by_role("link", name="loans.").all_inner_texts() == ["loans.report"]
    assert not any("report" in url for url, _ in sent)
    assert [url.partition("/v1/runs")[2] for url, body in sent if "/v1/runs" in url and "search" in body] == ["?limit=50"]
    page.get_by_role("searchbox").fill("income")
    page.get_by_role("link", name="income").wait_for()
    page.get_by_text("The results store takes").wait_for()
    look(page, f"found-{width}")
    page.get_by_role("link", name="income").click()
    page.get_by_text("Columns: client_id, name, income, debt").wait_for()


@SIZES
def test_a_dags_pipelines(opened: Callable[..., Any], width: int, scheme: str) -> None:
    page = opened("lineage/tab?dag_id=loan_examination", width=width, scheme=scheme)
    page.get_by_role("link", name="loans.again").wait_for()
    assert page.get_by_role("heading").all_inner_texts() == ["loan_examination"]
    look(page, f"dag-{width}")
    page.get_by_role("link", name="loans.again").click()
    page.get_by_text("Not from here.").wait_for()
    look(page, f"not-stored-{width}")
    page.locator("#where").fill("client_id = 49")
    page.get_by_role("button", name="Why these?").click()
    page.get_by_text("airflow-lineage explain").wait_for()
    page.get_by_role("button", name="Ask it with Spark").or_(page.get_by_text("DAG lineage_derivation")).first.wait_for()
    look(page, f"not-stored-why-{width}")


@SIZES
def test_the_last_try_of_a_task_instance(opened: Callable[..., Any], width: int, scheme: str) -> None:
    """It is shown at once, and the tries before it, which failed, are listed below it."""

    def with_a_try_that_failed(route: Any) -> None:
        answer = route.fetch()
        found = answer.json()
        failed = {"id": "0" * 32, "status": "failed", "error": "out of memory", "try_number": found["runs"][0]["try_number"] - 1}
        route.fulfill(response=answer, json={**found, "runs": [*found["runs"], {**found["runs"][0], **failed}]})

    page = opened("lineage/tab", width=width, scheme=scheme)
    page.route("**/api/v1/runs?*task_id=*", with_a_try_that_failed)
    page.goto(page.url.replace("lineage/tab", TASK))
    page.get_by_text("Rows 1 to 50 of 120 rows.").wait_for()
    earlier = page.get_by_role("table", name="Earlier tries, newest first")
    assert "out of memory" in earlier.inner_text()
    look(page, f"tries-{width}")


@SIZES
def test_why_a_row_is_as_it_is(opened: Callable[..., Any], width: int, scheme: str) -> None:
    page = opened(TASK, width=width, scheme=scheme)
    page.get_by_text("Rows 1 to 50 of 120 rows.").wait_for()
    look(page, f"rows-{width}")
    page.get_by_role("button", name="Reject").first.click()
    page.get_by_text("Rows 1 to 41.").wait_for()
    assert page.locator("#where").input_value() == "judge = 'Reject'"
    page.get_by_role("button", name="amount").click()
    page.get_by_role("columnheader", name="amount").and_(page.locator("[aria-sort=ascending]")).wait_for()
    page.get_by_role("link", name="Why?").first.click()
    frame = page.frame_locator("iframe")
    frame.get_by_text("credit_exam").first.wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Why?"
    page.get_by_text("airflow-lineage explain").wait_for()
    background = frame.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")
    assert (sum(map(int, background.strip("rgb()").split(","))) < 200) is (scheme == "dark")
    look(page, f"why-{width}")
    with page.expect_download() as saved:
        page.get_by_role("region", name="Why?").get_by_role("button", name="Save JSON").click()
    document = json.loads(Path(saved.value.path()).read_text())
    assert document["document"] == "airflow_lineage.explanation"
    link = page.get_by_role("link", name="Link to this").get_attribute("href")
    page.goto("about:blank")
    page.goto(link)
    page.frame_locator("iframe").get_by_text("credit_exam").first.wait_for()
    assert page.locator("#where").input_value() == "judge = 'Reject'"


@SIZES
def test_letters_of_reasons(opened: Callable[..., Any], runs: dict[str, str], width: int, scheme: str) -> None:
    page = opened(f"lineage/tab#run={runs['judged']}&where=client_id+%3D+49&why=where", width=width, scheme=scheme)
    page.get_by_role("link", name="Letters of reasons about credit_exam").click()
    page.frame_locator("iframe").get_by_text("your amount").first.wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Letters of reasons"
    look(page, f"letters-{width}")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save page").click()
    assert saved.value.suggested_filename.startswith("letters-")
    with page.expect_download() as saved:
        page.get_by_role("region", name="Letters of reasons").get_by_role("button", name="Save JSON").click()
    assert json.loads(saved.value.path().read_text())["document"] == "airflow_lineage.letters"
    assert page.get_by_text("--letters --udf credit_exam").is_visible()
    page.get_by_role("link", name="Why?", exact=True).first.click()
    page.get_by_role("heading", name="Why?").wait_for()


@SIZES
def test_a_source_row_is_followed(opened: Callable[..., Any], runs: dict[str, str], width: int, scheme: str) -> None:
    page = opened(f"lineage/tab#run={runs['judged']}&where=client_id+%3D+49&why=where", width=width, scheme=scheme)
    page.get_by_role("link", name="Follow a source row further").click()
    page.get_by_role("link", name="What else? Row 1 of client").click()
    page.get_by_role("heading", name="1 row of the result of this run").wait_for()
    look(page, f"forward-{width}")
    link = page.get_by_role("region", name="What did it touch?").get_by_role("link", name="Link to this").get_attribute("href")
    page.get_by_role("link", name="Why not? Row 1 of client").click()
    page.get_by_text("It is in the result").wait_for()
    page.goto("about:blank")
    page.goto(link)
    page.get_by_role("heading", name="1 row of the result of this run").wait_for()
    touched = page.get_by_role("region", name="What did it touch?")
    touched.get_by_role("link", name="Why? Row 1").click()
    page.frame_locator("iframe").get_by_text("credit_exam").first.wait_for()


@SIZES
def test_a_source_row_is_followed_into_later_runs(opened: Callable[..., Any], runs: dict[str, str], width: int, scheme: str) -> None:
    page = opened(f"lineage/tab#run={runs['judged']}&where=client_id+%3D+49&why=where&follow=1", width=width, scheme=scheme)
    page.get_by_role("link", name="Impact: row 1 of client").click()
    page.get_by_role("heading", name="1 row of the result of loans.report").wait_for()
    page.get_by_text("DAG loan_report").wait_for()
    page.get_by_text("loans.again, which may have read rows of it, was not asked").wait_for()
    look(page, f"impact-{width}")
    later = page.get_by_role("region", name="What did it touch, here and in later runs?")
    later.get_by_label("Table for CSV and Arrow").select_option(f"result.{runs['reported']}")
    with page.expect_download() as saved:
        later.get_by_role("button", name="Save CSV").click()
    assert Path(saved.value.path()).read_text().splitlines() == ['"client_id","amount","year"', '"49","187.0","2025"']
    with page.expect_download() as saved:
        later.get_by_role("button", name="Save page").click()
    assert "1 row of the result of loans.report" in Path(saved.value.path()).read_text()
    later.get_by_role("link", name="Why? Row 1").last.click()
    page.get_by_role("heading", name="loans.report").wait_for()


def test_source_rows_by_a_predicate_and_where_spark_is_needed(opened: Callable[..., Any], runs: dict[str, str]) -> None:
    page = opened(f"lineage/tab#run={runs['again']}&part=sources")
    page.get_by_label("Its rows, as Spark's SQL says it").fill("client_id = 49")
    page.get_by_role("button", name="Why are they not in the result?").click()
    page.get_by_text(f"airflow-lineage why-not {runs['again']} 'client_id = 49' --table").wait_for()
    look(page, "why-not")


@SIZES
def test_why_not_is_asked_of_spark_and_its_answer_opened(
    opened: Callable[..., Any], client: Any, runs: dict[str, str], store: Store, derived: Any, width: int, scheme: str
) -> None:
    client().patch("/api/v2/dags/lineage_derivation", json={"is_paused": False})
    asked = "part=sources&table=judged&where=client_id+%3D+49&ask=why-not"
    page = opened(f"lineage/tab#run={runs['again']}&{asked}", width=width, scheme=scheme)
    page.get_by_role("button", name="Ask it with Spark").wait_for()
    look(page, f"why-not-asks-spark-{width}")
    page.get_by_role("button", name="Ask it with Spark").click()
    page.get_by_text("Waiting for its turn").wait_for()  # nothing schedules it here
    lineage = Lineage(store=store)
    summary = lineage.get_run(runs["again"]).summary
    answers: dict[str, tuple[Answer, str]] = {
        "Why is it not in the result?": (kept_examples.why_not(run=summary), "rows of banned exclude it"),
        "What did it touch?": (kept_examples.rows_of(run=summary), "What 3 rows of loan touched"),
    }
    for title, (answer, told) in answers.items():
        kept = store.save_derivation(record_of(answer))
        page.goto(f"{page.url.partition('#')[0]}#run={runs['again']}&part=answers")
        page.reload()  # a list is not asked for again at once
        page.locator(f"a[href*='{kept}']", has_text=f"{title} amount < 30").click()
        page.get_by_role("heading", name=title).wait_for()
        page.frame_locator("iframe").get_by_text(told).first.wait_for()
        page.get_by_text(f"airflow-lineage show-derivation {kept}").wait_for()
        look(page, f"stored-{title.split()[0].lower()}-{width}")
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save CSV").click()
        assert saved.value.suggested_filename == f"{kept}.csv"


def test_names_are_completed_as_sql_has_them(opened: Callable[..., Any], runs: dict[str, str]) -> None:
    page = opened("lineage/tab")
    names = ["amount", "odd name", "größe", "tick`s", "order"]

    def with_odd_names(route: Any) -> None:
        found = route.fetch().json()
        found["columns"] = names
        found["sources"][0]["columns"] = names
        route.fulfill(json=found)

    page.route(f"**/api/v1/runs/{runs['judged']}", with_odd_names)
    page.goto(f"{page.url.partition('#')[0]}#run={runs['judged']}")
    expected = ["amount", "`odd name`", "`größe`", "`tick``s`", "`order`"]
    for part, label in (("", "Filter, as Spark's SQL says it"), ("&part=sources", "Its rows, as Spark's SQL says it")):
        page.goto(f"{page.url.partition('#')[0]}#run={runs['judged']}{part}")
        for typed, before in (("amount > 1 AND am", "amount > 1 AND "), ("`odd na", ""), ("`a` = 1 OR grö", "`a` = 1 OR ")):
            page.get_by_label(label).fill(typed)
            offered = page.locator("datalist option").evaluate_all("all => all.map((one) => one.value)")
            assert offered == [before + name for name in expected]


def test_rows_that_take_long(opened: Callable[..., Any], runs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    page_of = Run.page

    def slow(run: Run, wanted: Any) -> Any:
        if wanted.where and (run._lineage.query_seconds or 0) <= 2:
            raise QueryTooSlow("a query was ended after 2 s")
        return page_of(run, wanted)

    monkeypatch.setattr(Run, "page", slow)
    page = opened(f"lineage/tab#run={runs['judged']}&where=client_id+%3C+4")
    page.get_by_text("a query was ended after 2 s").wait_for()
    page.get_by_text("airflow-lineage explain").wait_for()
    look(page, "rows-that-take-long")
    page.get_by_role("button", name="Look longer").click()
    page.get_by_text("Rows 1 to 3.").wait_for()
    page.get_by_label("Filter, as Spark's SQL says it").fill("client_id < 3")
    page.get_by_role("button", name="Filter", exact=True).click()
    page.get_by_text("a query was ended after 2 s").wait_for()  # patience is for one question


def test_rows_are_saved_as_files(opened: Callable[..., Any], runs: dict[str, str]) -> None:
    page = opened(f"lineage/tab#run={runs['judged']}&where=client_id+%3C+4")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save CSV").click()
    lines = Path(saved.value.path()).read_text().splitlines()
    assert lines[0] == '"client_id","name","date","amount","judge"'
    assert len(lines) == 4


@SIZES
def test_linked_views_of_a_source_table(
    opened: Callable[..., Any], flights: Flights, monkeypatch: pytest.MonkeyPatch, width: int, scheme: str
) -> None:
    from playwright.sync_api import expect

    expect.set_options(timeout=15_000)  # as long as the page waits for anything else
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", flights.store.url)
    rows = pq.read_table(flights.folder).to_pandas()
    most = str(rows.carrier.mode()[0])
    page = opened(f"lineage/tab#run={flights.runs['carriers']}", width=width, scheme=scheme)
    page.get_by_role("link", name="Crossfilter").click()
    page.get_by_role("button", name="this run").click()
    page.get_by_role("button", name="lat", exact=True).click()
    page.get_by_role("button", name="seat", exact=True).click()
    page.get_by_label("Another view").fill("floor(delay / 10)")
    page.keyboard.press("Enter")

    def box(name: str) -> Any:
        return page.get_by_role("region", name=name, exact=True)

    def left(number: int) -> None:
        expect(page.get_by_text("rows are left by all brushes")).to_have_text(f"{number} of 210 rows are left by all brushes.")

    expect(box("floor(delay / 10)").get_by_role("button", name="0.0")).to_be_visible()
    left(210)
    look(page, f"crossfilter-{width}")
    # By pointer, and by keyboard.
    box("floor(delay / 10)").get_by_role("button", name="0.0", exact=False).first.click()
    early = rows[(rows.delay // 10) == 0]
    left(len(early))
    carrier = box("flights.carriers").locator(".line", has_text=f"{most}, ")
    carrier.get_by_role("button").focus()
    page.keyboard.press("Enter")
    both = early[early.carrier == most]
    left(len(both))
    expect(carrier.locator(".count")).to_have_text(str(len(both)))
    assert box("flights.carriers").get_by_role("button", pressed=True).count() == 1
    page.get_by_role("button", name="Show rows").click()
    page.get_by_role("heading", name=f"Rows 1 to {min(50, len(both))} of {len(both)} rows").wait_for()
    seats = page.get_by_role("region", name="Rows that all brushes leave").locator("tbody tr td:last-child").all_inner_texts()
    assert seats == both.seat.tolist()[:50]
    look(page, f"crossfilter-brushed-{width}")
    # A range of many bars, by keyboard, in steps of a person who does not wait for answers.
    first = box("seat").get_by_label("From: seat")
    first.focus()
    for _ in range(100):
        page.keyboard.press("ArrowRight")
    left(len(both[both.seat >= "100A"]))
    page.get_by_role("button", name="Clear all brushes").click()
    left(210)
    # The address has the views and nothing that is brushed.
    carrier.get_by_role("button").click()
    link = page.get_by_role("link", name="Link to these views").get_attribute("href")
    assert most not in unquote(link)
    page.goto("about:blank")
    page.goto(link)
    left(210)
    box("flights.carriers").get_by_role("link", name=f"Why? {most}, ", exact=False).click()
    page.frame_locator("iframe").get_by_text("flights.carriers").first.wait_for()
    page.go_back()
    box("flights.carriers").get_by_role("button").first.wait_for()


@SIZES
def test_cells_over_the_source_image(
    opened: Callable[..., Any], flights: Flights, monkeypatch: pytest.MonkeyPatch, width: int, scheme: str
) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", flights.store.url)
    page = opened(f"lineage/tab#run={flights.runs['photos']}&where=n+%3D+1&why=where", width=width, scheme=scheme)
    frame = page.frame_locator("iframe")
    frame.get_by_text("GOOD", exact=True).wait_for()
    region = frame.locator("svg path[d$='h4v4h-4z']").first
    region.scroll_into_view_if_needed()
    # The region is on the picture, in its pixels, and the browser has drawn both.
    picture = frame.locator("svg image").first
    box = "one => { const { x, y, width, height } = one.getBBox(); return [x, y, width, height]; }"
    assert (region.evaluate(box), picture.evaluate(box)) == ([60, 44, 4, 4], [0, 0, 64, 48])
    assert region.evaluate("(one, other) => one.ownerSVGElement === other.ownerSVGElement", picture.element_handle())
    assert picture.bounding_box()["width"] > 100
    assert picture.evaluate(
        "async one => { const made = new Image(); made.src = one.href.baseVal; await made.decode(); return [made.width, made.height]; }"
    ) == [64, 48]
    if SHOTS:
        picture.screenshot(path=str(Path(SHOTS) / f"cells-region-{width}.png"))
    look(page, f"cells-{width}")


def test_linked_views_that_the_server_refuses(opened: Callable[..., Any], runs: dict[str, str]) -> None:
    page = opened(f"lineage/tab#run={runs['judged']}&part=crossfilter")
    page.get_by_text("Not from here.").wait_for()
    page.get_by_text(f'lineage.crossfilter(lineage.get_run("{runs["judged"]}").backward("true", "').wait_for()
    look(page, "crossfilter-not-here")


DAG_RUN = "lineage/tab?dag_id={}&dag_run_id=manual__2025-12-31T06%3A00%3A00%2B00%3A00"


@SIZES
def test_the_picture_of_a_dag_run(opened: Callable[..., Any], width: int, scheme: str) -> None:
    page = opened(DAG_RUN.format("loan_examination"), width=width, scheme=scheme)
    page.get_by_text("2 of 6 runs and tables are shown.").wait_for()  # the newest run, and what it reads
    page.get_by_role("group", name="Table judged").click()
    page.get_by_text("4 of 6 runs and tables are shown.").wait_for()
    page.get_by_role("group", name="Run loans.examine").click()
    page.get_by_text("6 of 6 runs and tables are shown.").wait_for()
    page.get_by_role("button", name="Show its segments").click()
    page.get_by_role("group", name="segment 1, Non-D · stored").wait_for()
    page.get_by_role("button", name="Fit View").click()
    page.wait_for_timeout(400)
    look(page, f"picture-{width}")
    page.get_by_role("link", name="As a list").click()
    page.get_by_text("which loans.examine wrote").first.wait_for()
    look(page, f"picture-list-{width}")


def test_the_picture_by_keyboard(opened: Callable[..., Any]) -> None:
    page = opened(DAG_RUN.format("loan_examination"))
    page.get_by_text("2 of 6 runs and tables are shown.").wait_for()
    for _ in range(40):
        page.keyboard.press("Tab")
        if (page.evaluate("document.activeElement.getAttribute('aria-label')") or "").startswith("Table judged"):
            break
    page.keyboard.press("Enter")
    page.get_by_text("4 of 6 runs and tables are shown.").wait_for()
    faded = page.locator(".box.faded").count()
    assert faded == 0  # all that is shown comes from it, or goes to it


def test_a_picture_of_two_thousand_nodes_draws_what_is_in_the_window(opened: Callable[..., Any]) -> None:
    page = opened("lineage/tab")
    page.route("**/api/v1/picture?*", lambda route: route.fulfill(json=large(1000)))
    page.goto(page.url + "?dag_id=large&dag_run_id=large")
    page.get_by_role("button", name="Show all 2000").click()
    page.get_by_text("2000 of 2000 runs and tables are shown.").wait_for(timeout=60_000)
    page.get_by_role("group", name="Run run 999").wait_for()
    assert 0 < page.locator(".react-flow__node").count() < 500
    look(page, "picture-large")


@SIZES
def test_instances_of_a_mapped_task_are_one_box_until_it_is_chosen(opened: Callable[..., Any], width: int, scheme: str) -> None:
    page = opened("lineage/tab", width=width, scheme=scheme)
    page.route("**/api/v1/picture?*", lambda route: route.fulfill(json=mapped(300, failed=2)))
    page.goto(page.url + "?dag_id=mapped&dag_run_id=mapped")
    page.get_by_text("299 of 901 runs and tables are shown, 298 of them in 1 box.").wait_for()
    page.get_by_role("button", name="Show all 901").click()
    page.get_by_text("901 of 901 runs and tables are shown, 898 of them in 3 boxes.").wait_for()
    page.wait_for_timeout(400)
    look(page, f"picture-mapped-{width}")
    page.get_by_role("group", name="Runs part × 300, 298 complete, 2 failed").focus()
    page.keyboard.press("Enter")
    page.get_by_text("901 of 901 runs and tables are shown, 598 of them in 2 boxes.").wait_for()
    page.get_by_role("group", name="Run mapped.part, part [0] · complete").wait_for()
    page.wait_for_timeout(400)
    look(page, f"picture-mapped-each-{width}")
    page.locator(":focus", has_text="Show part × 300 as one").wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("898 of them in 3 boxes.").wait_for()
    page.locator(":focus", has_text="Show each of part × 300").wait_for()
    page.get_by_role("group", name="Runs part × 300").click()
    page.get_by_text("598 of them in 2 boxes.").wait_for()
    page.get_by_role("link", name="As a list").click()
    page.get_by_text("part_… × 298 stored · 2,980 rows, which part × 300 wrote").wait_for()
    assert page.get_by_role("link", name="mapped.part").count() == 0
    look(page, f"picture-mapped-list-{width}")
    page.get_by_text("Each of part × 300").click()
    assert page.get_by_role("link", name="mapped.part").count() == 300


@pytest.mark.usefixtures("derived")
def test_what_needs_spark_is_asked_by_the_derivation_dag(
    opened: Callable[..., Any], runs: dict[str, str], client: Any, derived: Any
) -> None:
    client().patch("/api/v2/dags/lineage_derivation", json={"is_paused": False})
    page = opened(f"lineage/tab#run={runs['judged']}&where=client_id+%3D+49&why=where")
    page.get_by_role("button", name="Ask it with Spark").click()
    page.get_by_text("Waiting for its turn").wait_for()  # nothing schedules it here
    look(page, "asked")
    page.goto(f"{page.url.partition('#')[0]}#run={runs['judged']}&part=answers&dag=lineage_derivation&asked={quote(derived.run_id)}")
    page.get_by_role("link", name="Open the answer").click()
    page.frame_locator("iframe").get_by_text("credit_exam").first.wait_for()


def test_an_answer_in_chunks_is_opened_chunk_by_chunk(opened: Callable[..., Any], runs: dict[str, str], derived_in_chunks: Any) -> None:
    page = opened(f"lineage/tab#run={runs['judged']}&part=answers&dag=lineage_derivation&asked={quote(derived_in_chunks.run_id)}")
    page.get_by_text("3 of 3 chunks stored").wait_for()
    look(page, "asked-in-chunks")
    page.get_by_role("link", name="rows 3 to 4 of 5").click()
    page.frame_locator("iframe").get_by_text("credit_exam").first.wait_for()


def test_a_viewer_is_told_what_asking_spark_needs(opened: Callable[..., Any], runs: dict[str, str]) -> None:
    page = opened(f"lineage/tab#run={runs['again']}&part=rows", role="viewer")
    page.goto(f"{page.url.partition('#')[0]}#run={runs['judged']}&where=client_id+%3D+49&why=where")
    page.get_by_text("Asking Spark needs the right to trigger the DAG lineage_derivation.").wait_for()


def test_by_keyboard_alone(opened: Callable[..., Any]) -> None:
    page = opened(TASK)
    page.get_by_text("Rows 1 to 50 of 120 rows.").wait_for()
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.id") != "where":
        page.keyboard.press("Tab")
    page.keyboard.type("client_id = 49")
    page.keyboard.press("Enter")
    page.get_by_text("Rows 1 to 1.").wait_for()
    for _ in range(30):
        page.keyboard.press("Tab")
        if (page.evaluate("document.activeElement.getAttribute('aria-label')") or "").startswith("Why?"):
            break
    page.keyboard.press("Enter")
    page.frame_locator("iframe").get_by_text("credit_exam").first.wait_for()


def test_columns_through_the_runs_behind(opened: Callable[..., Any], runs: dict[str, str]) -> None:
    page = opened(f"lineage/tab#run={runs['reported']}&part=columns")
    page.get_by_text("judged.").first.wait_for()
    page.get_by_label("through the runs that wrote what this one read").check()
    page.get_by_text("client.income").first.wait_for()
    assert page.get_by_text("judged.").count() == 0
    look(page, "columns across")


def test_columns_and_what_is_stored(opened: Callable[..., Any], runs: dict[str, str]) -> None:
    page = opened(f"lineage/tab#run={runs['judged']}&part=columns")
    page.get_by_text("client.income").first.wait_for()
    look(page, "columns")
    page.get_by_role("link", name="What is stored").click()
    page.get_by_text("it has function operators").first.wait_for()
    look(page, "stored")
    page.get_by_role("link", name="Stored answers").click()
    page.get_by_role("navigation").wait_for()
    look(page, "answers")


def test_who_has_to_log_in_comes_back_to_what_they_opened(
    browser: Any, address: str, token: Callable[[str, str], str], runs: dict[str, str]
) -> None:
    """Also to what no server was sent: the run and the filter."""
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(15_000)
    page.goto(f"{address}/lineage/tab?dag_id=loan%20examination#run={runs['judged']}&where=client_id+%3D+49")
    page.wait_for_url(lambda url: "/login" in url)
    back = parse_qs(urlsplit(page.url).query)["next"][0]
    assert "client_id" not in page.url
    assert runs["judged"] not in page.url
    context.add_cookies([{"name": "_token", "value": token("admin", "admin"), "url": address}])
    page.goto(urljoin(address, back))
    page.get_by_text("Rows 1 to 1.").wait_for()
    page.goto("about:blank")
    page.goto(urljoin(address, back))  # once: it is not where they came from any more
    page.get_by_text("has recorded no lineage").wait_for()
    context.close()


def test_a_viewer_is_told_that_there_is_nothing_for_them(opened: Callable[..., Any], runs: dict[str, str]) -> None:
    page = opened("lineage/tab?dag_id=nothing_here", role="viewer")
    page.get_by_text("has recorded no lineage that you may see").wait_for()


@pytest.mark.parametrize("scheme", ["dark", "light"] if EVERY else ["dark"])
def test_in_airflows_own_frame(opened: Callable[..., Any], scheme: str) -> None:
    page = opened("plugin/lineage_nav", scheme=scheme)
    frame = page.frame_locator("iframe")
    frame.get_by_role("link", name="loans.examine", exact=True).wait_for()
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"frame-{scheme}.png"))
    dark = page.evaluate("document.documentElement.classList.contains('dark')")
    assert frame.locator("html").get_attribute("data-theme") == ("dark" if dark else "light")
    tokens = [f"{state}-{of}" for state in ("success", "running", "failed", "warning") for of in ("fg", "subtle")]
    valued = "(root, names) => names.map(one => getComputedStyle(root).getPropertyValue(one).trim())"
    theirs = page.locator("html").evaluate(valued, [f"--chakra-colors-{one}" for one in tokens])
    assert all(theirs), "Airflow's UI has these tokens"
    assert frame.locator("html").evaluate(valued, [f"--{one}" for one in tokens]) == theirs


@SIZES
def test_rows_are_ticked_to_be_explained_together(opened: Callable[..., Any], runs: dict[str, str], width: int, scheme: str) -> None:
    page = opened(f"lineage/tab#run={runs['judged']}", width=width, scheme=scheme)
    page.get_by_label("Take row 2 to those that are explained together").check()
    page.get_by_role("button", name="After").click()
    page.get_by_text("Rows 51 to 100 of 120 rows.").wait_for()
    page.get_by_label("Take row 53 to those that are explained together").check()
    page.get_by_text("2 rows ticked.").wait_for()
    look(page, f"ticked-{width}")
    page.get_by_role("link", name="Why these 2?").click()
    frame = page.frame_locator("iframe")
    frame.get_by_text("credit_exam").first.wait_for()
    link = page.get_by_role("region", name="Why?").get_by_role("link", name="Link to this").get_attribute("href")
    numbers = parse_qs(urlsplit(link).fragment)["why"][0].split(",")
    assert len(numbers) == 2
    with page.expect_download() as saved:
        page.get_by_role("region", name="Why?").get_by_role("button", name="Save JSON").click()
    assert len(json.loads(Path(saved.value.path()).read_text())["target"]["rows"]) == 2
    page.get_by_role("button", name="Untick").click()
    page.get_by_text("2 rows ticked.").wait_for(state="detached")


@SIZES
def test_a_column_is_chosen(opened: Callable[..., Any], runs: dict[str, str], width: int, scheme: str) -> None:
    page = opened(f"lineage/tab#run={runs['judged']}", width=width, scheme=scheme)
    page.get_by_role("link", name="Where does judge come from?").click()
    told = page.get_by_role("region", name="Where judge comes from")
    told.get_by_text("client.income").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Where judge comes from"
    assert "through credit_exam" in told.inner_text()
    look(page, f"column-{width}")
    page.get_by_role("link", name="amount", exact=True).click()
    page.get_by_role("region", name="Where amount comes from").get_by_text("loan.amount").wait_for()
    link = page.get_by_role("region", name="Where amount comes from").get_by_role("link", name="Link to this").get_attribute("href")
    page.goto("about:blank")
    page.goto(link)
    page.get_by_role("region", name="Where amount comes from").get_by_text("loan.amount").wait_for()
    page.get_by_text(f"airflow-lineage columns {runs['judged']}").wait_for()


def test_a_source_row_of_a_stored_answer_is_followed_on(opened: Callable[..., Any], runs: dict[str, str], store: Store) -> None:
    kept = Lineage(store=store).get_run(runs["judged"]).explain("client_id = 49").id
    page = opened(f"lineage/tab#run={runs['judged']}&part=answers&answer={kept}")
    page.get_by_role("link", name="Follow a source row further").click()
    page.get_by_role("link", name="What else? Row 1 of client").click()
    page.get_by_role("heading", name="1 row of the result of this run").wait_for()
    page.get_by_text("the row is known by its values").first.wait_for()
    look(page, "stored-followed")


@SIZES
def test_links_lead_back_to_lists_and_pictures(opened: Callable[..., Any], width: int, scheme: str) -> None:
    page = opened(DAG_RUN.format("loan_examination"), width=width, scheme=scheme)
    page.get_by_role("group", name="Table judged").click()
    page.get_by_text("4 of 6 runs and tables are shown.").wait_for()
    page.get_by_role("group", name="Run loans.examine").click()
    page.get_by_text("6 of 6 runs and tables are shown.").wait_for()
    page.get_by_role("button", name="Show its segments").click()
    page.get_by_role("group", name="segment 1, Non-D · stored").wait_for()
    link = page.get_by_role("link", name="Link to this").get_attribute("href")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save JSON").click()
    assert len(json.loads(Path(saved.value.path()).read_text())["nodes"]) > 6
    page.goto("about:blank")
    page.goto(link)
    page.get_by_text("6 of 6 runs and tables are shown.").wait_for()
    page.get_by_role("group", name="segment 1, Non-D · stored").wait_for()
    page.get_by_text("airflow-lineage dag-plan loan_examination").wait_for()
    page.get_by_role("button", name="Start again").click()
    page.get_by_text("2 of 6 runs and tables are shown.").wait_for()
    page.get_by_role("link", name="Runs", exact=True).click()
    link = page.get_by_role("link", name="Link to this").get_attribute("href")
    page.goto("about:blank")
    page.goto(link)
    page.get_by_role("link", name="loans.again").wait_for()
    assert page.get_by_role("heading").all_inner_texts() == ["loan_examination"]


@SIZES
def test_questions_that_wait_and_the_last_answers(
    opened: Callable[..., Any], client: Any, runs: dict[str, str], store: Store, derived: Any, width: int, scheme: str
) -> None:
    Lineage(store=store).get_run(runs["judged"]).explain("client_id = 11")
    conf = {"lineage_run_id": runs["judged"], "target": "client_id = 12"}
    asked = client().post("/api/v2/dags/lineage_derivation/dagRuns", json={"logical_date": None, "conf": conf}).json()["dag_run_id"]
    try:
        page = opened("lineage/tab", width=width, scheme=scheme)
        waiting = page.get_by_role("row", name=f"loans.examine: client_id = 12 lineage_derivation · derive · {asked}")
        waiting.get_by_text("waiting").wait_for()
        look(page, f"questions-{width}")
        waiting.get_by_role("link", name="loans.examine: client_id = 12").click()
        page.get_by_text("Waiting for its turn").wait_for()
        page.goto(page.url.partition("lineage/tab")[0] + "lineage/tab?dag_id=loan_examination")
        page.get_by_role("link", name="client_id = 11").first.click()
        page.frame_locator("iframe").get_by_text("credit_exam").first.wait_for()
        page.go_back()
        page.get_by_text("Stored answers, newest first").wait_for()
        look(page, f"dag-answers-{width}")
    finally:
        client().delete(f"/api/v2/dags/lineage_derivation/dagRuns/{asked}")
