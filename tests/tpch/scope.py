"""Names: which source's which column a name in a query means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp

from tests.tpch.annotated import Row


class Frame(NamedTuple):
    """What an expression is evaluated over: a row of every source (None where it is not joined yet), and the outer query's."""

    rows: tuple[Row | None, ...]
    outer: Frame | None = None


class Place(NamedTuple):
    """Where a column is: how many queries further out, the source's and the column's number."""

    depth: int
    source: int
    column: int


@dataclass
class Scope:
    """The sources of one query by alias, with their columns. ``computed`` are expressions (as SQL) that source 0 has as columns."""

    sources: Sequence[tuple[str, Sequence[str]]]
    outer: Scope | None = None
    computed: Mapping[str, int] = field(default_factory=dict)

    def place(self, column: exp.Column) -> Place:
        """Where a column is.

        :raises LookupError: nowhere, or in two sources.
        """
        name, table = column.name.lower(), column.table.lower()
        depth, scope = 0, self
        while True:
            found = [
                (number, [each.lower() for each in columns].index(name))
                for number, (alias, columns) in enumerate(scope.sources)
                if table in ("", alias.lower()) and name in [each.lower() for each in columns]
            ]
            if len(found) == 1:
                return Place(depth, *found[0])
            if found or scope.outer is None:
                raise LookupError(f"{column.sql()} is in {len(found)} of {[alias for alias, _ in scope.sources]}")
            depth, scope = depth + 1, scope.outer
