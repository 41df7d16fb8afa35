"""What source rows would be: exactly values of the columns' types, as of a target, or refused by name."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from airflow_lineage_provider.deriving.revised_values import revised_text, revised_values
from airflow_lineage_provider.errors import InvalidTarget
from airflow_lineage_provider.plan.expressions import Attribute

TYPES = {
    "n": "int", "ts": "timestamp", "ntz": "timestamp_ntz", "d": "date", "f": "float", "x": "double", "money": "decimal(5,1)",
    "flag": "boolean", "s": "struct<a:int>", "many": "array<int>",
}  # fmt: skip
COLUMNS = [(name, Attribute(name=name, id=at, type=kind)) for at, (name, kind) in enumerate(TYPES.items())]
BY_NAME = dict(COLUMNS)


def values(revised: Any) -> list[dict[int, Any]]:
    return revised_values(revised, COLUMNS, "Europe/Amsterdam")


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("ts", dt.datetime(2024, 2, 29, 23, 30), dt.datetime(2024, 2, 29, 22, 30, tzinfo=dt.UTC)),
        ("d", "2024-02-29", dt.date(2024, 2, 29)),
        ("money", Decimal("15.50"), Decimal("15.5")),
        ("n", None, None),
        ("s", {"a": 1}, {"a": 1}),
    ],
)
def test_a_value_is_that_of_a_target(name: str, given: Any, expected: Any) -> None:
    assert values({name.upper(): given}) == [{BY_NAME[name].id: expected}]


INEXACT: dict[str, Any] = {
    "n": 11.5, "d": dt.datetime(2024, 2, 29, 23, 59), "f": 1e40, "money": 15.55, "flag": 2, "s": {"b": 1}, "many": [1.7],
    "ntz": dt.datetime(2024, 2, 29, tzinfo=dt.UTC),
}  # fmt: skip


@pytest.mark.parametrize("name", INEXACT)
def test_what_is_not_exactly_one_is_refused(name: str) -> None:
    with pytest.raises(InvalidTarget, match=f"what the rows would be: .* is no value of column '{name}'"):
        values({name: INEXACT[name]})


def test_missing_values_of_frames_and_columns_that_are_given_twice() -> None:
    frame = pd.DataFrame({name: [None] for name in TYPES}).astype({"n": float, "x": float})
    with pytest.raises(InvalidTarget, match="what the rows would be: x is missing, which pandas has for NULL and for NaN"):
        values(frame)
    assert values(frame.assign(x=1.5))[0] == dict.fromkeys(range(len(TYPES)), None) | {BY_NAME["x"].id: 1.5}
    with pytest.raises(InvalidTarget, match="the column n has two values"):
        values({"N": 1, "n": 2})


def test_none_are_removed_in_every_form() -> None:
    nothing: list[Any] = [[], (), pa.table({"n": pa.array([], pa.int32())}), pd.DataFrame({"n": []})]
    for none in nothing:
        assert (values(none), revised_text(none)) == ([], "removed")
