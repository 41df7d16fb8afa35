"""Aggregate functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from airflow_lineage_provider.catalyst import functions
from airflow_lineage_provider.catalyst.context import Context
from airflow_lineage_provider.catalyst.tree import TreeNode, decode, object_name
from airflow_lineage_provider.plan.expressions import AggregateCall, Call, Direction, Expression, Literal, UdfCall


def aggregate_call(
    node: TreeNode, context: Context, expression: Callable[[TreeNode, Context], Expression]
) -> AggregateCall | Call | UdfCall:
    """An ``AggregateExpression``: its function, DISTINCT and FILTER. A pivot's is an array of them, one in Python a call of
    a UDF (`catalyst.python_aggregates`).

    :raises UnsupportedOperator: the function has no SQL name, or is not a whole aggregation.
    """
    if object_name(node.fields["mode"]) != "Complete":
        context.refuse("an aggregate function that is split into steps")
    function = node.child("aggregateFunction")
    if function.name == "PivotFirst":
        return _pivoted(function, context, expression)
    if function.name == "PythonUDAF":
        return _python(node, function, context, expression)
    if function.name in ("ScalaAggregator", "ScalaUDAF", "TypedAggregateExpression"):
        context.refuse(f"the aggregate function {function.fields.get('name') or function.name}", _ADVICE)
    function, children, directions = _within_group(function)
    called = functions.call(function, tuple([expression(child, context) for child in children]), context)
    return AggregateCall(
        function=called.function, arguments=called.arguments, type=called.type, distinct=bool(node.fields["isDistinct"]),
        filter=_filter(node, context, expression), within_group=directions,
    )  # fmt: skip


def _python(node: TreeNode, function: TreeNode, context: Context, expression: Callable[[TreeNode, Context], Expression]) -> UdfCall:
    if node.fields["isDistinct"] or len(node.children) > 1:
        context.refuse(f"the Python aggregate function {function.fields['name']} with DISTINCT or FILTER", "Filter the rows first")
    call = expression(function, context)
    assert isinstance(call, UdfCall)
    return call


def _within_group(node: TreeNode) -> tuple[TreeNode, Sequence[TreeNode], tuple[Direction, ...]]:
    """An aggregate function that may sort its group: the node without what says so, its arguments (sort keys last), and the directions."""
    if node.name in ("PercentileCont", "PercentileDisc") and isinstance(node.fields.get("reverse"), bool):
        direction: Direction = "desc nulls last" if node.fields["reverse"] else "asc nulls first"
        return functions.without(node, "reverse"), node.children[::-1], (direction,)
    if node.name == "Mode" and isinstance(node.fields.get("reverseOpt"), bool):
        # The smallest or largest of the most frequent values: mode() WITHIN GROUP (ORDER BY …), of which mode(…, true) is the first.
        mode: Direction = "asc nulls first" if node.fields["reverseOpt"] else "desc nulls last"
        return functions.without(node, "reverseOpt"), node.children, (mode,)
    if node.name == "ListAgg" and node.fields.get("orderExpressions"):
        keys = [child for child in node.children if child.name == "SortOrder"]
        others = [child for child in node.children if child.name != "SortOrder"]
        arguments = [*others, *(key.children[0] for key in keys)]
        return functions.without(node, "orderExpressions"), arguments, tuple(_direction(key) for key in keys)
    return node, node.children, ()


def _direction(key: TreeNode) -> Direction:
    ascending = object_name(key.fields["direction"]) == "Ascending"
    first = object_name(key.fields["nullOrdering"]) == "NullsFirst"
    if ascending:
        return "asc nulls first" if first else "asc nulls last"
    return "desc nulls first" if first else "desc nulls last"


def _pivoted(node: TreeNode, context: Context, expression: Callable[[TreeNode, Context], Expression]) -> Call:
    """One value for each pivot value, of the one row of the group that has it: its maximum, which is the same in every run."""
    column, value = (expression(node.child(field), context) for field in ("pivotColumn", "valueColumn"))
    texts, parts = node.fields["pivotColumnValues"], node.fields.get("pivotColumnParts")
    if texts is None and parts is None:
        context.refuse(f"a pivot by a column of type {column.type}", "Pivot by a string or a number made of it")
    chosen = [expression(decode([part]), context) for part in parts] if parts else [Literal(value=text, type=column.type) for text in texts]
    calls = tuple(
        AggregateCall(
            function="max", arguments=(value,), type=value.type, filter=Call(function="<=>", arguments=(column, one), type="boolean")
        )
        for one in chosen
    )
    return Call(function="array", arguments=calls, type=f"array<{value.type}>")


def _filter(node: TreeNode, context: Context, expression: Callable[[TreeNode, Context], Expression]) -> Expression | None:
    # The function is the first child; a FILTER is the other one.
    return expression(node.children[1], context) if len(node.children) > 1 else None


_ADVICE = "Use built-in aggregate functions, or collect the group with collect_list and call a UDF on the list"
