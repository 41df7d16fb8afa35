"""Python functions over batches or groups of rows: mapInPandas, applyInPandas, their Arrow forms and cogrouped ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal as OneOf

from airflow_lineage_provider.catalyst.context import Context
from airflow_lineage_provider.catalyst.expressions import attribute_json, expression
from airflow_lineage_provider.catalyst.names import udf_name
from airflow_lineage_provider.catalyst.tree import TreeNode, expression_id
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o

_KINDS: Mapping[str, OneOf["map", "grouped", "cogrouped"]] = {
    "MapInPandas": "map", "MapInArrow": "map", "PythonMapInArrow": "map", "FlatMapGroupsInPandas": "grouped",
    "FlatMapGroupsInArrow": "grouped", "FlatMapCoGroupsInPandas": "cogrouped", "FlatMapCoGroupsInArrow": "cogrouped",
}  # fmt: skip
CLASSES = tuple(_KINDS)


def python_map(node: TreeNode, children: tuple[o.Plan, ...], context: Context) -> o.Plan:
    """Each child gives the grouping keys first and then the columns that the function is called with."""
    if node.fields.get("isBarrier"):
        context.refuse(f"{node.name} with barrier=True", "Leave the barrier out")
    call = node.tree("functionExpr")
    if call is None or call.name != "PythonUDF":
        context.refuse(f"{node.name} without its function")
    kind = _KINDS[node.name]
    counts = _key_counts(node, kind)
    inputs, taken = [], 0
    for child, keys in zip(children, counts, strict=True):
        width = len(child.output) - keys
        inside = context.over(child.output)
        given = [expression(argument, inside) for argument in call.children[taken : taken + width]]
        inputs.append(_input(child, keys, given, context))
        taken += width
    if taken != len(call.children):
        context.refuse(f"{node.name} whose function takes other columns than its input has")
    return o.PythonMap(
        children=tuple(inputs), kind=kind, udf=udf_name(call), call=expression_id(call.fields["resultId"]),
        eval_type=int(call.fields["evalType"]), output=tuple([attribute_json(a, context) for a in node.trees("output")]),
        keys=tuple(a for plan, keys in zip(inputs, counts, strict=True) for a in plan.output[:keys]),
    )  # fmt: skip


def _key_counts(node: TreeNode, kind: str) -> tuple[int, ...]:
    match kind:
        case "map":
            return (0,)
        case "grouped":
            return (len(node.trees("groupingAttributes")),)
    return int(node.fields["leftGroupingLen"]), int(node.fields["rightGroupingLen"])


def _input(child: o.Plan, keys: int, given: list[e.Expression], context: Context) -> o.Plan:
    """The child, checked to give the function's columns after its keys."""
    found = [_read(child, attribute) for attribute in child.output[keys:]]
    if found != [part.id if isinstance(part, e.Attribute) else None for part in given]:
        context.refuse("a Python function over other columns than its input has")
    return child


def _read(child: o.Plan, attribute: e.Attribute) -> int:
    """The column that an attribute repeats (a key that is also an argument stands twice), or the attribute itself."""
    if isinstance(child, o.Project):
        for column in child.columns:
            if isinstance(column, e.Alias) and column.attribute.id == attribute.id and isinstance(column.child, e.Attribute):
                given = {a.id for a in child.output}
                return column.child.id if column.child.id in given else attribute.id
    return attribute.id
