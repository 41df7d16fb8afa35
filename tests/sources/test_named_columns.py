"""An aggregation of the columns that are named is that of whole rows, for whatever the expressions are."""

from __future__ import annotations

from datetime import date

import pyarrow as pa

from airflow_lineage_provider.answers.consumed_rows import aggregated
from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.sql.named_columns import named_columns

ROWS = pa.table({
    "Day": [date(2024, 1, 2), date(2024, 3, 4)], "name": ["ann", "bob"], "current_date": [date(2020, 1, 1), date(2020, 1, 2)],
    "session_user": ["x", "y"], "rows": [{"a": 3}, {"a": 4}], "a": [30, 40], 'q"x': [1, 2], "list": [[1, 2], [3]], "note": ["n", None],
})  # fmt: skip
EXPRESSIONS = (
    "max(current_date)", "max(CURRENT_DATE)", "max(session_user)", "max(rows.a)", "max(name.upper())", 'sum("q""x")', "max(day)",
    "count(*)", "max(list.list_filter(z -> z > a))", "max(list_filter(list, note -> note > 1))", "count(COLUMNS(*))", "count(note)",
    "max(a) FILTER (WHERE name = 'ann')", "(SELECT max(a) FROM rows)", "max(strftime(Day, '%Y')) AS name", "any_value({'k': a})",
    "count(DISTINCT hash(rows))", "max(rows.rows.a)", "max(upper(\"NAME\"))",
)  # fmt: skip


def test_no_column_is_left_out() -> None:
    compared = 0
    for expression in EXPRESSIONS:
        named = named_columns([expression], ROWS.column_names)
        if named is None:
            continue
        narrow = ROWS.select([name for name in ROWS.column_names if name in named] or ["note"])
        try:
            whole = aggregated((), expression, ROWS, "")
        except InvalidOption:
            continue
        assert aggregated((), expression, narrow, "") == whole, expression
        compared += 1
    assert compared >= 12


def test_few_are_read_where_few_are_named() -> None:
    assert named_columns(["min(Day)", "count(*)"], ROWS.column_names) == frozenset({"Day", "a"})  # whose name is in that
