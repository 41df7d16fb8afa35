"""How the user would have rows in partitions: ``repartition``, ``coalesce``, DISTRIBUTE BY, CLUSTER BY, and the hints of these names."""

from __future__ import annotations

from airflow_lineage_provider.catalyst.context import Context
from airflow_lineage_provider.catalyst.expressions import expression
from airflow_lineage_provider.catalyst.tree import TreeNode
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o


def repartition(node: TreeNode, children: tuple[o.Plan, ...], context: Context) -> o.Plan:
    """The rows of the only child in other partitions. A key that is computed becomes a column on the way."""
    (child,) = children
    if node.name == "Repartition":
        spread: o.Spread = "repartition" if node.fields["shuffle"] else "coalesce"
        return o.Repartition(child=child, spread=spread, count=int(node.fields["numPartitions"]))
    trees = node.trees("partitionExpressions")
    inside = context.over(child.output)
    read = [expression(tree.children[0] if tree.name == "SortOrder" else tree, inside) for tree in trees]
    computed = {one: context.alias(f"spread_{i}", one) for i, one in enumerate(read) if not isinstance(one, e.Attribute)}
    below = o.Project(child=child, columns=(*child.output, *computed.values())) if computed else child
    keys = tuple(one if isinstance(one, e.Attribute) else computed[one].attribute for one in read)
    count = node.fields.get("optNumPartitions")
    plan = o.Repartition(child=below, spread=_spread(node, trees), count=None if count is None else int(count), keys=keys)
    return o.Project(child=plan, columns=child.output) if computed else plan


def _spread(node: TreeNode, trees: tuple[TreeNode, ...]) -> o.Spread:
    if node.name == "RebalancePartitions":
        return "rebalance"
    return "repartition_by_range" if any(tree.name == "SortOrder" for tree in trees) else "repartition"
