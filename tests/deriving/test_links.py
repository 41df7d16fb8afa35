"""Links between rows, by whole columns: against the same one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_lineage_provider.deriving.links import by_source, same, target_links
from airflow_lineage_provider.tracing.key_index import KeyIndex
from airflow_lineage_provider.tracing.numbers import different, each_once

NUMBERS = st.lists(st.integers(0, 6), max_size=12)
LINKS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4), st.integers(0, 4)), max_size=20)


def array(numbers: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, np.int64)


@settings(derandomize=True, deadline=None, database=None)
@given(NUMBERS, NUMBERS)
def test_the_same_numbers(left: list[int], right: list[int]) -> None:
    one, other = same(array(left), array(right))
    assert list(zip(one.tolist(), other.tolist(), strict=True)) == [
        (i, j) for i, x in enumerate(left) for j, y in enumerate(right) if x == y
    ]


@settings(derandomize=True, deadline=None, database=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=15))
def test_each_once(pairs: list[tuple[int, int]]) -> None:
    left, right = each_once(array([one for one, _ in pairs]), array([other for _, other in pairs]))
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == sorted(set(pairs))
    assert different(array([one for one, _ in pairs])).tolist() == sorted({one for one, _ in pairs})


@settings(derandomize=True, deadline=None, database=None)
@given(LINKS)
def test_links_and_back(links: list[tuple[str, int, int]]) -> None:
    parts = [(name, array([row for of, row, _ in links if of == name]), array([at for of, _, at in links if of == name])) for name in "abc"]
    made = target_links(parts)
    assert list(zip(*(made.column(name).to_pylist() for name in ("row", "source", "source_row")), strict=True)) == sorted(
        {(row, name, at) for name, row, at in links}
    )
    back = {(name, row, at) for name, rows, ats in by_source(made) for row, at in zip(rows.tolist(), ats.tolist(), strict=True)}
    assert back == set(links)


@settings(derandomize=True, deadline=None, database=None)
@given(st.lists(st.sampled_from(["a", "b", None]), max_size=10))
def test_rows_before_with_the_same_key(keys: list[str | None]) -> None:
    before: Counter[str | None] = Counter()
    expected = []
    for key in keys:
        expected.append(before[key])
        before[key] += 1
    assert KeyIndex(pa.table({"key": pa.array(keys, pa.string())})).earlier.tolist() == expected
