"""What people call the leaves of a plan: the view's or table's name directly above, if there is one."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_lineage_provider.catalyst.tree import TreeNode

# Between a table and its view they change neither rows nor columns.
_SAME_ROWS = frozenset({"Repartition", "RepartitionByExpression", "RebalancePartitions", "ResolvedHint"})


def leaf_names(root: TreeNode) -> tuple[str, ...]:
    """For each leaf that reads data, left to right: the nearest view or alias directly above it, or ``""``.

    A view's name wins over aliases: ``FROM client AS c`` reads ``client``.
    """
    return tuple(_names(root, ()))


def _names(node: TreeNode, above: tuple[TreeNode, ...]) -> Iterator[str]:
    if not node.children:
        if node.name != "CTERelationRef":
            yield _name(above)
        return
    inside = (*above, node) if node.name in ("SubqueryAlias", "View") else above if node.name in _SAME_ROWS else ()
    for child in node.children:
        yield from _names(child, inside)


def _name(above: tuple[TreeNode, ...]) -> str:
    views = [node for node in above if node.name == "View"]
    if views:
        return str(views[-1].fields["desc"]["identifier"]["table"])
    return str(above[-1].fields["identifier"]["name"]) if above else ""
