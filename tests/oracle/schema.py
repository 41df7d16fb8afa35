"""The types and the names of a query's columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.oracle import query as q

_OF_SPARK: Mapping[str, q.Type] = {"int": "int", "bigint": "int", "string": "string", "boolean": "bool", "double": "float"}


def types(node: q.Node, tables: q.Tables) -> list[q.Type]:
    """The types of a node's columns."""
    given = [types(child, tables) for child in q.children(node)]
    match node:
        case q.Table(name):
            return [_OF_SPARK[kind] for _, kind in tables[name].columns]
        case q.Project(_, items):
            return [q.type_of(item, given[0]) for item in items]
        case q.Join():
            return given[0] + given[1]
        case q.Aggregate(_, keys, calls):
            return [q.type_of(key, given[0]) for key in keys] + [call_type(call, given[0]) for call in calls]
        case q.GroupingSets(_, keys, _, calls):
            return [*(q.type_of(key, given[0]) for key in keys), "int", *(call_type(call, given[0]) for call in calls)]
        case q.Using():
            return [(given[0] + given[1])[at] for at in using_columns(node, *map(len, given))]
        case q.Semi(kind) | q.In(kind):
            return [*given[0], "bool"] if "flag" in kind else given[0]
        case q.Scalar():
            return [*given[0], given[1][0]]
        case q.Lookup(_, _, _, calls, value):
            return [*given[0], q.type_of(value, [call_type(call, given[1]) for call in calls])]
        case q.Window(_, functions):
            return [*given[0], *(over_type(one, given[0]) for one in functions)]
        case q.Explode():
            made = q.type_of(node.items[0], given[0])
            return [*given[0], "int", made] if node.position else [*given[0], made]
    return given[0]


def call_type(call: q.Call, inputs: Sequence[q.Type]) -> q.Type:
    return q.type_of(call.argument, inputs) if call.function in ("min", "max") and call.argument is not None else "int"


def over_type(one: q.Over, inputs: Sequence[q.Type]) -> q.Type:
    if one.function in ("percent_rank", "cume_dist"):
        return "float"
    if one.function in ("count", "sum") or one.argument is None:
        return "int"
    return q.type_of(one.argument, inputs)


def using_columns(node: q.Using, left: int, right: int) -> list[int]:
    """The columns of both sides in the order of the result: the left one of each pair, the left rest, the right rest."""
    paired = [left + at for _, at in node.pairs]
    ours = [at for at, _ in node.pairs]
    return ours + [at for at in range(left) if at not in ours] + [at for at in range(left, left + right) if at not in paired]


def names(node: q.Node, tables: q.Tables) -> list[str]:
    """The names of a node's columns, each once."""
    given = [names(child, tables) for child in q.children(node)]
    match node:
        case q.Table(name):
            return [column for column, _ in tables[name].columns]
        case q.Project(_, items):
            return _once(_own(items, given[0], "x"))
        case q.Join():
            return _once(given[0] + given[1])
        case q.Aggregate(_, keys, calls):
            return _once(_own(keys, given[0], "g") + [f"{call.function}{i}" for i, call in enumerate(calls)])
        case q.GroupingSets(_, keys, _, calls):
            return _once([*_own(keys, given[0], "g"), "gid", *(f"{call.function}{i}" for i, call in enumerate(calls))])
        case q.Using():
            return _once([(given[0] + given[1])[at] for at in using_columns(node, *map(len, given))])
        case q.Semi(kind) | q.In(kind):
            return _once([*given[0], "found"]) if "flag" in kind else given[0]
        case q.Scalar() | q.Lookup():
            return _once([*given[0], "looked"])
        case q.Window(_, functions):
            return _once([*given[0], *(one.function for one in functions)])
        case q.Explode():
            return _once([*given[0], "pos", "item"] if node.position else [*given[0], "item"])
    return given[0]


def _own(items: Sequence[q.Expr], inputs: Sequence[str], letter: str) -> list[str]:
    return [inputs[item.at] if isinstance(item, q.Col) else f"{letter}{i}" for i, item in enumerate(items)]


def _once(given: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in given:
        candidate, number = name, 1
        while candidate in found:
            number += 1
            candidate = f"{name}_{number}"
        found.append(candidate)
    return found
