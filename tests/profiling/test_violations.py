"""What violates dependencies: both rewritings against a naive reading of the definition."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, get_args

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.profiling.dependency import Dependency, dependencies
from airflow_lineage_provider.profiling.violations import Violations, violations
from airflow_lineage_provider.words import ProfileMethod, ProfileNulls

TEXTS = st.sampled_from([None, "", "a", "b", "c"])
NUMBERS = st.sampled_from([None, 0.0, -0.0, 1.0, math.nan])
WHOLE = st.sampled_from([None, 1, 2])
rows = st.lists(st.tuples(TEXTS, NUMBERS, WHOLE), max_size=25)
FDS = ("t -> x", "t -> n", "x, n -> t", "n -> t, x", "t -> t")


def table(drawn: list[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*drawn, strict=True)) if drawn else [(), (), ()]
    return pa.table(
        {"t": pa.array(columns[0], pa.string()), "x": pa.array(columns[1], pa.float64()), "n": pa.array(columns[2], pa.int32())}
    )


def comparable(value: Any) -> Any:
    """One NaN, one zero."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else 0.0 if value == 0.0 else value


def naive(drawn: pa.Table, one: Dependency, nulls: str) -> tuple[list[tuple[int, list[int]]], int, int]:
    """For each violating value, in the order of first rows, how many dependents it has and its rows; rows checked, and to be removed."""
    groups: dict[Any, list[tuple[int, Any]]] = {}
    checked = 0
    for number, row in enumerate(drawn.to_pylist()):
        left, right = (tuple(comparable(row[name]) for name in side) for side in (one.determinant, one.dependent))
        if nulls == "ignore" and None in (*left, *right):
            continue
        checked += 1
        groups.setdefault(left, []).append((number, right))
    removed = sum(len(group) - max(Counter(right for _, right in group).values()) for group in groups.values())
    found = [(len({right for _, right in group}), [number for number, _ in group]) for group in groups.values()]
    return [one for one in found if one[0] > 1], checked, removed


def told(found: Violations) -> list[tuple[int, list[int]]]:
    return [(int(found.different[i]), found.rows_of(i).tolist()) for i in range(len(found))]


@given(rows, st.sampled_from(get_args(ProfileNulls)), st.sampled_from(get_args(ProfileMethod)))
def test_every_violating_value_with_its_rows(drawn: list[tuple[Any, ...]], nulls: Any, method: Any) -> None:
    given_table = table(drawn)
    asked = dependencies(FDS, given_table.column_names)
    for one, found in zip(asked, violations(given_table, asked, nulls=nulls, method=method), strict=True):
        expected, checked, removed = naive(given_table, one, nulls)
        assert told(found) == expected
        assert (found.checked, found.ignored) == (checked, len(drawn) - checked)
        assert found.error == pytest.approx(removed / checked if checked else 0.0)
        assert found.first.tolist() == [numbers[0] for _, numbers in expected]
        assert found.holds == (not expected)
        assert method in ("auto", found.method)


def test_lineage_is_shared_where_dependencies_share_columns() -> None:
    given_table = table([("a", 1.0, 1), ("a", 2.0, 2)])
    shared = violations(given_table, dependencies(["t -> x", "t -> n"], "txn"), nulls="ignore", method="auto")
    assert {one.method for one in shared} == {"ug"}
    (alone,) = violations(given_table, dependencies(["t -> x"], "txn"), nulls="ignore", method="auto")
    assert alone.method == "cd"


def test_arrays_and_structs_are_values_too() -> None:
    given_table = pa.table({"k": [[1, 2], [1, 2], [1]], "s": [{"v": 1.0}, {"v": 2.0}, {"v": 1.0}]})
    (found,) = violations(given_table, dependencies(["k -> s"], "ks"), nulls="value", method="auto")
    assert told(found) == [(2, [0, 1])]
    with pytest.raises(InvalidOption, match="does not group by k, s"):
        violations(given_table, dependencies(["k -> s"], "ks"), nulls="value", method="cd")
