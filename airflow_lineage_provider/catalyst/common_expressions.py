"""``With``: an expression that is used several times inside another (BETWEEN makes one), written out where it is used."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_lineage_provider.catalyst.context import Context
from airflow_lineage_provider.catalyst.tree import TreeNode, nodes

_RANDOM = {"Rand", "Randn", "Uuid", "Shuffle", "RandStr", "Uniform", "MonotonicallyIncreasingID"}


def inlined(node: TreeNode, context: Context) -> TreeNode:
    """The body of a ``With`` with every reference replaced by what it stands for.

    A Python UDF may be written out twice: its calls keep their result id, by which they are known to be one.

    :raises UnsupportedOperator: a random expression is used more than once: two copies would be two values.
    """
    body, *definitions = node.children
    by_id = {_number(definition, context): definition.children[0] for definition in definitions}
    uses = [_number(part, context) for part in nodes(body) if part.name == "CommonExpressionRef"]
    for number, definition in by_id.items():
        if uses.count(number) > 1 and any(part.name in _RANDOM for part in nodes(definition)):
            context.refuse("a random expression that is used more than once", "Compute it in a column of its own first")
    return _replace(body, by_id, context)


def _number(node: TreeNode, context: Context) -> str:
    """The id that ties a reference to its definition."""
    number = node.fields.get("id")
    if number is None:
        context.refuse("a common expression without its id", "Capture the plan again with this release")
    return str(number)


def _replace(node: TreeNode, by_id: Mapping[str, TreeNode], context: Context) -> TreeNode:
    if node.name == "CommonExpressionRef":
        # An inner WITH has references of its own, which its own conversion replaces.
        return by_id.get(_number(node, context), node)
    children = tuple([_replace(child, by_id, context) for child in node.children])
    return TreeNode(node.class_name, node.fields, children, node.position)
