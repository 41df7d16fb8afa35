"""Bags of rows compared by whole columns: against the same row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_lineage_provider.deriving.compared_rows import first_of_its_kind, places_without, text_of_row, with_12_digits

FLOATS = st.sampled_from(
    [None, 0.0, -0.0, 0.1, 0.1 + 1e-17, 0.30000000000000004, 0.3, 1.0, 1 + 1e-13, 1 + 1e-11, 123456789012.0, 999999999999.5, 1e12, 1e12 + 1,
     1e12 + 1e-3, -1e300, float("inf"), float("-inf"), float("nan"), 5e-324, 2.5e-310, 0.0000123456789012, 0.00001234567890124]
)  # fmt: skip
VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.float64(): FLOATS | st.floats(),
    pa.float32(): st.sampled_from([None, 0.0, -0.0, 0.5, float("nan"), 1.5, 1.5000001192092896]),
    pa.int64(): st.sampled_from([None, 0, 1, -(2**63), 2**53, 2**53 + 1]),
    pa.string(): st.sampled_from([None, "", "a", "nan", "None"]),
    pa.binary(): st.sampled_from([None, b"", b"\xff"]),
    pa.bool_(): st.sampled_from([None, True, False]),
    pa.decimal128(5, 2): st.sampled_from([None, Decimal("0.00"), Decimal("-1.10")]),
    pa.timestamp("us", "UTC"): st.sampled_from([None, 0, 1]),
    pa.list_(pa.float64()): st.none() | st.lists(FLOATS, max_size=2),
    pa.struct([("x", pa.float64()), ("y", pa.string())]): st.none()
    | st.fixed_dictionaries({"x": FLOATS, "y": st.sampled_from(["a", None])}),
    pa.map_(pa.string(), pa.float64()): st.none() | st.lists(st.tuples(st.just("k"), FLOATS), max_size=1),
    pa.null(): st.none(),
}


ALL = range(3)


def row_by_row(table: pa.Table, rounded: Collection[int] = ALL) -> list[str]:
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return [repr(tuple(with_12_digits(one) if at in rounded else with_one_zero(one) for at, one in enumerate(row))) for row in rows]


def with_one_zero(value: Any) -> Any:
    if isinstance(value, float):
        return value + 0.0
    if isinstance(value, list | tuple):
        return tuple(map(with_one_zero, value))
    return {name: with_one_zero(one) for name, one in value.items()} if isinstance(value, dict) else value


def without(one: pa.Table, other: pa.Table, rounded: Collection[int] = ALL) -> list[int]:
    left, found = Counter(row_by_row(other, rounded)), []
    for place, row in enumerate(row_by_row(one, rounded)):
        if left[row]:
            left[row] -= 1
        else:
            found.append(place)
    return found


@st.composite
def two_bags(draw: st.DrawFn) -> tuple[pa.Table, pa.Table]:
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
    names = [str(at) for at in range(len(kinds))]

    def table() -> pa.Table:
        rows = draw(st.integers(0, 6))
        columns = [pa.array(draw(st.lists(VALUES[kind], min_size=rows, max_size=rows)), kind) for kind in kinds]
        made = pa.table(columns, names=names)
        cut = draw(st.integers(0, rows))
        return pa.concat_tables([made.slice(0, cut), made.slice(cut)])

    return table(), table()


@settings(derandomize=True, deadline=None, database=None, max_examples=120)
@given(two_bags(), st.sets(st.integers(0, 2)))
def test_as_row_by_row(bags: tuple[pa.Table, pa.Table], rounded: set[int]) -> None:
    one, other = bags
    missing = places_without(one, other, rounded)
    assert missing.tolist() == without(one, other, rounded)
    if len(missing):
        # (The first of the rows that one bag has oftener, whichever of them is left.)
        wanted = row_by_row(one, rounded)
        row = next(iter(Counter(wanted) - Counter(row_by_row(other, rounded))))
        assert wanted[first_of_its_kind(one, missing, rounded)] == row
        assert text_of_row(one, first_of_its_kind(one, missing, ALL), ALL) == row_by_row(one)[first_of_its_kind(one, missing, ALL)]


@settings(derandomize=True, deadline=None, database=None, max_examples=100)
@given(st.lists(FLOATS | st.floats() | st.floats(1e11, 1e13) | st.floats(0, 1), max_size=20), st.lists(FLOATS, max_size=20))
def test_numbers_to_twelve_digits(one: list[float | None], other: list[float | None]) -> None:
    bags = (pa.table({"a": pa.array(one, pa.float64())}), pa.table({"a": pa.array([*other, *one[:5]], pa.float64())}))
    assert places_without(*bags, ALL).tolist() == without(*bags)


@pytest.mark.parametrize(
    ("left", "right"), [(pa.int64(), pa.float64()), (pa.int32(), pa.int64()), (pa.timestamp("us", "UTC"), pa.timestamp("us"))]
)
def test_columns_of_other_types_are_compared_as_they_are_shown(left: pa.DataType, right: pa.DataType) -> None:
    bags = pa.table({"a": pa.array([1, 2, None], left)}), pa.table({"a": pa.array([2, None, 2], right)})
    assert places_without(*bags, ALL).tolist() == without(*bags)


def test_rows_without_columns_are_all_alike() -> None:
    rows = pa.table({"a": [1, 2, 3]}).select([])
    assert places_without(rows, rows.slice(0, 1), ALL).tolist() == [1, 2]


def test_values_within_others_that_python_does_not_hold() -> None:
    days = pa.array([2932896, 2932897, 2932898], pa.int32()).cast(pa.date32())  # 9999-12-31, and the days after it
    nested: dict[pa.DataType, list[Any]] = {
        pa.list_(pa.date32()): [[day] for day in days],
        pa.map_(pa.string(), pa.date32()): [[("k", day)] for day in days],
        pa.struct([("d", pa.date32()), ("s", pa.float64())]): [{"d": day, "s": 0.5} for day in days],
        pa.struct([("l", pa.list_(pa.date32()))]): [{"l": [day, None]} for day in days],
    }
    for kind, values in nested.items():
        one, other = (pa.table({"a": pa.array([values[at] for at in some], kind)}) for some in ((0, 1, 2), (2, 0)))
        for rounded in ((), (0,)):
            assert places_without(one, other, rounded).tolist() == [1], kind
            assert text_of_row(one, 1, rounded) != text_of_row(one, 2, rounded), kind
