"""Linked views and what the settings withhold: patterns of a table's column, fields within columns, and the whole row."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_lineage_provider.answers.crossfilter import Crossfilter, GivenBars, ResultRows
from airflow_lineage_provider.errors import InvalidTarget
from airflow_lineage_provider.render.crossfilter_text import show, to_dict
from tests.crossfilter.test_served import ask
from tests.in_turn import EVERY, in_turn

PEOPLE = pa.table({
    "n": [1, 2], "seat": ["1A", "2B"], "info": [{"ssn": "123-45", "age": 30}, {"ssn": "999-99", "age": 40}],
    "past": pa.array([[{"ssn": "555-55"}], None], pa.list_(pa.struct([("ssn", pa.string())]))),
})  # fmt: skip
FIELDS = ("CAST(info AS VARCHAR)", "info.ssn", "info['ssn']", "info.age", "past[1]::VARCHAR", "len(past)")
WITHOUT_ITS_NAME = (
    "rows::VARCHAR", '"Rows"::VARCHAR', "main.rows::VARCHAR", "COLUMNS('in.*')::VARCHAR", "CAST(#3 AS VARCHAR)",
    "CAST(COLUMNS(* EXCLUDE (n, seat, past)) AS VARCHAR)", "(SELECT any_value(t)::VARCHAR FROM rows t)",
    "(SELECT any_value(t)::VARCHAR FROM (TABLE rows) t)",
)  # fmt: skip


KINDS = ["file", "table"]


@pytest.fixture(params=KINDS)
def people(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Rows of a table whose name is not known."""
    if request.param == "table":
        return PEOPLE
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


def of_run(*tables: str, called: pa.Field | None = None) -> GivenBars:
    """A view that is a run, which calls the table so, and its bar by such a column."""
    rows = ResultRows("01a", (0,), (0,), (called or pa.field("count", pa.int64()),))
    return GivenBars("rows of run 01a", pa.array(["x"]), np.zeros(2, int), rows, tables)


WAYS: tuple[Callable[[Crossfilter], object], ...] = (
    Crossfilter.to_html, Crossfilter.serve, lambda view: to_dict(view.brush()), lambda view: show(view.brush()),
)  # fmt: skip


def check_refused(view: Crossfilter, name: str = "v", ways: Sequence[Callable[[Crossfilter], object]] = WAYS) -> None:
    for way in ways:
        with pytest.raises(InvalidTarget, match=f"view {name}: the question reads a column whose values are withheld"):
            way(view)
    assert view.brush().selected == 2  # what a program reads is as it is


def served_rows(view: Crossfilter) -> dict[str, Any]:
    with view.serve() as served:
        return dict(json.loads(ask(served, "rows", [None] * len(view.views))[1]))


@pytest.mark.parametrize(
    ("pattern", "people"), in_turn(["people.seat", "main.people.seat", "*.SEAT", "people.s*t"], KINDS), indirect=["people"]
)
def test_where_the_table_is_not_known_the_column_of_a_pattern_is_withheld(
    people: Any, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    views = [Crossfilter.over(people, {"v": one}) for one in ("seat", "upper(Seat)", "rows.seat", "#2", "COLUMNS('^se')")]
    assert all("1A" in view.to_html() for view in views)
    for setting in ("MASK", "HIDE"):
        monkeypatch.setenv(f"AIRFLOW_LINEAGE_{setting}", pattern)
        for at, view in enumerate(views):
            check_refused(view, ways=WAYS if EVERY else [WAYS[at % len(WAYS)]])
        told = served_rows(Crossfilter.over(people, {"n": "n"}))
        assert told["columns"] == ["n", *(["seat"] if setting == "MASK" else []), "info", "past"]
        assert "1A" not in str(told)


def test_a_table_that_a_run_names(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "people.seat")
    for tables in (("people",), ("people_2", "People")):
        view = Crossfilter(*table_of(people), {"run": of_run(*tables), "v": "seat"}, schemas=[PEOPLE.schema])
        check_refused(view)
        view = Crossfilter(*table_of(people), {"run": of_run(*tables)}, schemas=[PEOPLE.schema])
        assert served_rows(view)["columns"] == ["n", "info", "past"]
    other = Crossfilter(*table_of(people), {"run": of_run("crew"), "v": "seat"}, schemas=[PEOPLE.schema])
    assert "1A" in other.to_html()
    assert served_rows(other)["columns"] == ["n", "seat", "info", "past"]


def table_of(people: Any) -> tuple[str, Any]:
    made = Crossfilter.over(people, {"n": "n"})
    return made.title, made.source


def test_bars_that_are_called_by_a_column_with_such_a_field(monkeypatch: pytest.MonkeyPatch) -> None:
    views = {"run": of_run("people", called=PEOPLE.schema.field("past"))}
    view = Crossfilter.over(PEOPLE, views)
    view.to_html()
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "ssn")
    check_refused(view, "run")


@pytest.mark.parametrize("expression", [*FIELDS, *WITHOUT_ITS_NAME])
def test_a_field_within_a_column_and_the_whole_row(people: Any, monkeypatch: pytest.MonkeyPatch, expression: str) -> None:
    view = Crossfilter.over(people, {"v": expression})
    assert view.to_html()
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "ssn")
    check_refused(view)
    # Nothing of this table is withheld.
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "iban")
    assert view.to_html()


def test_a_column_that_is_called_as_the_row_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "seat")
    table = PEOPLE.append_column("rows", pa.array([7, 8]))
    assert Crossfilter.over(table, {"v": "rows + 1"}).to_html()
    assert Crossfilter.over(PEOPLE, {"v": "extract(year FROM DATE '2013-01-05') + n // 2"}).to_html()
