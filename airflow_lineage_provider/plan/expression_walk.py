"""Walking and rebuilding expressions, generically over dataclass fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar, overload

from airflow_lineage_provider.errors import PlanCheckError
from airflow_lineage_provider.plan.base import ExpressionNode
from airflow_lineage_provider.plan.expressions import Alias, Attribute, Expression, Part, SortKey

Node = TypeVar("Node")


_OF_NO_NODE = frozenset(("str", "int", "bool", "float", "bytes", "None", "tuple", "frozenset"))
"""Types that neither are nodes nor hold any: fields of these alone are not looked into, which of many a plan is half of all."""


@cache
def _can_be_nodes(cls: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls) if not isinstance(f.type, str) or not _OF_NO_NODE.issuperset(re.findall(r"\w+", f.type)))


def node_fields(cls: type) -> tuple[str, ...]:
    """The names of a node's fields that can be nodes, or tuples of them, as its class declares their types."""
    return _can_be_nodes(cls)


def replace_fields(node: Node, classes: tuple[type, ...], function: Callable[[Any], Any]) -> Node:
    """The node with its fields of these classes replaced, also those in tuples; the same object when nothing changes."""
    changed: dict[str, Any] = {}
    for name in node_fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, classes):
            new = function(value)
        elif isinstance(value, tuple) and any(isinstance(item, classes) for item in value):
            new = tuple(function(item) if isinstance(item, classes) else item for item in value)
            if all(a is b for a, b in zip(value, new, strict=True)):
                new = value
        else:
            continue
        if new is not value:
            changed[name] = new
    return replace(node, **changed) if changed else node  # type: ignore[type-var]


def subexpressions(expression: Part) -> tuple[Expression, ...]:
    """The direct parts of an expression, left to right."""
    found: list[Any] = []
    for name in node_fields(type(expression)):
        if isinstance(expression, Alias) and name == "attribute":
            continue
        value = getattr(expression, name)
        if isinstance(value, ExpressionNode):
            found.append(value)
        elif isinstance(value, tuple):
            found.extend(item for item in value if isinstance(item, ExpressionNode))
    return tuple(found)


@overload
def expressions_in(expression: Expression) -> Iterator[Expression]: ...
@overload
def expressions_in(expression: Part) -> Iterator[Part]: ...
def expressions_in(expression: Part) -> Iterator[Part]:
    """Every expression inside, the outermost first."""
    yield expression
    for part in subexpressions(expression):
        yield from expressions_in(part)


def references(expression: Part) -> tuple[Attribute, ...]:
    """The attributes that an expression reads, in order of first use."""
    return tuple(dict.fromkeys(part for part in expressions_in(expression) if isinstance(part, Attribute)))


def map_parts(expression: Node, function: Callable[[Expression], Expression]) -> Node:
    """The expression with each of its direct parts replaced."""
    return replace_fields(expression, (ExpressionNode,), function)


@overload
def transform_expression(expression: Alias, function: Callable[[Expression], Expression]) -> Alias: ...
@overload
def transform_expression(expression: SortKey, function: Callable[[Expression], Expression]) -> SortKey: ...
@overload
def transform_expression(expression: Expression, function: Callable[[Expression], Expression]) -> Expression: ...
@overload
def transform_expression(expression: Part, function: Callable[[Expression], Expression]) -> Part: ...
def transform_expression(expression: Part, function: Callable[[Expression], Expression]) -> Part:
    """Rebuild an expression from its leaves. An alias's own attribute is not an expression and stays."""
    if isinstance(expression, Alias):
        child = transform_expression(expression.child, function)
        return expression if child is expression.child else replace(expression, child=child)
    rebuilt = replace_fields(expression, (ExpressionNode,), lambda part: transform_expression(part, function))
    return rebuilt if isinstance(rebuilt, SortKey) else function(rebuilt)


@overload
def replace_attributes(expression: Alias, new: Mapping[int, Expression]) -> Alias: ...
@overload
def replace_attributes(expression: SortKey, new: Mapping[int, Expression]) -> SortKey: ...
@overload
def replace_attributes(expression: Expression, new: Mapping[int, Expression]) -> Expression: ...
@overload
def replace_attributes(expression: Part, new: Mapping[int, Expression]) -> Part: ...
def replace_attributes(expression: Part, new: Mapping[int, Expression]) -> Part:
    """The expression with references replaced by id."""
    return transform_expression(expression, lambda part: new.get(part.id, part) if isinstance(part, Attribute) else part)


def check_references(operator: str, expressions: Iterable[Expression], available: tuple[Attribute, ...]) -> None:
    """Raise `PlanCheckError` when an expression uses an attribute that is not available."""
    known = {attribute.id for attribute in available}
    for expression in expressions:
        for attribute in references(expression):
            if attribute.id not in known:
                listed = ", ".join(f"{a.name}#{a.id}" for a in available)
                raise PlanCheckError(f"{operator} uses {attribute.name}#{attribute.id}, which no child gives; available: {listed}")
