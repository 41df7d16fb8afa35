"""Every key is asked about once, and each tag gets what was found of its keys: against asking for each row of the target by itself."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_lineage_provider.tracing.looked_up import LookedUp
from airflow_lineage_provider.tracing.reserved import TAG

KEYS = (None, "", "a", "b", "c")
NUMBERS = (None, 0.0, -0.0, 1.5, math.inf, math.nan)

targets = st.lists(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(KEYS), st.sampled_from(NUMBERS)), max_size=8), min_size=1, max_size=4
)


def told(text: str | None, number: float | None) -> list[str]:
    """What stands behind a key: none, one or several rows, which its bits tell apart."""
    return [f"{text}/{number!r}/{i}" for i in range(len(text or "aa") + (number == 1.5))]


class Asking:
    """Answers, and remembers what it was asked about; its columns have another name each time, as attributes of new queries have."""

    def __init__(self) -> None:
        self.keys: list[tuple[str | None, str]] = []
        self.times = 0

    def __call__(self, rows: pa.Table) -> pa.Table:
        self.times += 1
        tags, texts, numbers = (column.to_pylist() for column in rows.columns)
        self.keys += [(text, repr(number)) for text, number in zip(texts, numbers, strict=True)]
        found = [(tag, one) for tag, text, number in zip(tags, texts, numbers, strict=True) for one in told(text, number)]
        found.sort(key=lambda row: hash(row))  # in no order
        return pa.table({
            TAG: pa.array([tag for tag, _ in found], pa.int64()),
            f"found_{self.times}": pa.array([one for _, one in found], pa.string()),
        })  # fmt: skip


def target(rows: list[tuple[int, Any, Any]]) -> pa.Table:
    """Tags and keys of two columns."""
    types = (pa.int64(), pa.string(), pa.float64())
    columns = zip(*rows, strict=True) if rows else [(), (), ()]
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, types, strict=True)], names=[TAG, "key_0", "key_1"])


@given(targets)
def test_each_tag_has_what_was_found_of_its_keys_and_no_key_is_asked_about_twice(asked: list[list[tuple[int, Any, Any]]]) -> None:
    known, asking = LookedUp(), Asking()
    for rows in asked:
        found = known.rows("question", target(rows), asking)
        expected = sorted((tag, one) for tag, text, number in rows for one in told(text, number))
        assert sorted(zip(*(column.to_pylist() for column in found.columns), strict=True)) == expected
        assert found.column_names[0] == TAG
    assert len(asking.keys) == len(set(asking.keys))


def test_questions_are_apart() -> None:
    known, asking = LookedUp(), Asking()
    rows = target([(0, "a", 1.5)])
    assert known.rows("one", rows, asking) == known.rows("one", rows, asking)
    assert asking.times == 1
    known.rows("another", rows, asking)
    assert asking.times == 2


@pytest.mark.parametrize("values", [[[1.0], [-0.0], [0.0], None], [{"a": 0.0}, {"a": -0.0}, None]])
def test_nested_keys_are_told_apart(values: list[Any]) -> None:
    asked: list[Any] = []

    def ask(rows: pa.Table) -> pa.Table:
        asked.extend(rows.column(1).to_pylist())
        return pa.table({TAG: rows.column(0), "found": pa.array([repr(one) for one in rows.column(1).to_pylist()])})

    known = LookedUp()
    rows = pa.table({TAG: pa.array(range(2 * len(values)), pa.int64()), "key_0": pa.array(values + values)})
    assert known.rows(0, rows, ask).column(1).to_pylist() == [repr(one) for one in values + values]
    assert len(asked) == len(values)


def test_a_target_without_keys_asks_one_question() -> None:
    def ask(rows: pa.Table) -> pa.Table:
        assert rows.num_rows == 1
        return pa.table({TAG: pa.concat_arrays([rows.column(0).combine_chunks()] * 2), "found": pa.array([7, 8])})

    rows = pa.table({TAG: pa.array([4, 5], pa.int64())})
    assert LookedUp().rows(0, rows, ask).to_pydict() == {TAG: [4, 4, 5, 5], "found": [7, 8, 7, 8]}


def test_many_keys() -> None:
    many = 50_000

    def ask(rows: pa.Table) -> pa.Table:
        return pa.table({TAG: rows.column(0), "found": rows.column(1)})

    known = LookedUp()
    for start in (0, many // 2, 0):
        keys = pa.array(range(start, start + many), pa.int64())
        found = known.rows(0, pa.table({TAG: keys, "key_0": keys}), ask)
        assert found.column(0).equals(found.column(1))
        assert found.num_rows == many
