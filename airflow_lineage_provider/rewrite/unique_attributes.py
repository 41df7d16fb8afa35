"""Every attribute is made at one place, and no operator gives one twice.

A view or CTE that stands twice brings the same ids twice. After the pass each place has ids of its own (from 0, left to right from the
leaves), and a column that is repeated is an alias:

>>> q = table("q", "id")
>>> before = project(join(q, q), "id, id")
>>> ids(before.child.output), ids(before.output)
([0, 0], [0, 0])
>>> after = unique_attributes(before)
>>> ids(after.child.output), ids(after.output)
([0, 1], [1, 2])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import no_rule
from airflow_lineage_provider.plan.expression_walk import transform_expression
from airflow_lineage_provider.plan.expressions import Alias, Attribute, Named, attribute_of
from airflow_lineage_provider.plan.walk import children, map_subqueries

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
    plan = map_subqueries(plan, lambda one: replace(one, plan=_rebuild(one.plan, new)[0]))
    match plan:
        case o.Project() | o.Aggregate():
            columns = _columns(plan.columns, scope, new)
            made = _scope(plan.output, tuple(map(attribute_of, columns)))
            if isinstance(plan, o.Project):
                return o.Project(child=inputs[0], columns=columns), made
            keys = tuple(_resolved(key, scope) for key in plan.keys)
            return replace(plan, child=inputs[0], keys=keys, columns=columns), made
        case o.Window():
            functions = tuple(Alias(child=_resolved(f.child, scope), attribute=new(f.attribute)) for f in plan.functions)
            partition = tuple(_resolved(key, scope) for key in plan.partition)
            order = tuple(_resolved(key, scope) for key in plan.order)
            made = _scope(tuple(f.attribute for f in plan.functions), tuple(f.attribute for f in functions))
            return replace(plan, child=inputs[0], functions=functions, partition=partition, order=order), scope | made
        case o.Generate():
            generated = tuple(map(new, plan.generated))
            generate = replace(plan, child=inputs[0], generator=_resolved(plan.generator, scope), generated=generated)
            return generate, scope | _scope(plan.generated, generated)
        case o.PythonMap():
            output = tuple(map(new, plan.output))
            keys = tuple(scope[key.id] for key in plan.keys)
            # The function sees its columns under these names; later passes rename attributes.
            names = tuple(a.name for child in plan.children for a in child.output[plan.group_width :])
            made = _scope(plan.output, output)
            passed, passed_as = tuple(scope[a.id] for a in plan.passed), tuple(made[a.id] for a in plan.passed_as)
            renamed = replace(plan, children=inputs, output=output, keys=keys, columns=names, passed=passed, passed_as=passed_as)
            return renamed, made
        case o.Join(exists=Attribute() as flag):
            exists = new(flag)
            return replace(_joined(plan, inputs, scope), exists=exists), scope | {flag.id: exists}
        case o.Join():
            return _joined(plan, inputs, scope), scope
        case o.Filter():
            return o.Filter(child=inputs[0], condition=_resolved(plan.condition, scope)), scope
        case o.Sort():
            order = tuple(_resolved(key, scope) for key in plan.order)
            return o.Sort(child=inputs[0], order=order, is_global=plan.is_global), scope
        case o.Repartition():
            return replace(plan, child=inputs[0], keys=tuple(scope[key.id] for key in plan.keys)), scope
        case o.Distinct() | o.Limit():
            return replace(plan, child=inputs[0]), scope
        case o.FunctionOperator() | o.Source() | o.SegmentOutput() | o.Union():
            raise TypeError(f"{type(plan).__name__} cannot stand there: attributes are numbered before function operators are pulled out")
    raise no_rule(plan, "numbering attributes")


def _joined(plan: o.Join, inputs: tuple[o.Plan, ...], scope: Scope) -> o.Join:
    condition = None if plan.condition is None else _resolved(plan.condition, scope)
    return replace(plan, left=inputs[0], right=inputs[1], condition=condition)


def _resolved(expression: Any, scope: Scope) -> Any:
    """The expression over the attributes' new numbers; a subquery in it, which reads nothing of them, stays."""
    return transform_expression(expression, lambda part: scope.get(part.id, part) if isinstance(part, Attribute) else part)


def _columns(columns: tuple[Named, ...], scope: Scope, new: New) -> tuple[Named, ...]:
    result: list[Named] = []
    given: set[int] = set()
    for column in columns:
        if isinstance(column, Alias):
            made: Named = Alias(child=_resolved(column.child, scope), attribute=new(column.attribute))
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
