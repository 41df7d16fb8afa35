"""Operators that make several rows of one: generators (explode …), grouping sets, UNPIVOT."""

from __future__ import annotations

from airflow_lineage_provider.catalyst import functions
from airflow_lineage_provider.catalyst.context import Context
from airflow_lineage_provider.catalyst.datatypes import struct_ddl
from airflow_lineage_provider.catalyst.expressions import arguments, attribute_json, expression
from airflow_lineage_provider.catalyst.table_functions import table_function
from airflow_lineage_provider.catalyst.tree import TreeNode, decode
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o

_ADVICE = "Use built-in generators (explode, inline, stack …), or a UDF that gives an array and explode that"
_FOREIGN = {
    "UnresolvedPolymorphicPythonUDTF": "a Python table function", "UserDefinedGenerator": "a table function in Scala or Java",
    "HiveGenericUDTF": "a Hive table function",
}  # fmt: skip


def generate(node: TreeNode, children: tuple[o.Plan, ...], context: Context) -> o.Plan:
    """``LATERAL VIEW [OUTER]``, a generator in SELECT."""
    (child,) = children
    generator = node.tree("generator")
    if generator is None or generator.name in _FOREIGN:
        context.refuse("Generate without its generator" if generator is None else _FOREIGN[generator.name], _ADVICE)
    if generator.name == "PythonUDTF":
        return table_function(node, generator, child, context)
    made = functions.call(generator, arguments(generator, context.over(child.output)), context)
    generated = tuple([attribute_json(column, context) for column in node.trees("generatorOutput")])
    unread = {child.output[number].id for number in node.fields["unrequiredChildIndex"]}
    plan = o.Generate(child=child, generator=made, generated=generated, outer=bool(node.fields["outer"]))
    return plan if not unread else o.Project(child=plan, columns=tuple(a for a in plan.output if a.id not in unread))


def expand(node: TreeNode, children: tuple[o.Plan, ...], context: Context) -> o.Plan:
    """Each row once for every list of expressions: ``inline(array(named_struct(…), …))`` of the columns that are not just passed on."""
    (child,) = children
    inside = context.over(child.output)
    output = tuple([attribute_json(column, context) for column in node.trees("output")])
    rows = [tuple([expression(decode(tree), inside) for tree in row]) for row in node.fields["projections"]]
    passed = {a.id for i, a in enumerate(output) if all(isinstance(row[i], e.Attribute) and row[i].id == a.id for row in rows)}  # type: ignore[union-attr]
    made = [i for i, a in enumerate(output) if a.id not in passed]
    if not made or {output[i].id for i in made} & {a.id for a in child.output}:
        context.refuse("an Expand that makes no column of its own")
    plan = o.Generate(child=child, generator=_inline(rows, made, output), generated=tuple(output[i] for i in made))
    return plan if plan.output == output else o.Project(child=plan, columns=output)


def _inline(rows: list[tuple[e.Expression, ...]], made: list[int], output: tuple[e.Attribute, ...]) -> e.Call:
    kind = struct_ddl([(f"c{i}", output[i].type) for i in made])
    structs = tuple(e.Call(function="named_struct", arguments=_fields(row, made, output), type=kind) for row in rows)
    array = e.Call(function="array", arguments=structs, type=f"array<{kind}>")
    return e.Call(function="inline", arguments=(array,), type=f"array<{kind}>")


def _fields(row: tuple[e.Expression, ...], made: list[int], output: tuple[e.Attribute, ...]) -> tuple[e.Expression, ...]:
    found: list[e.Expression] = []
    for i in made:
        value = row[i] if row[i].type == output[i].type else e.Cast(child=row[i], type=output[i].type)
        found += [e.Literal(value=f"c{i}", type="string"), value]
    return tuple(found)
