"""What the parts of conditions are, where that is not plain: DuckDB is asked whether they say the same together."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from airflow_lineage_provider.sources.duckdb_query import selected
from airflow_lineage_provider.sources.row_expressions import always_the_same
from airflow_lineage_provider.sql.asked_sql import UnbalancedSql
from airflow_lineage_provider.sql.conditions import implies, is_of_each_row, meaning, parts, with_columns

VALUES = [-1, 0, 1, 2, None]
ROWS = pa.table(dict(zip(["a", "b", "c"], map(list, zip(*itertools.product(VALUES, VALUES, VALUES), strict=True)), strict=True)))


@pytest.mark.parametrize(("condition", "wanted"), [
    ("a > 0", ["a > 0"]), ("a > 0 AND b > 0 and\n c = 1 -- all", ["a > 0", "b > 0", "c = 1"]),
    ("a BETWEEN 0 AND 1 AND b NOT BETWEEN -1 AND c", ["a BETWEEN 0 AND 1", "b NOT BETWEEN -1 AND c"]),
    ("a BETWEEN (b AND c)::int AND 1 AND c = 0", ["a BETWEEN (b AND c)::int AND 1", "c = 0"]),
    ("NOT a > 0 AND b > 0", ["NOT a > 0", "b > 0"]), ("a > 0 AND b > 0 OR c > 0", ["a > 0 AND b > 0 OR c > 0"]),
    ("CASE WHEN a > 0 AND b > 0 THEN c > 0 ELSE a BETWEEN 0 AND 1 END AND b = 1",
     ["CASE WHEN a > 0 AND b > 0 THEN c > 0 ELSE a BETWEEN 0 AND 1 END", "b = 1"]),
    ("{'end': a}.end = 1 AND CASE WHEN a > 0 AND b > 0 AND c = 0 THEN true END",
     ["{'end': a}.end = 1", "CASE WHEN a > 0 AND b > 0 AND c = 0 THEN true END"]),
    ("'a AND b' = 'x' AND a = 1", ["'a AND b' = 'x'", "a = 1"]), ("len([a, b AND c]) = 2 AND a = 1", ["len([a, b AND c]) = 2", "a = 1"]),
])  # fmt: skip
def test_parts(condition: str, wanted: list[str]) -> None:
    found = parts(condition)
    assert list(found) == wanted
    together = " AND ".join(f"({one}\n)" for one in found)
    assert selected(f"SELECT ({condition}\n) AS held FROM rows", {"rows": ROWS}) == selected(
        f"SELECT {together} AS held FROM rows", {"rows": ROWS}
    )


def test_what_is_seen_to_follow() -> None:
    assert implies('b = 1 AND "A"  >  0 AND c = 2', "a > 0 AND b = 1")
    for condition, other in [("a > 0 OR b = 1", "a > 0"), ("a > 0", "a > 0 AND b = 1"), ("a = 'X'", "a = 'x'"), ("a BETWEEN 0 AND b", "b")]:
        assert not implies(condition, other)
    with pytest.raises(UnbalancedSql):
        implies("a)", "a")


def test_what_is_about_single_rows() -> None:
    for text in (
        "extract(year FROM a) = 1",
        "a IS DISTINCT FROM b",
        '"select" = 1',
        "CAST(a AS timestamp with time zone) IS NULL",
        "'select' = 'x'",
    ):
        assert is_of_each_row(text)
    for text in ("a = (SELECT 1)", "EXISTS (FROM rows)", "sum(a) OVER () > 1", "COLUMNS(*) > 0", "a IN (VALUES (1))", "a IN (TABLE rows)"):
        assert not is_of_each_row(text)


def test_calls_in_the_place_of_columns() -> None:
    columns = {"year(day)": "c", "a + b": "d", "(a + b)": "e", "f(x) + g(y)": "h"}
    assert with_columns("YEAR(day)+1 = (a + b) AND c * a + b > 0 AND f(x) + g(y) > z.year(day)", columns) == (
        '"c"+1 = ("e") AND c * a + b > 0 AND f(x) + g(y) > z.year(day)'
    )


def test_what_is_in_parentheses_is_no_list_and_no_arguments() -> None:
    """``s IN "value_1"`` looks for a text in another, and the arguments of a call are no row."""
    for text in ("s IN (c)", "f(c) > 0", '"f"(c) > 0', "x.f (c)"):
        assert with_columns(text, {"(c)": "value_1"}) == text
    assert with_columns("NOT (c) OR -(C) > 0", {"(c)": "value_1"}) == 'NOT ("value_1") OR -("value_1") > 0'


def test_names_are_the_same_as_duckdb_has_them() -> None:
    """Which folds the letters of ASCII alone: ``maße`` and ``masse`` are two columns."""
    rows = pa.table({"maße": [1], "masse": [2], "É": [3], "é": [4]})
    for one, other in itertools.product([*rows.column_names, "MAßE", "Masse"], rows.column_names):
        alike = selected(f"SELECT {one} = {other} FROM rows", {"rows": rows})[0][0].as_py()
        assert (meaning(one) == meaning(other)) == implies(f"{one} > 0", f"{other} > 0") == alike


def test_functions_that_change() -> None:
    for text in ("random() > 0.5", "age(a) > b", "current_date > a", "now() > a", '"uuid"() IS NULL', "today() > a"):
        assert not always_the_same(text)
    assert always_the_same("year(a) = 1 AND 'random()' = b")
    assert always_the_same("user = 'x'", ["user"])
