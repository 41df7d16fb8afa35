"""Linked views of rows of lineage, and with runs among them, outside of the tab: nothing is told that is withheld of the runs' table."""

from __future__ import annotations

import json

import pytest

from airflow_lineage_provider import Crossfilter, Lineage
from airflow_lineage_provider.errors import InvalidTarget
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
