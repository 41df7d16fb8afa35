"""A captured plan's document to the operator tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from airflow_lineage_provider.catalyst.context import Context, Settings
from airflow_lineage_provider.catalyst.operators import operator
from airflow_lineage_provider.catalyst.tree import all_nodes, decode
from airflow_lineage_provider.errors import PlanError, UnsupportedOperator
from airflow_lineage_provider.plan.operators import Aggregate, Plan, Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.walk import children, map_subqueries, with_children


@dataclass(frozen=True, kw_only=True)
class Converted:
    """The operator tree, and for each of its sources (in the order of ``Source.leaf``) the number of the analyzed plan's leaf.

    A common table expression that is used twice makes two sources of one leaf.
    """

    plan: Plan
    leaves: tuple[int, ...]


def convert(
    document: Sequence[Mapping[str, Any]],
    *,
    function_names: Mapping[str, str],
    relations: Sequence[Relation],
    settings: Settings | None = None,
) -> Converted:
    """The operator tree of an analyzed plan.

    ``document`` is ``toJSON()`` of the plan, completed by `spark.capturing.document` (types, evaluation modes); ``function_names``
    maps expression classes to SQL names; ``relations`` describe the plan's leaves by their numbers in the document.

    :raises UnsupportedOperator: something in the plan has no defined lineage; the message names it, its place and a way out.
    :raises PlanError: the document is not a plan, or does not fit the relations.
    """
    try:
        return _converted(document, function_names, relations, settings or Settings())
    except RecursionError as problem:
        raise UnsupportedOperator("the plan is nested too deeply to be read: write an intermediate result to a table") from problem


def _converted(
    document: Sequence[Mapping[str, Any]], function_names: Mapping[str, str], relations: Sequence[Relation], settings: Settings
) -> Converted:
    root = decode(document)
    leaves = {int(node.fields["leaf"]) for node in all_nodes(root) if "leaf" in node.fields}
    if leaves != set(range(len(relations))):
        raise PlanError(f"{len(relations)} relations for a plan with {len(leaves)} leaves")
    visited: list[int] = []
    highest = _highest_id(document)
    context = Context(
        function_names=function_names, settings=settings, relations=relations, visited=visited, operator=operator,
        highest_id=highest, fresh=count(highest + 1),
    )  # fmt: skip
    plan, numbers = _with_numbered_leaves(operator(root, context), visited)
    return Converted(plan=plan, leaves=numbers)


def _with_numbered_leaves(plan: Plan, visited: Sequence[int]) -> tuple[Plan, tuple[int, ...]]:
    """The plan with the numbers of its leaves, left to right, and the analyzed plan's leaf of each.

    A subquery that stands in several operators reads its tables at each of them, within one operator once. A domain reads
    the outer query's tables: a copy's columns have the numbers of the original's.
    """
    leaves: list[int] = []
    originals: dict[tuple[int, ...], int] = {}

    def numbered(source: Source, in_domain: bool) -> Source:
        columns = tuple(a.id for a in source.output)
        if in_domain and columns in originals:
            return replace(source, leaf=originals[columns])
        leaves.append(visited[source.leaf])
        originals[columns] = len(leaves) - 1
        return replace(source, leaf=len(leaves) - 1)

    def rebuilt(node: Plan, in_domain: bool) -> Plan:
        if isinstance(node, Source):
            return numbered(node, in_domain)
        below = in_domain or (isinstance(node, Aggregate) and node.domain)
        whole = with_children(node, tuple(rebuilt(child, below) for child in children(node)))
        return map_subqueries(whole, lambda one: replace(one, plan=rebuilt(one.plan, below)))

    return rebuilt(plan, False), tuple(leaves)


def _highest_id(value: Any) -> int:
    """The highest expression id in a document."""
    highest, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            if str(item.get("product-class", "")).endswith(".ExprId"):
                highest = max(highest, int(item["id"]))
            else:
                waiting.extend(item.values())
        elif isinstance(item, list | tuple):
            waiting.extend(item)
    return highest
