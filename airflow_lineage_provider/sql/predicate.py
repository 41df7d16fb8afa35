"""Targets: a condition over a result's columns, written in Spark SQL, as an expression of a plan.

Only what is about one row and cannot reach anything else is let in: columns, constants, operators and Spark's built-in scalar
functions. So a target cannot carry SQL into a query: it is written out again from the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from sqlglot import exp

from airflow_lineage_provider.errors import InvalidTarget, PlanError
from airflow_lineage_provider.plan.datatypes import ArrayType, DataType, MapType, StructType, parse_type
from airflow_lineage_provider.plan.expressions import Attribute, Expression, GetField, GetItem
from airflow_lineage_provider.sql.local_times import in_zone
from airflow_lineage_provider.sql.predicate_text import parse_expression, show
from airflow_lineage_provider.sql.predicate_trees import UNKNOWN, converter_of
from airflow_lineage_provider.sql.types import ddl

_LONGEST_REASON = 1_000
_LONGEST_NAME = 200
_CONDITIONS = ("boolean", UNKNOWN, "void")


def parse_predicate(
    text: str,
    columns: Sequence[tuple[str, Attribute]],
    *,
    case_sensitive: bool = False,
    time_zone: str = "",
    timestamp_type: str = "timestamp",
) -> Expression:
    """The condition that a text says.

    :param text: a boolean expression of Spark SQL.
    :param columns: the result's columns, as the user knows them.
    :param case_sensitive: whether names are told apart by case (``spark.sql.caseSensitive``).
    :param time_zone: the zone of moments that are written without one (``spark.sql.session.timeZone``).
    :param timestamp_type: what TIMESTAMP means, ``timestamp`` or ``timestamp_ntz`` (``spark.sql.timestampType``).
    :raises InvalidTarget: it does not parse, names an unknown or ambiguous column, is not a condition, or uses what a target may not
        (subqueries, aggregate and window functions, functions that are not built in).
    """
    reader = Reader(text, tuple(columns), case_sensitive, timestamp_type)
    tree = parse_expression(text)
    try:
        found = in_zone(reader.read(tree), time_zone)
    except RecursionError:
        raise InvalidTarget("the target is nested too deeply to be read; use IN (…) or split it") from None
    return reader.condition(found, tree)


@dataclass(frozen=True)
class Reader:
    """Reads the trees of one target."""

    text: str
    columns: tuple[tuple[str, Attribute], ...]
    case_sensitive: bool
    timestamp_type: str

    def read(self, tree: exp.Expr) -> Expression:
        """A sqlglot tree as an expression."""
        return converter_of(tree, self)(tree, self)

    def condition(self, expression: Expression, tree: exp.Expr) -> Expression:
        """The expression, which must be a condition."""
        if expression.type in _CONDITIONS:
            return expression
        raise self.refused(tree, f"is of type {expression.type}, not a condition; compare it with something")

    def refused(self, tree: exp.Expr, why: str) -> InvalidTarget:
        """The error about a part of the target."""
        why = why if len(why) <= _LONGEST_REASON else f"{why[:_LONGEST_REASON]}…"
        starts = [node.meta["start"] for node in tree.walk() if "start" in node.meta]
        ends = [node.meta["end"] for node in tree.walk() if "end" in node.meta]
        place = f" ({show(self.text, min(starts), max(ends))})" if starts and ends else f" (in: {self.text[:80]})"
        return InvalidTarget(f"the target's {_what(tree)} {why}{place}")

    def column(self, parts: Sequence[exp.Expr]) -> Expression:
        """A column, or fields inside it: ``column.field.field``."""
        first, *fields = parts
        expression: Expression = self._attribute(first)
        for field in fields:
            expression = self.field(expression, field)
        return expression

    def _attribute(self, name: exp.Expr) -> Attribute:
        found = [attribute for column, attribute in self.columns if self._same(column, name.name)]
        if len(found) == 1:
            return found[0]
        listed = ", ".join(column for column, _ in self.columns)
        if found:
            raise self.refused(name, f"{name.name} is ambiguous: {len(found)} columns of the result have that name; columns: {listed}")
        known = {column.lower(): column for column, _ in self.columns}
        # (Comparing names takes the product of their lengths.)
        close = [known[match] for match in get_close_matches(name.name.lower()[:_LONGEST_NAME], list(known), 3, 0.6)]
        hint = f"; did you mean {' or '.join(close)}?" if close else "."
        raise self.refused(name, f"{name.name} is not a column of the result{hint} Its columns: {listed}")

    def _same(self, one: str, other: str) -> bool:
        return one == other if self.case_sensitive else one.lower() == other.lower()

    def field(self, child: Expression, name: exp.Expr) -> Expression:
        """A field of a struct, or of every struct in an array."""
        if child.type == UNKNOWN:
            return GetField(child=child, field=name.name, type=UNKNOWN)
        parsed = self._type(child)
        struct = parsed.element if isinstance(parsed, ArrayType) else parsed
        if not isinstance(struct, StructType):
            raise self.refused(name, f"{name.name} is taken from a value of type {child.type}, which has no fields")
        found = [field for field in struct.fields if self._same(field.name, name.name)]
        if len(found) != 1:
            listed = ", ".join(field.name for field in struct.fields)
            problem = "is ambiguous" if found else "is not a field"
            raise self.refused(name, f"{name.name} {problem}; fields: {listed}")
        inner: DataType = ArrayType(found[0].type) if isinstance(parsed, ArrayType) else found[0].type
        return GetField(child=child, field=found[0].name, type=ddl(inner))

    def item(self, child: Expression, key: Expression, tree: exp.Expr) -> Expression:
        """``child[key]``."""
        parsed = None if child.type == UNKNOWN else self._type(child)
        if parsed is None:
            return GetItem(child=child, key=key, type=UNKNOWN)
        if isinstance(parsed, ArrayType | MapType):
            return GetItem(child=child, key=key, type=ddl(parsed.element if isinstance(parsed, ArrayType) else parsed.value))
        raise self.refused(tree, f"takes an item from a value of type {child.type}, which is neither an array nor a map")

    def _type(self, expression: Expression) -> DataType | None:
        try:
            return parse_type(expression.type)
        except PlanError:
            return None


def _what(tree: exp.Expr) -> str:
    return "part" if not isinstance(tree, exp.Identifier) else "name"
