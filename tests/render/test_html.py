"""The page: complete, self-contained, escaped, bounded."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_lineage_provider.reasons import payload
from airflow_lineage_provider.render.html import to_html
from airflow_lineage_provider.render.page import DECISIONS
from airflow_lineage_provider.render.tables import CELLS, ROWS
from tests.render import explanation_examples as examples

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Tags, attributes and text of a page; raises when tags do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


ALL = [examples.paper, examples.across, examples.many_kinds, examples.empty, examples.wide, examples.tall, examples.nasty]


@pytest.fixture(scope="module", params=ALL, ids=lambda make: make.__name__)
def text(request: pytest.FixtureRequest) -> str:
    return to_html(request.param())


def test_pages_are_well_formed_with_unique_ids(text: str) -> None:
    page = Page(text)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {str(attributes["href"])[1:] for tag, attributes in page.tags if tag == "a"}
    assert targets <= set(ids)


def test_pages_need_nothing_from_elsewhere(text: str) -> None:
    page = Page(text)
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"script", "link", "iframe", "object", "img", "base", "form"}
    sources = [str(a[name]) for _, a in page.tags for name in ("src", "href", "action", "data") if name in a]
    assert all(one.startswith(("#", "data:image/png;base64,")) for one in sources)
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert "url(" not in text
    assert "@import" not in text
    (policy,) = [a["content"] for tag, a in page.tags if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")


def test_pages_can_be_read_without_seeing(text: str) -> None:
    page = Page(text)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert all(a.get("scope") or "note" in str(a.get("class")) for tag, a in page.tags if tag == "th")
    scrolling = [a for tag, a in page.tags if tag == "div" and "scroll" in str(a.get("class")).split()]
    assert all(a.get("tabindex") == "0" and a.get("aria-label") for a in scrolling)
    assert all(a.get("aria-label") for tag, a in page.tags if tag == "svg")


def test_the_papers_page_says_everything() -> None:
    words = Page(to_html(examples.paper())).words
    assert "1 of 2 result rows asked about: judge = 'Reject'." in words
    assert "Made from 3 rows of 3 source tables; 1 decision by credit_exam." in words
    for value in ("0002", "Joa", "US", "2200", "1350", "2022-12-17", "20000", "2022-12-19", "Debt", "LoanAmount"):
        assert value in words
    assert "segment 0 · Non-D · stored" in words
    assert "segment 1 · Non-D · stored" in words
    assert all(symbol in words for symbol in "φαπσ⋈")
    assert "segment 0 · postgresql · 2.1 ms · 1 row" in words
    assert 'SELECT "row" FROM segment_1' in words


def test_what_was_traced_through_other_runs_is_shown() -> None:
    page = Page(to_html(examples.across()))
    assert "Traced through other runs" in page.words
    assert "debt ⊇ superset 1 row written by run 01JTOTALS of debt totals" in page.words
    assert "2022-12-17 client 1 · payment 2" in page.words
    assert "2 decisions by is_debt in run 01JTOTALS of debt totals" in page.words
    assert "1 decision by credit_exam ✓" in page.words
    assert "3 tracing queries in postgresql and spark" in page.words
    assert "run 01JTOTALS · segment 3 · spark" in page.words
    assert "SELECT 'of the other run'" in page.words
    assert ("a", {"href": "#through"}) in page.tags


def test_a_decision_shows_its_source_rows_by_the_links() -> None:
    page = Page(to_html(examples.many_kinds()))
    behind = [str(a["href"]) for tag, a in page.tags if tag == "a" and re.fullmatch(r"#source-\d+-\d+", str(a.get("href")))]
    assert behind == ["#source-0-0", "#source-1-0", "#source-1-2", "#source-0-1"]


def test_contributions_are_bars_and_the_residual_is_never_hidden() -> None:
    text = to_html(examples.many_kinds())
    assert '<span class="bar up" style="left:50%;width:50.00%">' in text
    assert '<span class="bar down" style="right:50%;' in text
    words = Page(text).words
    assert words.count("residual") >= 2
    assert "The contributions do not add up to the output" in words
    assert "The contributions do not add up" not in Page(to_html(examples.tall(2))).words


def test_every_kind_of_reason_is_drawn() -> None:
    text = to_html(examples.many_kinds())
    page = Page(text)
    assert [a["title"] for tag, a in page.tags if tag == "mark"] == ["negative −0.42", "positive +0.31", "−0.11"]
    assert re.search(r'<mark class="down5"[^>]*>terrible</mark>', text)
    assert len([a for tag, a in page.tags if tag == "image" and str(a["href"]).startswith("data:image/png;base64,")]) == 1
    assert len([a for tag, a in page.tags if tag == "rect" and a.get("class") == "box"]) == 4
    assert "The image is not among the arguments" in page.words
    assert [a for tag, a in page.tags if tag == "path" and a.get("class") == "mask"]
    assert '"rule": 17' in page.words
    assert "No reason declared" in page.words
    assert "This reason cannot be read" in page.words


def test_worth_staleness_and_verification_are_told() -> None:
    words = Page(to_html(examples.many_kinds())).words
    assert "odd is a superset; gone is unavailable, all else is exact." in words
    assert "All rows that made the target, and maybe others: limit without order" in words
    assert "The sources have changed since the run." in words
    assert "part-0.parquet was written again on 2026-01-03" in words
    assert "Verification failed: the pipeline gives ('Reject', 2) over these rows" in words


def test_hostile_text_stays_text() -> None:
    text = to_html(examples.nasty())
    page = Page(text)
    assert not [tag for tag, _ in page.tags if tag == "script"]
    assert text.count("</style>") == 1
    assert text.count("</title></style>") == 0
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "<script>alert('x')</script>" in page.words
    for tag, attributes in page.tags:
        assert not [name for name in attributes if not re.fullmatch(r"[a-zA-Z][a-zA-Z:-]*[a-z0-9A-Z]|[a-z]", name)], (tag, attributes)


def test_an_image_that_could_carry_a_script_is_not_embedded() -> None:
    svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    table = examples.reasons({"photo": [svg]}, ["x"], [payload.Boxes((payload.Box(0, 0, 1, 1),))])
    text = to_html(examples.explanation(reasons={"f": table}))
    assert "data:" not in Page(text).words
    assert "<image" not in text


def test_wide_tables_show_all_columns_of_the_source_and_fewer_rows() -> None:
    page = Page(to_html(examples.wide(2000)))
    assert "column_1999" in page.words
    assert "… and 1,988 more columns" in page.words
    assert "… and 1,984 more arguments" in page.words
    assert "1,988 smaller contributions" in page.words
    many = pa.table({f"c{i}": list(range(100)) for i in range(1000)})
    words = Page(to_html(examples.explanation(source={"t": many}))).words
    assert f"… and {100 - CELLS // 1000} more rows" in words


def test_tall_answers_are_capped_and_say_so() -> None:
    text = to_html(examples.tall(5000))
    words = Page(text).words
    assert "Why: 5,000 decisions by credit_exam" in words
    assert f"… and {5000 - DECISIONS:,} more decisions" in words
    assert f"… and {5000 - ROWS:,} more rows" in words
    assert "Reject 3,333" in words
    assert len(text) < 1_500_000


def test_the_page_is_written_as_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "why.html"
    text = examples.paper().to_html(str(path))
    assert path.read_text(encoding="utf-8") == text


def test_no_plan_no_diagram() -> None:
    assert "How the result was computed" not in Page(to_html(examples.empty())).words
