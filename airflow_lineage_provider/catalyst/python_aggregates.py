"""Aggregations by Python functions (pandas and Arrow UDFs that make one value of a group's columns).

Before: ``α k; f(x) + 1`` over T. After: ``π k, v + 1`` over ``python aggregated f by k → k, v`` over ``π k, x`` over T.
"""

from __future__ import annotations

from collections.abc import Mapping

from airflow_lineage_provider.catalyst.context import Context
from airflow_lineage_provider.catalyst.expressions import expression, named
from airflow_lineage_provider.catalyst.tree import TreeNode, nodes
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import expressions_in, map_parts

ALL_ROWS = e.Literal(value="true", type="boolean")
"""The key of all rows, where there is no other: no rows are no group, as with a key that all rows share."""


def has_python_aggregates(node: TreeNode) -> bool:
    """Whether an ``Aggregate`` calls Python functions for its groups. Spark lets no other aggregate functions stand beside them."""
    return any(part.name == "PythonUDAF" for tree in node.trees("aggregateExpressions") for part in nodes(tree))


def python_aggregate(node: TreeNode, child: o.Plan, context: Context) -> o.Plan:
    """The operator; see the module's text.

    :raises UnsupportedOperator: an argument or a key cannot be said.
    """
    inside = context.over(child.output)
    grouped = tuple([expression(key, inside.at("GROUP BY")) for key in node.trees("groupingExpressions")]) or (ALL_ROWS,)
    columns = tuple([named(column, inside) for column in node.trees("aggregateExpressions")])
    calls = tuple({call.call: call for column in columns for call in _aggregates(column)}.values())
    keys = tuple(context.alias(f"key_{i}", key) for i, key in enumerate(grouped))
    arguments = tuple(context.alias(f"argument_{i}", one) for i, one in enumerate(one for call in calls for one in call.arguments))
    made = tuple(context.alias(f"key_{i}", key).attribute for i, key in enumerate(grouped))
    values = tuple(context.alias(call.udf, call).attribute for call in calls)
    function = o.PythonMap(
        children=(o.Project(child=child, columns=(*keys, *arguments)),), kind="aggregated", udf=", ".join(call.udf for call in calls),
        call=calls[0].call, eval_type=calls[0].eval_type, output=(*made, *values), keys=tuple(key.attribute for key in keys),
        calls=tuple(call.call for call in calls), widths=tuple(len(call.arguments) for call in calls),
    )  # fmt: skip
    known: dict[e.Expression, e.Attribute] = dict(zip((*grouped, *calls), (*made, *values), strict=True))
    return o.Project(child=function, columns=tuple(_over(column, known) for column in columns))


def _aggregates(column: e.Named) -> list[e.UdfCall]:
    return [part for part in expressions_in(column) if isinstance(part, e.UdfCall) and part.aggregates]


def _over(column: e.Named, known: Mapping[e.Expression, e.Attribute]) -> e.Named:
    """The column with keys and calls replaced by what stands for them, the largest first."""
    if isinstance(column, e.Attribute):
        return e.Alias(child=known[column], attribute=column)
    return e.Alias(child=_replaced(column.child, known), attribute=column.attribute)


def _replaced(whole: e.Expression, known: Mapping[e.Expression, e.Attribute]) -> e.Expression:
    found = known.get(whole)
    return found if found is not None else map_parts(whole, lambda part: _replaced(part, known))
