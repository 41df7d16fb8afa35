"""Every attribute is made at one place, and no operator gives one twice.

Before: ``SELECT id, id FROM q JOIN q AS r`` where a view or CTE that stands twice brings the same ids twice.
After: each place has ids of its own (from 0, left to right from the leaves), and the repeated ``id`` is an alias.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Alias, Attribute, Named, attribute_of
from airflow_lineage_provider.plan.walk import children, replace_attributes

Scope = dict[int, Attribute]
New = Callable[[Attribute], Attribute]


def unique_attributes(plan: o.Plan) -> o.Plan:
    """The plan with attributes numbered anew; see the module's text."""
    numbers = count()
    return _rebuild(plan, lambda attribute: replace(attribute, id=next(numbers)))[0]


def _rebuild(plan: o.Plan, new: New) -> tuple[o.Plan, Scope]:
    if isinstance(plan, o.Source | o.SegmentOutput):
        output = tuple(new(attribute) for attribute in plan.output)
        return replace(plan, output=output), _scope(plan.output, output)
    if isinstance(plan, o.Union):
        inputs = tuple(_rebuild(child, new)[0] for child in plan.children)
        output = tuple(new(attribute) for attribute in plan.output)
        return o.Union(children=inputs, output=output), _scope(plan.output, output)
    rebuilt = [_rebuild(child, new) for child in children(plan)]
    scope: Scope = {number: attribute for _, inner in rebuilt for number, attribute in inner.items()}
    return _in_scope(plan, tuple(child for child, _ in rebuilt), scope, new)


def _in_scope(plan: o.Plan, inputs: tuple[o.Plan, ...], scope: Scope, new: New) -> tuple[o.Plan, Scope]:
    match plan:
        case o.Project():
            columns = _columns(plan.columns, scope, new)
            return o.Project(child=inputs[0], columns=columns), _scope(plan.output, tuple(map(attribute_of, columns)))
        case o.Aggregate():
            columns = _columns(plan.columns, scope, new)
            keys = tuple(replace_attributes(key, scope) for key in plan.keys)
            return o.Aggregate(child=inputs[0], keys=keys, columns=columns), _scope(plan.output, tuple(map(attribute_of, columns)))
        case o.Filter():
            return o.Filter(child=inputs[0], condition=replace_attributes(plan.condition, scope)), scope
        case o.Join():
            condition = None if plan.condition is None else replace_attributes(plan.condition, scope)
            return o.Join(left=inputs[0], right=inputs[1], kind=plan.kind, condition=condition), scope
        case o.Sort():
            order = tuple(replace(key, child=replace_attributes(key.child, scope)) for key in plan.order)
            return o.Sort(child=inputs[0], order=order, is_global=plan.is_global), scope
        case o.Distinct():
            return o.Distinct(child=inputs[0]), scope
        case o.Limit():
            return o.Limit(child=inputs[0], count=plan.count, offset=plan.offset), scope
    raise TypeError(f"unique_attributes does not know {type(plan).__name__}: it runs before function operators are pulled out")


def _columns(columns: tuple[Named, ...], scope: Scope, new: New) -> tuple[Named, ...]:
    result: list[Named] = []
    given: set[int] = set()
    for column in columns:
        if isinstance(column, Alias):
            made: Named = Alias(child=replace_attributes(column.child, scope), attribute=new(column.attribute))
        else:
            reference = scope[column.id]
            made = Alias(child=reference, attribute=new(reference)) if reference.id in given else reference
        given.add(attribute_of(made).id)
        result.append(made)
    return tuple(result)


def _scope(old: tuple[Attribute, ...], new: tuple[Attribute, ...]) -> Scope:
    """Old id to new attribute; of an id that stands twice, the first (both hold the same value)."""
    scope: Scope = {}
    for before, after in zip(old, new, strict=True):
        scope.setdefault(before.id, after)
    return scope
