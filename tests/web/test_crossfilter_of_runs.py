"""Linked views of rows of lineage, and with runs among them, outside of the tab: nothing is told that is withheld of the runs' table."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider import Crossfilter, Lineage
from airflow_lineage_provider.deriving import duckdb_engine, run_bars
from airflow_lineage_provider.deriving.asked_run import AskedRun
from airflow_lineage_provider.errors import AnswerTooLarge, InvalidTarget, QueryTooSlow
from airflow_lineage_provider.render.crossfilter_shown import check_shown
from airflow_lineage_provider.sources.duckdb_query import fetched
from tests.crossfilter.test_served import ask
from tests.web.conftest import Flights

SEAT = "070A"


def rows_served(view: Crossfilter) -> str:
    with view.serve() as served:
        return json.dumps(json.loads(ask(served, "rows", [None] * len(view.views))[1]))


@pytest.mark.parametrize("over", ["lineage", "files"])
def test_a_column_that_is_withheld_of_the_table(flights: Flights, monkeypatch: pytest.MonkeyPatch, over: str) -> None:
    lineage = Lineage(store=flights.store)
    run = lineage.get_run(flights.runs["carriers"])
    data = run.backward("true", "flights") if over == "lineage" else flights.folder
    runs = {} if over == "lineage" else {"run": run}
    by_seat, others = lineage.crossfilter(data, {**runs, "seat": "seat"}), lineage.crossfilter(data, {**runs, "late": "delay > 10"})
    assert by_seat.tables == ("flights",)
    assert SEAT in by_seat.to_html()
    assert "seat" in rows_served(others)
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "flights.seat")
    with pytest.raises(InvalidTarget, match="view seat: "):
        by_seat.to_html()
    assert "seat" not in rows_served(others)
    # The table is known: what is withheld of another is told.
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "crews.seat")
    assert SEAT in by_seat.to_html()
    assert "seat" in rows_served(others)


def test_bars_of_a_run_whose_columns_carry_what_is_withheld(flights: Flights, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever these are called in the result."""
    lineage = Lineage(store=flights.store)
    found = lineage.crossfilter(flights.folder, {"places": lineage.get_run(flights.runs["places"])})
    view = found.views["places"]
    assert view.of_result is not None
    assert view.of_result.carried["", "worst"] == {("flights", "delay")}
    renamed = replace(view.of_result, columns=(pa.field("worst", pa.int64()),))
    monkeypatch.setattr(found, "views", {"places": replace(view, of_result=renamed)})
    check_shown(found)
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "flights.seat")
    check_shown(found)
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "flights.delay")
    with pytest.raises(InvalidTarget, match="view places: "):
        check_shown(found)


def test_finding_the_bars_of_a_run_is_ended_in_time(flights: Flights, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, too: the query over the files has the seconds that one of the store has."""
    given: list[float | None] = []

    def ended(*args: Any, seconds: float | None = None, **options: Any) -> Any:
        given.append(seconds)
        if seconds is not None:
            raise QueryTooSlow("ended")
        return fetched(*args, **options)

    monkeypatch.setattr(duckdb_engine, "fetched", ended)
    lineage = Lineage(store=flights.store)
    run = lineage.get_run(flights.runs["carriers"])
    assert lineage.crossfilter(flights.folder, {"run": run}).rows == 210
    assert set(given) == {None}
    lineage.query_seconds = 7.5
    with pytest.raises(QueryTooSlow):
        lineage.crossfilter(flights.folder, {"run": run})
    assert given[-1] == 7.5


def test_a_result_of_more_rows_than_there_may_be_bars(flights: Flights, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether its rows were counted when it was made, or not."""
    monkeypatch.setattr(run_bars, "MOST_BARS", 2)
    lineage = Lineage(store=flights.store)
    run = lineage.get_run(flights.runs["carriers"])
    for total in (AskedRun.total, property(lambda asked: None)):
        monkeypatch.setattr(AskedRun, "total", total)
        with pytest.raises(AnswerTooLarge, match=f"the result of run {run.id} has more rows than the 2 bars of a view"):
            lineage.crossfilter(flights.folder, {"run": run})
