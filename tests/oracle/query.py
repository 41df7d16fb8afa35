"""Queries as the oracle knows them: a small operator tree of its own, nothing of the package's.

Columns are known by position, so that a tree stays right while Hypothesis shrinks it; names are for rendering alone.
Further operators (windows, semi- and anti-joins, except, intersect) become further classes here, a case in `names` and
`types`, one in `evaluate.rows`, and one in each renderer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Type: TypeAlias = Literal["int", "string", "bool", "float"]
"""``int`` stands for int and bigint alike: a Python int in both."""

UDF_TYPES: Mapping[str, tuple[tuple[Type, ...], Type]] = {
    "level": (("int",), "string"),
    "blend": (("int", "string"), "int"),
    "likes": (("string",), "bool"),
    "tag": (("string",), "string"),
}
"""The UDFs of `tests.oracle.udfs`: types of the arguments, type of the value."""


# --- expressions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Col:
    """A column of the input by position; in a join's condition the right side's columns follow the left's."""

    at: int


@dataclass(frozen=True)
class Lit:
    value: Any
    type: Type


@dataclass(frozen=True)
class Op:
    """``+ - * % = <> < <= <=> and or not is_null coalesce concat upper case`` (when, then, else)."""

    name: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Udf:
    name: str
    args: tuple[Expr, ...]


Expr: TypeAlias = Col | Lit | Op | Udf

_TESTS = ("=", "<>", "<", "<=", "<=>", "and", "or", "not", "is_null")
_TYPE_OF_OP: Mapping[str, Type] = {**dict.fromkeys(_TESTS, "bool"), "concat": "string", "upper": "string"}


def type_of(expression: Expr, inputs: Sequence[Type]) -> Type:
    match expression:
        case Col(at):
            return inputs[at]
        case Lit(_, kind):
            return kind
        case Udf(name, _):
            return UDF_TYPES[name][1]
        case Op("case", (_, then, _)):
            return type_of(then, inputs)
        case Op(name, args):
            return _TYPE_OF_OP.get(name) or type_of(args[0], inputs)


def parts(expression: Expr) -> list[Expr]:
    """The expression and everything in it."""
    inner = expression.args if isinstance(expression, Op | Udf) else ()
    return [expression, *(part for one in inner for part in parts(one))]


# --- operators ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    name: str


@dataclass(frozen=True)
class Filter:
    child: Node
    condition: Expr


@dataclass(frozen=True)
class Project:
    child: Node
    items: tuple[Expr, ...]


@dataclass(frozen=True)
class Join:
    kind: Literal["inner", "cross", "left", "right", "full"]
    left: Node
    right: Node
    condition: Expr | None = None


@dataclass(frozen=True)
class Call:
    """An aggregate function: ``count`` (without an argument: of rows), ``sum``, ``min``, ``max``."""

    function: Literal["count", "sum", "min", "max"]
    argument: Expr | None = None
    distinct: bool = False


@dataclass(frozen=True)
class Aggregate:
    """The keys' columns, then the calls'. Without keys it is global: one row, whatever the input."""

    child: Node
    keys: tuple[Expr, ...]
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Distinct:
    child: Node


@dataclass(frozen=True)
class Union:
    left: Node
    right: Node
    all: bool = True


@dataclass(frozen=True)
class TopK:
    """The first ``count`` rows after ``skip`` rows, ordered by all columns (``descending`` ones largest first), NULLs first."""

    child: Node
    count: int
    skip: int = 0
    descending: frozenset[int] = frozenset()


Node: TypeAlias = Table | Filter | Project | Join | Aggregate | Distinct | Union | TopK


# --- tables ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """A source table. ``columns`` are (name, Spark type) pairs, ``rid`` among them: unique over *all* tables of a case."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Any, ...], ...] = ()

    @property
    def ddl(self) -> str:
        return ", ".join(f"`{name}` {kind}" for name, kind in self.columns)

    @property
    def rid(self) -> int:
        """Where the rid stands."""
        return [name for name, _ in self.columns].index("rid")


Tables: TypeAlias = Mapping[str, Data]

_OF_SPARK: Mapping[str, Type] = {"int": "int", "bigint": "int", "string": "string", "boolean": "bool", "double": "float"}


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case Table():
            return ()
        case Join() | Union():
            return (node.left, node.right)
        case _:
            return (node.child,)


def nodes(node: Node) -> list[Node]:
    """The node and everything below it."""
    return [node, *(below for child in children(node) for below in nodes(child))]


def expressions(node: Node) -> list[Expr]:
    """The node's own expressions."""
    match node:
        case Filter(_, condition):
            return [condition]
        case Project(_, items):
            return list(items)
        case Join(condition=condition):
            return [condition] if condition is not None else []
        case Aggregate(_, keys, calls):
            return [*keys, *(call.argument for call in calls if call.argument is not None)]
    return []


def types(node: Node, tables: Tables) -> list[Type]:
    """The types of a node's columns."""
    match node:
        case Table(name):
            return [_OF_SPARK[kind] for _, kind in tables[name].columns]
        case Project(child, items):
            inputs = types(child, tables)
            return [type_of(item, inputs) for item in items]
        case Join(_, left, right):
            return types(left, tables) + types(right, tables)
        case Aggregate(child, keys, calls):
            inputs = types(child, tables)
            return [type_of(key, inputs) for key in keys] + [_call_type(call, inputs) for call in calls]
        case Union(left, _):
            return types(left, tables)
        case _:
            return types(node.child, tables)


def _call_type(call: Call, inputs: Sequence[Type]) -> Type:
    return type_of(call.argument, inputs) if call.function in ("min", "max") and call.argument is not None else "int"


def names(node: Node, tables: Tables) -> list[str]:
    """The names of a node's columns, each once."""
    match node:
        case Table(name):
            return [column for column, _ in tables[name].columns]
        case Project(child, items):
            return _once(_own(items, names(child, tables), "x"))
        case Join(_, left, right):
            return _once(names(left, tables) + names(right, tables))
        case Aggregate(child, keys, calls):
            return _once(_own(keys, names(child, tables), "g") + [f"{call.function}{i}" for i, call in enumerate(calls)])
        case Union(left, _):
            return names(left, tables)
        case _:
            return names(node.child, tables)


def _own(items: Sequence[Expr], inputs: Sequence[str], letter: str) -> list[str]:
    return [inputs[item.at] if isinstance(item, Col) else f"{letter}{i}" for i, item in enumerate(items)]


def _once(given: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in given:
        candidate, number = name, 1
        while candidate in found:
            number += 1
            candidate = f"{name}_{number}"
        found.append(candidate)
    return found
