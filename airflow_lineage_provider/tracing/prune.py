"""Which attributes are needed below, given which are wanted above."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import no_rule
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.plan.expressions import TRUE, Alias, Attribute, Named, attribute_of
from airflow_lineage_provider.plan.walk import children, operators, own_expressions, transform_up, with_children
from airflow_lineage_provider.rewrite.fresh import FreshAttributes


def needed(plan: o.Plan, wanted: Iterable[Attribute]) -> frozenset[int]:
    """The ids of all attributes, of every operator, that ``wanted`` attributes of the output depend on, conditions included."""
    ids = {attribute.id for attribute in wanted}
    for node in operators(plan):
        match node:
            case o.Project():
                ids.update(r.id for column in node.columns if attribute_of(column).id in ids for r in references(column))
            case o.Aggregate():
                ids.update(r.id for part in (*node.keys, *_kept_calls(node, ids)) for r in references(part))
            case o.FunctionOperator():
                if node.value.id in ids or (node.reason is not None and node.reason.id in ids):
                    ids.update(a.id for a in (*node.arguments, *node.keys))
            case o.Union():
                ids.update(child.output[i].id for i, a in enumerate(node.output) if a.id in ids for child in node.children)
            case o.Distinct():
                ids.update(attribute.id for attribute in node.output)
            case o.Window():
                kept = [f for f in node.functions if f.attribute.id in ids]
                ids.update(r.id for part in (*kept, *node.partition, *node.order) for r in references(part) if kept)
            case o.PythonMap():
                ids.update(attribute.id for child in node.children for attribute in child.output)
            case o.Filter() | o.Join() | o.Sort() | o.Generate() | o.Repartition():
                ids.update(r.id for own in own_expressions(node) for r in references(own))
            case o.Source() | o.SegmentOutput() | o.Limit():
                pass
            case _:
                raise no_rule(node, "which columns are needed")
    return frozenset(ids)


def prune(plan: o.Plan, wanted: Iterable[Attribute]) -> o.Plan:
    """The plan without the columns that nothing wanted depends on: a segment's materialization may not even hold them.

    >>> before = project(function(table("T", "a, b"), "credit_exam(b) AS judge"), "a, judge, b + 1 AS total")
    >>> show(prune(before, [before.output[2]]))
    π (b + 1) AS total
      T [a, b]
    """
    return _prune(plan, needed(plan, wanted), FreshAttributes(plan))


def with_sources_pruned(plan: o.Plan) -> o.Plan:
    """The plan over sources with the columns alone that it reads: an engine need not know the types of the others.

    >>> show(with_sources_pruned(project(where(table("T", "a, b, c"), "a > 1"), "b")))
    π b
      σ (a > 1)
        T [a, b]
    """
    ids = needed(plan, plan.output)
    # What stands directly over a source reads all of its columns, or finds them by attribute: a union's branches are pruned first.
    return transform_up(_prune(plan, ids, FreshAttributes(plan)), lambda node: _narrowed(node, ids) if isinstance(node, o.Source) else node)


def _narrowed(source: o.Source, ids: AbstractSet[int]) -> o.Source:
    kept = [(a, name) for a, name in zip(source.output, source.columns, strict=True) if a.id in ids]
    if len(kept) == len(source.output):
        return source
    return replace(source, output=tuple(a for a, _ in kept), columns=tuple(name for _, name in kept))


def _prune(node: o.Plan, ids: AbstractSet[int], fresh: FreshAttributes) -> o.Plan:
    match node:
        case o.FunctionOperator() if node.value.id not in ids and (node.reason is None or node.reason.id not in ids):
            return _prune(node.child, ids, fresh)
        case o.Project():
            kept = tuple(column for column in node.columns if attribute_of(column).id in ids)
            # Where nothing is read but the number of rows, the child's rows are as good.
            return o.Project(child=_prune(node.child, ids, fresh), columns=kept) if kept else _prune(node.child, ids, fresh)
        case o.Aggregate():
            columns = (*node.columns[: len(node.keys)], *_kept_calls(node, ids))
            return replace(node, child=_prune(node.child, ids, fresh), columns=columns)
        case o.Union():
            return _prune_union(node, ids, fresh)
        case o.Window():
            functions = tuple(f for f in node.functions if f.attribute.id in ids)
            return replace(node, child=_prune(node.child, ids, fresh), functions=functions) if functions else _prune(node.child, ids, fresh)
        case o.Join() if node.exists is not None and node.exists.id not in ids:
            return _prune(node.left, ids, fresh)
        case o.SegmentOutput():
            return replace(node, output=tuple(a for a in node.output if a.id in ids))
        case o.Source() | o.Filter() | o.Join() | o.Distinct() | o.Sort() | o.Limit() | o.FunctionOperator() | o.Generate() | o.PythonMap():
            return with_children(node, tuple(_prune(child, ids, fresh) for child in children(node)))
        case o.Repartition():
            return with_children(node, tuple(_prune(child, ids, fresh) for child in children(node)))
    raise no_rule(node, "leaving out columns")


def _prune_union(node: o.Union, ids: AbstractSet[int], fresh: FreshAttributes) -> o.Union:
    """The union of fewer columns, by position. Where only the number of rows is read, a constant stands for them."""
    kept = [i for i, attribute in enumerate(node.output) if attribute.id in ids]
    branches: list[o.Plan] = []
    for child in node.children:
        columns: tuple[Named, ...] = tuple(child.output[i] for i in kept) or (
            Alias(child=TRUE, attribute=fresh.attribute("one", "boolean", nullable=False)),
        )
        pruned = _prune(child, ids, fresh)
        branches.append(pruned if pruned.output == columns else o.Project(child=pruned, columns=columns))
    output = tuple(node.output[i] for i in kept) or (fresh.attribute("one", "boolean", nullable=False),)
    return o.Union(children=tuple(branches), output=output)


def _kept_calls(node: o.Aggregate, ids: AbstractSet[int]) -> tuple[Named, ...]:
    """The functions that are wanted. A global aggregation keeps one: without any it would be a relation without columns."""
    calls = node.columns[len(node.keys) :]
    kept = tuple(call for call in calls if attribute_of(call).id in ids)
    return kept or (() if node.keys else calls[:1])
