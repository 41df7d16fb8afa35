"""Which attributes are needed below, given which are wanted above."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Alias, Attribute, attribute_of
from airflow_lineage_provider.plan.walk import children, operators, own_expressions, references, with_children


def needed(plan: o.Plan, wanted: Iterable[Attribute]) -> frozenset[int]:
    """The ids of all attributes, of every operator, that ``wanted`` attributes of the output depend on, conditions included."""
    ids = {attribute.id for attribute in wanted}
    for node in operators(plan):
        match node:
            case o.Project() | o.Aggregate():
                parts: list[Attribute] = [r for column in node.columns if attribute_of(column).id in ids for r in references(column)]
                if isinstance(node, o.Aggregate):
                    parts.extend(r for key in node.keys for r in references(key))
                ids.update(part.id for part in parts)
            case o.FunctionOperator():
                if node.value.id in ids or (node.reason is not None and node.reason.id in ids):
                    ids.update(argument.id for argument in node.arguments)
            case o.Union():
                ids.update(child.output[i].id for i, a in enumerate(node.output) if a.id in ids for child in node.children)
            case o.Distinct():
                ids.update(attribute.id for attribute in node.output)
            case _:
                ids.update(r.id for own in own_expressions(node) for r in references(own))
    return frozenset(ids)


def prune(plan: o.Plan, wanted: Iterable[Attribute]) -> o.Plan:
    """The plan with columns that nothing wanted depends on taken out of projections, aggregations and function operators."""
    return _prune(plan, needed(plan, wanted))


def _prune(node: o.Plan, ids: frozenset[int]) -> o.Plan:
    if isinstance(node, o.FunctionOperator) and node.value.id not in ids:
        return _prune(node.child, ids)
    rebuilt = with_children(node, tuple(_prune(child, ids) for child in children(node))) if not isinstance(node, o.Union) else node
    if isinstance(rebuilt, o.Project):
        kept = tuple(column for column in rebuilt.columns if attribute_of(column).id in ids)
        return o.Project(child=rebuilt.child, columns=kept or rebuilt.columns[:1]) if kept != rebuilt.columns else rebuilt
    if isinstance(rebuilt, o.Aggregate):
        keys = len(rebuilt.keys)
        kept_calls = tuple(column for column in rebuilt.columns[keys:] if isinstance(column, Alias) and column.attribute.id in ids)
        # A global aggregation keeps one function: without any it would be a relation without columns.
        kept_calls = kept_calls or (() if keys else rebuilt.columns[:1])  # type: ignore[assignment]
        return o.Aggregate(child=rebuilt.child, keys=rebuilt.keys, columns=rebuilt.columns[:keys] + kept_calls)
    return rebuilt


__all__ = ["needed", "prune"]
