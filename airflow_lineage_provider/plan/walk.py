"""Walking and rebuilding plans, generically over dataclass fields: one place that knows what a child is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from airflow_lineage_provider.plan.base import ExpressionNode, Operator
from airflow_lineage_provider.plan.expression_walk import expressions_in, node_fields, replace_fields, transform_expression
from airflow_lineage_provider.plan.expressions import Alias, Attribute, Expression, Part, ScalarSubquery, SortKey
from airflow_lineage_provider.plan.operators import FunctionOperator, Plan, check_known

Node = TypeVar("Node")
_EXPRESSION_PARTS: tuple[Any, ...] = (ExpressionNode, Alias, SortKey)


def children(plan: Plan) -> tuple[Plan, ...]:
    """The inputs of an operator, left to right."""
    found: list[Any] = []
    for name in node_fields(type(plan)):
        value = getattr(plan, name)
        if isinstance(value, Operator):
            found.append(value)
        elif isinstance(value, tuple):
            found.extend(item for item in value if isinstance(item, Operator))
    return tuple(found)


def with_children(plan: Plan, new: tuple[Plan, ...]) -> Plan:
    """The operator over other inputs; the same object when they are the same objects."""
    if all(a is b for a, b in zip(children(plan), new, strict=True)):
        return plan
    remaining = iter(new)
    return replace_fields(plan, (Operator,), lambda _: next(remaining))


def operators(plan: Plan) -> Iterator[Plan]:
    """Every operator, parents before children, left to right; not those of subqueries."""
    yield plan
    for child in children(plan):
        yield from operators(child)


def made_by(plan: Plan) -> tuple[Attribute, ...]:
    """The attributes that an operator makes, rather than passes on, as its class declares.

    :raises UnsupportedOperator: it is no operator of a plan.
    """
    check_known(plan, "what an operator makes")
    found: dict[Attribute, None] = {}
    for name in type(plan).makes:
        value = getattr(plan, name)
        found |= dict.fromkeys(value if isinstance(value, tuple) else () if value is None else (value,))
    for name in type(plan).computes:
        found |= dict.fromkeys(column.attribute for column in getattr(plan, name) if isinstance(column, Alias))
    return tuple(found)


def subqueries(plan: Plan) -> tuple[ScalarSubquery, ...]:
    """The scalar subqueries in an operator's own expressions."""
    return tuple(part for own in own_expressions(plan) for part in expressions_in(own) if isinstance(part, ScalarSubquery))


def all_operators(plan: Plan) -> Iterator[Plan]:
    """Every operator, those of scalar subqueries (at any depth) among them."""
    for node in operators(plan):
        yield node
        for subquery in subqueries(node):
            yield from all_operators(subquery.plan)


def functions_of(plan: Plan) -> tuple[FunctionOperator, ...]:
    """The function operators of a plan, the topmost first."""
    return tuple(node for node in operators(plan) if isinstance(node, FunctionOperator))


def transform_up(plan: Plan, function: Callable[[Plan], Plan]) -> Plan:
    """Rebuild the tree from the leaves, applying ``function`` to each operator after its children."""
    return function(with_children(plan, tuple(transform_up(child, function) for child in children(plan))))


def own_expressions(plan: Plan) -> tuple[Part, ...]:
    """The expressions of this operator itself (aliases and sort keys whole), not of its children."""
    found: list[Any] = []
    for name in node_fields(type(plan)):
        if name in type(plan).makes:
            continue
        value = getattr(plan, name)
        if isinstance(value, _EXPRESSION_PARTS):
            found.append(value)
        elif isinstance(value, tuple):
            found.extend(item for item in value if isinstance(item, _EXPRESSION_PARTS))
    return tuple(found)


def map_expressions(plan: Plan, function: Callable[[Part], Part]) -> Plan:
    """The operator with its own expressions (aliases and sort keys whole) replaced; what it makes and its children stay."""
    changed: dict[str, Any] = {}
    for name in node_fields(type(plan)):
        value = getattr(plan, name)
        if name in type(plan).makes:
            continue
        new: Any
        if isinstance(value, _EXPRESSION_PARTS):
            new = function(value)
        elif isinstance(value, tuple) and any(isinstance(item, _EXPRESSION_PARTS) for item in value):
            new = tuple(function(item) if isinstance(item, _EXPRESSION_PARTS) else item for item in value)
            new = value if all(a is b for a, b in zip(value, new, strict=True)) else new
        else:
            continue
        if new is not value:
            changed[name] = new
    return replace(plan, **changed) if changed else plan


def map_subqueries(plan: Plan, function: Callable[[ScalarSubquery], Expression]) -> Plan:
    """The operator with the scalar subqueries in its own expressions replaced; one that it reads several times stays one."""
    new = {subquery: function(subquery) for subquery in dict.fromkeys(subqueries(plan))}
    if not new:
        return plan

    def replaced(part: Expression) -> Expression:
        return new[part] if isinstance(part, ScalarSubquery) else part

    return map_expressions(plan, lambda own: transform_expression(own, replaced))


def rename_attributes(plan: Plan, names: Mapping[int, str]) -> Plan:
    """The plan with attributes renamed by id wherever they stand, made or read."""

    def rename(value: Any) -> Any:
        if isinstance(value, Attribute):
            new = names.get(value.id, value.name)
            return value if new == value.name else replace(value, name=new)
        return replace_fields(value, (*_EXPRESSION_PARTS, Operator), rename)

    renamed: Plan = rename(plan)
    return renamed
