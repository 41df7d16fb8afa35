"""Semi-joins, differences, existence flags, set operations and scalar subqueries, on annotated rows.

- semi-join (IN, EXISTS): a left row carries what it carries and what every right row carries for which the condition is true;
- difference (NOT IN, NOT EXISTS, EXCEPT): a left row carries its own; the right side is one control, and nothing below it (its
  UDF calls neither) is behind the row;
- existence flag: the partners where there are any, else the control; the flag of NOT IN counts unknown as a partner, as NOT IN does;
- INTERSECT: all equal rows of both sides; EXCEPT: all equal left rows, and the control; copies share what is behind them;
- by the data definition (`data_lineage`) no right row of a semi-join, a flag or INTERSECT is behind a row;
- scalar subquery: an uncorrelated one's rows are behind every row; a correlated one is a left join with its aggregation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tests.oracle import query as q
from tests.oracle.row import Ambiguous, Row, controlled, united, with_calls, with_values
from tests.oracle.sides import at_sides
from tests.oracle.values import aggregate, compare, same, value

_HAS_PARTNERS = ContextVar("has_partners", default=True)


@contextmanager
def data_lineage() -> Iterator[None]:
    """Lineage by the data definition of the forward-lineage paper (3.4): the left row alone stands behind a row that partners let pass."""
    before = _HAS_PARTNERS.set(False)
    try:
        yield
    finally:
        _HAS_PARTNERS.reset(before)


def _behind(partners: list[Row]) -> list[Row]:
    return partners if _HAS_PARTNERS.get() else []


def met(node: q.Semi | q.In, left: list[Row], right: list[Row], widths: tuple[int, int]) -> list[Row]:
    condition = _condition(node, widths[0])
    left, right, across = at_sides(left, right, [condition], widths)
    if across:
        raise ValueError("Spark has no UDF over both sides of a semi-join or an anti-join")
    null_aware = isinstance(node, q.In) and node.kind in ("anti", "not_flag")
    found = []
    for row in left:
        values = [value(condition, row.values + other.values) for other in right]
        partners = [other for other, one in zip(right, values, strict=True) if one is True or (null_aware and one is None)]
        if isinstance(node, q.In) and "flag" in node.kind and None in values and True not in values:
            # Unknown in SQL; false in Spark, or true where its optimizer has moved the IN below a NOT.
            raise Ambiguous
        found += _met(row, node, partners)
    return found


def _condition(node: q.Semi | q.In, width: int) -> q.Expr:
    if isinstance(node, q.Semi):
        return node.condition
    condition: q.Expr = q.Lit(True, "bool")
    for at, item in enumerate(node.items):
        condition = q.Op("and", (condition, q.Op("=", (item, q.Col(width + at)))))
    return condition


def _met(row: Row, node: q.Semi | q.In, partners: list[Row]) -> list[Row]:
    match node.kind:
        case "semi":
            return [united(row.values, (row, *_behind(partners)))] if partners else []
        case "anti":
            return [] if partners else [controlled(row, node, node.right)]
    flagged = with_values(row, (*row.values, bool(partners) == (node.kind == "flag")))
    return [united(flagged.values, (flagged, *_behind(partners))) if partners else controlled(flagged, node, node.right)]


def set_operation(node: q.SetOp, left: list[Row], right: list[Row]) -> list[Row]:
    found = []
    for ours, theirs in ((_like(row, left), _like(row, right)) for row in _firsts(left)):
        if node.kind == "intersect":
            copies = min(len(ours), len(theirs)) if node.all else int(bool(theirs))
            made = united(ours[0].values, ours + (theirs if node.all else _behind(theirs)))
        else:
            copies = max(len(ours) - len(theirs), 0) if node.all else int(not theirs)
            made = controlled(united(ours[0].values, ours), node, node.right)
        found += [made] * copies
    return found


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(map(same, row.values))


def _firsts(given: list[Row]) -> list[Row]:
    found: dict[tuple[Any, ...], Row] = {}
    for row in given:
        found.setdefault(_key(row), row)
    return list(found.values())


def _like(one: Row, given: list[Row]) -> list[Row]:
    return [row for row in given if _key(row) == _key(one)]


def with_scalar(left: list[Row], right: list[Row]) -> list[Row]:
    if len(right) > 1:
        raise ValueError("a scalar subquery gives more than one row")
    made = right[0].values if right else (None,)
    return [united(row.values + made, (row, *right)) for row in left]


def looked_up(node: q.Lookup, left: list[Row], right: list[Row]) -> list[Row]:
    """Over no partner the aggregate is what it is over nothing: 0 for count, NULL otherwise."""
    left = [with_calls(row, [ours for ours, _ in node.keys]) for row in left]
    inside = [*(theirs for _, theirs in node.keys), *(one for call in node.calls for one in call.inside)]
    right = [with_calls(row, inside) for row in right]
    found = []
    for row in left:
        partners = [other for other in right if _correlated(node, row, other)]
        results = [aggregate(call, [other.values for other in partners]) for call in node.calls]
        found.append(united((*row.values, value(node.value, results)), (row, *partners)))
    return found


def _correlated(node: q.Lookup, row: Row, other: Row) -> bool:
    pairs = [(value(ours, row.values), value(theirs, other.values)) for ours, theirs in node.keys]
    if node.comparison == "=":
        return all(a is not None and b is not None and same(a) == same(b) for a, b in pairs)
    return all(a is not None and b is not None and compare(b, a) <= 0 for a, b in pairs)
