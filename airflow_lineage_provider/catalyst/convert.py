"""A captured plan's document to the operator tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from airflow_lineage_provider.catalyst.context import Context, Settings
from airflow_lineage_provider.catalyst.operators import operator
from airflow_lineage_provider.catalyst.tree import all_nodes, decode
from airflow_lineage_provider.errors import PlanError, UnsupportedOperator
from airflow_lineage_provider.plan.operators import Plan, Relation


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

    ``document`` is ``toJSON()`` of the plan, completed by `spark.document` (types, evaluation modes); ``function_names``
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
    return Converted(plan=operator(root, context), leaves=tuple(visited))


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
