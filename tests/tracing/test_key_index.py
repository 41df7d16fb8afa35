"""Rows found by their keys, by whole columns: what a dictionary of Python gives, row by row."""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_lineage_provider.deriving.links import pairs, target_links
from airflow_lineage_provider.tracing.key_index import KeyIndex, key_tuples

DAYS = st.dates(datetime.date(1, 1, 1))
VALUES: dict[pa.DataType, Any] = {
    pa.int64(): st.integers(-2, 2) | st.sampled_from([-(2**63), 2**63 - 1]),
    pa.int32(): st.integers(-2, 2),
    pa.bool_(): st.booleans(),
    pa.float64(): st.sampled_from([0.0, -0.0, math.nan, -math.nan, math.inf, 1.5]),
    pa.float32(): st.sampled_from([0.0, -0.0, math.nan, 1.5]),
    pa.string(): st.sampled_from(["", "a", "A", "ü", "a\0"]),
    pa.binary(): st.sampled_from([b"", b"\xff", b"\0"]),
    pa.decimal128(38, 2): st.sampled_from([decimal.Decimal("0.00"), decimal.Decimal("-1.50"), decimal.Decimal(10) ** 35]),
    pa.date32(): DAYS,
    pa.timestamp("us", "UTC"): st.datetimes(datetime.datetime(1, 1, 1)).map(lambda one: one.replace(tzinfo=datetime.UTC)),
    pa.list_(pa.float64()): st.lists(st.sampled_from([0.5, None]), max_size=2),
    pa.struct([("a", pa.int32())]): st.fixed_dictionaries({"a": st.integers(0, 1)}),
}


@st.composite
def tables(draw: Any) -> tuple[pa.Table, pa.Table]:
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))

    def column(kind: pa.DataType, rows: int) -> pa.ChunkedArray:
        values = draw(st.lists(st.none() | VALUES[kind], min_size=rows, max_size=rows))
        cut = draw(st.integers(0, rows))
        return pa.chunked_array([pa.array(values[:cut], kind), pa.array(values[cut:], kind)], kind)

    def table(rows: int) -> pa.Table:
        return pa.table([column(kind, rows) for kind in kinds], names=[f"key_{i}" for i in range(len(kinds))])

    return table(draw(st.integers(0, 12))), table(draw(st.integers(0, 12)))


NEAR, FAR = st.integers(0, 9), st.sampled_from([-(2**63), 5, 2**63 - 1])


@given(st.lists(st.tuples(NEAR | FAR, NEAR), min_size=1, max_size=12), st.lists(st.tuples(NEAR | FAR, NEAR), max_size=12), st.booleans())
def test_whole_numbers_without_null(rows: list[tuple[int, int]], asked: list[tuple[int, int]], in_order: bool) -> None:
    """Hashes of files and positions in them, mostly those that were asked for: told apart without a dictionary."""
    rows = sorted({*rows}) if in_order else rows
    for wanted in (asked, rows):
        index, keys = KeyIndex(_numbers(rows)), _numbers(wanted)
        found = index.places(keys)
        assert list(zip(found.asked.tolist(), found.row.tolist(), strict=True)) == [
            (at, row) for at, key in enumerate(wanted) for row, own in enumerate(rows) if own == key
        ]
        assert index.has(keys).tolist() == [key in rows for key in wanted]
        assert index.repeated == sum(rows.count(key) > 1 for key in {*rows})


def _numbers(rows: list[tuple[int, int]]) -> pa.Table:
    return pa.table({f"key_{at}": pa.array([row[at] for row in rows], pa.int64()) for at in range(2)})


@given(tables())
def test_as_a_dictionary_has_them(drawn: tuple[pa.Table, pa.Table]) -> None:
    rows, asked = drawn
    by_key: dict[Any, list[int]] = {}
    for number, key in enumerate(key_tuples(rows)):
        by_key.setdefault(key, []).append(number)
    index = KeyIndex(rows)
    found = index.places(asked)
    assert list(zip(found.asked.tolist(), found.row.tolist(), strict=True)) == [
        (at, row) for at, key in enumerate(key_tuples(asked)) for row in by_key.get(key, [])
    ]
    assert index.has(asked).tolist() == [key in by_key for key in key_tuples(asked)]
    assert index.repeated == sum(len(numbers) > 1 for numbers in by_key.values())
    assert len(index) == rows.num_rows


def test_nan_is_one_value_whatever_its_bits() -> None:
    quiet = np.array([0x7FF8000000000001, 0x7FF8000000000000, 0xFFF8000000000000], np.uint64).view(np.float64)
    index = KeyIndex(pa.table({"key_0": quiet}))
    assert index.repeated == 1
    assert index.places(pa.table({"key_0": [math.nan]})).row.tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", [pa.int32(), pa.decimal128(20, 0)])
def test_keys_of_another_width_are_the_same_keys(kind: pa.DataType) -> None:
    index = KeyIndex(pa.table({"key_0": pa.array([1, 2], pa.int64())}))
    assert index.has(pa.table({"key_0": pa.array([2, 3], pa.int64()).cast(kind)})).tolist() == [True, False]


def test_many_parts_of_many_values() -> None:
    """The product of the parts' numbers of values is beyond 64 bits."""
    numbers = np.arange(100_000)
    keys = pa.table({f"key_{i}": np.roll(numbers, i) for i in range(5)})
    index = KeyIndex(keys)
    assert index.places(keys).row.tolist() == numbers.tolist()
    assert not index.has(pa.table({f"key_{i}": numbers for i in range(5)})).any()


def test_links_are_there_once_and_in_order() -> None:
    rows, behind = np.array([1, 0, 1, 1]), np.array([5, 7, 2, 5])
    assert pairs(rows, behind).to_pydict() == {"asked": [0, 1, 1], "row": [7, 2, 5]}
    links = target_links([("loan", rows, behind), ("client", np.array([1]), np.array([0])), ("none", np.zeros(0, int), np.zeros(0, int))])
    assert links.to_pydict() == {"row": [0, 1, 1, 1], "source": ["loan", "client", "loan", "loan"], "source_row": [7, 0, 2, 5]}
    assert target_links([]).schema == links.schema == pa.schema([("row", pa.int64()), ("source", pa.string()), ("source_row", pa.int64())])
