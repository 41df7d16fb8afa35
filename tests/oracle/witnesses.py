"""Why-provenance by its definition: of each row the sets of source rows that made it together, one operator at a time.

A row of a source is made of itself; a joined row of what made one partner and what made the other; a group, and a row that stands for equal
ones, of what made any of its rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from tests.oracle import query as q
from tests.oracle.row import Rid
from tests.oracle.schema import types
from tests.oracle.values import aggregate, same, value

Witness: TypeAlias = frozenset[Rid]
Made: TypeAlias = tuple[tuple[Any, ...], frozenset[Witness]]
"""The values of a row, and its witnesses."""

NOTHING: frozenset[Witness] = frozenset({frozenset()})


def witnesses(node: q.Node, tables: q.Tables) -> list[Made] | None:
    """The rows of a query with their witnesses; None where it has other operators than these."""
    given = [witnesses(child, tables) for child in q.children(node)]
    inputs = [one for one in given if one is not None]
    if len(inputs) < len(given):
        return None
    match node:
        case q.Table(name):
            at = tables[name].rid
            return [(row, frozenset({frozenset({(name, row[at])})})) for row in tables[name].rows]
        case q.Filter(_, condition):
            return [one for one in inputs[0] if value(condition, one[0]) is True]
        case q.Project(_, items):
            return [(tuple(value(item, row) for item in items), made) for row, made in inputs[0]]
        case q.Join(kind, _, _, condition):
            return _joined(kind, inputs[0], inputs[1], condition, (len(types(node.left, tables)), len(types(node.right, tables))))
        case q.Aggregate(_, keys, calls):
            groups = _groups(inputs[0], keys) if keys else [inputs[0]]
            return [(_values(keys, calls, group), _any(group) or NOTHING) for group in groups]
        case q.Distinct():
            return _distinct(inputs[0])
        case q.Union(_, _, every):
            both = inputs[0] + inputs[1]
            return both if every else _distinct(both)
    return None


def _joined(kind: str, left: list[Made], right: list[Made], condition: q.Expr | None, widths: tuple[int, int]) -> list[Made]:
    found: list[Made] = []
    partnered = set()
    for row, made in left:
        partners = [at for at, other in enumerate(right) if condition is None or value(condition, row + other[0]) is True]
        partnered.update(partners)
        found += [(row + right[at][0], frozenset(one | other for one in made for other in right[at][1])) for at in partners]
        if not partners and kind in ("left", "full"):
            found.append((row + (None,) * widths[1], made))
    alone = [one for at, one in enumerate(right) if at not in partnered] if kind in ("right", "full") else []
    return found + [((None,) * widths[0] + row, made) for row, made in alone]


def _groups(given: Iterable[Made], keys: Iterable[q.Expr]) -> list[list[Made]]:
    groups: dict[tuple[Any, ...], list[Made]] = {}
    for one in given:
        groups.setdefault(tuple(same(value(key, one[0])) for key in keys), []).append(one)
    return list(groups.values())


def _values(keys: Iterable[q.Expr], calls: Iterable[q.Call], group: list[Made]) -> tuple[Any, ...]:
    return (*(value(key, group[0][0]) for key in keys), *(aggregate(call, [row for row, _ in group]) for call in calls))


def _distinct(given: list[Made]) -> list[Made]:
    groups: dict[tuple[Any, ...], list[Made]] = {}
    for one in given:
        groups.setdefault(tuple(map(same, one[0])), []).append(one)
    return [(group[0][0], _any(group)) for group in groups.values()]


def _any(group: list[Made]) -> frozenset[Witness]:
    return frozenset[Witness]().union(*(made for _, made in group))
