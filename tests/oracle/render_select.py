"""Queries as Spark SQL: one SELECT for every operator, as subqueries (``nested``) or common table expressions (``with``)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from tests.oracle import query as q
from tests.oracle.schema import names as names_of
from tests.oracle.schema import using_columns

_SPARK_TYPES = {"int": "int", "string": "string", "bool": "boolean", "float": "double"}
JOINS = {"inner": "JOIN", "cross": "CROSS JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN"}


# --- expressions -------------------------------------------------------------------------------------------------------


def expression(one: q.Expr, columns: Sequence[str]) -> str:
    """An expression over columns that are spelled so."""
    match one:
        case q.Col(at):
            return columns[at]
        case q.Lit(value, kind):
            return literal(value, kind)
        case q.Udf(name, args):
            return f"{name}({', '.join(expression(arg, columns) for arg in args)})"
        case q.Op(name, args):
            return _operation(name, [expression(arg, columns) for arg in args])


def literal(value: object, kind: q.Type) -> str:
    if value is None:
        return f"CAST(NULL AS {_SPARK_TYPES[kind]})"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "CAST('NaN' AS double)" if math.isnan(value) else f"{value!r}D"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def _operation(name: str, args: list[str]) -> str:
    match name:
        case "not":
            return f"(NOT {args[0]})"
        case "is_null":
            return f"({args[0]} IS NULL)"
        case "case":
            return f"CASE WHEN {args[0]} THEN {args[1]} ELSE {args[2]} END"
        case "coalesce" | "concat" | "upper":
            return f"{name}({', '.join(args)})"
    return f"({args[0]} {name.upper()} {args[1]})"


def call(one: q.Call, columns: Sequence[str]) -> str:
    arguments = "*" if one.argument is None else ", ".join(expression(part, columns) for part in (one.argument, *one.more))
    kept = "" if one.where is None else f" FILTER (WHERE {expression(one.where, columns)})"
    return f"{one.function}({'DISTINCT ' if one.distinct else ''}{arguments}){kept}"


def order(node: q.TopK, columns: Sequence[str]) -> str:
    keys = [f"{name} {'DESC' if at in node.descending else 'ASC'} NULLS FIRST" for at, name in enumerate(columns)]
    return f"ORDER BY {', '.join(keys)} LIMIT {node.count}" + (f" OFFSET {node.skip}" if node.skip else "")


def named(texts: Sequence[str], names: Sequence[str]) -> str:
    return ", ".join(text if text == name else f"{text} AS {name}" for text, name in zip(texts, names, strict=True))


def spelled(node: q.Node, tables: q.Tables) -> list[str]:
    """The names of a node's columns as SQL has them."""
    return [name if re.fullmatch("[a-z_][a-z0-9_]*", name) and name != "order" else f"`{name}`" for name in names_of(node, tables)]


# --- one SELECT over named inputs --------------------------------------------------------------------------------------


def select(node: q.Node, inputs: Sequence[str], tables: q.Tables) -> str:
    """One operator as one SELECT; ``inputs`` are what stands in FROM."""
    given = [spelled(child, tables) for child in q.children(node)]
    names = spelled(node, tables)
    match node:
        case q.Table(name):
            return f"SELECT * FROM {name}"
        case q.Filter(_, condition):
            return f"SELECT * FROM {inputs[0]} WHERE {expression(condition, given[0])}"
        case q.Project(_, items):
            return f"SELECT {named([expression(item, given[0]) for item in items], names)} FROM {inputs[0]}"
        case q.Join(kind, _, _, condition):
            columns = [f"l.{name}" for name in given[0]] + [f"r.{name}" for name in given[1]]
            on = "" if condition is None else f" ON {expression(condition, columns)}"
            chosen = ", ".join(f"{text} AS {name}" for text, name in zip(columns, names, strict=True))
            return f"SELECT {chosen} FROM {inputs[0]} AS l {JOINS[kind]} {inputs[1]} AS r{on}"
        case q.Aggregate(_, keys, calls):
            grouped = [expression(key, given[0]) for key in keys]
            chosen = named(grouped + [call(one, given[0]) for one in calls], names)
            return f"SELECT {chosen} FROM {inputs[0]}" + (f" GROUP BY {', '.join(grouped)}" if keys else "")
        case q.Distinct():
            return f"SELECT DISTINCT * FROM {inputs[0]}"
        case q.Union(_, _, every):
            return f"SELECT * FROM {inputs[0]} UNION {'ALL ' if every else ''}SELECT * FROM {inputs[1]}"
        case q.TopK():
            return f"SELECT * FROM {inputs[0]} {order(node, given[0])}"
        case q.GroupingSets(_, keys, _, calls):
            grouped = [expression(key, given[0]) for key in keys]
            chosen = named([*grouped, "grouping_id()", *(call(one, given[0]) for one in calls)], names)
            return f"SELECT {chosen} FROM {inputs[0]} GROUP BY {grouping(node, grouped)}"
        case q.KeepOne(_, kept):
            chosen = named([name if at in kept else f"first({name})" for at, name in enumerate(given[0])], names)
            return f"SELECT {chosen} FROM {inputs[0]} GROUP BY {', '.join(given[0][at] for at in kept)}"
        case q.Using():
            return using(node, inputs, given, names)
        case q.Window(_, functions):
            chosen = named([over(one, node, given[0]) for one in functions], names[len(given[0]) :])
            return f"SELECT *, {chosen} FROM {inputs[0]}"
        case q.Explode():
            return exploded(node, inputs[0], given[0], names[len(given[0]) :])
        case q.SetOp(kind, _, _, every):
            return f"SELECT * FROM {inputs[0]} {kind.upper()} {'ALL ' if every else ''}SELECT * FROM {inputs[1]}"
        case q.Semi(kind) | q.In(kind) if "flag" not in kind:
            return f"SELECT * FROM {inputs[0]} AS l WHERE {subquery(node, inputs[1], [f'l.{name}' for name in given[0]], given[1], 'r')}"
        case _:
            text = subquery(node, inputs[1], [f"l.{name}" for name in given[0]], given[1], "r")
            return f"SELECT *, {text} AS {names[-1]} FROM {inputs[0]} AS l"


def subquery(node: q.Node, right: str, outer: Sequence[str], names: Sequence[str], alias: str) -> str:
    """The subquery of a semi-join, anti-join, flag or scalar subquery as an expression; ``outer`` are the left side's columns."""
    inner = [f"{alias}.{name}" for name in names]
    match node:
        case q.Semi(kind, _, _, condition):
            there = f"EXISTS (SELECT 1 FROM {right} AS {alias} WHERE {expression(condition, [*outer, *inner])})"
            return f"NOT {there}" if kind == "anti" else there
        case q.In(kind, _, _, items):
            given = ", ".join(expression(item, outer) for item in items)
            given = f"({given})" if len(items) > 1 else given
            return f"{given} {'NOT ' if kind in ('anti', 'not_flag') else ''}IN (SELECT * FROM {right} AS {alias})"
        case q.Scalar():
            return f"(SELECT * FROM {right} AS {alias})"
        case q.Lookup(_, _, keys, calls, value, comparison):
            pairs = " AND ".join(f"{expression(theirs, inner)} {comparison} {expression(ours, outer)}" for ours, theirs in keys)
            return f"(SELECT {expression(value, [call(one, inner) for one in calls])} FROM {right} AS {alias} WHERE {pairs})"
    raise TypeError(f"no subquery: {node}")


def grouping(node: q.GroupingSets, keys: Sequence[str]) -> str:
    if node.written != "sets":
        return f"{node.written.upper()}({', '.join(keys)})"
    sets = ", ".join(f"({', '.join(keys[at] for at in chosen)})" for chosen in node.sets)
    return f"{', '.join(keys)} GROUPING SETS ({sets})"


def using(node: q.Using, inputs: Sequence[str], given: Sequence[Sequence[str]], names: Sequence[str]) -> str:
    """The columns get the names that USING and NATURAL need: the same in each pair, else no name twice."""
    left = {ours: f"u{i}" for i, (ours, _) in enumerate(node.pairs)}
    right = {theirs: f"u{i}" for i, (_, theirs) in enumerate(node.pairs)}
    renamed = [
        [taken.get(at, f"{side}{at}") for at in range(len(columns))]
        for taken, side, columns in zip((left, right), "ab", given, strict=True)
    ]
    sides = [
        f"(SELECT {', '.join(f'{old} AS {new}' for old, new in zip(columns, new_names, strict=True))} FROM {source}) AS {alias}"
        for columns, new_names, source, alias in zip(given, renamed, inputs, "lr", strict=True)
    ]
    both = renamed[0] + renamed[1]
    chosen = named([both[at] for at in using_columns(node, len(renamed[0]), len(renamed[1]))], names)
    on = "" if node.natural else f" USING ({', '.join(left.values())})"
    return f"SELECT {chosen} FROM {sides[0]} {'NATURAL ' if node.natural else ''}{JOINS[node.kind]} {sides[1]}{on}"


def function(one: q.Over, columns: Sequence[str]) -> str:
    arguments = [] if one.argument is None else [expression(one.argument, columns)]
    if one.function in ("lag", "lead", "ntile", "nth_value"):
        arguments.append(str(one.number))
    text = "*" if one.function == "count" and not arguments else ", ".join(arguments)
    return f"{one.function}({text}){' IGNORE NULLS' if one.ignore_nulls else ''}"


def over(one: q.Over, node: q.Window, columns: Sequence[str]) -> str:
    parts = [f"PARTITION BY {', '.join(columns[at] for at in node.partition)}"] if node.partition else []
    keys = [f"{columns[at]} {'DESC NULLS LAST' if descending else 'ASC NULLS FIRST'}" for at, descending in node.order]
    parts += [f"ORDER BY {', '.join(keys)}"] if keys else []
    if one.frame is not None:
        start, end = bound(one.frame.start, "PRECEDING"), bound(one.frame.end, "FOLLOWING")
        parts.append(f"{one.frame.unit.upper()} BETWEEN {start} AND {end}")
    return f"{function(one, columns)} OVER ({' '.join(parts)})"


def bound(offset: q.Bound, side: str) -> str:
    if offset is None:
        return f"UNBOUNDED {side}"
    return "CURRENT ROW" if offset == 0 else f"{abs(offset)} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"


def exploded(node: q.Explode, source: str, columns: Sequence[str], made: Sequence[str]) -> str:
    array = f"array({', '.join(expression(item, columns) for item in node.items)})"
    if node.condition is not None:
        array = f"CASE WHEN {expression(node.condition, columns)} THEN {array} END"
    generator = "posexplode" if node.position else "explode"
    if node.lateral:
        return f"SELECT * FROM {source} LATERAL VIEW {'OUTER ' if node.outer else ''}{generator}({array}) e AS {', '.join(made)}"
    return f"SELECT *, {generator}{'_outer' if node.outer else ''}({array}) AS ({', '.join(made)}) FROM {source}"


def nested(node: q.Node, tables: q.Tables) -> str:
    """A subquery for every operator."""
    inputs = [child.name if isinstance(child, q.Table) else f"({nested(child, tables)})" for child in q.children(node)]
    return select(node, inputs, tables)


class With:
    """A common table expression for every operator but the top one."""

    def __init__(self, tables: q.Tables) -> None:
        self.tables = tables
        self.known: dict[q.Node, str] = {}
        self.made: list[str] = []

    def text(self, node: q.Node) -> str:
        top = select(node, [self._name(child) for child in q.children(node)], self.tables)
        return f"WITH {', '.join(self.made)} {top}" if self.made else top

    def _name(self, node: q.Node) -> str:
        if isinstance(node, q.Table):
            return node.name
        if node not in self.known:
            body = select(node, [self._name(child) for child in q.children(node)], self.tables)
            self.known[node] = f"q{len(self.known) + 1}"
            self.made.append(f"{self.known[node]} AS ({body})")
        return self.known[node]
