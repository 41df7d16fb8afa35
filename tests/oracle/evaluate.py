"""Annotated relations: every row carries its source lineage and the UDF calls on the way, straight from definitions 5 to 8.

One operator at a time, on lists of rows (bag semantics: a row is itself, not its values):

- selection, sort, limit: the rows that are left keep what they carry;
- projection, duplicates kept: each row carries what its one input row carries;
- function operator (definition 4): the row carries one `Judged` more, with its own source lineage at that point;
- join: a row carries what both its partners carry; an unmatched row of an outer join has no partner, so its own alone;
- aggregation, distinct: the rows of the group, the largest set for which definition 5 holds; a global aggregation over
  nothing gives a row that nothing made;
- union: each row as it comes from its side (``UNION`` without ALL is a distinct over that).

A UDF in a filter, a join condition, a grouping key or an aggregate is a function operator below that operator: over the
side whose columns it takes, or over the joined rows where it takes both sides' (then a selection follows).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key, reduce
from typing import Any, TypeAlias

from tests.oracle import query as q
from tests.oracle import udfs

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
class Row:
    values: tuple[Any, ...]
    lineage: frozenset[Rid] = frozenset()
    judged: frozenset[Judged] = frozenset()


class Ambiguous(Exception):
    """A limit cuts between rows with the same values: which of them stays is Spark's choice."""


Cache: TypeAlias = dict[q.Node, list[Row]]


def rows(node: q.Node, tables: q.Tables, cache: Cache | None = None) -> list[Row]:
    """The rows of a query, annotated.

    :raises Ambiguous: the lineage is not defined by the query alone.
    """
    cache = {} if cache is None else cache
    if node not in cache:
        cache[node] = _rows(node, tables, cache)
    return cache[node]


def _rows(node: q.Node, tables: q.Tables, cache: Cache) -> list[Row]:
    match node:
        case q.Table(name):
            at = tables[name].rid
            return [Row(values, frozenset({(name, values[at])})) for values in tables[name].rows]
        case q.Filter(child, condition):
            return _selected(rows(child, tables, cache), condition)
        case q.Project(child, items):
            return [_projected(row, items) for row in rows(child, tables, cache)]
        case q.Join(kind, left, right, condition):
            widths = len(q.types(left, tables)), len(q.types(right, tables))
            return _joined(kind, rows(left, tables, cache), rows(right, tables, cache), condition, widths)
        case q.Aggregate(child, keys, calls):
            return _aggregated(rows(child, tables, cache), keys, calls)
        case q.Distinct(child):
            return _distinct(rows(child, tables, cache))
        case q.Union(left, right, every):
            both = rows(left, tables, cache) + rows(right, tables, cache)
            return both if every else _distinct(both)
        case q.TopK(child, count, skip, descending):
            return _top(rows(child, tables, cache), count, skip, descending)


# --- operators ---------------------------------------------------------------------------------------------------------


def _selected(given: Iterable[Row], condition: q.Expr) -> list[Row]:
    judged = [_with_calls(row, (condition,)) for row in given]
    return [row for row in judged if value(condition, row.values) is True]


def _projected(row: Row, items: Sequence[q.Expr]) -> Row:
    row = _with_calls(row, items)
    return Row(tuple(value(item, row.values) for item in items), row.lineage, row.judged)


def _joined(kind: str, left: list[Row], right: list[Row], condition: q.Expr | None, widths: tuple[int, int]) -> list[Row]:
    outermost = _outermost_calls(condition) if condition is not None else []
    of_left = [call for call in outermost if all(at < widths[0] for at in _columns(call))]
    of_right = [call for call in outermost if call not in of_left and all(at >= widths[0] for at in _columns(call))]
    across = [call for call in outermost if call not in of_left and call not in of_right]
    left = [_with_calls(row, of_left) for row in left]
    padding = (None,) * widths[0]
    # The condition's columns count on from the left side's.
    shifted = [_with_calls(Row(padding + row.values, row.lineage, row.judged), of_right) for row in right]
    right = [Row(row.values[widths[0] :], row.lineage, row.judged) for row in shifted]
    found: list[Row] = []
    met: set[int] = set()
    for one in left:
        partners = [at for at, other in enumerate(right) if condition is None or value(condition, one.values + other.values) is True]
        met.update(partners)
        found += [_with_calls(_pair(one, right[at]), across) for at in partners]
        if not partners and kind in ("left", "full"):
            found.append(Row(one.values + (None,) * widths[1], one.lineage, one.judged))
    if kind in ("right", "full"):
        found += [Row(padding + one.values, one.lineage, one.judged) for at, one in enumerate(right) if at not in met]
    return found


def _pair(left: Row, right: Row) -> Row:
    return Row(left.values + right.values, left.lineage | right.lineage, left.judged | right.judged)


def _aggregated(given: list[Row], keys: Sequence[q.Expr], calls: Sequence[q.Call]) -> list[Row]:
    inside = [*keys, *(call.argument for call in calls if call.argument is not None)]
    groups: dict[tuple[Any, ...], list[Row]] = {} if keys else {(): []}
    for row in (_with_calls(one, inside) for one in given):
        groups.setdefault(tuple(same(value(key, row.values)) for key in keys), []).append(row)
    found = []
    for group in groups.values():
        head = tuple(value(key, group[0].values) for key in keys) if keys else ()
        found.append(_merged(head + tuple(_aggregate(call, group) for call in calls), group))
    return found


def _distinct(given: list[Row]) -> list[Row]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in given:
        groups.setdefault(tuple(map(same, row.values)), []).append(row)
    return [_merged(group[0].values, group) for group in groups.values()]


def _merged(values: tuple[Any, ...], group: Sequence[Row]) -> Row:
    lineage: frozenset[Rid] = frozenset().union(*(row.lineage for row in group))
    judged: frozenset[Judged] = frozenset().union(*(row.judged for row in group))
    return Row(values, lineage, judged)


def _aggregate(call: q.Call, group: Sequence[Row]) -> Any:
    if call.argument is None:
        return len(group)
    given = [v for v in (value(call.argument, row.values) for row in group) if v is not None]
    if call.distinct:
        given = list({same(v): v for v in given}.values())
    match call.function:
        case "count":
            return len(given)
        case "sum":
            return sum(given) if given else None
    if not given:
        return None
    first = reduce(lambda a, b: a if compare(a, b) <= 0 else b, given)
    last = reduce(lambda a, b: a if compare(a, b) >= 0 else b, given)
    return first if call.function == "min" else last


def ordered(given: list[Row], descending: frozenset[int]) -> list[Row]:
    """By all columns, NULLs first, as `q.TopK` says."""

    def order(a: Row, b: Row) -> int:
        for at, (x, y) in enumerate(zip(a.values, b.values, strict=True)):
            found = int(x is not None) - int(y is not None)
            if not found and x is not None:
                found = compare(x, y) * (-1 if at in descending else 1)
            if found:
                return found
        return 0

    return sorted(given, key=cmp_to_key(order))


def cuts_between_equals(given: list[Row], at: int) -> bool:
    """Whether the ordered rows before and after a position have the same values and yet are not alike."""
    if not 0 < at < len(given):
        return False
    before, after = given[at - 1], given[at]
    key = tuple(map(same, before.values))
    if key != tuple(map(same, after.values)):
        return False
    return len({(row.lineage, row.judged) for row in given if tuple(map(same, row.values)) == key}) > 1


def _top(given: list[Row], count: int, skip: int, descending: frozenset[int]) -> list[Row]:
    found = ordered(given, descending)
    if cuts_between_equals(found, skip) or cuts_between_equals(found, skip + count):
        raise Ambiguous
    return found[skip : skip + count]


# --- function operators ------------------------------------------------------------------------------------------------


def _with_calls(row: Row, inside: Iterable[q.Expr]) -> Row:
    """The row after the function operators of all UDF calls in the expressions."""
    made = [_judged(part, row) for expression in inside for part in q.parts(expression) if isinstance(part, q.Udf)]
    return Row(row.values, row.lineage, row.judged.union(made)) if made else row


def _judged(call: q.Udf, row: Row) -> Judged:
    arguments = tuple(value(argument, row.values) for argument in call.args)
    return Judged(call.name, arguments, udfs.MAINS[call.name](*arguments), udfs.reason(call.name, arguments), row.lineage)


def _outermost_calls(expression: q.Expr) -> list[q.Udf]:
    if isinstance(expression, q.Udf):
        return [expression]
    return [call for arg in expression.args for call in _outermost_calls(arg)] if isinstance(expression, q.Op) else []


def _columns(expression: q.Expr) -> list[int]:
    return [part.at for part in q.parts(expression) if isinstance(part, q.Col)]


# --- values ------------------------------------------------------------------------------------------------------------


def value(expression: q.Expr, row: Sequence[Any]) -> Any:
    """SQL's value of an expression over a row: NULL is None, and conditions have three values."""
    match expression:
        case q.Col(at):
            return row[at]
        case q.Lit(given, _):
            return given
        case q.Udf(name, args):
            return udfs.MAINS[name](*(value(arg, row) for arg in args))
        case q.Op(name, args):
            return _operation(name, [value(arg, row) for arg in args])


def _operation(name: str, args: list[Any]) -> Any:
    match name:
        case "and":
            return False if False in args else None if None in args else True
        case "or":
            return True if True in args else None if None in args else False
        case "is_null":
            return args[0] is None
        case "coalesce":
            return next((arg for arg in args if arg is not None), None)
        case "case":
            return args[1] if args[0] is True else args[2]
        case "<=>":
            return same(args[0]) == same(args[1])
    return None if None in args else _STRICT[name](*args)


_STRICT: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "%": lambda a, b: int(math.fmod(a, b)),
    "=": lambda a, b: same(a) == same(b),
    "<>": lambda a, b: same(a) != same(b),
    "<": lambda a, b: compare(a, b) < 0,
    "<=": lambda a, b: compare(a, b) <= 0,
    "not": lambda a: not a,
    "concat": lambda *args: "".join(args),
    "upper": lambda a: a.upper(),
}


def same(given: Any) -> Any:
    """What Spark takes for one value in =, GROUP BY and DISTINCT: NaN is itself, and -0.0 is 0.0."""
    if isinstance(given, float):
        return ("float", "NaN" if math.isnan(given) else given + 0.0)
    return (type(given).__name__, given)


def compare(a: Any, b: Any) -> int:
    """Spark's order: NaN is larger than every number."""
    if isinstance(a, float) and isinstance(b, float) and (math.isnan(a) or math.isnan(b)):
        return math.isnan(a) - math.isnan(b)
    return int(a > b) - int(a < b)
