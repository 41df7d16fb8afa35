"""Expressions of DuckDB's SQL over each row of a table, that give the same values whenever they are computed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.extras import require
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.sources.duckdb_connection import connected
from airflow_lineage_provider.sources.duckdb_query import selected
from airflow_lineage_provider.sql.asked_sql import UnbalancedSql, balanced
from airflow_lineage_provider.sql.conditions import is_of_each_row

if TYPE_CHECKING:
    import pyarrow as pa

# The age of one time is that until today; the others are words of SQL, which no list of functions has.
_CHANGING = frozenset({"age", "current_date", "current_role", "current_time", "current_timestamp", "current_user", "localtime",
                       "localtimestamp", "session_user", "user", "version"})  # fmt: skip
_WORKS = "write one expression of DuckDB's SQL over single rows, of functions that always give the same"


def row_values(expressions: Sequence[str], rows: pa.Table, zone: str) -> pa.Table:
    """The values of expressions for each row, in the rows' order: ``value_0`` and so on, computed in a time ``zone``.

    :raises InvalidOption: one is none, has not one value for each row, would have others another time, or values that are others where they
        are read again; says which and why.
    :raises EnvironmentProblem: DuckDB is not installed.
    """
    for one in expressions:
        _check(one, rows.column_names)
    _check_types(tuple(expressions), rows.schema)
    columns = ", ".join(f"({one}\n) AS value_{at}" for at, one in enumerate(expressions))
    try:
        found = selected(f"SELECT {columns} FROM rows", {"rows": rows}, zone=zone)
    except InvalidOption as problem:
        why = str(problem.__cause__ or problem).removeprefix("DuckDB failed: ")
        told = ", ".join(map(shown, expressions))
        raise InvalidOption(f"{told}: {why}; {_WORKS} ({', '.join(rows.column_names)})") from problem
    if found.num_columns != len(expressions) or found.num_rows != rows.num_rows:
        raise InvalidOption(f"{', '.join(map(shown, expressions))}: not one value for each row; {_WORKS}, without aggregates")
    return found


@lru_cache(maxsize=256)
def _check_types(expressions: tuple[str, ...], schema: pa.Schema) -> None:
    """That values mean the same where they are compared, grouped and put in order again: what is an enumeration, an UUID, or a text with an
    order of its own to DuckDB is a plain text when it comes back.

    :raises InvalidOption: those of one do not.
    """
    columns = ", ".join(f"({one}\n) AS value_{at}" for at, one in enumerate(expressions))
    types = ", ".join(f"typeof(any_value(value_{at}))" for at in range(len(expressions)))
    nothing = {"rows": schema.empty_table()}
    try:
        values, own = (
            selected(f"SELECT {columns} FROM rows", nothing),
            selected(f"SELECT {types} FROM (SELECT {columns} FROM rows)", nothing),
        )
    except InvalidOption:
        return  # it is none, which is said where it is computed
    again = selected(f"SELECT {types} FROM rows", {"rows": values})
    for one, made, read in zip(expressions, own.columns, again.columns, strict=True):
        words = [token.text.casefold() for token in balanced(one) if not token.token_type.name.endswith("STRING")]
        if made[0] != read[0]:
            works = f"write it as another type, ({one})::VARCHAR for one"
            raise InvalidOption(f"{shown(one)} is of type {made[0]}, which is not kept as such: {works}")
        if "collate" in words and "VARCHAR" in str(made[0]):
            raise InvalidOption(f"{shown(one)} is a text with an order of its own, which is not kept: write lower(…), say, without COLLATE")


def always_the_same(expression: str, columns: Sequence[str] = ()) -> bool:
    """Whether all functions of an expression over ``columns`` give the same for the same row, another day and in another process.

    :raises UnbalancedSql: it cannot be read. :raises EnvironmentProblem: DuckDB is not installed.
    """
    return not _changing(expression, columns)


def _changing(expression: str, columns: Sequence[str]) -> list[str]:
    own = {one.casefold() for one in columns}
    tokens = [token.text.casefold() for token in balanced(expression) if not token.token_type.name.endswith("STRING")]
    called = {word for word, after in pairwise(tokens) if after == "("}
    return sorted((called & _changing_functions()) | ({*tokens} & _CHANGING - own))


@cache
def _changing_functions() -> frozenset[str]:
    """The functions of DuckDB's that give another value another time, macros that use them among them."""
    require("duckdb", "duckdb", "expressions over rows of lineage")
    with connected(()) as connection:
        known = connection.execute("SELECT lower(function_name), stability, macro_definition FROM duckdb_functions()").fetchall()
    found = {name for name, stability, _ in known if stability not in (None, "CONSISTENT")} | _CHANGING
    return frozenset(found | {name for name, _, macro in known if macro and found & set(re.findall(r"\w+", macro.casefold()))})


def _check(expression: str, columns: Sequence[str]) -> None:
    try:
        if not isinstance(expression, str) or not balanced(expression):
            raise InvalidOption(f"{shown(expression)} is no expression: {_WORKS}")
        if not is_of_each_row(expression):
            raise InvalidOption(f"{shown(expression)} is not about single rows: {_WORKS}")
        changing = _changing(expression, columns)
    except UnbalancedSql as problem:
        raise InvalidOption(f"{shown(expression)}: {problem}; {_WORKS}") from problem
    if changing:
        raise InvalidOption(f"{shown(expression)} would have another value another time ({', '.join(changing)}): {_WORKS}")
