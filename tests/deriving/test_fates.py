"""What became of rows, by whole columns: against the same row by row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_lineage_provider.answers.fates import Fates, Way
from airflow_lineage_provider.answers.why_not import Drop, Fate, Step
from airflow_lineage_provider.tracing.value_codes import same_bits


class Dropped:
    """Drops that tell which operator dropped which tag."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.names = ((f"c{place}", ""),)

    def of(self, tag: int) -> Drop:
        return Drop(reason="operator", text=f"{self.place} {tag}")


@st.composite
def counted(draw: st.DrawFn) -> tuple[int, list[list[dict[int, int]]]]:
    """How many rows, and for each way and operator the number of descendants by tag; what has none is not there."""
    rows, ways = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    depth = draw(st.integers(1, 4))
    counts = st.dictionaries(st.integers(0, rows * ways - 1), st.integers(1, 5))
    return rows, [draw(st.lists(counts, min_size=depth, max_size=depth)) for _ in range(ways)]


def row_by_row(rows: int, ways: list[list[dict[int, int]]]) -> list[Fate]:
    found = []
    for row in range(rows):
        for way, operators in enumerate(ways):
            tag = way * rows + row
            steps = tuple(Step(segment=0, operator=f"o{at}", descendants=own.get(tag, 0)) for at, own in enumerate(operators))
            lost = next((at for at, step in enumerate(steps) if not step.descendants), None)
            drop = None if lost is None else Drop(reason="operator", text=f"{lost} {tag}")
            found.append(Fate(row=row, leaf=way, path=steps, lost=lost, drop=drop))
    return found


def by_columns(rows: int, ways: list[list[dict[int, int]]]) -> Fates:
    made = []
    for way, operators in enumerate(ways):
        descendants = np.array([[own.get(way * rows + row, 0) for row in range(rows)] for own in operators], np.int64)
        drops = {at: Dropped(at) for at in range(len(operators))}
        names = tuple((0, f"o{at}") for at in range(len(operators)))
        made.append(Way(leaf=way, operators=names, descendants=descendants, drops=drops, first=way * rows))
    return Fates(ways=tuple(made), rows=rows)


@settings(derandomize=True, deadline=None, database=None)
@given(counted())
def test_as_row_by_row(given: tuple[int, list[list[dict[int, int]]]]) -> None:
    expected, found = row_by_row(*given), by_columns(*given)
    assert list(found) == expected
    assert found == tuple(expected)
    assert found[-1] == expected[-1]
    assert found[1:3] == tuple(expected[1:3])
    for row in range(given[0]):
        own = tuple(fate for fate in expected if fate.row == row)
        assert found.of(row) == own
        assert bool(found.survived[row]) == any(fate.survived for fate in own)


def test_there_is_no_other_row() -> None:
    found = by_columns(1, [[{0: 1}]])
    assert (found.of(1), found.of(-1)) == ((), ())
    with pytest.raises(IndexError):
        found[1]
    assert found != [*found, *found]
    assert found.names == (("c0", ""),)


VALUES: dict[pa.DataType, list[Any]] = {
    pa.float64(): [None, 0.0, -0.0, 1.5, math.nan],
    pa.float32(): [None, 0.0, -0.0],
    pa.int64(): [None, 0, 1],
    pa.string(): [None, "", "a"],
    pa.list_(pa.float64()): [None, [1.0], [], [0.0], [-0.0], [math.nan, None]],
}


def told_apart(value: Any) -> str:
    return repr(value)  # -0.0 is not 0.0, and one NaN is like another


@settings(derandomize=True, deadline=None, database=None)
@given(st.data())
def test_rows_of_the_same_bits(data: st.DataObject) -> None:
    kinds, rows = data.draw(st.lists(st.sampled_from(list(VALUES)), max_size=3)), data.draw(st.integers(0, 8))
    values = [data.draw(st.lists(st.sampled_from(VALUES[kind]), min_size=rows, max_size=rows)) for kind in kinds]
    columns = [pa.chunked_array([pa.array(own[:3], kind), pa.array(own[3:], kind)]) for kind, own in zip(kinds, values, strict=True)]
    number, first = same_bits(columns, rows)
    same = [tuple(map(told_apart, row)) for row in zip(*values, strict=True)] if kinds else [()] * rows
    for one in range(rows):
        assert same[first[number[one]]] == same[one]
        assert all((number[one] == number[other]) == (same[one] == same[other]) for other in range(rows))
    assert sorted(set(number.tolist())) == list(range(len(first)))
