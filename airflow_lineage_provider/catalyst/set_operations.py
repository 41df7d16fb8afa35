"""INTERSECT, EXCEPT and dropDuplicates by joins, aggregations and generators, as Spark itself runs them.

Equal is ``<=>`` there: NULLs are alike. With ALL the copies of a row are counted, and written out again as often as they are due.
"""

from __future__ import annotations

from airflow_lineage_provider.catalyst.context import Context
from airflow_lineage_provider.catalyst.datatypes import struct_ddl
from airflow_lineage_provider.catalyst.expressions import attribute_json
from airflow_lineage_provider.catalyst.tree import TreeNode
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o

_ONE = e.Literal(value="1", type="bigint")
_COUNT = e.AggregateCall(function="count", arguments=(e.Literal(value="1", type="int"),), type="bigint")


def intersect(node: TreeNode, children: tuple[o.Plan, ...], context: Context) -> o.Plan:
    """INTERSECT: a semi-join without duplicates. ALL: as many copies as the side with fewer has."""
    left, right = _apart(children, context)
    if not node.fields["isAll"]:
        return o.Distinct(child=o.Join(left=left, right=right, kind="left_semi", condition=_equal(left, right, context)))
    counted, other = _counted(left, context), _counted(right, context)
    joined = o.Join(left=counted, right=other, kind="inner", condition=_equal(left, right, context))
    fewer = e.Call(function="least", arguments=(counted.output[-1], other.output[-1]), type="bigint")
    return _repeated(joined, fewer, left, context)


def except_(node: TreeNode, children: tuple[o.Plan, ...], context: Context) -> o.Plan:
    """EXCEPT: an anti-join without duplicates. ALL: as many copies as the left side has more."""
    left, right = _apart(children, context)
    if not node.fields["isAll"]:
        return o.Distinct(child=o.Join(left=left, right=right, kind="left_anti", condition=_equal(left, right, context)))
    counted, other = _counted(left, context), _counted(right, context)
    joined = o.Join(left=counted, right=other, kind="left", condition=_equal(left, right, context), difference=True)
    taken = e.Call(function="coalesce", arguments=(other.output[-1], e.Literal(value="0", type="bigint")), type="bigint")
    had = counted.output[-1]
    kept = o.Filter(child=joined, condition=e.Call(function=">", arguments=(had, taken), type="boolean"))
    return _repeated(kept, e.Call(function="-", arguments=(had, taken), type="bigint"), left, context)


def deduplicate(node: TreeNode, children: tuple[o.Plan, ...], context: Context) -> o.Plan:
    """dropDuplicates: the first row of each group that Spark happens to meet, all its columns from the same row."""
    (child,) = children
    if node.fields.get("dedupSpec") is not None:
        context.refuse("dropDuplicates of a stream", "Run the pipeline over a batch (spark.read instead of spark.readStream)")
    keys = {attribute_json(key, context).id for key in node.trees("keys")}
    others = tuple(a for a in child.output if a.id not in keys)
    # Attributes of ours repeat a column that is there already.
    if all(a.id > context.highest_id for a in others):
        return o.Distinct(child=child)
    if not keys:
        context.refuse("dropDuplicates over no columns", "Use limit(1)")
    return _first_of_each(child, tuple(a for a in child.output if a.id in keys), others, context)


def _first_of_each(child: o.Plan, keys: tuple[e.Attribute, ...], others: tuple[e.Attribute, ...], context: Context) -> o.Plan:
    kind = struct_ddl([(f"c{i}", a.type) for i, a in enumerate(others)])
    parts = tuple(part for i, a in enumerate(others) for part in (e.Literal(value=f"c{i}", type="string"), a))
    row = e.Call(function="named_struct", arguments=parts, type=kind)
    first = context.alias("first", e.AggregateCall(function="first", arguments=(row,), type=kind))
    chosen = o.Aggregate(child=child, keys=keys, columns=(*keys, first))
    fields = {a.id: e.Alias(child=e.GetField(child=first.attribute, field=f"c{i}", type=a.type), attribute=a) for i, a in enumerate(others)}
    return o.Project(child=chosen, columns=tuple(fields.get(a.id, a) for a in child.output))


def _apart(children: tuple[o.Plan, ...], context: Context) -> tuple[o.Plan, o.Plan]:
    """The two sides with no attribute in common: a side may be set against itself."""
    left, right = children
    if not {a.id for a in left.output} & {a.id for a in right.output}:
        return left, right
    return left, o.Project(child=right, columns=tuple(context.alias(a.name, a) for a in right.output))


def _equal(left: o.Plan, right: o.Plan, context: Context) -> e.Expression:
    pairs = zip(left.output, right.output, strict=True)
    terms = tuple(e.Call(function="<=>", arguments=pair, type="boolean") for pair in pairs)
    condition = e.conjunction(terms)
    return condition if condition is not None else context.refuse("a set operation on rows without columns", "Give them a column")


def _counted(plan: o.Plan, context: Context) -> o.Aggregate:
    return o.Aggregate(child=plan, keys=plan.output, columns=(*plan.output, context.alias("copies", _COUNT)))


def _repeated(plan: o.Plan, times: e.Expression, like: o.Plan, context: Context) -> o.Plan:
    numbers = e.Call(function="sequence", arguments=(_ONE, times), type="array<bigint>")
    copy = e.Attribute(id=next(context.fresh), name="copy", type="bigint")
    generator = e.Call(function="explode", arguments=(numbers,), type="array<struct<col:bigint>>")
    return o.Project(child=o.Generate(child=plan, generator=generator, generated=(copy,)), columns=like.output)
