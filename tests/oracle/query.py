"""Queries as the oracle knows them: a small operator tree of its own, nothing of the package's.

Columns are known by position, so that a tree stays right while Hypothesis shrinks it; names are for rendering alone.
A further operator becomes a further class here, a case in `schema.types` and `schema.names`, one in `evaluate.rows`, and one in each
renderer.
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
    """An aggregate function: ``count`` (without an argument: of rows), ``sum``, ``min``, ``max``; ``where`` is its FILTER.

    ``more`` are the further arguments of ``count(DISTINCT a, b, …)``.
    """

    function: Literal["count", "sum", "min", "max"]
    argument: Expr | None = None
    distinct: bool = False
    more: tuple[Expr, ...] = ()
    where: Expr | None = None

    @property
    def inside(self) -> tuple[Expr, ...]:
        """The expressions in it."""
        return tuple(one for one in (self.argument, *self.more, self.where) if one is not None)


@dataclass(frozen=True)
class Aggregate:
    """The keys' columns, then the calls'. Without keys it is global: one row, whatever the input."""

    child: Node
    keys: tuple[Expr, ...]
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class GroupingSets:
    """The keys' columns (NULL where a set has no such key), ``grouping_id()``, then the calls'. ``sets`` are positions of keys.

    ``rollup`` and ``cube`` say how it is written: the sets are theirs.
    """

    child: Node
    keys: tuple[Expr, ...]
    sets: tuple[tuple[int, ...], ...]
    calls: tuple[Call, ...]
    written: Literal["sets", "rollup", "cube"] = "sets"


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
    """The first ``count`` rows after ``skip`` rows, ordered by all columns (``descending`` ones largest first), NULLs first; ``by``: by so
    many of them only, the first ones, and 0 for any rows (what renders queries knows no such)."""

    child: Node
    count: int
    skip: int = 0
    descending: frozenset[int] = frozenset()
    by: int | None = None


@dataclass(frozen=True)
class KeepOne:
    """``dropDuplicates(keys)``: one row of every group; the keys are columns."""

    child: Node
    keys: tuple[int, ...]


@dataclass(frozen=True)
class Using:
    """A join on equal columns that stand once in the result, first: USING, or NATURAL with the same names given to the pairs."""

    kind: Literal["inner", "left", "right", "full"]
    left: Node
    right: Node
    pairs: tuple[tuple[int, int], ...]
    natural: bool = False


@dataclass(frozen=True)
class Semi:
    """EXISTS: the left rows for which a right row makes the condition true (``anti``: none does), or all with that as a ``flag``."""

    kind: Literal["semi", "anti", "flag"]
    left: Node
    right: Node
    condition: Expr


@dataclass(frozen=True)
class In:
    """The left rows whose items are IN (``anti``: NOT IN) the right side's columns, or all with that as a ``flag`` (``not_flag``)."""

    kind: Literal["semi", "anti", "flag", "not_flag"]
    left: Node
    right: Node
    items: tuple[Expr, ...]


@dataclass(frozen=True)
class Scalar:
    """The left rows with the value of an uncorrelated scalar subquery: a right side of one column and at most one row."""

    left: Node
    right: Node


@dataclass(frozen=True)
class Lookup:
    """The left rows with the value of a scalar subquery that is correlated and aggregates.

    ``keys`` are pairs of a left and a right expression (each over its own side's columns) that are equal, or of which the right one is
    at most the left one; the calls are over the right side, and ``value`` is over the calls.
    """

    left: Node
    right: Node
    keys: tuple[tuple[Expr, Expr], ...]
    calls: tuple[Call, ...]
    value: Expr = Col(0)
    comparison: Literal["=", "<="] = "="


@dataclass(frozen=True)
class SetOp:
    """INTERSECT or EXCEPT; ``all`` counts copies."""

    kind: Literal["intersect", "except"]
    left: Node
    right: Node
    all: bool = False


Bound: TypeAlias = int | None
"""Of a frame: rows or values from the current one (negative: preceding), or None: unbounded."""


@dataclass(frozen=True)
class Frame:
    unit: Literal["rows", "range"]
    start: Bound
    end: Bound


@dataclass(frozen=True)
class Over:
    """A window function. ``number`` is lag's and lead's offset, ntile's buckets, nth_value's place. No frame: the function's default."""

    function: str
    argument: Expr | None = None
    number: int = 1
    frame: Frame | None = None
    ignore_nulls: bool = False


@dataclass(frozen=True)
class Window:
    """The child's columns, then the functions'. The order is of (column, descending) pairs; NULLs are the smallest."""

    child: Node
    functions: tuple[Over, ...]
    partition: tuple[int, ...] = ()
    order: tuple[tuple[int, bool], ...] = ()


@dataclass(frozen=True)
class Explode:
    """The child's columns, the position if it is asked for, and an item of the array that is made of expressions of one type.

    Where there is a condition and it is not true, the array is NULL: no row, or if ``outer`` one with NULLs.
    """

    child: Node
    items: tuple[Expr, ...]
    position: bool = False
    outer: bool = False
    condition: Expr | None = None
    lateral: bool = False
    """Whether it is written as a LATERAL VIEW."""

    @property
    def inside(self) -> tuple[Expr, ...]:
        return self.items if self.condition is None else (*self.items, self.condition)


Node: TypeAlias = (
    Table
    | Filter
    | Project
    | Join
    | Aggregate
    | Distinct
    | Union
    | TopK
    | GroupingSets
    | KeepOne
    | Using
    | Semi
    | In
    | Scalar
    | Lookup
    | SetOp
    | Window
    | Explode
)


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


# --- walking -------------------------------------------------------------------------------------------------------------


def children(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Table):
        return ()
    return (node.left, node.right) if isinstance(node, Join | Union | Using | Semi | In | Scalar | Lookup | SetOp) else (node.child,)


def nodes(node: Node) -> list[Node]:
    """The node and everything below it."""
    return [node, *(below for child in children(node) for below in nodes(child))]


def sources(node: Node) -> frozenset[str]:
    """The names of the source tables under a node."""
    return frozenset(one.name for one in nodes(node) if isinstance(one, Table))


def expressions(node: Node) -> list[Expr]:
    """The node's own expressions."""
    match node:
        case Filter(_, condition) | Semi(_, _, _, condition):
            return [condition]
        case Project(_, items) | In(_, _, _, items):
            return list(items)
        case Join(condition=condition):
            return [condition] if condition is not None else []
        case Aggregate(keys=keys, calls=calls) | GroupingSets(keys=keys, calls=calls):
            return [*keys, *(one for call in calls for one in call.inside)]
        case Lookup(keys=pairs, calls=calls):
            return [*(one for pair in pairs for one in pair), *(one for call in calls for one in call.inside)]
        case Window(functions=functions):
            return [one.argument for one in functions if one.argument is not None]
        case Explode():
            return list(node.inside)
    return []
