"""Linked views that are served: the counts of Python in a browser, rows on demand, and nothing for who has not the address."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_lineage_provider.answers.crossfilter import Crossfilter, GivenBars, ResultRows
from airflow_lineage_provider.answers.served_crossfilter import ServedCrossfilter
from airflow_lineage_provider.errors import AnswerTooLarge, EnvironmentProblem, InvalidOption, InvalidTarget, SparkRequired
from airflow_lineage_provider.render.crossfilter_text import show, to_dict
from tests.chromium import needs_chromium, opened, wide_and_narrow
from tests.crossfilter.flights import VIEWS, flights
from tests.crossfilter.test_page import data_of


@pytest.fixture(scope="module")
def view() -> Crossfilter:
    return Crossfilter.over(flights(2_000), VIEWS)


@pytest.fixture(scope="module")
def served(view: Crossfilter) -> Iterator[ServedCrossfilter]:
    with view.serve() as made:
        yield made


def ask(
    served: ServedCrossfilter, path: str = "", asked: Any = None, *, method: str = "", headers: dict[str, str] | None = None
) -> tuple[int, bytes, dict[str, str]]:
    place = urlsplit(served.url)
    assert place.port
    connection = http.client.HTTPConnection("127.0.0.1", place.port, timeout=10)
    body = None if asked is None else asked if isinstance(asked, bytes) else json.dumps(asked).encode()
    given = {"Content-Type": "application/json", **(headers or {})}
    connection.request(method or ("GET" if body is None else "POST"), path if path.startswith("/") else place.path + path, body, given)
    answer = connection.getresponse()
    found = answer.status, answer.read(), dict(answer.getheaders())
    connection.close()
    return found


def test_the_page_has_totals_and_nothing_of_the_rows(view: Crossfilter, served: ServedCrossfilter) -> None:
    status, page, headers = ask(served)
    assert (status, headers["Cache-Control"], headers["Referrer-Policy"]) == (200, "no-store", "no-referrer")
    assert "default-src 'none'" in page.decode()
    assert "connect-src 'self'" in page.decode()
    assert "connect-src" not in view.to_html()
    data = data_of(page.decode())
    for one in data["views"]:
        assert one["totals"] == view.totals(one["name"]).tolist()
        assert "codes" not in one


def test_counts_are_those_of_python(view: Crossfilter, served: ServedCrossfilter) -> None:
    chance = np.random.default_rng(3)
    for _ in range(20):
        brushes: dict[str, list[int]] = {}
        for name, one in view.views.items():
            if chance.random() < 0.5:
                brushes[name] = chance.choice(len(one.values), chance.integers(0, 4), replace=False).tolist()
        status, content, _ = ask(served, "brush", [brushes.get(name) for name in view.views])
        wanted = view.brush({name: view.views[name].values.take(pa.array(bars, pa.int64())).to_pylist() for name, bars in brushes.items()})
        assert status == 200
        counts = [n for each in wanted.counts.values() for n in each.values()]
        assert np.frombuffer(content, "<u4").tolist() == [wanted.selected, *counts]


def test_rows_are_told_as_texts() -> None:
    table = pa.table({"x": [1, 2, 2], "text": ["a", "<b>\n", None], "data": [b"\0", None, b"x"]})
    with Crossfilter.over(table, {"x": "x"}).serve() as served:
        told = json.loads(ask(served, "rows", [[1]])[1])
        assert told == {"columns": ["x", "text", "data"], "rows": [["2", "<b>↵", "NULL"], ["2", "NULL", "1 byte 78"]], "of": 2}
        assert json.loads(ask(served, "rows", [[]])[1])["rows"] == []


def test_what_is_withheld_is_in_no_page(of_run: Crossfilter, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"x": [1, 2, 2], "name": ["a", "b", None], "ssn": ["7", "8", "9"]})
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "name,carrier")
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "ssn")
    with Crossfilter.over(table, {"x": "x"}).serve() as served:
        assert json.loads(ask(served, "rows", [[1]])[1]) == {"columns": ["x", "ssn"], "rows": [["2", "•••"], ["2", "•••"]], "of": 2}
    for expression in ("name", "upper(Name)", 'x || "ssn"'):
        view = Crossfilter.over(table, {"v": expression})
        for way in (view.to_html, view.serve, lambda view=view: to_dict(view.brush()), lambda view=view: show(view.brush())):
            with pytest.raises(InvalidTarget, match="view v: the question reads a column whose values are withheld"):
                way()
        assert view.brush().selected == 3  # what a program reads is as it is
    called = replace(of_run.views["run"].of_result, columns=(pa.field("carrier", pa.string()),))  # type: ignore[type-var]
    bars = GivenBars("rows of run 01a", pa.array(["a"]), np.zeros(3, int), called)
    with pytest.raises(InvalidTarget, match="view run"):
        Crossfilter.over(table, {"run": bars}).to_html()


@pytest.mark.parametrize("asked", [
    b"", b"{", b"\xff", {}, None, [], [None], [[0], None], [["0"], None, None, None], [[True], None, None, None], [[0.0], None, None, None],
    [[-1], None, None, None], [[10**6], None, None, None], [[[0]], None, None, None], b"[" * 100_000,
])  # fmt: skip
def test_what_is_no_brush_is_refused(served: ServedCrossfilter, asked: Any) -> None:
    for path in ("brush", "rows"):
        status, told, _ = ask(served, path, b"null" if asked is None else asked)
        assert (status, told != b"") == (400, True)
    assert ask(served)[0] == 200


def test_nobody_else_gets_anything(served: ServedCrossfilter) -> None:
    port = urlsplit(served.url).port
    assert port is not None
    for path in ("/", "/brush", "/x/brush", "/x/", f"{served.url}/..", f"{urlsplit(served.url).path}page"):
        assert ask(served, path if path.startswith("/") else "/" + path)[0] == 404
    for headers in ({"Host": f"evil.example:{port}"}, {"Host": "127.0.0.1"}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
        assert ask(served, headers=headers)[0] == 404
        assert ask(served, "brush", [None] * 4, headers=headers)[0] == 404
    for headers in ({"Content-Type": "text/plain"}, {"Content-Length": "9000000"}, {"Content-Length": "-1"}):
        assert ask(served, "brush", [None] * 4, headers=headers)[0] == 400
    assert ask(served, method="PUT")[0] == 501
    assert ask(served, "brush", [None] * 4, headers={"Origin": f"http://127.0.0.1:{port}"})[0] == 200


def test_files_that_changed_are_told(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "t.parquet")
    with Crossfilter.over(tmp_path / "t.parquet", {"x": "x"}).serve() as served:
        assert ask(served, "rows", [None])[0] == 200
        pq.write_table(pa.table({"x": [1, 2, 3]}), tmp_path / "t.parquet")
        status, told, _ = ask(served, "rows", [None])
        assert status == 409
        assert b"t.parquet" in told
        assert ask(served, "brush", [[0]])[0] == 200


class Explained:
    """Stands for the explanation of the row at a position."""

    def __init__(self, position: int) -> None:
        if position == 5:
            raise SparkRequired("needs Spark")
        self.position = position

    def to_html(self) -> str:
        return f"<!doctype html><title>why</title>row {self.position}"


@pytest.fixture
def of_run() -> Crossfilter:
    """Two rows of a result, and rows of the table that are in none of them; one row of another result cannot be explained."""
    of_result = ResultRows("01a", (7, 5), (70, 50), (pa.field("n", pa.int64()),), explain=Explained)  # type: ignore[arg-type]
    bars = GivenBars("rows of run 01a", pa.array(["a<", "b", None]), np.array([0, 1, 2, 0]), of_result)
    alone = GivenBars("rows of run 01b", pa.array(["c"]), np.zeros(4, int), ResultRows("01b", (0,), (0,)))
    return Crossfilter.over(pa.table({"x": range(4)}), {"x": "x", "run": bars, "other": alone})


def test_a_bar_of_a_run_is_explained(of_run: Crossfilter) -> None:
    with of_run.serve() as served:
        views = data_of(ask(served)[1].decode())["views"]
        assert [one["explained"] for one in views] == [0, 2, 0]
        status, page, headers = ask(served, "explain/1/0")
        assert (status, page, headers["Content-Type"]) == (200, b"<!doctype html><title>why</title>row 7", "text/html; charset=utf-8")
        assert ask(served, "explain/1/1")[:2] == (409, b"needs Spark")
        for path in ("explain/0/0", "explain/1/2", "explain/2/0", "explain/9/0", "explain/1/-1", "explain/1/1/", "/explain/1/0"):
            assert ask(served, path)[0] == 404, path
        assert ask(served, "explain/1/0", headers={"Host": "evil.example"})[0] == 404
    assert all("explained" not in one for one in data_of(of_run.to_html())["views"])
    for view, bar in (("run", 2), ("run", True), ("run", -1), ("x", 0), ("other", 0), ("none", 0)):
        with pytest.raises(InvalidOption, match="is no row of a run's result"):
            of_run.explain_bar(view, bar)
    assert isinstance(of_run.explain("run", "a<"), Explained)
    with pytest.raises(InvalidOption, match="no view 'run' with a bar 'z'"):
        of_run.explain("run", "z")


@needs_chromium
def test_an_explanation_is_one_click_away(of_run: Crossfilter) -> None:
    from playwright.sync_api import expect

    with of_run.serve() as served, opened(served.url, served.url) as (page, problems):
        assert page.get_by_role("link", name="Why?", exact=False).count() == 2
        with page.expect_popup() as popup:
            page.get_by_role("link", name="Why? a< of run").click()
        popup.value.get_by_text("row 7").wait_for()
        page.get_by_role("button", name="b 1").click()
        expect(page.locator("#selected")).to_have_text("1")
        assert problems == []


@needs_chromium
def test_the_one_bar_that_is_chosen_of_many_is_explained() -> None:
    numbers = tuple(range(100, 200))
    of_result = ResultRows("01a", numbers, numbers, (pa.field("n", pa.int64()),), explain=Explained)  # type: ignore[arg-type]
    bars = GivenBars("rows of run 01a", pa.array([f"{at:03}" for at in numbers]), np.arange(300) % 100, of_result)
    with Crossfilter.over(pa.table({"x": range(300)}), {"run": bars}).serve() as served, opened(served.url, served.url) as (page, problems):
        assert page.get_by_role("link").count() == 0
        place = page.locator("canvas").bounding_box()
        assert place
        page.mouse.click(place["x"] + place["width"] * 0.425, place["y"] + 20)
        with page.expect_popup() as popup:
            page.get_by_role("link", name="Why? 142 of run").click()
        popup.value.get_by_text("row 142").wait_for()
        page.get_by_role("slider", name="To: run").focus()
        page.keyboard.press("ArrowRight")
        page.get_by_role("link").wait_for(state="detached")
        assert problems == []


def test_its_end_and_its_beginning(view: Crossfilter) -> None:
    with view.serve() as served:
        port = urlsplit(served.url).port
        assert port
        assert served.url in repr(served)
        assert served.url in served._repr_html_()
        with pytest.raises(EnvironmentProblem, match=f"port {port} of 127.0.0.1 cannot be listened on: .*port=0"):
            view.serve(port)
    with pytest.raises(OSError, match="refused"):
        ask(served)
    with pytest.raises(EnvironmentProblem, match="port 70000"):
        view.serve(70_000)
    with pytest.raises(AnswerTooLarge, match="view n has 100,001 bars"):
        Crossfilter.over(pa.table({"n": range(100_001)}), {"n": "n"}).serve()


@needs_chromium
def test_in_a_browser(view: Crossfilter) -> None:
    from playwright.sync_api import expect

    with view.serve() as served, opened(served.url, served.url) as (page, problems):

        def agrees(**brushes: list[Any]) -> None:
            found = view.brush(**brushes)
            expect(page.locator("#selected")).to_have_text(f"{found.selected:,}")
            expect(page.locator('section[aria-label="carrier"] .count')).to_have_text([f"{n:,}" for n in found.counts["carrier"].values()])

        agrees()
        page.click('section[aria-label="carrier"] .bar:has-text("C1") >> nth=0')
        agrees(carrier=["C1"])
        canvas = page.locator('section[aria-label="place"] canvas').bounding_box()
        assert canvas
        page.mouse.move(canvas["x"] + canvas["width"] * 0.25, canvas["y"] + 20)
        page.mouse.down()
        page.mouse.move(canvas["x"] + canvas["width"] * 0.75, canvas["y"] + 20, steps=20)  # brushes that come faster than answers
        page.mouse.up()
        inputs = page.locator('section[aria-label="place"] input')
        first, last = (int(one) for one in inputs.evaluate_all("all => all.map(one => one.value)"))
        place = view.views["place"].values.to_pylist()[first : last + 1]
        agrees(carrier=["C1"], place=place)
        page.click("#show")
        found = view.brush(carrier=["C1"], place=place)
        expect(page.locator("#rows-title")).to_have_text(f"{min(100, found.selected):,} of {found.selected:,} rows")
        assert page.locator("#rows tbody tr").count() == found.rows(100).num_rows
        wide_and_narrow(page, "served")
        page.click("#clear")
        agrees()
        expect(page.locator("#rows")).to_be_hidden()
        served.close()
        page.click('section[aria-label="carrier"] .bar >> nth=0')
        expect(page.locator("#problem")).to_contain_text("The counts are those of an earlier brush")
        assert [one for one in problems if "ERR_CONNECTION_REFUSED" not in one] == []
