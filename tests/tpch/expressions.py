"""Expressions of a query as Python functions of a `Frame`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from sqlglot import exp

from tests.tpch import values as v
from tests.tpch.scope import Frame, Place, Scope

Function = Callable[[Frame], Any]
Udfs = Mapping[str, Callable[..., Any]]
"""UDFs by name, in normal mode."""

SubqueryFunction = Callable[[exp.Subquery], Function]
"""What makes a function of a scalar subquery."""


def compiled(node: exp.Expression, scope: Scope, udfs: Udfs, subquery: SubqueryFunction | None = None) -> Function:
    """An expression as a function.

    :raises NotImplementedError: it is of a kind that no query here has.
    """

    def part(inner: exp.Expression) -> Function:
        return compiled(inner, scope, udfs, subquery)

    if (column := scope.computed.get(node.sql())) is not None:
        return _at(Place(0, 0, column))
    match node:
        case exp.Paren() | exp.Alias():
            return part(node.this)
        case exp.Column():
            return _at(scope.place(node))
        case exp.Literal() | exp.Boolean() | exp.Null():
            return _constant(_literal(node))
        case exp.Cast() if node.to.this == exp.DType.DATE and isinstance(node.this, exp.Literal):
            return _constant(dt.date.fromisoformat(node.name))
        case exp.Add() | exp.Sub() if isinstance(node.expression, exp.Interval):
            sign = 1 if isinstance(node, exp.Add) else -1
            return _shift(part(node.this), sign * int(node.expression.name), node.expression.args["unit"].name.upper())
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            return _binary(v.calculate, type(node).__name__, part(node.this), part(node.expression))
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            return _binary(v.compare, type(node).__name__, part(node.this), part(node.expression))
        case exp.And() | exp.Or():
            return _logic(v.both if isinstance(node, exp.And) else v.either, part(node.this), part(node.expression))
        case exp.Not():
            return _applied(v.negated, part(node.this))
        case exp.Between():
            return _between(part(node.this), part(node.args["low"]), part(node.args["high"]))
        case exp.Like():
            return _like(part(node.this), node.expression.name, negate=bool(node.args.get("negate")))
        case exp.In() if node.args.get("query") is None:
            return _in(part(node.this), [part(one) for one in node.expressions])
        case exp.Case() if node.this is None:
            branches = [(part(one.this), part(one.args["true"])) for one in node.args["ifs"]]
            return _case(branches, part(node.args["default"]) if node.args.get("default") else _constant(None))
        case exp.Extract() if node.name.upper() == "YEAR":
            return _applied(lambda date: None if date is None else date.year, part(node.expression))
        case exp.Substring():
            return _substring(part(node.this), int(node.args["start"].name), int(node.args["length"].name))
        case exp.Anonymous() if node.name in udfs:
            return _call(udfs[node.name], [part(one) for one in node.expressions])
        case exp.Subquery() if subquery is not None:
            return subquery(node)
    raise NotImplementedError(f"{type(node).__name__}: {node.sql()}")


def _literal(node: exp.Expression) -> Any:
    match node:
        case exp.Boolean():
            return bool(node.this)
        case exp.Literal() if node.is_string:
            return node.name
        case exp.Literal():
            return Decimal(node.name) if "." in node.name else int(node.name)
    return None


def _at(place: Place) -> Function:
    depth, source, column = place
    if depth == 0:
        return lambda frame: frame.rows[source].values[column]  # type: ignore[union-attr]

    def further_out(frame: Frame) -> Any:
        for _ in range(depth):
            assert frame.outer is not None
            frame = frame.outer
        row = frame.rows[source]
        assert row is not None
        return row.values[column]

    return further_out


def _constant(value: Any) -> Function:
    return lambda _: value


def _applied(function: Callable[[Any], Any], one: Function) -> Function:
    return lambda frame: function(one(frame))


def _binary(function: Callable[[str, Any, Any], Any], name: str, left: Function, right: Function) -> Function:
    return lambda frame: function(name, left(frame), right(frame))


def _logic(function: Callable[[Any, Any], Any], left: Function, right: Function) -> Function:
    return lambda frame: function(left(frame), right(frame))


def _shift(date: Function, amount: int, unit: str) -> Function:
    return lambda frame: v.shifted(date(frame), amount, unit)


def _between(one: Function, low: Function, high: Function) -> Function:
    return lambda frame: v.both(v.compare("LTE", low(frame), one(frame)), v.compare("LTE", one(frame), high(frame)))


def _like(one: Function, pattern: str, *, negate: bool) -> Function:
    if negate:
        return lambda frame: v.negated(v.like(one(frame), pattern))
    return lambda frame: v.like(one(frame), pattern)


def _in(one: Function, others: list[Function]) -> Function:
    def found(frame: Frame) -> bool | None:
        truth: bool | None = False
        for other in others:
            truth = v.either(truth, v.compare("EQ", one(frame), other(frame)))
        return truth

    return found


def _case(branches: list[tuple[Function, Function]], otherwise: Function) -> Function:
    return lambda frame: _chosen(branches, otherwise, frame)


def _chosen(branches: list[tuple[Function, Function]], otherwise: Function, frame: Frame) -> Any:
    for when, then in branches:
        if when(frame) is True:
            return then(frame)
    return otherwise(frame)


def _substring(one: Function, start: int, length: int) -> Function:
    return lambda frame: None if (text := one(frame)) is None else text[start - 1 : start - 1 + length]


def _call(udf: Callable[..., Any], arguments: list[Function]) -> Function:
    return lambda frame: udf(*(argument(frame) for argument in arguments))
