"""The page of linked views: self-contained, refused above its size, and counting in a browser as Python does."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from airflow_lineage_provider.answers.crossfilter import Crossfilter
from airflow_lineage_provider.errors import AnswerTooLarge
from tests.chromium import needs_chromium, opened, wide_and_narrow
from tests.crossfilter.flights import VIEWS, flights


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return dict(json.loads(found[1]))


def test_the_page_has_the_codes_of_every_row_and_asks_for_nothing(tmp_path: Path) -> None:
    view = Crossfilter.over(flights(500), VIEWS)
    page = view.to_html(tmp_path / "flights.html")
    assert (tmp_path / "flights.html").read_text(encoding="utf-8") == page
    data = data_of(page)
    assert (data["rows"], [one["name"] for one in data["views"]]) == (500, list(VIEWS))
    for one in data["views"]:
        codes = np.frombuffer(base64.b64decode(one["codes"]), f"<u{one['bytes']}")
        assert codes.tolist() == view.codes(one["name"]).tolist()
        assert len(one["labels"]) == len(view.views[one["name"]].values)
    assert "default-src 'none'" in page
    assert not re.search(r"https?:|//[a-z]+\.|src=\"", page.replace(json.dumps(data), ""))


def test_no_value_leaves_its_place() -> None:
    evil = "</script><script>alert(1)</script>"
    page = Crossfilter.over(pa.table({"x": [evil, "<!--", "&amp;", "", None]}), {evil: "x", "y": f"x || '{evil}'"}).to_html()
    assert "alert(1)</script>" not in page.replace("&lt;", "<x")
    assert evil in data_of(page)["views"][0]["labels"]
    assert {"NULL", "(empty)"} <= set(data_of(page)["views"][0]["labels"])


def test_bars_that_differ_have_labels_that_do() -> None:
    values = ["NULL", '"NULL"', None, "(empty)", "", '"', "null"]
    labels = data_of(Crossfilter.over(pa.table({"x": values}), {"x": "x"}).to_html())["views"][0]["labels"]
    assert sorted(labels) == ['"', '""NULL""', '"(empty)"', '"NULL"', "(empty)", "NULL", "null"]


def test_what_is_too_large_for_a_page_is_refused() -> None:
    view = Crossfilter.over(flights(500), VIEWS)
    with pytest.raises(AnswerTooLarge, match="table has 500 rows, more than the 499 that a page may have"):
        view.to_html(max_rows=499)
    many = Crossfilter.over(pa.table({"n": range(100_001)}), {"n": "n"})
    with pytest.raises(AnswerTooLarge, match="view n has 100,001 bars"):
        many.to_html()


@needs_chromium
def test_a_browser_counts_as_python_does(tmp_path: Path) -> None:
    view = Crossfilter.over(flights(20_000), VIEWS)
    view.to_html(tmp_path / "flights.html")
    with opened((tmp_path / "flights.html").as_uri(), "file:") as (page, problems):

        def left() -> str:
            return str(page.inner_text("#selected"))

        def counts(name: str) -> list[str]:
            return [str(one) for one in page.locator(f'section[aria-label="{name}"] .count').all_inner_texts()]

        def python(**brushes: list[Any]) -> tuple[str, list[str]]:
            found = view.brush(**brushes)
            return f"{found.selected:,}", [f"{count:,}" for count in found.counts["carrier"].values()]

        assert (left(), counts("carrier")) == python()
        ticks = page.locator('section[aria-label="day"] .axis span').all_inner_texts()
        assert ticks == ["2013-01", "2013-04", "2013-07", "2013-10"]
        assert page.locator(".axis").count() == 2  # delays are few, and carriers no numbers
        page.click('section[aria-label="carrier"] .bar:has-text("C1") >> nth=0')
        page.locator('section[aria-label="delay"] .bar').nth(2).focus()
        page.keyboard.press("Enter")
        delay = view.views["delay"].values.to_pylist()[2]
        assert (left(), counts("carrier")) == python(carrier=["C1"], delay=[delay])
        days = page.locator('section[aria-label="day"] input').first
        days.focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        day = view.views["day"].values.to_pylist()[3:]
        assert (left(), counts("carrier")) == python(carrier=["C1"], delay=[delay], day=day)
        # Four views with brushes of their own, one dragged with the pointer, in another order.
        canvas = page.locator('section[aria-label="place"] canvas').bounding_box()
        assert canvas
        page.mouse.move(canvas["x"] + canvas["width"] * 0.25, canvas["y"] + 20)
        page.mouse.down()
        page.mouse.move(canvas["x"] + canvas["width"] * 0.75, canvas["y"] + 20)
        page.mouse.up()
        first, last = (
            int(one) for one in page.locator('section[aria-label="place"] input').evaluate_all("all => all.map(one => one.value)")
        )
        place = view.views["place"].values.to_pylist()[first : last + 1]
        assert 0 < first < last
        assert (left(), counts("carrier")) == python(carrier=["C1"], delay=[delay], day=day, place=place)
        wide_and_narrow(page, "crossfilter")
        page.click('[aria-label="Clear the brush on carrier"]')
        assert (left(), counts("carrier")) == python(delay=[delay], day=day, place=place)
        page.click("#clear")
        assert (left(), counts("carrier")) == python()
        assert problems == []
