"""The source columns behind an expression's value, one rule for each class of expression.

The parts that make the value are direct. Conditions of CASE and IF, and all but the last argument of COALESCE, are also (or only)
CONDITIONAL; the branches are taken as they are. A field of a struct, an item of an array or a map count as their whole column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan.base import unknown
from airflow_lineage_provider.tracing.columns.transformation import (
    AGGREGATION,
    CONDITIONAL,
    FILTER,
    NOTHING,
    SORT,
    TRANSFORMATION,
    WINDOW,
    Influences,
    Transformation,
    through,
    together,
)

if TYPE_CHECKING:
    from airflow_lineage_provider.plan.operators import Plan

# The facet leaves open what masks: these give no value back, for a person who sees the result alone.
MASKING_FUNCTIONS = frozenset({
    "hash", "xxhash64", "md5", "sha", "sha1", "sha2", "crc32", "mask", "aes_encrypt", "try_aes_encrypt",
    "count", "count_if", "approx_count_distinct", "regr_count", "count_min_sketch", "hll_sketch_agg",
})  # fmt: skip
# Of a group, or a frame, these give no row's own value; of others (the least one, a list, a percentile) it may be one.
MIXING_FUNCTIONS = frozenset({
    "sum", "try_sum", "avg", "mean", "try_avg", "std", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop",
    "skewness", "kurtosis", "corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_intercept", "regr_r2", "regr_slope",
    "regr_sxx", "regr_sxy", "regr_syy", "bit_xor",
})  # fmt: skip
# Window functions that take a value from one other row; every other one with an argument aggregates the frame.
_OF_ONE_ROW = frozenset({"lag", "lead", "nth_value", "first_value", "last_value", "first", "last", "any_value"})
_LISTS = frozenset({"listagg", "string_agg"})
_RANKING = frozenset({"rank", "dense_rank", "percent_rank", "row_number", "cume_dist", "ntile"})


@dataclass(frozen=True, kw_only=True)
class Traced:
    """What stands behind an operator's output: behind each column (by attribute id), and behind which rows there are.

    ``rows`` are indirect and influence every column; a column's own influences are direct, or indirect for that column alone.
    """

    columns: Mapping[int, Influences]
    rows: Influences = NOTHING


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Where an expression stands: the columns that it can read, and how the plan of a subquery is traced."""

    columns: Mapping[int, Influences]
    subquery: Callable[[Plan], Traced]


@singledispatch
def influences(expression: e.Expression, scope: Scope) -> Influences:
    """The source columns behind an expression's value.

    :raises UnsupportedOperator: for a class of expression without a rule.
    """
    raise unknown(expression, "column lineage")


def all_through(some: Iterable[e.Expression], outer: Transformation, scope: Scope) -> Influences:
    """The source columns behind several expressions, after one more step."""
    return together(through(influences(one, scope), outer) for one in some)


@influences.register
def _(expression: e.Attribute, scope: Scope) -> Influences:
    return scope.columns[expression.id]


@influences.register
def _(expression: e.Literal, scope: Scope) -> Influences:
    return NOTHING


@influences.register
def _(expression: e.Call, scope: Scope) -> Influences:
    values, conditions = _split(expression)
    if conditions or expression.function in _CHOOSING:
        return together((together(influences(one, scope) for one in values), all_through(conditions, CONDITIONAL, scope)))
    return all_through(values, _kind(expression.function, TRANSFORMATION), scope)


@influences.register
def _(expression: e.Cast, scope: Scope) -> Influences:
    return through(influences(expression.child, scope), TRANSFORMATION)


@influences.register
def _(expression: e.GetField, scope: Scope) -> Influences:
    return through(influences(expression.child, scope), TRANSFORMATION)


@influences.register
def _(expression: e.GetItem, scope: Scope) -> Influences:
    return all_through((expression.child, expression.key), TRANSFORMATION, scope)


@influences.register
def _(expression: e.LambdaVariable, scope: Scope) -> Influences:
    # It stands for parts of the higher-order function's other arguments, which count anyway.
    return NOTHING


@influences.register
def _(expression: e.Lambda, scope: Scope) -> Influences:
    return influences(expression.body, scope)


@influences.register
def _(expression: e.UdfCall, scope: Scope) -> Influences:
    return all_through(expression.arguments, of_udf(expression.udf), scope)


@influences.register
def _(expression: e.AggregateCall, scope: Scope) -> Influences:
    return _over_rows(expression, _aggregate_kind(expression.function), scope)


@influences.register
def _(expression: e.WindowFunction, scope: Scope) -> Influences:
    """The arguments and the frame; `operators.Window` knows the partition and the order."""
    bounds = tuple(one for one in (expression.frame.lower, expression.frame.upper) if not isinstance(one, str))
    python = replace(AGGREGATION, udfs=(expression.function,), opaque=True)
    values = _over_rows(expression, _window_kind(expression.function) if expression.call is None else python, scope)
    return together((values, all_through(bounds, WINDOW, scope)))


def _over_rows(call: e.AggregateCall | e.WindowFunction, kind: Transformation, scope: Scope) -> Influences:
    kept = () if call.filter is None else (call.filter,)
    # A percentile's or a mode's sort key is the very value; listagg's only sorts.
    sorts = call.function in _LISTS
    values = call.own_arguments if sorts else call.arguments
    keys = tuple(key.child for key in call.sort_keys) if sorts else ()
    return together((all_through(values, kind, scope), all_through(keys, SORT, scope), all_through(kept, FILTER, scope)))


@influences.register
def _(expression: e.ScalarSubquery, scope: Scope) -> Influences:
    """The value's own source columns, and those that decide which row it is from."""
    traced = scope.subquery(expression.plan)
    return traced.columns[expression.plan.output[0].id] | traced.rows


def of_udf(name: str) -> Transformation:
    """The step through a Python UDF."""
    return Transformation(subtype="TRANSFORMATION", udfs=(name,))


def _kind(function: str, plain: Transformation) -> Transformation:
    return Transformation(subtype=plain.subtype, masking=True) if function in MASKING_FUNCTIONS else plain


def _window_kind(function: str) -> Transformation:
    if function in _RANKING:
        return WINDOW
    return TRANSFORMATION if function in _OF_ONE_ROW else _aggregate_kind(function)


def _aggregate_kind(function: str) -> Transformation:
    return replace(AGGREGATION, mixed=True) if function in MIXING_FUNCTIONS else _kind(function, AGGREGATION)


_CHOOSING = frozenset({"when", "if", "coalesce", "nvl", "ifnull", "nvl2", "nullif"})
_Parts = tuple[tuple[e.Expression, ...], tuple[e.Expression, ...]]


def _split(call: e.Call) -> _Parts:
    """The arguments that may be the value, and those that choose among them (COALESCE's are both)."""
    given = call.arguments
    match call.function:
        case "when":
            paired = len(given) - len(given) % 2
            return (*given[1:paired:2], *given[paired:]), given[0:paired:2]
        case "if" | "nvl2":
            return given[1:], given[:1]
        case "coalesce" | "nvl" | "ifnull":
            return given, given[:-1]
        case "nullif":
            return given[:1], given
    return given, ()
