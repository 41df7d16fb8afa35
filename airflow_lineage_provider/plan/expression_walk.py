"""Walking and rebuilding expressions, generically over dataclass fields."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar

from airflow_lineage_provider.plan.base import ExpressionNode
from airflow_lineage_provider.plan.expressions import Alias, Attribute, Expression, SortKey

Node = TypeVar("Node")


@cache
def _names(cls: Hashable) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls))  # type: ignore[arg-type]


def field_names(cls: Any) -> tuple[str, ...]:
    """The names of a node's fields."""
    return _names(cls)


def replace_fields(node: Node, classes: tuple[type, ...], function: Callable[[Any], Any]) -> Node:
    """The node with its fields of these classes replaced, also those in tuples; the same object when nothing changes."""
    changed: dict[str, Any] = {}
    for name in field_names(type(node)):
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


def subexpressions(expression: Expression | Alias | SortKey) -> tuple[Any, ...]:
    """The direct parts of an expression, left to right."""
    found: list[Any] = []
    for name in field_names(type(expression)):
        if isinstance(expression, Alias) and name == "attribute":
            continue
        value = getattr(expression, name)
        if isinstance(value, ExpressionNode):
            found.append(value)
        elif isinstance(value, tuple):
            found.extend(item for item in value if isinstance(item, ExpressionNode))
    return tuple(found)


def expressions_in(expression: Expression | Alias | SortKey) -> Iterator[Any]:
    """Every expression inside, the outermost first."""
    yield expression
    for part in subexpressions(expression):
        yield from expressions_in(part)


def references(expression: Expression | Alias | SortKey) -> tuple[Attribute, ...]:
    """The attributes that an expression reads, in order of first use."""
    return tuple(dict.fromkeys(part for part in expressions_in(expression) if isinstance(part, Attribute)))


def map_parts(expression: Any, function: Callable[[Any], Any]) -> Any:
    """The expression with each of its direct parts replaced."""
    return replace_fields(expression, (ExpressionNode,), function)


def transform_expression(expression: Any, function: Callable[[Any], Any]) -> Any:
    """Rebuild an expression from its leaves. An alias's own attribute is not an expression and stays."""
    if isinstance(expression, Alias):
        child = transform_expression(expression.child, function)
        return expression if child is expression.child else replace(expression, child=child)
    rebuilt = replace_fields(expression, (ExpressionNode,), lambda part: transform_expression(part, function))
    return rebuilt if isinstance(rebuilt, SortKey) else function(rebuilt)


def replace_attributes(expression: Any, new: Mapping[int, Expression]) -> Any:
    """The expression with references replaced by id."""
    return transform_expression(expression, lambda part: new.get(part.id, part) if isinstance(part, Attribute) else part)
