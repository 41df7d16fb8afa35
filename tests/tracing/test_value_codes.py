"""Numbers of values, by whole columns: what a dictionary of Python gives, value by value, however deep a value is."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from airflow_lineage_provider.tracing.maps import distinct_rows
from airflow_lineage_provider.tracing.value_codes import coded, same_bits, together

LEAVES: dict[pa.DataType, Any] = {
    pa.float64(): st.sampled_from([0.0, -0.0, math.nan, 1.5]),
    pa.int32(): st.integers(-1, 1),
    pa.string(): st.sampled_from(["", "a", "a\0"]),
    pa.bool_(): st.booleans(),
}


@st.composite
def typed(draw: Any, depth: int = 2) -> tuple[pa.DataType, Any]:
    """A type, and its values."""
    form = draw(st.sampled_from(["leaf", "list", "large", "fixed", "struct", "map"])) if depth else "leaf"
    if form == "leaf":
        kind = draw(st.sampled_from(list(LEAVES)))
        return kind, st.none() | LEAVES[kind]
    kind, values = draw(typed(depth - 1))
    match form:
        case "list":
            return pa.list_(kind), st.none() | st.lists(values, max_size=2)
        case "large":
            return pa.large_list(kind), st.none() | st.lists(values, max_size=2)
        case "fixed":
            return pa.list_(kind, 2), st.none() | st.lists(values, min_size=2, max_size=2)
        case "map":
            return pa.map_(pa.int32(), kind), st.none() | st.lists(st.tuples(st.integers(0, 1), values), max_size=2)
    return pa.struct([("a", kind), ("b", pa.int32())]), st.none() | st.fixed_dictionaries({"a": values, "b": st.none() | st.just(1)})


def told(value: Any, signs: bool) -> str:
    """A text that is the same for the same value."""
    if isinstance(value, float):
        return repr(value if signs else value + 0.0)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {told(one, signs)}' for name, one in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(told(one, signs) for one in value)}]"
    return repr(value)


@st.composite
def columns(draw: Any) -> pa.ChunkedArray:
    kind, values = draw(typed())
    given, cut = draw(st.lists(values, max_size=8)), draw(st.integers(0, 8))
    whole = pa.array([None, *given], kind)  # a part of a longer array
    return pa.chunked_array([whole.slice(1, cut), whole.slice(1 + cut)], kind)


def numbered(texts: list[Any]) -> list[int]:
    known: dict[Any, int] = {}
    return [known.setdefault(text, len(known)) for text in texts]


@given(columns(), st.booleans())
def test_as_a_dictionary_numbers_them(column: pa.ChunkedArray, signs: bool) -> None:
    found = coded(column, signs=signs)
    expected = numbered([told(value, signs) for value in column.to_pylist()])
    assert found.number.tolist() == expected
    assert found.many == max([*expected, 0]) + 1


@given(st.lists(columns(), max_size=3))
def test_rows_are_told_apart_by_all_their_columns(given: list[pa.ChunkedArray]) -> None:
    rows = min((len(one) for one in given), default=3)
    cut = [one.slice(0, rows) for one in given]
    keys = list(zip(*([told(value, True) for value in one.to_pylist()] for one in cut), strict=True)) or [()] * rows
    number, first = same_bits(cut, rows)
    assert number.tolist() == numbered(keys)
    assert [keys[at] for at in first.tolist()] == list(dict.fromkeys(keys))
    assert together((coded(one, signs=True) for one in cut), rows).number.tolist() == number.tolist()
    table = pa.table(cut, names=[f"c{at}" for at in range(len(cut))])
    if cut and any(pa.types.is_nested(one.type) for one in cut):
        found = distinct_rows(table)
        assert [told(list(row.values()), True) for row in found.to_pylist()] == [told(list(row), True) for row in _first_of(table, keys)]


def _first_of(table: pa.Table, keys: list[Any]) -> list[tuple[Any, ...]]:
    seen: dict[Any, tuple[Any, ...]] = {}
    for key, row in zip(keys, zip(*(one.to_pylist() for one in table.columns), strict=True), strict=True):
        seen.setdefault(key, row)
    return list(seen.values())
