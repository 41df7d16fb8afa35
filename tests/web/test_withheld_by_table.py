"""Columns that are withheld by their table are withheld of arguments that have their values, also of UDFs that an earlier run called."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from airflow_lineage_provider import Lineage
from tests.web.conftest import Flights

API = "/lineage/api/v1"
Client = Callable[..., Any]
INCOME, AMOUNT = "35.0", "187"
"""Of client 49 and the loan."""


def answer(client: Client, run_id: str, form: str) -> str:
    told = client().post(f"{API}/runs/{run_id}/explanation", json={"where": "client_id = 49", "form": form})
    assert told.status_code == 200, told.text
    return json.dumps(told.json()["document"]["reasons"]) if form == "json" else str(told.json()["page"])


@pytest.mark.parametrize("name", ["judged", "reported"])
@pytest.mark.parametrize("form", ["json", "page", "letters"])
@pytest.mark.parametrize("setting_name", ["AIRFLOW_LINEAGE_HIDE", "AIRFLOW_LINEAGE_MASK"])
def test_no_value_of_it_is_told(
    client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, setting_name: str, form: str, name: str
) -> None:
    value, pattern = (AMOUNT, "client.debt,loan.amount") if form == "letters" else (INCOME, "client.income")
    assert value in answer(client, runs[name], form)
    monkeypatch.setenv(setting_name, pattern)
    assert value not in answer(client, runs[name], form)


def test_nothing_is_withheld_for_a_table_that_is_not_behind_it(
    client: Client, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "another.income")
    assert INCOME in answer(client, runs["reported"], "json")


def test_a_table_of_reasons_in_a_notebook_knows_no_sources(flights: Flights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", flights.store.url)
    found = Lineage(store=flights.store).get_run(flights.runs["photos"]).explain("n = 1", save=False)
    assert "GOOD" in found.reasons["praises"]._repr_html_()
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "photos.told")
    assert "GOOD" not in found._repr_html_() + found.reasons["praises"]._repr_html_()
