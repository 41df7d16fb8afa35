"""Which columns of a table expressions of DuckDB's SQL over its rows name, so that no others need be read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp


def named_columns(texts: Iterable[str], columns: Collection[str]) -> frozenset[str] | None:
    """Those of a table's columns that are named, and maybe others; None where that is not certain, and all may be.

    >>> sorted(named_columns(["year(day) AS year", "sum(price)", "count(*)", "city = :city"], ["day", "Price", "city", "note"]))
    ['Price', 'city', 'day']
    >>> named_columns(["count(COLUMNS(*))"], ["day"]), named_columns(["hash(rows)"], ["day"]), named_columns(["(SELECT 1)"], ["day"])
    (None, None, None)
    """
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    there: dict[str, set[str]] = {}
    for column in columns:
        there.setdefault(column.casefold(), set()).add(column)
    found: set[str] = set()
    for text in texts:
        if "#" in text:  # a column by its place
            return None
        try:
            (tree,) = parse_one(f"SELECT {text}\n", dialect="duckdb").expressions
        except (SqlglotError, ValueError, RecursionError):
            return None
        for node in tree.walk():
            if isinstance(node, exp.Query | exp.Columns) or (isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count)):
                return None
            if isinstance(node, exp.Column):
                named = _named(node, there)
                if named is None:
                    return None
                found |= named
    return frozenset(found)


def _named(column: exp.Column, there: dict[str, set[str]]) -> set[str] | None:
    """The columns that a name may mean: its first part, a field of which the next is, or, of a table's name, the second one."""
    return there.get(column.parts[0].name.casefold())
