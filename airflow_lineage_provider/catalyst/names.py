"""What people call the leaves of a plan (the view's or table's name directly above, if there is one), and its Python functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from airflow_lineage_provider.catalyst.tree import TreeNode, all_nodes, expression_id

# Between a table and its view they change neither rows nor columns.
_SAME_ROWS = frozenset({"Repartition", "RepartitionByExpression", "RebalancePartitions", "ResolvedHint"})
Columns = tuple[int, ...]


def udf_name(call: TreeNode) -> str:
    """The name of a Python function, as people can write it: ``lambda`` for every one that has none."""
    name = str(call.fields["name"])
    return "lambda" if name == "<lambda>" else name


def leaf_names(root: TreeNode) -> Mapping[int, str]:
    """For each leaf that reads data, by its number: the nearest view or alias directly above it, or ``""``.

    A view's name wins over aliases: ``FROM client AS c`` reads ``client``.
    """
    return {int(leaf.fields["leaf"]): name for leaf, name in _named_leaves(root) if "leaf" in leaf.fields}


def names_by_columns(root: TreeNode) -> Mapping[Columns, str]:
    """The same by the numbers of a leaf's columns, which stay when the plan around it is changed."""
    names: dict[Columns, str] = {}
    for leaf, name in _named_leaves(root):
        names.setdefault(columns_of(leaf), name)
    return names


def columns_of(leaf: TreeNode) -> Columns:
    """The numbers of a leaf's columns."""
    return tuple(expression_id(column.fields["exprId"]) for column in leaf.trees("output")) if leaf.fields.get("output") else ()


def _named_leaves(root: TreeNode) -> Iterator[tuple[TreeNode, str]]:
    above: dict[TreeNode, tuple[TreeNode, ...]] = {}
    for node in all_nodes(root):
        outer = above.get(node, ())
        if not node.children and node.name != "CTERelationRef":
            yield node, _name(outer)
        inside = (*outer, node) if node.name in ("SubqueryAlias", "View") else outer if node.name in _SAME_ROWS else ()
        above.update(dict.fromkeys(node.children, inside))


def _name(above: tuple[TreeNode, ...]) -> str:
    views = [node for node in above if node.name == "View"]
    if views:
        return str(views[-1].fields["desc"]["identifier"]["table"])
    return str(above[-1].fields["identifier"]["name"]) if above else ""
