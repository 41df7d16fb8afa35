"""Expressions of a plan as Spark SQL: operators in their own syntax, every other function as ``NAME(arguments)``."""

from __future__ import annotations

import re
from functools import singledispatch
from typing import Any

from sqlglot import exp

from airflow_lineage_provider.errors import PlanCheckError, UnsupportedOperator
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan.base import unknown
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.literals import composed, spark_literal
from airflow_lineage_provider.sql.names import identifier
from airflow_lineage_provider.sql.nodes import Scope
from airflow_lineage_provider.sql.types import spark_type

_BINARY: dict[str, type[exp.Binary]] = {
    **nodes.COMPARISONS,
    "+": exp.Add,
    "-": exp.Sub,
    "*": exp.Mul,
    "/": exp.Div,
    "%": exp.Mod,
    "div": exp.IntDiv,
    "||": exp.DPipe,
    "&": exp.BitwiseAnd,
    "|": exp.BitwiseOr,
    "^": exp.BitwiseXor,
    "rlike": exp.RegexpLike,
    "regexp": exp.RegexpLike,
    "like": exp.Like,
}
_CONNECTORS: dict[str, type[exp.Connector]] = {"and": exp.And, "or": exp.Or}
# Operators that sqlglot would write as something else.
_NAMES = {"<<": "shiftleft", ">>": "shiftright", ">>>": "shiftrightunsigned"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Their arguments are written in a syntax of their own, which the registry's argument order does not tell.
_ORDERED_SETS = frozenset({"percentile_cont", "percentile_disc"})


@singledispatch
def spark_expression(expression: Any, scope: Scope) -> exp.Expr:
    """An expression as a node; ``scope`` has what each attribute is here, by its id.

    :raises UnsupportedOperator: Spark's SQL has no text for it.
    """
    raise unknown(expression, "writing SQL for Spark")


@spark_expression.register
def _(expression: e.Attribute, scope: Scope) -> exp.Expr:
    return scope[expression.id].copy()


@spark_expression.register
def _(expression: e.Literal, _scope: Scope) -> exp.Expr:
    return spark_literal(expression)


@spark_expression.register
def _(expression: e.Call, scope: Scope) -> exp.Expr:
    name = expression.function.lower()
    if name in _CONNECTORS:
        return nodes.connected(_CONNECTORS[name], [spark_expression(term, scope) for term in nodes.terms_of(expression)])
    return _call(name, [spark_expression(argument, scope) for argument in expression.arguments])


def _call(name: str, arguments: list[exp.Expr]) -> exp.Expr:
    match name, arguments:
        case (_, [left, right]) if name in _BINARY:
            return nodes.binary(_BINARY[name], left, right)
        case (("like" | "ilike"), [value, pattern, escape]):
            like = exp.Like if name == "like" else exp.ILike
            return exp.Escape(this=nodes.binary(like, value, pattern), expression=escape)
        case (("not" | "!"), [argument]):
            return nodes.negated(argument)
        case (("negative" | "-"), [argument]):
            return exp.Neg(this=exp.Paren(this=argument) if isinstance(argument, exp.Literal) else nodes.operand(argument))
        case "~", [argument]:
            return exp.BitwiseNot(this=nodes.operand(argument))
        case "+", [argument]:
            return nodes.function("POSITIVE", [argument])
        case (("isnull" | "isnotnull"), [argument]):
            return nodes.is_null(argument, negative=name == "isnotnull")
        case "in", [value, first, *rest]:
            return exp.In(this=nodes.operand(value), expressions=[first, *rest])
        case "between", [value, low, high]:
            return exp.Between(this=nodes.operand(value), low=nodes.operand(low), high=nodes.operand(high))
        case (("timestampdiff" | "timestampadd"), [exp.Literal() as unit, *rest]):
            # The unit is a word of the syntax, no value.
            return nodes.function(name.upper(), [composed(str(unit.this).strip("'")), *rest])
        case "when", [_, _, *_]:
            return nodes.case(arguments)
    return function_call(_NAMES.get(name, name), arguments)


def function_call(name: str, arguments: list[exp.Expr], distinct: bool = False) -> exp.Expr:
    """``NAME(arguments)``.

    :raises UnsupportedOperator: SQL says the function in a syntax of its own.
    """
    if not _NAME.fullmatch(name) or name.lower() in _ORDERED_SETS:
        raise UnsupportedOperator(f"the function {name!r} with {len(arguments)} arguments has no SQL text that surely is the same call")
    return nodes.function(name.upper(), arguments, distinct)


@spark_expression.register
def _(expression: e.Cast, scope: Scope) -> exp.Expr:
    # A node of sqlglot's would turn TRY_CAST into CAST.
    call = nodes.cast(spark_expression(expression.child, scope), spark_type(expression.type))
    return composed("TRY_" + nodes.to_text(call, "spark", pretty=False)) if expression.safe else call


@spark_expression.register
def _(expression: e.GetField, scope: Scope) -> exp.Expr:
    return exp.Dot(this=_subject(expression.child, scope), expression=identifier(expression.field, "spark"))


@spark_expression.register
def _(expression: e.GetItem, scope: Scope) -> exp.Expr:
    return exp.Bracket(this=_subject(expression.child, scope), expressions=[spark_expression(expression.key, scope)])


def _subject(child: e.Expression, scope: Scope) -> exp.Expr:
    node = spark_expression(child, scope)
    bare = isinstance(node, exp.Column | exp.Dot | exp.Bracket | exp.Identifier | exp.Anonymous)
    return node if bare else exp.Paren(this=node)


@spark_expression.register
def _(expression: e.LambdaVariable, _scope: Scope) -> exp.Expr:
    return identifier(expression.name, "spark")


@spark_expression.register
def _(expression: e.Lambda, scope: Scope) -> exp.Expr:
    parameters = [identifier(parameter.name, "spark") for parameter in expression.parameters]
    return exp.Lambda(this=spark_expression(expression.body, scope), expressions=parameters)


@spark_expression.register
def _(expression: e.UdfCall, _scope: Scope) -> exp.Expr:
    raise PlanCheckError(f"a call of the UDF {expression.udf} still stands inside an expression; rewrite.pull_out_udfs takes it out first")


@spark_expression.register
def _(expression: e.AggregateCall, scope: Scope) -> exp.Expr:
    if counts_rows(expression):
        return nodes.filtered(nodes.function("COUNT", [exp.Star()]), _condition(expression, scope), "spark")
    return over_rows(expression, scope)


def over_rows(call: e.AggregateCall | e.WindowFunction, scope: Scope) -> exp.Expr:
    """The call of a function over a group's or a window's rows: ``f(DISTINCT …) WITHIN GROUP (ORDER BY …) FILTER (WHERE …)``."""
    arguments = [spark_expression(argument, scope) for argument in call.own_arguments]
    keys = [nodes.ordered(spark_expression(key.child, scope), key.ascending, key.nulls_first, "spark") for key in call.sort_keys]
    if not keys:
        return nodes.filtered(function_call(call.function, arguments, call.distinct), _condition(call, scope), "spark")
    whole = nodes.within_group(nodes.function(call.function.upper(), arguments, call.distinct), keys, "spark")
    return nodes.filtered(whole, _condition(call, scope), "spark")


def _condition(call: e.AggregateCall | e.WindowFunction, scope: Scope) -> exp.Expr | None:
    return None if call.filter is None else spark_expression(call.filter, scope)


@spark_expression.register
def _(expression: e.WindowFunction, _scope: Scope) -> exp.Expr:
    raise PlanCheckError(f"the window function {expression.function} stands inside an expression, not in a Window operator")


@spark_expression.register
def _(_expression: e.ScalarSubquery, _scope: Scope) -> exp.Expr:
    raise PlanCheckError("a scalar subquery still stands inside an expression; it becomes a join first")


def counts_rows(call: e.AggregateCall) -> bool:
    """Whether it is ``count(1)``: COUNT(*)."""
    if call.function.lower() != "count" or call.distinct or len(call.arguments) != 1:
        return False
    (argument,) = call.arguments
    return isinstance(argument, e.Literal) and argument.value is not None
