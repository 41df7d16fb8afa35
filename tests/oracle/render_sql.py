"""Queries as Spark SQL, in three styles that Catalyst sees as different plans of the same query.

``nested``: a subquery for every operator. ``merged``: as few SELECTs as can be, the way people write SQL (WHERE, HAVING, expressions
over aggregates, joins of several tables). ``with``: a common table expression for every operator, one that is used twice standing once.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tests.oracle import query as q

_SPARK_TYPES = {"int": "int", "string": "string", "bool": "boolean", "float": "double"}
_JOINS = {"inner": "JOIN", "cross": "CROSS JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN"}
_UDF = re.compile(rf"\b({'|'.join(q.UDF_TYPES)})\(")


def to_sql(node: q.Node, tables: q.Tables, style: str) -> str:
    """The query as SQL over views that are named as the tables are."""
    if style == "with":
        return _With(tables).text(node)
    if style == "merged":
        return _Merged(tables).block(node).text(spelled(node, tables))
    return nested(node, tables)


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
    argument = "*" if one.argument is None else expression(one.argument, columns)
    return f"{one.function}({'DISTINCT ' if one.distinct else ''}{argument})"


def order(node: q.TopK, columns: Sequence[str]) -> str:
    keys = [f"{name} {'DESC' if at in node.descending else 'ASC'} NULLS FIRST" for at, name in enumerate(columns)]
    return f"ORDER BY {', '.join(keys)} LIMIT {node.count}" + (f" OFFSET {node.skip}" if node.skip else "")


def named(texts: Sequence[str], names: Sequence[str]) -> str:
    return ", ".join(text if text == name else f"{text} AS {name}" for text, name in zip(texts, names, strict=True))


def spelled(node: q.Node, tables: q.Tables) -> list[str]:
    """The names of a node's columns as SQL has them."""
    return [name if re.fullmatch("[a-z_][a-z0-9_]*", name) and name != "order" else f"`{name}`" for name in q.names(node, tables)]


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
            return f"SELECT {chosen} FROM {inputs[0]} AS l {_JOINS[kind]} {inputs[1]} AS r{on}"
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


def nested(node: q.Node, tables: q.Tables) -> str:
    """A subquery for every operator."""
    inputs = [child.name if isinstance(child, q.Table) else f"({nested(child, tables)})" for child in q.children(node)]
    return select(node, inputs, tables)


class _With:
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


# --- as few SELECTs as can be ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Block:
    """A SELECT in the making: what each column is, in terms of what stands in FROM."""

    columns: tuple[str, ...]
    source: str
    where: tuple[str, ...] = ()
    group: tuple[str, ...] | None = None
    having: tuple[str, ...] = ()

    def text(self, names: Sequence[str]) -> str:
        clauses = [f"SELECT {', '.join(f'{text} AS {name}' for text, name in zip(self.columns, names, strict=True))} FROM {self.source}"]
        clauses += [f"WHERE {' AND '.join(self.where)}"] if self.where else []
        clauses += [f"GROUP BY {', '.join(self.group)}"] if self.group else []
        clauses += [f"HAVING {' AND '.join(self.having)}"] if self.having else []
        return " ".join(clauses)


class _Merged:
    def __init__(self, tables: q.Tables) -> None:
        self.tables = tables
        self.aliases: Iterator[str] = (f"s{number}" for number in itertools.count(1))

    def block(self, node: q.Node) -> _Block:
        match node:
            case q.Filter(child, condition):
                below = self.block(child)
                term = expression(condition, below.columns)
                if below.group is None:
                    return replace(below, where=(*below.where, term))
                if _mentions(condition):
                    return replace(below, having=(*below.having, term))
                below = self._subquery(child)
                return replace(below, where=(expression(condition, below.columns),))
            case q.Project(child, items):
                below = self.block(child)
                if not _keeps(below, items) or (below.group == () and not any(map(_mentions, items))):
                    below = self._subquery(child)
                return replace(below, columns=tuple(expression(item, below.columns) for item in items))
            case q.Aggregate(child, keys, calls):
                return self._aggregate(child, keys, calls)
            case q.Join():
                return self._join(node)
        return self._subquery(node)

    def _aggregate(self, child: q.Node, keys: tuple[q.Expr, ...], calls: tuple[q.Call, ...]) -> _Block:
        below = self.block(child)
        group = tuple(expression(key, below.columns) for key in keys)
        used = (*keys, *(one.argument for one in calls if one.argument is not None))
        # GROUP BY 1 would mean the first column.
        if below.group is not None or not _keeps(below, used) or any(re.fullmatch(r"-?\d+", key) for key in group):
            below = self._subquery(child)
            group = tuple(expression(key, below.columns) for key in keys)
        return replace(below, columns=group + tuple(call(one, below.columns) for one in calls), group=group)

    def _join(self, node: q.Join) -> _Block:
        left = self._side(node.left)
        right = self._subquery(node.right)
        columns = left.columns + right.columns
        on = "" if node.condition is None else f" ON {expression(node.condition, columns)}"
        return _Block(columns=columns, source=f"{left.source} {_JOINS[node.kind]} {right.source}{on}")

    def _side(self, node: q.Node) -> _Block:
        """A join stands as it is on the left of another one."""
        return self._join(node) if isinstance(node, q.Join) else self._subquery(node)

    def _subquery(self, node: q.Node) -> _Block:
        alias = next(self.aliases)
        names = spelled(node, self.tables)
        columns = tuple(f"{alias}.{name}" for name in names)
        if isinstance(node, q.Table):
            return _Block(columns=columns, source=f"{node.name} AS {alias}")
        return _Block(columns=columns, source=f"({self._text(node, names)}) AS {alias}")

    def _text(self, node: q.Node, names: Sequence[str]) -> str:
        if isinstance(node, q.Distinct | q.Union | q.TopK):
            inputs = [self._input(child) for child in q.children(node)]
            return select(node, inputs, self.tables)
        return self.block(node).text(names)

    def _input(self, node: q.Node) -> str:
        return node.name if isinstance(node, q.Table) else f"({self._text(node, spelled(node, self.tables))})"


def _mentions(one: q.Expr) -> bool:
    return any(isinstance(part, q.Col) for part in q.parts(one))


def _keeps(below: _Block, items: Sequence[q.Expr]) -> bool:
    """Whether every UDF call of the block is still made when only these expressions of its columns are."""
    used = {part.at for item in items for part in q.parts(item) if isinstance(part, q.Col)}
    return all(at in used for at, text in enumerate(below.columns) if _UDF.search(text))
