"""Which expressions a server computes for anybody, and which columns they have."""

from __future__ import annotations

import pytest

from airflow_lineage_provider.sql.row_expressions import FUNCTIONS, NotPlain, columns_of

ARGUMENTS = {
    "nullif": "a, b", "left": "a, 1", "right": "a, 1", "substring": "a, 1, 2", "split_part": "a, '-', 1", "starts_with": "a, 'x'",
    "contains": "a, 'x'", "extract": "year FROM a", "date_part": "'year', a", "date_trunc": "'month', a", "date_diff": "'day', a, b",
    "strftime": "a, '%Y'",
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS.split(", "))
def test_every_function_that_people_are_told_of_is_plain(name: str) -> None:
    assert columns_of(f"{name}({ARGUMENTS.get(name, 'a')})") in ({"a"}, {"a", "b"})


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ('"My ""Day""" || carrier', {'my "day"', "carrier"}),
        ("CASE WHEN Delay > 3 THEN lat ELSE NULL END", {"delay", "lat"}),
        ("x::date + INTERVAL 1 DAY", {"x"}),
        ("TRY_CAST(x AS decimal(4, 1)) BETWEEN 1 AND y", {"x", "y"}),
        ("rows.delay IN (1, 2) OR a IS DISTINCT FROM b -- all", {"rows", "delay", "a", "b"}),
        ("word[1:2] ILIKE 'a%'", {"word"}),
        ("1", set()),
        ("+".join(["(a)"] * 50), {"a"}),
        ("||".join(["a"] * 33), {"a"}),
    ],
)
def test_columns_of_an_expression(text: str, columns: set[str]) -> None:
    assert columns_of(text) == columns


@pytest.mark.parametrize(
    "text",
    [
        "range(30000000)", "repeat(a, 1000)", "list_sum([a])", "rpad(a, 1000000000, 'x')", "replace(a, 'a', 'aaaa')",
        "format('{:1000000}', a)", "list_transform([1], x -> a)", "[a]", "{'a': a}", "row(a)", "a::int[]", "CAST(a AS struct(x int))",
        "a ** 99", "bitstring(a, 100000000)", "(SELECT 1)", "a IN (SELECT 1)", "a = ANY(SELECT 1)", "EXISTS (FROM rows)", "(FROM rows)",
        "(VALUES (1))", "(TABLE rows)", "COLUMNS(*)", "*", "count(*)", "sum(a)", "sum(a) OVER ()", "a, b", "$1", "?", "getenv('HOME')",
        "current_setting('x')", "read_text('/etc/passwd')", "random()", "1) FROM rows; SELECT (1", "a)", "(a", "a b c", "", "'",
        "a FROM rows", "a[", "a IN b", "a -> 'x'",
        "(" * 5_000 + ")" * 5_000, "(" * 51 + "a" + ")" * 51, "||".join(["a"] * 34), f"concat({'a, ' * 40}a)",
        "||".join([f"concat({'a, ' * 8}a)"] * 5), "c" + "||c" * 600,
    ],
)  # fmt: skip
def test_what_is_not_plain(text: str) -> None:
    with pytest.raises(NotPlain):
        columns_of(text)
