"""The page: complete, self-contained, escaped, bounded."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_lineage_provider import Feature, render
from airflow_lineage_provider.answers.decided import Reasons
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.reasons import payload
from airflow_lineage_provider.reasons.features import Names
from airflow_lineage_provider.render.cards import DECISIONS
from airflow_lineage_provider.render.html import to_html
from airflow_lineage_provider.render.tables import CELLS, ROWS
from tests.render import explanation_examples as examples
from tests.render.test_terminal import shown

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
        if not {"style", "script"} & set(self.open):
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


ALL = [examples.paper, examples.across, examples.many_kinds, examples.empty, examples.wide, examples.tall, examples.nasty]


@pytest.fixture(scope="module", params=ALL, ids=lambda make: make.__name__)
def text(request: pytest.FixtureRequest) -> str:
    return page_of(request.param)


@cache
def page_of(made: Callable[[], Explanation]) -> str:
    return to_html(made())


def test_pages_are_well_formed_with_unique_ids(text: str) -> None:
    page = Page(text)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {str(attributes["href"])[1:] for tag, attributes in page.tags if tag == "a"}
    assert targets <= set(ids)


def test_pages_need_nothing_from_elsewhere(text: str) -> None:
    page = Page(text)
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"link", "iframe", "object", "img", "base", "form"}
    sources = [str(a[name]) for _, a in page.tags for name in ("src", "href", "action", "data") if name in a]
    assert all(one.startswith(("#", "data:image/png;base64,")) for one in sources)
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert "url(" not in text
    assert "@import" not in text
    (policy,) = [a["content"] for tag, a in page.tags if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-")


def test_the_only_script_is_our_own_and_the_policy_names_it(text: str) -> None:
    assert text.count("<script") == text.count("</script>") == 1
    script = text.partition("<script>")[2].partition("</script>")[0]
    assert script == (Path(render.__file__).parent / "templates" / "explanation.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert re.findall(r"script-src '([^;]*)'", text) == [f"sha256-{digest}"]


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
    assert "Reject, because of Debt and LoanAmount." in words
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
    assert "Made from client 1 · odd 1 · odd 3" in page.words


def test_contributions_are_bars_and_the_residual_is_never_hidden() -> None:
    text = to_html(examples.many_kinds())
    assert '<i class="u" style="--w:100"></i><b>+0.30</b>' in text
    assert '<i class="d" style="--w:' in text
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
    assert "No reason given" in page.words
    assert "This reason cannot be read" in page.words


def test_worth_staleness_and_verification_are_told() -> None:
    words = Page(to_html(examples.many_kinds())).words
    assert "odd is a superset; gone is unavailable, everything else is exact." in words
    assert "All rows that made the target, and maybe others: limit without order" in words
    assert "The sources have changed since the run." in words
    assert "part-0.parquet was written again on 2026-01-03" in words
    assert "Verification failed: the pipeline gives ('Reject', 2) over these rows" in words


def test_hostile_text_stays_text() -> None:
    text = to_html(examples.nasty())
    page = Page(text)
    assert [tag for tag, _ in page.tags].count("script") == 1
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


@pytest.mark.long
def test_wide_tables_show_all_columns_of_the_source_and_fewer_rows() -> None:
    page = Page(to_html(examples.wide(2000)))
    assert "column_1999" in page.words
    assert "1,988 smaller contributions" in page.words
    assert "more arguments" not in page.words  # the reason has them all
    many = pa.table({f"c{i}": list(range(100)) for i in range(1000)})
    words = Page(to_html(examples.explanation(source={"t": many}))).words
    assert f"… and {100 - CELLS // 1000} more rows" in words


@pytest.mark.long
def test_tall_answers_are_capped_and_say_so() -> None:
    text = page_of(examples.tall)
    words = Page(text).words
    assert "Why: 5,000 decisions by credit_exam" in words
    shown = {outcome: DECISIONS * times // 5000 for outcome, times in (("Reject", 3333), ("Accept", 1667))}
    assert f"… and {3333 - shown['Reject']:,} more decisions" in words
    assert f"… and {1667 - shown['Accept']:,} more decisions" in words
    assert f"… and {5000 - ROWS:,} more rows" in words
    assert "Reject 3,333" in words
    assert len(text) < 400_000


def test_the_page_is_written_as_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "why.html"
    text = examples.paper().to_html(str(path))
    assert path.read_text(encoding="utf-8") == text


def test_no_plan_no_diagram() -> None:
    assert "How the result was computed" not in Page(to_html(examples.empty())).words


# --- many decisions -----------------------------------------------------------------------------------------------------


def test_decisions_are_grouped_by_outcome_and_the_pills_are_links_to_the_groups() -> None:
    text = to_html(examples.tall(160))
    page = Page(text)
    pills = re.findall(r'<li><a href="#([^"]*)">(\w+)(?: <b>(\d+)</b>)?</a></li>', text)
    assert pills == [("udf-0", "All", ""), ("udf-0-outcome-0", "Reject", "106"), ("udf-0-outcome-1", "Accept", "54")]
    first, second = (text.index(f'id="{anchor}"') for anchor, _, _ in pills[1:])
    decided = re.compile(r'<span class="decided">(\w+)</span>')
    assert set(decided.findall(text[first:second])) == {"Reject"}
    assert set(decided.findall(text[second:])) == {"Accept"}
    # A group that a link goes to stands alone, without any script.
    assert ".groups:has(>.group:target)>.group:not(:target){display:none}" in text
    assert [a["data-search"] for tag, a in page.tags if "data-search" in a] == ["udf-0"]


def test_outcomes_of_many_values_are_sorted_and_not_grouped() -> None:
    values = [float(i * 7 % 20) for i in range(20)]
    table = examples.reasons({"x": list(range(20))}, values, [payload.Json(["x"])] * 20)
    text = to_html(examples.explanation(reasons={"price": table}))
    assert re.findall(r'<span class="decided"[^>]*>(\d+)</span>', text) == [str(value) for value in range(19, -1, -1)]
    assert "20 decisions." in Page(text).words


def test_nothing_is_repeated_for_each_of_many_decisions() -> None:
    text = to_html(examples.tall(160))
    assert len(text) < 320_000  # 760,000 with every row, head and method told again
    assert text.count("interventional") == text.count("9f3c…") == 1
    assert len(re.findall('id="source-0-12"', text)) == 1


def test_a_decision_alone_does_not_say_again_what_the_headline_says() -> None:
    text = to_html(examples.paper())
    assert text.count("because of Debt and LoanAmount") == 1


# --- numbers and names --------------------------------------------------------------------------------------------------


def test_numbers_are_rounded_and_the_exact_ones_are_told_on_hovering() -> None:
    source = {"t": pa.table({"x": [0.1 + 0.2, 1234567.891, 5.0], "id": [123456789, 2, 3]})}
    text = to_html(examples.explanation(source=source))
    assert '<td title="0.30000000000000004">0.3</td>' in text
    assert '<td title="1234567.891">1234568</td>' in text
    assert "<td>5</td>" in text
    assert "<td>123456789</td>" in text
    precise = payload.Attributions((payload.Attribution("debt", 0.1 + 0.2, 0.123456789),), 0.0, 0.123456789)
    text = to_html(examples.explanation(reasons={"f": examples.reasons({"debt": [0.1 + 0.2]}, ["no"], [precise])}))
    assert '<li title="debt = 0.30000000000000004: 0.123456789"><span>debt = 0.3</span>' in text
    assert "<b>+0.12</b>" in text


def test_features_and_values_have_their_authors_names() -> None:
    features = {"history": Feature("credit history", values={0: "bad"}), "income": Feature("yearly income", unit="$")}
    names = Names(features, {"history": 0, "income": 1}, Feature(values={"Reject": "Rejected"}))
    given = payload.Attributions(
        (payload.Attribution("history", 0, -0.42), payload.Attribution("income", 2200.5, -0.25)), 0.88, 0.21, "probability", "approved"
    )
    table = examples.reasons({"history": [0], "income": [2200.5]}, ["Reject"], [given])
    made = examples.explanation(reasons={"credit_exam": Reasons(table, names=names)})
    page = Page(to_html(made))
    sentence = "Rejected, mostly because credit history = bad (−0.42) and yearly income = $2200 (−0.25)."
    assert sentence in page.words
    assert sentence in shown(made)
    assert made.to_dict()["answer"] == sentence
    titles = [a["title"] for _, a in page.tags if "title" in a]
    assert {"Reject", "history = 0", "income = 2200.5"} <= set(titles)
    assert "Probability of 'approved' 0.21, 0.88 on average" in page.words


def test_hashes_seeds_and_residuals_are_folded() -> None:
    text = to_html(examples.many_kinds())
    open_text = re.sub(r'<details class="inner">.*?</details>', "", text, flags=re.DOTALL)
    for told in ("9f3c…", "seed 0", "residual +0.05", "ase value 0.31"):
        assert told in text
        assert told not in open_text


def test_a_pill_that_names_a_source_column_is_a_link_to_it() -> None:
    text = to_html(examples.paper())
    page = Page(text)
    assert re.search(r'<li><a href="#source-1-column-1">Debt</a></li>', text)
    heads = {a["id"]: at for at, (tag, a) in enumerate(page.tags) if tag == "th" and "id" in a}
    assert "source-1-column-1" in heads


def test_limes_probability_and_fit_are_told() -> None:
    words = payload.TextSpans((payload.Span(4, 7, 0.4, "bad"),), "the bad day", {}, "bad", 0.9, "probability", 0.8)
    page = Page(to_html(examples.explanation(reasons={"tone": examples.reasons({"text": ["the bad day"]}, ["bad"], [words])})))
    assert "bad, mostly because of “bad” (+0.40)." in page.words
    assert "Probability of 'bad' 0.9" in page.words
    assert "Fit of the local model R² 0.8 (1 is perfect)" in page.words
    assert page.words.count("the bad day") == 1
    poor = payload.Attributions((payload.Attribution("x", 1, 0.1),), 0.3, 0.9, "probability", "yes", {"library": "lime"}, 0.2)
    text = Page(to_html(examples.explanation(reasons={"f": examples.reasons({"x": [1]}, ["yes"], [poor])}))).words
    assert "Fit of the local model r² 0.2" in text or "Fit of the local model R² 0.2" in text
    assert "take the contributions with care" in text
    assert "on average" not in text  # LIME's local model does not begin at the average


# --- how it looks -------------------------------------------------------------------------------------------------------


def _luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(2 * each for each in digits) if len(digits) == 3 else digits
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bars_and_texts_can_be_told_from_what_they_stand_on(scheme: str) -> None:
    css = (Path(render.__file__).parent / "templates" / "explanation.css").read_text(encoding="utf-8")
    block = css.split("@media (prefers-color-scheme:dark){:root{")[0 if scheme == "light" else 1].split("}")[0]
    colours = dict(re.findall(r"--([\w-]+):(#[0-9a-f]{3,6})", block))
    for ground in ("card", "bg"):
        for drawn in ("up-bar", "down-bar", "size-bar", "axis"):
            assert _contrast(colours[drawn], colours[ground]) >= 3, (drawn, ground)
        for text in ("ink", "soft", "accent", "up", "down"):
            assert _contrast(colours[text], colours[ground]) >= 4.5, (text, ground)


def test_on_paper_the_rows_of_wide_tables_are_records() -> None:
    wide = pa.table({f"a_rather_long_column_{i}": [i] for i in range(12)} | {'"}</style><b>': [1]})
    text = to_html(examples.explanation(source={"wide": wide, "narrow": pa.table({"x": [1]})}))
    assert '<table id="source-0-table" class="wide">' in text
    assert '<table id="source-1-table">' in text
    assert '@media print{#source-0-table td:nth-child(2)::before{content:"a\\5f rather\\5f long\\5f column\\5f 0"}' in text
    assert text.count("</style>") == 1
    assert ".wide td{display:flex" in text


def test_on_a_phone_the_tree_is_lines_that_fit() -> None:
    text = to_html(examples.paper())
    lines = re.findall(r'<li class="tone\d" style="--d:(\d)">', text)
    assert lines == list("000012211")
    assert len(lines) == text.count('<g class="node')
    assert "@media (max-width:44rem){.tree{display:none}.outline{display:block}}" in text
    assert re.search(r'<a href="#source-0">client</a> <span class="note">1 row in this answer</span>', text)
