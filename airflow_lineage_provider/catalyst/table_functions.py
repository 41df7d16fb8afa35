"""Operators that only Spark itself can run: Python table functions, scripts (``TRANSFORM … USING``), ``BIN BY``.

No SQL text of ours says them. The plan holds what they are given and what they make, and ``call``, the number of the analyzed plan's own
operator, which Spark runs again over the rows below (`spark.executing.table_functions`). What makes rows of one row at a time is a
`Generate`; what sees several rows is a `PythonMap` over its partitions, or over the whole table.
"""

from __future__ import annotations

from airflow_lineage_provider.catalyst.context import Context
from airflow_lineage_provider.catalyst.expressions import attribute_json, expression
from airflow_lineage_provider.catalyst.python_aggregates import ALL_ROWS
from airflow_lineage_provider.catalyst.tree import TreeNode
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o


def table_function(node: TreeNode, generator: TreeNode, child: o.Plan, context: Context) -> o.Plan:
    """A table function in Python. With a TABLE argument it sees the table's rows; else it is called for each row of the child."""
    if generator.fields["takesTable"]:
        return _of_table(node, generator, child, context)
    made = tuple([attribute_json(column, context) for column in node.trees("generatorOutput")])
    inside = context.over(child.output)
    given = tuple([context.alias(f"argument_{i}", expression(_value(one), inside)) for i, one in enumerate(generator.children)])
    over = o.Project(child=child, columns=(*child.output, *given))
    name = str(generator.fields["name"])
    if generator.fields["rowByRow"]:
        call = e.Call(function=name, arguments=tuple(one.attribute for one in given), type="void")
        plan: o.Plan = o.Generate(child=over, generator=call, generated=made, outer=bool(node.fields["outer"]), call=_number(node))
    else:
        plan = _over_rows(over, (), name, (*over.output, *made), node, context)
    unread = {child.output[number].id for number in node.fields["unrequiredChildIndex"]}
    return o.Project(child=plan, columns=tuple(a for a in (*child.output, *made) if a.id not in unread))


def script(node: TreeNode, children: tuple[o.Plan, ...], context: Context) -> o.Plan:
    """``TRANSFORM (…) USING 'script'``: nobody but the script knows which of a partition's rows it makes a row of."""
    output = tuple([attribute_json(column, context) for column in node.trees("output")])
    return _over_rows(children[0], (), str(node.fields["script"]), output, node, context)


def bin_by(node: TreeNode, children: tuple[o.Plan, ...], context: Context) -> o.Plan:
    """``BIN BY``: each row once for every bin that its range meets, with its share of the distributed columns."""
    (child,) = children
    inside = context.over(child.output)
    ends = [node.tree("rangeStart"), node.tree("rangeEnd")]
    read = [expression(tree, inside) for tree in (*ends, *node.trees("distributeColumns")) if tree is not None]
    given = tuple(context.alias(f"argument_{i}", one) for i, one in enumerate(read))
    scaled = tuple([attribute_json(column, context) for column in node.trees("scaledDistributeColumns")])
    added = tuple([attribute_json(column, context) for column in node.trees("appendedAttributes")])
    call = e.Call(function="bin_by", arguments=tuple(one.attribute for one in given), type="void")
    over = o.Project(child=child, columns=(*child.output, *given))
    plan = o.Generate(child=over, generator=call, generated=(*scaled, *added), call=_number(node))
    of = {one.id: share for one, share in zip(read[2:], scaled, strict=True) if isinstance(one, e.Attribute)}
    return o.Project(child=plan, columns=(*(of.get(a.id, a) for a in child.output), *added))


def _of_table(node: TreeNode, generator: TreeNode, child: o.Plan, context: Context) -> o.Plan:
    """Over ``Project struct(…)`` over ``[Sort]`` over ``[Repartition]`` over the table, as Spark has analyzed a TABLE argument."""
    below = node.children[0].children[0]
    table = child.child if isinstance(child, o.Project) else context.refuse("a TABLE argument of a form that is not known")
    if below.name == "Sort" and isinstance(table, o.Sort):
        below, table = below.children[0], table.child
    if isinstance(table, o.Repartition):
        table = table.child
    partition: tuple[e.Expression, ...] = ()
    if below.name == "RepartitionByExpression" and generator.fields["partitioned"]:
        inside = context.over(table.output)
        partition = tuple([expression(tree, inside.at("PARTITION BY")) for tree in below.trees("partitionExpressions")])
        context.check_groups(partition)
    made = tuple([attribute_json(column, context) for column in node.trees("generatorOutput")])
    return _over_rows(table, partition, str(generator.fields["name"]), made, node, context)


def _over_rows(
    table: o.Plan, partition: tuple[e.Expression, ...], name: str, output: tuple[e.Attribute, ...], node: TreeNode, context: Context
) -> o.PythonMap:
    keys = tuple(context.alias(f"partition_{i}", one) for i, one in enumerate(partition or (ALL_ROWS,)))
    over = o.Project(child=table, columns=(*keys, *table.output))
    return o.PythonMap(
        children=(over,), kind="table", udf=name, call=_number(node), eval_type=0, output=output, keys=tuple(key.attribute for key in keys)
    )


def _value(argument: TreeNode) -> TreeNode:
    return argument.children[0] if argument.name == "NamedArgumentExpression" else argument


def _number(node: TreeNode) -> int:
    return int(node.fields["operator"])
