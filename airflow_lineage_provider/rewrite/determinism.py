"""Which expressions give the same value whenever they are evaluated over the same row.

>>> T = table("T", "a")
>>> is_deterministic(where(T, "a > 1").condition), is_deterministic(where(T, "a > rand()").condition)
(True, False)
>>> [is_deterministic(e.Cast(child=e.Literal(value=one, type="string"), type="date")) for one in ("2024-01-01", " Today UTC")]
[True, False]
>>> is_repeatable(sort(T, "a")), is_repeatable(limit(T, 10))
(True, False)
"""

from __future__ import annotations

import re

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import no_rule
from airflow_lineage_provider.plan.datatypes import is_collated
from airflow_lineage_provider.plan.exact_sums import is_exact
from airflow_lineage_provider.plan.expression_walk import expressions_in
from airflow_lineage_provider.plan.expressions import AggregateCall, Part, WindowFunction
from airflow_lineage_provider.plan.walk import own_expressions

# Besides what is random, what depends on the clock, on the session, or on how rows are laid out: none of it can be repeated months later.
NON_DETERMINISTIC = frozenset({
    "rand", "random", "randn", "uuid", "shuffle", "randstr", "uniform", "monotonically_increasing_id", "spark_partition_id",
    "input_file_name", "input_file_block_start", "input_file_block_length", "current_timestamp", "now", "current_date", "curdate",
    "localtimestamp", "localtime", "current_time",
    "version", "aes_encrypt", "reflect", "java_method", "try_reflect", "unix_timestamp", "current_user", "user", "session_user",
    "current_database", "current_schema", "current_catalog", "current_path",
})  # fmt: skip

# Aggregates whose result depends on the order of rows: a rerun may give another value.
ORDER_DEPENDENT = frozenset({
    "first", "first_value", "last", "last_value", "any_value", "collect_list", "array_agg", "collect_set", "listagg", "string_agg",
    "max_by", "min_by", "mode", "approx_percentile", "percentile_approx", "histogram_numeric", "approx_top_k",
    "approx_top_k_accumulate", "approx_top_k_combine", "hll_sketch_agg", "hll_union_agg", "theta_sketch_agg", "theta_union_agg",
    "theta_intersection_agg", "tuple_sketch_agg_double", "tuple_sketch_agg_integer", "tuple_union_agg_double", "tuple_union_agg_integer",
    "tuple_intersection_agg_double", "tuple_intersection_agg_integer",
    "kll_sketch_agg_bigint", "kll_sketch_agg_float", "kll_sketch_agg_double", "kll_merge_agg_bigint", "kll_merge_agg_float",
    "kll_merge_agg_double", "collect_union", "vector_sum", "vector_avg",
})  # fmt: skip

# Aggregates that add floating-point numbers up: in another order, another last digit, and so another group above.
ROUNDING = frozenset({
    "sum", "try_sum", "avg", "mean", "try_avg", "std", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop", "corr",
    "covar_samp", "covar_pop", "skewness", "kurtosis", "regr_avgx", "regr_avgy", "regr_r2", "regr_slope", "regr_intercept", "regr_sxx",
    "regr_sxy", "regr_syy",
})  # fmt: skip


def is_deterministic(expression: Part) -> bool:
    """Whether nothing inside is random or depends on the clock."""
    return all(map(_is_deterministic, expressions_in(expression)))


def _is_deterministic(part: e.Expression | e.Alias | e.SortKey) -> bool:
    """Whether a part, given its own parts' values, has one value."""
    match part:
        case e.Call():
            if part.function in _TO_TIMES and len(part.arguments) == 1 and _may_be_a_day_from_now(part.arguments[0]):
                return False
            return part.function not in NON_DETERMINISTIC or (part.function == "unix_timestamp" and bool(part.arguments))
        case e.Cast():
            return part.type not in _TIMES or not _may_be_a_day_from_now(part.child)
        case e.UdfCall():
            return part.deterministic
        case e.Attribute() | e.Literal() | e.GetField() | e.GetItem() | e.LambdaVariable() | e.Lambda() | e.ScalarSubquery():
            return True
        case e.AggregateCall() | e.WindowFunction() | e.Alias() | e.SortKey():
            return True
    raise no_rule(part, "whether a value can be computed again")


_TIMES = frozenset({"date", "timestamp", "timestamp_ntz"})
_TO_TIMES = frozenset({
    "date", "timestamp", "to_date", "to_timestamp", "to_timestamp_ntz", "to_timestamp_ltz", "try_to_date", "try_to_timestamp",
})  # fmt: skip
FROM_NOW = r"\W*(?:now|today|tomorrow|yesterday)\b"
"""How a text begins of which Spark's optimizer makes the day, or the moment, of the query (``SpecialDatetimeValues``)."""
_HANGS_ON_NOW = re.compile(rf"{FROM_NOW}|\W*t?\d{{1,2}}:", re.IGNORECASE)


def _may_be_a_day_from_now(text: e.Expression) -> bool:
    """Whether a constant text may be ``today``, ``now`` … (`FROM_NOW`), or a time alone (``08:15``), which is one of the query's day."""
    if text.type != "string":
        return False
    if isinstance(text, e.Literal):
        return text.value is not None and _HANGS_ON_NOW.match(text.value) is not None
    return not any(isinstance(part, e.Attribute | e.LambdaVariable | e.UdfCall | e.ScalarSubquery) for part in expressions_in(text))


# Functions that only a window has.
RANKING = frozenset({"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "nth_value", "counter_diff"})

# Window functions that depend on which rows come before in the order, but not on how equal rows are ordered among themselves.
_TIE_FREE = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})


def is_repeatable(node: o.Plan) -> bool:
    """Whether running the operator again over the same rows surely gives the same rows, to the last digit."""
    calls: list[AggregateCall | WindowFunction] = [*_aggregate_calls(node), *_window_functions(node)]
    rounded = any(call.function in ROUNDING and call.type in ("float", "double") and not is_exact(call) for call in calls)
    return not rounded and is_repeatable_but_for_rounding(node)


def is_repeatable_but_for_rounding(node: o.Plan) -> bool:
    """Whether running the operator again over the same rows surely gives the same rows, last digits of floating-point sums aside."""
    if not _passes_on_its_rows(node):
        return False
    chosen = any(call.function in ORDER_DEPENDENT for call in _aggregate_calls(node))
    chosen = chosen or not all(map(_is_tie_free, _window_functions(node))) or _picks_of_equal_texts(node)
    return not chosen and all(is_deterministic(own) for own in own_expressions(node))


def _picks_of_equal_texts(node: o.Plan) -> bool:
    """Whether one of several texts stands for all that a collation has for equal (``a``, ``A``): which one hangs on the order of rows."""
    calls: list[AggregateCall | WindowFunction] = [*_aggregate_calls(node), *_window_functions(node)]
    chosen = [*node.keys] if isinstance(node, o.Aggregate) else [*node.output] if isinstance(node, o.Distinct) else []
    return any(is_collated(one.type) for one in (*calls, *chosen))


def _passes_on_its_rows(node: o.Plan) -> bool:
    """Whether the operator, its expressions aside, makes the same rows of the same rows."""
    match node:
        case o.Limit() | o.PythonMap():
            return False
        case o.Generate():
            return node.call is None
        case o.Source() | o.SegmentOutput() | o.Project() | o.Filter() | o.Join() | o.Aggregate() | o.Distinct() | o.Union() | o.Sort():
            return True
        case o.FunctionOperator() | o.Window() | o.Repartition():
            return True
    raise no_rule(node, "whether rows can be made again")


def _is_tie_free(function: WindowFunction) -> bool:
    """Whether equal rows get the same value, however Spark orders them. Of a function in Python nobody knows."""
    if function.call is not None:
        return False
    if function.function in _TIE_FREE:
        return True
    if function.function in ORDER_DEPENDENT or function.function in RANKING:
        return False
    return function.frame.kind == "range" or (function.frame.lower == "unbounded" and function.frame.upper == "unbounded")


def _window_functions(node: o.Plan) -> list[WindowFunction]:
    return [f.child for f in node.functions if isinstance(f.child, WindowFunction)] if isinstance(node, o.Window) else []


def _aggregate_calls(node: o.Plan) -> list[AggregateCall]:
    return [part for own in own_expressions(node) for part in expressions_in(own) if isinstance(part, AggregateCall)]
