"""Catalyst's logical operators to ours, one small converter per class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from airflow_lineage_provider.catalyst import expressions as convert_expressions
from airflow_lineage_provider.catalyst import python_maps
from airflow_lineage_provider.catalyst.context import Context
from airflow_lineage_provider.catalyst.generators import expand, generate
from airflow_lineage_provider.catalyst.partitions import repartition
from airflow_lineage_provider.catalyst.python_aggregates import has_python_aggregates, python_aggregate
from airflow_lineage_provider.catalyst.samples import sample
from airflow_lineage_provider.catalyst.set_operations import deduplicate, except_, intersect
from airflow_lineage_provider.catalyst.single_joins import single_join
from airflow_lineage_provider.catalyst.table_functions import bin_by, script
from airflow_lineage_provider.catalyst.tree import TreeNode, decode, object_name
from airflow_lineage_provider.catalyst.windows import window
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Alias, Attribute, Call, Expression, Literal, Named, attribute_of

Converter = Callable[[TreeNode, Context], o.Plan]

SEQUENCE = "distributed_sequence_id"
"""The function that stands for the default index of pandas on Spark, which has no SQL text."""

_JOINS: Mapping[str, o.JoinKind] = {
    "Inner": "inner", "Cross": "cross", "LeftOuter": "left", "RightOuter": "right", "FullOuter": "full", "LeftSemi": "left_semi",
    "LeftAnti": "left_anti", "ExistenceJoin": "existence",
}  # fmt: skip
_OF_SUBQUERIES = ("left_semi", "left_anti", "existence")
_TRUE = Literal(value="true", type="boolean")


def operator(node: TreeNode, context: Context) -> o.Plan:
    """An operator of ours for one of Catalyst's, and everything below it.

    :raises UnsupportedOperator: it, or an expression in it, has no defined lineage; the message names it and its place.
    """
    convert = _OPERATORS.get(node.name)
    if convert is not None:
        here = context if convert is _stripped or node.name in _SILENT else context.at(node.name)
        return convert(node, here)
    over = _OVER_PLANS.get(node.name)
    if over is not None:
        here = context.at(node.name)
        return over(node, tuple([operator(child, here) for child in node.children]), here)
    if "leaf" in node.fields:
        return _source(node, context.at(node.name))
    what, advice = _KNOWN_GAPS.get(node.name, (f"the operator {node.name}", ""))
    return context.at(node.name).refuse(what, *((advice,) if advice else ()))


def _only_child(node: TreeNode, context: Context) -> o.Plan:
    return operator(node.children[0], context)


def _stripped(node: TreeNode, context: Context) -> o.Plan:
    return _only_child(node, context)


def _source(node: TreeNode, context: Context) -> o.Plan:
    if node.fields.get("isStreaming") is True:
        context.refuse("a streaming source", "Run the pipeline over a batch (spark.read instead of spark.readStream)")
    if node.name not in _LEAVES:
        context.refuse(f"reading from {node.name}")
    leaf = int(node.fields["leaf"])
    output = () if node.name == "OneRowRelation" else tuple(convert_expressions.attribute_json(a, context) for a in node.trees("output"))
    context.visited.append(leaf)
    relation = context.relations[leaf]
    columns = tuple(a.name for a in output)
    if relation.kind != "local" and node.name != "OneRowRelation":
        columns = tuple(str(tree.fields["name"]) for tree in node.trees("output"))  # as the table has them, empty names among them
    return o.Source(relation=relation, output=output, columns=columns, leaf=len(context.visited) - 1)


def _project(node: TreeNode, context: Context) -> o.Plan:
    child = _only_child(node, context)
    inside = context.over(child.output)
    columns = tuple([convert_expressions.named(column, inside) for column in node.trees("projectList")])
    return o.Project(child=child, columns=_once(columns, context))


def _once(columns: tuple[Named, ...], context: Context) -> tuple[Named, ...]:
    """Every attribute once: ``SELECT id, id`` gives the second a new number, since an attribute is one column."""
    seen: set[int] = set()
    found: list[Named] = []
    for column in columns:
        attribute = attribute_of(column)
        if attribute.id in seen:
            made = Attribute(id=next(context.fresh), name=attribute.name, type=attribute.type, nullable=attribute.nullable)
            column = Alias(child=attribute if isinstance(column, Attribute) else column.child, attribute=made)
        seen.add(attribute_of(column).id)
        found.append(column)
    return tuple(found)


def _numbered_rows(node: TreeNode, context: Context) -> o.Plan:
    """The default index of pandas on Spark: nearly always made and then left out. What reads it cannot be run
    again (`spark.capturing.capture`).
    """
    child = _only_child(node, context)
    number = node.tree("sequenceAttr")
    if number is None:
        context.refuse("AttachDistributedSequence without its column")
    made = Alias(child=Call(function=SEQUENCE, arguments=(), type="bigint"), attribute=convert_expressions.attribute_json(number, context))
    return o.Project(child=child, columns=(made, *child.output))


def _filter(node: TreeNode, context: Context) -> o.Plan:
    child = _only_child(node, context)
    return o.Filter(child=child, condition=_expression(node, "condition", context.over(child.output)))


def _expression(node: TreeNode, field: str, context: Context) -> Expression:
    tree = node.tree(field)
    if tree is None:
        context.refuse(f"{node.name} without its {field}")
    return convert_expressions.expression(tree, context)


def _join(node: TreeNode, context: Context) -> o.Plan:
    join_type = node.fields["joinType"]
    name = object_name(join_type)
    kind = _JOINS.get(name)
    if kind is None and name != "LeftSingle":
        context.refuse(f"a join of type {name}")
    left, right = (operator(child, context) for child in node.children)
    clash = {a.id for a in left.output} & {a.id for a in right.output}
    if clash and kind not in _OF_SUBQUERIES:
        context.refuse("a self-join whose sides Spark has not told apart")
    condition = _expression(node, "condition", context.over(left.output, right.output)) if node.tree("condition") else None
    if kind in _OF_SUBQUERIES and condition == _TRUE:
        # What Spark before 4.2 has for an EXISTS that reads nothing of the outer query.
        condition = None
    if kind is None:
        return single_join(left, right, condition, context)
    exists = convert_expressions.attribute_json(decode(join_type["exists"]), context) if kind == "existence" else None
    return o.Join(left=left, right=right, kind=kind, condition=condition, exists=exists)


def _aggregate(node: TreeNode, context: Context) -> o.Plan:
    child = _only_child(node, context)
    if has_python_aggregates(node):
        return python_aggregate(node, child, context)
    inside = context.over(child.output)
    keys = tuple([convert_expressions.expression(key, inside.at("GROUP BY")) for key in node.trees("groupingExpressions")])
    context.check_groups(keys)
    columns = tuple([convert_expressions.named(column, inside) for column in node.trees("aggregateExpressions")])
    return o.Aggregate(child=child, keys=keys, columns=_once(columns, context), domain=node.fields.get("domain") is True)


def _union(node: TreeNode, context: Context) -> o.Plan:
    if node.fields.get("byName"):
        context.refuse("a union by name that Spark has not resolved")
    inputs = tuple([operator(child, context.at(f"input {number}")) for number, child in enumerate(node.children, 1)])
    # As in Catalyst, the union's columns go by the first input's numbers; a column is nullable when it is in any input.
    output = tuple(
        Attribute(id=first.id, name=first.name, type=first.type, nullable=any(plan.output[i].nullable for plan in inputs))
        for i, first in enumerate(inputs[0].output)
    )
    return o.Union(children=inputs, output=output)


def _distinct(node: TreeNode, context: Context) -> o.Plan:
    return o.Distinct(child=_only_child(node, context))


def _sort(node: TreeNode, context: Context) -> o.Plan:
    child = _only_child(node, context)
    order = tuple([convert_expressions.sort_key(key, context.over(child.output)) for key in node.trees("order")])
    return o.Sort(child=child, order=order, is_global=bool(node.fields["global"]))


def _global_limit(node: TreeNode, context: Context) -> o.Plan:
    """LIMIT, over OFFSET where both are said: the offset is skipped first. A LocalLimit below only helps the executors."""
    count = _number(node, "limitExpr", context)
    below = node.children[0]
    if below.name == "LocalLimit":
        below = below.children[0]
    offset = 0
    if below.name == "Offset":
        offset, below = _number(below, "offsetExpr", context), below.children[0]
    return o.Limit(child=operator(below, context), count=count, offset=offset)


def _offset(node: TreeNode, context: Context) -> o.Plan:
    return o.Limit(child=_only_child(node, context), count=None, offset=_number(node, "offsetExpr", context))


def _number(node: TreeNode, field: str, context: Context) -> int:
    tree = node.tree(field)
    if tree is None or tree.name != "Literal" or tree.fields["value"] is None:
        context.refuse(f"{node.name} with an expression for its number", "Write the number itself")
    return int(tree.fields["value"])


def _with_cte(node: TreeNode, context: Context) -> o.Plan:
    """Common table expressions: each reference becomes a copy of the definition."""
    body = node.child("plan")
    definitions = [node.children[number] for number in node.fields["cteDefs"]]
    found = {**context.ctes, **{int(definition.fields["id"]): definition for definition in definitions}}
    return operator(body, replace(context, ctes=found))


def _cte_reference(node: TreeNode, context: Context) -> o.Plan:
    number = int(node.fields["cteId"])
    if node.fields.get("recursive") or number not in context.ctes:
        context.refuse("a recursive common table expression")
    child = operator(context.ctes[number].children[0], context)
    wanted = tuple(convert_expressions.attribute_json(a, context) for a in node.trees("output"))
    if tuple(a.id for a in wanted) == tuple(a.id for a in child.output):
        return child
    columns = tuple(Alias(child=made, attribute=new) for made, new in zip(child.output, wanted, strict=True))
    return o.Project(child=child, columns=columns)


_SILENT: frozenset[str] = frozenset({"WithCTE", "CTERelationRef"})
_LEAVES = frozenset({
    "LogicalRelation", "LogicalRelationWithTable", "DataSourceV2Relation", "DataSourceV2ScanRelation", "HiveTableRelation", "Range",
    "LocalRelation", "LogicalRDD", "OneRowRelation", "ExternalRDD",
})  # fmt: skip
_KNOWN_GAPS: Mapping[str, tuple[str, str]] = {
    "Tail": ("tail", "Sort the other way round and use limit"),
    "LateralJoin": ("a lateral join that Spark cannot make a plain join", "Join the two tables by their columns"),
    "UnionLoop": ("a recursive query", "Write the steps out, or compute the hierarchy in an earlier step"),
    "AsOfJoin": ("an as-of join", "Number the candidates with row_number() over a window and keep the first"),
    "TransformWithStateInPySpark": ("transformWithState", "Run the pipeline over a batch with applyInPandas"),
    "FlatMapGroupsInPandasWithState": ("applyInPandasWithState", "Run the pipeline over a batch with applyInPandas"),
    "DeduplicateWithinWatermark": ("dropDuplicatesWithinWatermark", "Run the pipeline over a batch with dropDuplicates"),
}
_OVER_PLANS: Mapping[str, Callable[[TreeNode, tuple[o.Plan, ...], Context], o.Plan]] = {
    "Window": window,
    "Generate": generate,
    "Expand": expand,
    "Intersect": intersect,
    "Except": except_,
    "Deduplicate": deduplicate,
    "Sample": sample,
    "ScriptTransformation": script,
    "BinBy": bin_by,
    "Repartition": repartition,
    "RepartitionByExpression": repartition,
    "RebalancePartitions": repartition,
    **dict.fromkeys(python_maps.CLASSES, python_maps.python_map),
}
_OPERATORS: Mapping[str, Converter] = {
    "Project": _project,
    "Filter": _filter,
    "AttachDistributedSequence": _numbered_rows,
    "Join": _join,
    "Aggregate": _aggregate,
    "Union": _union,
    "Distinct": _distinct,
    "Sort": _sort,
    "GlobalLimit": _global_limit,
    "LocalLimit": _stripped,
    "Offset": _offset,
    "WithCTE": _with_cte,
    "CTERelationRef": _cte_reference,
    "SubqueryAlias": _stripped,
    "View": _stripped,
    "ResolvedHint": _stripped,
    "CollectMetrics": _stripped,
    "EventTimeWatermark": _stripped,  # means nothing in a batch; streams are refused where they are read
    "PipeOperator": _stripped,
}
