"""Which columns of a table expressions of DuckDB's SQL over its rows name, so that no others need be read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp


def named_columns(texts: Sequence[str], columns: Collection[str]) -> frozenset[str] | None:
    """Those of a table's columns that are named, and maybe others; None where that is not certain, and all may be.

    A column whose name is anywhere in a text may be meant (``current_date``, which else is a function; the ``name`` of ``name.upper()``).

    >>> sorted(named_columns(["year(day) AS year", "sum(price)", "count(*)", "city = :city"], ["day", "Price", "city", "note"]))
    ['Price', 'city', 'day']
    >>> named_columns(["count(COLUMNS(*))"], ["day"]), named_columns(["hash(rows)"], ["day"]), named_columns(["(SELECT 1)"], ["day"])
    (None, None, None)
    """
    return _named(tuple(texts), tuple(columns))


@lru_cache(maxsize=256)
def _named(texts: tuple[str, ...], columns: tuple[str, ...]) -> frozenset[str] | None:
    folded = "\n".join(texts).casefold()
    there = {column.casefold() for column in columns}
    is_of_all = "#" in folded or "rows" in folded  # a column by its place, a whole row
    if is_of_all or not all(_is_told(text, there) for text in texts):
        return None
    return frozenset(one for one in columns if one.casefold() in folded or one.replace('"', '""').casefold() in folded)


def _is_told(text: str, there: Collection[str]) -> bool:
    """Whether an expression names all columns that it reads, and names none that is not there."""
    from sqlglot import parse_one
    from sqlglot.errors import SqlglotError

    try:
        (tree,) = parse_one(f"SELECT {text}\n", dialect="duckdb").expressions
    except (SqlglotError, ValueError, RecursionError):
        return False
    return not any(_hides_columns(node, there) for node in tree.walk())


def _hides_columns(node: exp.Expr, there: Collection[str]) -> bool:
    from sqlglot import exp

    if isinstance(node, exp.Star):
        return not isinstance(node.parent, exp.Count)
    if isinstance(node, exp.Column):  # a whole row (``rows``), a lambda's variable, nothing
        return node.parts[0].name.casefold() not in there
    return isinstance(node, exp.Query | exp.Columns)
