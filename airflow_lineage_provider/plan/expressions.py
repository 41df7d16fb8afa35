"""Expressions: frozen values over attributes. Types are Spark's DDL texts (``"array<int>"``, ``"decimal(10,2)"``).

An `Attribute` is a column of some operator's output, known by its ``id`` through the whole plan, as Catalyst's
``AttributeReference`` is by its ``exprId``; ``name`` is only what a person reads, until `rewrite.unique_names` has run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, get_args
from typing import Literal as OneOf

from airflow_lineage_provider.plan.base import WRITTEN_IF_SET, ExpressionNode

if TYPE_CHECKING:
    from airflow_lineage_provider.plan.operators import Plan


@dataclass(frozen=True, kw_only=True)
class Attribute(ExpressionNode):
    """A column of an operator's output, and a reference to it."""

    id: int
    name: str
    type: str
    nullable: bool = True


@dataclass(frozen=True, kw_only=True)
class Literal(ExpressionNode):
    """A constant. ``value`` is the text that Spark casts back to ``type`` (hexadecimal for binary), None for NULL."""

    value: str | None
    type: str


@dataclass(frozen=True, kw_only=True)
class Call(ExpressionNode):
    """A SQL function or operator by the name that the session's function registry gives it (``upper``, ``+``, ``and``, ``in`` …).

    ``in`` has the value first and the list after it; ``when`` (CASE WHEN) has condition, value, condition, value, …,
    and the ELSE value last where there is one; ``interval``-like and other functions keep the registry's argument order.
    """

    function: str
    arguments: tuple[Expression, ...]
    type: str


@dataclass(frozen=True, kw_only=True)
class Cast(ExpressionNode):
    """CAST (``safe=False``) or TRY_CAST (``safe=True``) to ``type``, under the session's ANSI setting."""

    child: Expression
    type: str
    safe: bool = False


@dataclass(frozen=True, kw_only=True)
class GetField(ExpressionNode):
    """A field of a struct, or of every struct in an array."""

    child: Expression
    field: str
    type: str


@dataclass(frozen=True, kw_only=True)
class GetItem(ExpressionNode):
    """``child[key]``: an array's item counted from 0, or a map's value."""

    child: Expression
    key: Expression
    type: str


@dataclass(frozen=True, kw_only=True)
class LambdaVariable(ExpressionNode):
    """A lambda function's parameter."""

    name: str
    type: str


@dataclass(frozen=True, kw_only=True)
class Lambda(ExpressionNode):
    """``(x, y) -> body``, an argument of a higher-order function."""

    parameters: tuple[LambdaVariable, ...]
    body: Expression
    type: str


@dataclass(frozen=True, kw_only=True)
class UdfCall(ExpressionNode):
    """A call of a Python UDF that still stands inside an expression (`rewrite.pull_out_udfs` takes it out).

    ``call`` is Catalyst's result id: two calls with the same id are one call written twice. ``function`` numbers the Python functions of
    the plan: two of one name (all lambdas have one) are two functions. One that ``aggregates`` is called with columns of a whole group.
    """

    udf: str
    arguments: tuple[Expression, ...]
    type: str
    deterministic: bool
    call: int
    eval_type: int
    function: int = -1
    aggregates: bool = False


Direction = OneOf["asc nulls first", "asc nulls last", "desc nulls first", "desc nulls last"]


@dataclass(frozen=True, kw_only=True)
class _OverRows(ExpressionNode):
    """A function over rows, of a group or of a window.

    ``within_group`` are directions: as many of the last arguments are the sort keys in ``WITHIN GROUP (ORDER BY …)``. ``exact``: it adds up
    whole numbers in floating point, and is known not to round, in whatever order they come (`rewrite.exact_averages`).
    """

    function: str
    arguments: tuple[Expression, ...]
    type: str
    distinct: bool = False
    filter: Expression | None = None
    within_group: tuple[Direction, ...] = ()
    exact: bool = field(default=False, metadata=WRITTEN_IF_SET)

    @property
    def sort_keys(self) -> tuple[SortKey, ...]:
        """The keys in ``WITHIN GROUP (ORDER BY …)``."""
        keys = self.arguments[len(self.arguments) - len(self.within_group) :]
        return tuple(
            SortKey(child=key, ascending=one.startswith("asc"), nulls_first=one.endswith("first"))
            for key, one in zip(keys, self.within_group, strict=True)
        )

    @property
    def own_arguments(self) -> tuple[Expression, ...]:
        """The arguments in parentheses."""
        return self.arguments[: len(self.arguments) - len(self.within_group)]


@dataclass(frozen=True, kw_only=True)
class AggregateCall(_OverRows):
    """An aggregate function over a group's rows."""


@dataclass(frozen=True, kw_only=True)
class WindowFrame:
    """The rows of a partition that a window function sees from the current row.

    A bound is ``unbounded`` (preceding for ``lower``, following for ``upper``), ``current_row``, or a constant offset (negative is
    preceding): of rows for ``rows``, of the sort key's value for ``range``.
    """

    kind: OneOf["rows", "range"]
    lower: OneOf["unbounded", "current_row"] | Expression
    upper: OneOf["unbounded", "current_row"] | Expression


WHOLE_PARTITION = WindowFrame(kind="rows", lower="unbounded", upper="unbounded")


@dataclass(frozen=True, kw_only=True)
class WindowFunction(_OverRows):
    """A function over the rows of a window: ranking (``row_number``, ``lag`` …) or any aggregate function (`operators.Window`).

    ``call`` is Catalyst's result id of a function in Python, as in `UdfCall`: then ``function`` is the name that a person knows it by.
    """

    frame: WindowFrame
    ignore_nulls: bool = False
    call: int | None = None


@dataclass(frozen=True, kw_only=True)
class ScalarSubquery(ExpressionNode):
    """A subquery that gives one value: NULL for no row, an error for several (`rewrite.scalar_subqueries` makes it a join).

    It is not correlated: `spark.capturing.capture` has Catalyst turn correlated subqueries into joins.
    """

    plan: Plan
    type: str


@dataclass(frozen=True, kw_only=True)
class SortKey:
    """One key of an ORDER BY."""

    child: Expression
    ascending: bool = True
    nulls_first: bool = True


@dataclass(frozen=True, kw_only=True)
class Alias:
    """An expression and the attribute that it makes."""

    child: Expression
    attribute: Attribute


Expression: TypeAlias = (
    Attribute
    | Literal
    | Call
    | Cast
    | GetField
    | GetItem
    | LambdaVariable
    | Lambda
    | UdfCall
    | AggregateCall
    | WindowFunction
    | ScalarSubquery
)
Named: TypeAlias = Attribute | Alias
Part: TypeAlias = Expression | Alias | SortKey
"""What an operator's fields hold of expressions: one, or one that is named, or that rows are ordered by."""

EXPRESSION_CLASSES: tuple[type[ExpressionNode], ...] = get_args(Expression)

TRUE = Literal(value="true", type="boolean")


def attribute_of(named: Named) -> Attribute:
    """The attribute that a column of a projection makes."""
    return named.attribute if isinstance(named, Alias) else named


def expression_of(named: Named) -> Expression:
    """The expression behind a column of a projection."""
    return named.child if isinstance(named, Alias) else named


def conjunction(terms: tuple[Expression, ...]) -> Expression | None:
    """``a AND b AND …``; None for no terms."""
    result: Expression | None = None
    for term in terms:
        result = term if result is None else Call(function="and", arguments=(result, term), type="boolean")
    return result


def disjunction(terms: tuple[Expression, ...]) -> Expression | None:
    """``a OR b OR …`` as a balanced tree: thousands of terms make it no deeper than a dozen levels; None for no terms."""
    if len(terms) < 2:
        return terms[0] if terms else None
    half = (len(terms) + 1) // 2
    return Call(function="or", arguments=(disjunction(terms[:half]), disjunction(terms[half:])), type="boolean")  # type: ignore[arg-type]


def conjuncts(condition: Expression) -> tuple[Expression, ...]:
    """The terms of a conjunction, left to right.

    >>> T = table("T", "a, b")
    >>> len(conjuncts(where(T, "a = 1 and b = 2 and (a > b or a < 3)").condition))
    3
    """
    if isinstance(condition, Call) and condition.function == "and":
        return tuple(term for argument in condition.arguments for term in conjuncts(argument))
    return (condition,)
