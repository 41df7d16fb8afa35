"""Tables that decided as a whole, and what was stored of the segments and why: in words, in the terminal, on the page, in the document."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.answers.explanation import Control, Explanation
from airflow_lineage_provider.answers.values import bytes_text, row_numbers
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan
from airflow_lineage_provider.render.html import to_html
from airflow_lineage_provider.render.segment_text import KINDS, NOT_RECORDED, segment_label, segment_lines
from airflow_lineage_provider.render.wording import control_text, headline, made_from, question, whole_table_text
from airflow_lineage_provider.rewrite.segment import segment
from airflow_lineage_provider.tracing.strategies import Choice
from tests.answers import sources_of
from tests.render import explanation_examples as examples
from tests.render.test_html import Page
from tests.render.test_terminal import shown


def source(number: int, name: str) -> o.Source:
    column = Attribute(id=number, name=f"id_{number}", type="bigint")
    return o.Source(relation=Relation(name=name, kind="table"), output=(column,), columns=("id",), leaf=number - 1)


def difference_plan() -> SegmentedPlan:
    left, right = source(1, "client"), source(2, "blacklist")
    same = e.Call(function="=", arguments=(left.output[0], right.output[0]), type="boolean")
    return segment(o.Join(left=left, right=right, kind="left_anti", condition=same), left.output, ("id",))


def passed(**changes: Any) -> Explanation:
    """Three clients, two of which no row of the blacklist kept out."""
    empty = pa.table({"id": pa.array([], pa.int64())})
    plan = difference_plan()
    values: dict[str, Any] = {
        "target": pa.table({"id": [1, 2, 3]}), "result_rows": None, "asked": "id < 4",
        "source": {"client": pa.table({"id": [1, 2, 3]}), "blacklist": empty, "other": empty},
        "controls": (Control(segment=0, operator="▷ (id_1 = id_2)", sources=("blacklist",), rows=(0, 2)),),
        "plan": plan, "materialized": frozenset({0}),
        "choices": (
            Choice(segment=0, stored=True, because="it is the result"),
            *(Choice(segment=one.number, stored=False, because="it has no function operator") for one in plan.segments[1:]),
        ),
    }  # fmt: skip
    return examples.explanation(**(values | changes))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "no row of blacklist (the whole table) kept these rows out: rows #1, #3"),
        ({"rows": (4,)}, "no row of blacklist (the whole table) kept this row out: row #5"),
        ({"sources": ("a", "b")}, "no row of a or b (the whole tables) kept these rows out: rows #1, #3"),
        ({"kind": "existence"}, "no row of blacklist (the whole table) is a partner of these rows: rows #1, #3"),
        ({"sources": ("\x1b",)}, "no row of \\x1b (the whole table) kept these rows out: rows #1, #3"),
        (
            {"rows": tuple(range(0, 20, 2))},
            "no row of blacklist (the whole table) kept these rows out: rows #1, #3, #5, #7, #9, #11 and 4 more",
        ),
    ],
)
def test_a_control_in_words(changes: dict[str, Any], expected: str) -> None:
    values: dict[str, Any] = {"segment": 1, "operator": "▷", "sources": ("blacklist",), "rows": (0, 2)}
    assert control_text(Control(**(values | changes))) == expected


def test_a_table_that_decided_as_a_whole_is_not_one_that_gave_none() -> None:
    assert made_from(passed()) == "Made from 3 rows of 1 source table (blacklist decided as a whole; 1 more table gave none)."
    assert "decided as a whole" in whole_table_text(passed(), "blacklist")
    assert whole_table_text(passed(), "client") == whole_table_text(passed(), "other") == ""
    assert made_from(passed(controls=())) == "Made from 3 rows of 1 source table (2 more tables gave none)."


def test_rows_that_nobody_counted() -> None:
    assert question(passed()) == "3 result rows asked about: id < 4."
    assert headline(passed(target=pa.table({"id": [1]}))).startswith("1 result row asked about: id < 4.")
    assert "3 result rows asked about: id < 4." in shown(passed())
    assert "3 result rows asked about: id < 4." in Page(to_html(passed())).words
    assert passed().to_dict()["result_rows"] is None


@pytest.mark.parametrize("width", [80, 140])
def test_in_the_terminal(width: int) -> None:
    text = shown(passed(), width=width)
    assert "blacklist, as a whole  ✓ exact" in text
    assert "other, 0 source rows" in text
    assert "no row of blacklist (the whole table) kept these rows out: rows #1, #3" in " ".join(text.split())
    assert "▷ (id_1 = id_2)" in text
    assert re.search(r"0 +D, difference +yes +it is the result", text)
    assert max(map(len, text.splitlines())) <= width
    assert "Decided as a whole" not in shown(examples.paper())


def test_on_the_page() -> None:
    page = Page(to_html(passed()))
    assert "No row of blacklist (the whole table) kept these rows out: rows #1, #3." in page.words
    assert "No single row of it stands behind the rows asked about: it decided as a whole." in page.words
    assert "decided as a whole" in page.words
    links = [str(attributes["href"]) for tag, attributes in page.tags if tag == "a"]
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    assert {"#target-0", "#target-2", "#controls", "#source-1"} <= set(links)
    assert {link[1:] for link in links} <= ids
    assert "#controls" not in to_html(examples.paper())


def test_a_table_whose_rows_are_listed_is_not_one_whose_rows_are_not() -> None:
    (control,) = passed().controls
    listed = passed(controls=(replace(control, listed=True),), source=sources_of(passed()) | {"blacklist": pa.table({"id": [8, 9]})})
    for text in (Page(to_html(passed())).words, shown(passed())):
        assert "Its rows are not listed." in text
        assert "All its rows are among the source rows" not in text
    for text in (Page(to_html(listed)).words, shown(listed, width=160)):
        assert "rows are not listed" not in text
        assert "All its rows are among the source rows" in text
    assert "It decided as a whole, so all its rows are listed." in Page(to_html(listed)).words


def test_hostile_controls_stay_text() -> None:
    control = Control(segment=0, operator=examples.NASTY, sources=(examples.NASTY,), rows=(0,))
    choices = (Choice(segment=0, stored=True, because=examples.NASTY),)
    hostile = passed(controls=(control,), choices=choices, source={examples.NASTY: pa.table({"x": pa.array([], pa.int64())})})
    text = to_html(hostile)
    assert [tag for tag, _ in Page(text).tags].count("script") == 1
    assert "\x1b" not in text + shown(hostile)


def test_in_the_document() -> None:
    document = passed().to_dict()
    assert document["controls"] == [{
        "segment": 0, "kind": "difference", "operator": "▷ (id_1 = id_2)", "sources": ["blacklist"], "intermediate": [], "rows": [0, 2],
        "run": "",
        "listed": False, "text": "no row of blacklist (the whole table) kept these rows out: rows #1, #3",
    }]  # fmt: skip
    (first, *_) = document["segments"]
    assert (first["materialized"], first["because"]) == (True, "it is the result")
    assert passed(choices=()).to_dict()["segments"][0]["because"] is None


def test_every_kind_of_segment_has_a_name() -> None:
    from typing import get_args

    from airflow_lineage_provider.plan.segments import SegmentKind

    assert set(KINDS) == set(get_args(SegmentKind))
    one = Segment(number=3, kind="semi_join", plan=source(1, "t"))
    assert segment_label(one, frozenset({3})) == "segment 3 · semi-join · stored"
    assert segment_label(one, frozenset()) == "segment 3 · semi-join · not stored"


def test_a_run_that_did_not_record_its_choices_says_so() -> None:
    assert {line.because for line in segment_lines(passed(choices=()))} == {NOT_RECORDED}
    assert NOT_RECORDED in shown(passed(choices=()), width=140)


def test_rows_and_sizes_in_words() -> None:
    assert row_numbers((0, 1, 2), 2) == "#1, #2 and 1 more"
    assert [bytes_text(size) for size in (0, 999, 16_384, 1_500_000, 5 * 2**40)] == ["0 bytes", "999 bytes", "16 kB", "1.4 MB", "5.0 TB"]
