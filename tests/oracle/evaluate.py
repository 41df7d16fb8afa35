"""Annotated relations: every row carries its source lineage and the UDF calls on the way, straight from definitions 5 to 8.

One operator at a time, on lists of rows (bag semantics: a row is itself, not its values):

- selection, sort, limit: the rows that are left keep what they carry;
- projection, duplicates kept, and generators: each row carries what its one input row carries;
- function operator (definition 4): the row carries one `Judged` more, with its own source lineage at that point;
- join: a row carries what both its partners carry; an unmatched row of an outer join has no partner, so its own alone;
- aggregation, distinct, grouping sets, dropDuplicates: the rows of the group, the largest set for which definition 5 holds; a
  global aggregation over nothing gives a row that nothing made;
- union: each row as it comes from its side (``UNION`` without ALL is a distinct over that); intersect: all equal rows of both sides;
- windows: see `tests.oracle.windows`; semi-joins, differences and scalar subqueries: see `tests.oracle.subqueries`.

A UDF in a filter, a join condition, a grouping key or an aggregate is a function operator below that operator: over the
side whose columns it takes, or over the joined rows where it takes both sides' (then a selection follows).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key
from typing import Any, TypeAlias

from tests.oracle import query as q
from tests.oracle.row import Ambiguous, Row, united, with_calls, with_values
from tests.oracle.schema import types, using_columns
from tests.oracle.sides import at_sides
from tests.oracle.subqueries import looked_up, met, set_operation, with_scalar
from tests.oracle.values import aggregate, order, same, value
from tests.oracle.windows import windowed

Cache: TypeAlias = dict[q.Node, list[Row]]


def rows(node: q.Node, tables: q.Tables, cache: Cache | None = None) -> list[Row]:
    """The rows of a query, annotated.

    :raises Ambiguous: the lineage is not defined by the query alone.
    """
    cache = {} if cache is None else cache
    if node not in cache:
        given = [rows(child, tables, cache) for child in q.children(node)]
        cache[node] = _rows(node, given, tables)
    return cache[node]


def _rows(node: q.Node, given: list[list[Row]], tables: q.Tables) -> list[Row]:
    match node:
        case q.Table(name):
            at = tables[name].rid
            return [Row(values, frozenset({(name, values[at])})) for values in tables[name].rows]
        case q.Filter(_, condition):
            return _selected(given[0], condition)
        case q.Project(_, items):
            return [_projected(row, items) for row in given[0]]
        case q.Aggregate(_, keys, calls):
            return _aggregated(given[0], keys, calls)
        case q.GroupingSets():
            return _grouped_by_sets(given[0], node)
        case q.Distinct():
            return _distinct(given[0])
        case q.KeepOne(_, keys):
            return _kept_one(given[0], keys)
        case q.TopK(_, count, skip, descending, by):
            return _top(given[0], count, skip, descending, by)
        case q.Window():
            return windowed(given[0], node)
        case q.Explode():
            return [made for row in given[0] for made in _exploded(row, node)]
        case q.Union(_, _, every):
            both = given[0] + given[1]
            return both if every else _distinct(both)
        case q.SetOp():
            return set_operation(node, *given)
        case q.Scalar():
            return with_scalar(*given)
        case q.Lookup():
            return looked_up(node, *given)
    widths = len(types(node.left, tables)), len(types(node.right, tables))
    left, right = given
    match node:
        case q.Join(kind, _, _, on):
            return _joined(kind, left, right, on, widths)
        case q.Using():
            return _joined_using(node, left, right, widths)
        case q.Semi() | q.In():
            return met(node, left, right, widths)


# --- selection, projection, generators ---------------------------------------------------------------------------------


def _selected(given: Iterable[Row], condition: q.Expr) -> list[Row]:
    judged = [with_calls(row, (condition,)) for row in given]
    return [row for row in judged if value(condition, row.values) is True]


def _projected(row: Row, items: Sequence[q.Expr]) -> Row:
    return with_values(with_calls(row, items), tuple(value(item, row.values) for item in items))


def _exploded(row: Row, node: q.Explode) -> list[Row]:
    row = with_calls(row, node.inside)
    there = node.condition is None or value(node.condition, row.values) is True
    made = [(at, value(item, row.values)) for at, item in enumerate(node.items)] if there else [(None, None)] if node.outer else []
    return [with_values(row, row.values + (one if node.position else one[1:])) for one in made]


# --- joins -------------------------------------------------------------------------------------------------------------


def _joined(kind: str, left: list[Row], right: list[Row], condition: q.Expr | None, widths: tuple[int, int]) -> list[Row]:
    left, right, across = at_sides(left, right, [] if condition is None else [condition], widths)
    found: list[Row] = []
    partnered: set[int] = set()
    for one in left:
        partners = [at for at, other in enumerate(right) if condition is None or value(condition, one.values + other.values) is True]
        partnered.update(partners)
        found += [with_calls(united(one.values + right[at].values, (one, right[at])), across) for at in partners]
        if not partners and kind in ("left", "full"):
            found.append(with_values(one, one.values + (None,) * widths[1]))
    if kind in ("right", "full"):
        found += [with_values(one, (None,) * widths[0] + one.values) for at, one in enumerate(right) if at not in partnered]
    return found


def _joined_using(node: q.Using, left: list[Row], right: list[Row], widths: tuple[int, int]) -> list[Row]:
    """The pair's column is the left one's, the right one's where there is no left row."""
    condition: q.Expr = q.Lit(True, "bool")
    for ours, theirs in node.pairs:
        condition = q.Op("and", (condition, q.Op("=", (q.Col(ours), q.Col(widths[0] + theirs)))))
    coalesced: list[q.Expr] = [q.Op("coalesce", (q.Col(ours), q.Col(widths[0] + theirs))) for ours, theirs in node.pairs]
    items = coalesced + [q.Col(at) for at in using_columns(node, *widths)[len(node.pairs) :]]
    return [_projected(row, items) for row in _joined(node.kind, left, right, condition, widths)]


# --- groups ------------------------------------------------------------------------------------------------------------


def _groups(given: Iterable[Row], key: Callable[[Row], Iterable[Any]]) -> list[list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in given:
        groups.setdefault(tuple(map(same, key(row))), []).append(row)
    return list(groups.values())


def _aggregated(given: list[Row], keys: Sequence[q.Expr], calls: Sequence[q.Call]) -> list[Row]:
    judged = [with_calls(row, [*keys, *(one for call in calls for one in call.inside)]) for row in given]
    groups = _groups(judged, lambda row: [value(key, row.values) for key in keys]) if keys else [judged]
    return [united((*_values(keys, group), *_results(calls, group)), group) for group in groups]


def _grouped_by_sets(given: list[Row], node: q.GroupingSets) -> list[Row]:
    """A set without keys is no global aggregation: over nothing it gives nothing."""
    judged = [with_calls(row, [*node.keys, *(one for call in node.calls for one in call.inside)]) for row in given]
    found = []
    for chosen in node.sets:
        keys = [key if at in chosen else q.Lit(None, "int") for at, key in enumerate(node.keys)]
        number = sum(2 ** (len(keys) - 1 - at) for at in range(len(keys)) if at not in chosen)
        for group in _groups(judged, lambda row, keys=keys: [value(key, row.values) for key in keys]):  # type: ignore[misc]
            found.append(united((*_values(keys, group), number, *_results(node.calls, group)), group))
    return found


def _values(keys: Sequence[q.Expr], group: Sequence[Row]) -> tuple[Any, ...]:
    return tuple(value(key, group[0].values) for key in keys)


def _results(calls: Sequence[q.Call], group: Sequence[Row]) -> tuple[Any, ...]:
    return tuple(aggregate(call, [row.values for row in group]) for call in calls)


def _distinct(given: list[Row]) -> list[Row]:
    return [united(group[0].values, group) for group in _groups(given, lambda row: row.values)]


def _kept_one(given: list[Row], keys: Sequence[int]) -> list[Row]:
    groups = _groups(given, lambda row: [row.values[at] for at in keys])
    if any(len(_groups(group, lambda row: row.values)) > 1 for group in groups):
        raise Ambiguous
    return [united(group[0].values, group) for group in groups]


# --- limit -------------------------------------------------------------------------------------------------------------


def ordered(given: list[Row], descending: frozenset[int], by: int | None = None) -> list[Row]:
    """By all columns, or the first ones, NULLs first, as `q.TopK` says."""

    def compared(a: Row, b: Row) -> int:
        return next((found for at in range(len(a.values[:by])) if (found := _order(a.values[at], b.values[at], at in descending))), 0)

    return sorted(given, key=cmp_to_key(compared))


def _order(a: Any, b: Any, descending: bool) -> int:
    return order(a, b) if a is None or b is None else order(a, b, descending)


def cuts_between_equals(given: list[Row], at: int, by: int | None = None) -> bool:
    """Whether the row at this place and the one before have the same values, and their like are not all the same to lineage; with ``by``:
    the same in so many columns, and their like not all the same."""
    if not 0 < at < len(given):
        return False
    before, after = given[at - 1], given[at]
    key = tuple(map(same, before.values[:by]))
    if key != tuple(map(same, after.values[:by])):
        return False
    return len({(tuple(map(same, row.values)), row.behind) for row in given if tuple(map(same, row.values[:by])) == key}) > 1


def _top(given: list[Row], count: int, skip: int, descending: frozenset[int], by: int | None) -> list[Row]:
    found = ordered(given, descending, by)
    if cuts_between_equals(found, skip, by) or cuts_between_equals(found, skip + count, by):
        raise Ambiguous
    return found[skip : skip + count]
