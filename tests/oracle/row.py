"""Annotated rows: values, and what definitions 5 to 8 say is behind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from tests.oracle import query as q
from tests.oracle import udfs
from tests.oracle.values import value

Rid: TypeAlias = tuple[str, int]
"""A source row: its table's name and its rid."""


@dataclass(frozen=True)
class Judged:
    """⟨E, value, reason⟩ (definition 8), and the source lineage of the function operator's row that it is from."""

    udf: str
    arguments: tuple[Any, ...]
    value: Any
    reason: str | None
    behind: frozenset[Rid]


@dataclass(frozen=True)
class Control:
    """A difference, or an existence test that nothing met: the whole right side has a say in that the row is there.

    The operator is its own identity, so the same subquery twice in a query is one control (its position: the first in `q.nodes`).
    ``sources`` are the source tables under the right side.
    """

    operator: q.Node
    sources: frozenset[str]


@dataclass(frozen=True)
class Row:
    values: tuple[Any, ...]
    lineage: frozenset[Rid] = frozenset()
    judged: frozenset[Judged] = frozenset()
    controls: frozenset[Control] = frozenset()

    @property
    def behind(self) -> tuple[frozenset[Any], ...]:
        """All that the row carries beside its values."""
        return self.lineage, self.judged, self.controls


class Ambiguous(Exception):
    """The query alone does not say which rows stay, or what is behind them: it is Spark's choice between rows that tie."""


def united(values: tuple[Any, ...], given: Iterable[Row]) -> Row:
    """A row that all the given rows made."""
    parts = list(given)
    lineage: frozenset[Rid] = frozenset().union(*(row.lineage for row in parts))
    judged: frozenset[Judged] = frozenset().union(*(row.judged for row in parts))
    controls: frozenset[Control] = frozenset().union(*(row.controls for row in parts))
    return Row(values, lineage, judged, controls)


def with_values(row: Row, values: tuple[Any, ...]) -> Row:
    return replace(row, values=values)


def controlled(row: Row, operator: q.Node, right: q.Node) -> Row:
    return replace(row, controls=row.controls | {Control(operator, q.sources(right))})


def with_calls(row: Row, inside: Iterable[q.Expr]) -> Row:
    """The row after the function operators of all UDF calls in the expressions."""
    made = [_judged(part, row) for expression in inside for part in q.parts(expression) if isinstance(part, q.Udf)]
    return replace(row, judged=row.judged.union(made)) if made else row


def _judged(call: q.Udf, row: Row) -> Judged:
    arguments = tuple(value(argument, row.values) for argument in call.args)
    return Judged(call.name, arguments, udfs.MAINS[call.name](*arguments), udfs.reason(call.name, arguments), row.lineage)
