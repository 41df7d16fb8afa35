"""Answers about source rows as pages and as files: what is in them, that all of it is escaped, and what is withheld."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from airflow_lineage_provider.answers.fates import Fates, Way
from airflow_lineage_provider.plan.guarantees import Guarantee
from airflow_lineage_provider.render.answer_files import saved_tables, table_names
from tests.deriving import kept_examples
from tests.render import explanation_examples as examples

NASTY = "<script>alert(1)</script>\x1b[31m\u202e"


class Tags(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.text += data


def read(page: str) -> str:
    found = Tags(page)
    assert not found.open
    assert "script" not in found.tags
    assert not re.search(r"https?://|@import|url\(", page)
    return re.sub(r"\s+", " ", found.text)


def test_the_page_of_a_why_not_answer() -> None:
    text = read(kept_examples.why_not().to_html())
    assert "What became of 3 rows of loan" in text
    assert "1 in the lineage of the result, 2 not" in text
    assert "loan: 1 file was replaced" in text
    assert "followed together" in text
    assert text.count("Where the pipeline reads loan") == 6
    for told in (
        "2 rows of the result descend from it",
        "(amount > 20) is false",
        "excluded by banned: ssn 999-1, why fraud",
        "true for 0 rows",
    ):
        assert told in text
    assert "2 identical rows" in text


def test_the_page_of_rows_that_source_rows_touched() -> None:
    text = read(kept_examples.descendants().to_html())
    assert "What 3 rows of loan touched" in text
    assert text.count("2 rows of the result") >= 2
    for told in ("run 01JLATER", "several are alike", "could not be traced: gone", "Reject", "answered by lazy: spark"):
        assert told in text


def test_whatever_is_in_an_answer_is_shown_and_not_run() -> None:
    way = Way(leaf=0, operators=((0, NASTY),), descendants=np.array([[1]]), drops={})
    answer = kept_examples.why_not(
        rows=pa.table({NASTY: [NASTY]}), table=NASTY, asked=NASTY, copies=(1,), stale=(NASTY,), fates=Fates(ways=(way,), rows=1),
        guarantee=Guarantee(level="superset", cause=NASTY), run=examples.run(pipeline=NASTY),
    )  # fmt: skip
    rows = kept_examples.rows_of(
        rows=pa.table({NASTY: [NASTY]}), asked=NASTY, asked_table=NASTY, engine=NASTY, stale=(NASTY,), run=examples.run(pipeline=NASTY),
        guarantee=Guarantee(level="superset", cause=NASTY), numbers=(0,),
    )  # fmt: skip
    remark = Guarantee(level="unavailable", cause=NASTY)
    for page in (answer.to_html(), rows.to_html(), kept_examples.descendants(here=rows, later={}, remarks=(remark,)).to_html()):
        text = read(page)
        assert "<script>alert(1)</script>" in text
        assert "\x1b" not in page
        assert "\u202e" not in page


def test_a_page_has_the_first_rows_and_says_so() -> None:
    way = Way(leaf=0, operators=((0, "loan"),), descendants=np.ones((1, 700), np.int64), drops={})
    many = kept_examples.why_not(
        rows=pa.table({"n": range(700)}), copies=(1,) * 700, fates=Fates(ways=(way,), rows=700), guarantee=Guarantee(level="exact")
    )
    text = read(many.to_html())
    assert "500. n 499" in text
    assert "n 500 " not in text
    assert "200 more rows" in text


def test_the_tables_of_a_why_not_answer() -> None:
    answer = kept_examples.why_not()
    tables = saved_tables(answer)
    assert list(tables) == table_names(answer) == ["fates", "rows", "path"]
    assert tables["rows"].rows == answer.rows
    assert {one.guarantee for one in tables.values()} == {answer.guarantee}
    fates = tables["fates"].rows.to_pylist()
    assert [(one["row"], one["leaf"], one["survived"]) for one in fates] == [(one.row, one.leaf, one.survived) for one in answer.fates]
    assert [one["text"] for one in fates] == [one.drop.text if one.drop else None for one in answer.fates]
    path = tables["path"].rows.to_pylist()
    assert [one["descendants"] for one in path] == [step.descendants for one in answer.fates for step in one.path]


def test_the_tables_of_rows_of_several_runs() -> None:
    answer = kept_examples.descendants()
    tables = saved_tables(answer)
    assert list(tables) == table_names(answer) == ["result", "links", "result.01JLATER", "links.01JLATER"]
    assert tables["result.01JLATER"].guarantee == answer.later["01JLATER"].guarantee
    assert tables["links"].rows == answer.here.links


@pytest.mark.parametrize(("pattern", "secret"), [("ssn", "999-"), ("loan.ssn", "ssn = '999-1'")])
def test_what_is_withheld_is_in_no_table_page_or_remark(pattern: str, secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    remark = Guarantee(level="unavailable", cause="run 01JTHIRD could not be traced: ssn = '999-7'")
    rows = kept_examples.rows_of(asked="ssn = '999-1'", rows=pa.table({"judge": ["Reject", "Accept"]}))
    followed = kept_examples.descendants(here=rows, later={}, remarks=(remark,) if pattern == "ssn" else ())
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", pattern)
    for answer in (kept_examples.why_not(asked="ssn = '999-1'"), replace(followed, id="x")):
        told = answer.to_html() + str(answer.to_dict()) + str([one.rows.to_pylist() for one in saved_tables(answer).values()])
        assert secret not in told
