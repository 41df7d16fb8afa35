"""A plan that carries, beside its rows, the fragments of the sources' rows behind them (the paper's rules r0 to r6, Sec. 6.2; mended).

What a row carries of a source is a *mark*. As long as one row of the source stands behind it that is the number of this row's fragment
(r0; the paper's *delay*), and where columns of the row tell that number, the columns: then nothing is carried at all. An aggregation whose
groups are in one fragment each, as their keys say, makes one mark of many (*late*); any other one unites the numbers of its groups (r3,
`unions`). Joins pass on the marks of both sides (r4), and a semi-join those of its partners.

The rows stay what they are: a function that collects has the groups made, and given on, in another order, so it is not taken where
anything above hangs on that order.

>>> lines = join(table("orders", "id, price"), table("lines", "order, amount"), "id = order")
>>> by_order = group(lines, by="order", give="order, sum(amount) AS total")
>>> from airflow_lineage_provider.rewrite.fresh import FreshAttributes
>>> how = Carrying(columns={0: "id", 1: "amount"}, counts={1: 10_000}, fresh=FreshAttributes(by_order))
>>> made = carry(by_order, how)
>>> show(made.plan)
α order; sum(amount) AS total, max(lineage_fragment_5) AS lineage_fragment_7, collect_set(lineage_fragment_6) AS lineage_fragment_8
  ⋈ (id = order)
    orders [id, price, lineage_fragment_5]
    lines [order, amount, lineage_fragment_6]
>>> [(one.leaf, [column.name for column in one.values] if isinstance(one, One) else None) for one in made.marks]
[(0, ['order']), (1, None)]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import unknown
from airflow_lineage_provider.plan.expressions import Alias, Attribute, Expression
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.plan.walk import all_operators, children, subqueries, with_children
from airflow_lineage_provider.sketches.column_text import columns_in
from airflow_lineage_provider.sketches.equal_columns import EqualColumns, equalities
from airflow_lineage_provider.sketches.files import FILE_PATH
from airflow_lineage_provider.sketches.marks import FRAGMENT, CannotCarry, Carried, Carrying, Many, Mark, NumberLost, One
from airflow_lineage_provider.sketches.ties import takes_other_rows
from airflow_lineage_provider.sketches.unions import FEW, Column, Union, keeps_order, of_numbers, of_unions
from airflow_lineage_provider.sketches.witness import calls_of, number_in, why_no_witness, witness_of


def carry(plan: o.Plan, how: Carrying, *, ordered: bool = False) -> Carried:
    """The plan with the marks of its rows. ``ordered``: what reads its rows hangs on their order.

    :raises CannotCarry: the marks of some leaves do not get through an operator. :raises UnsupportedOperator: it has no rule.
    """
    for one in subqueries(plan):
        read = _sketched(one.plan, how)
        if read:
            raise CannotCarry(plan, read, "what a subquery inside an expression has read is not carried")
    return _carry(plan, how, ordered or takes_other_rows(plan))


@singledispatch
def _carry(node: object, how: Carrying, ordered: bool) -> Carried:
    raise unknown(node, "carrying fragments")


def _sketched(plan: o.Plan, how: Carrying) -> frozenset[int]:
    """The leaves below that are sketched."""
    found: set[int] = set()
    for node in all_operators(plan):
        if isinstance(node, o.Source) and node.leaf in how.columns:
            found.add(node.leaf)
        if isinstance(node, o.SegmentOutput) and node.segment in how.segments:
            found |= {mark.leaf for mark in how.segments[node.segment].marks}
    return frozenset(found)


# --- leaves --------------------------------------------------------------------------------------------------------------


@_carry.register
def _(node: o.Source, how: Carrying, _ordered: bool) -> Carried:
    if node.leaf not in how.columns:
        return Carried(plan=node)
    if FRAGMENT in {column.casefold() for column in node.columns}:
        raise CannotCarry(node, [node.leaf], f"the table has a column {FRAGMENT} of its own")
    column = how.columns[node.leaf]
    # Behind them may stand a lineage key of the same column.
    names = () if column == FILE_PATH else columns_in(column, node.columns)
    values = tuple(node.output[node.columns.index(one)] for one in names)
    number = how.attribute("int", nullable=False)
    plan = replace(node, output=(*node.output, number), columns=(*node.columns, FRAGMENT))
    return Carried(plan=plan, marks=(One(leaf=node.leaf, values=values, number=number),))


@_carry.register
def _(node: o.SegmentOutput, how: Carrying, _ordered: bool) -> Carried:
    stored = how.segments.get(node.segment)
    if stored is None or not stored.marks:
        return Carried(plan=node)
    there = {a.id for a in node.output}
    added = tuple(dict.fromkeys(a for mark in stored.marks for a in mark.attributes if a.id not in there))
    # Below it are lineage keys, whose numbers other programs use for theirs.
    equal = stored.equal.among((*node.output, *added))
    return Carried(plan=replace(node, output=(*node.output, *added)), marks=stored.marks, equal=equal)


# --- rows that are each made of one row of every input -----------------------------------------------------------------


@_carry.register(o.Sort)
@_carry.register(o.Limit)
@_carry.register(o.Repartition)
@_carry.register(o.FunctionOperator)
@_carry.register(o.Generate)
def _passed_on(node: o.Plan, how: Carrying, ordered: bool) -> Carried:
    (child,) = children(node)
    inner = carry(child, how, ordered=ordered)
    return replace(inner, plan=with_children(node, (inner.plan,)))


@_carry.register
def _(node: o.Project, how: Carrying, ordered: bool) -> Carried:
    inner = carry(node.child, how, ordered=ordered)
    kept = {attribute.id for attribute in node.output}
    added = tuple(dict.fromkeys(a for mark in inner.marks for a in mark.attributes if a.id not in kept))
    same = [(one.child, one.attribute) for one in node.columns if isinstance(one, Alias) and isinstance(one.child, Attribute)]
    plan = replace(node, child=inner.plan, columns=(*node.columns, *added)) if added else replace(node, child=inner.plan)
    return Carried(plan=plan, marks=inner.marks, equal=inner.equal.and_also(same))


@_carry.register
def _(node: o.Filter, how: Carrying, ordered: bool) -> Carried:
    inner = _passed_on(node, how, ordered)
    return replace(inner, equal=inner.equal.and_where(node.condition))


@_carry.register
def _(node: o.Window, how: Carrying, ordered: bool) -> Carried:
    """The rows of a frame are of one partition: where that is in one fragment they add nothing to the row's own."""
    inner = _passed_on(node, how, ordered)
    lost = [mark.leaf for mark in inner.marks if not node.limits and not _keys(mark, node.partition, inner.equal)]
    if lost:
        raise CannotCarry(node, lost, "a window's frames have rows of several fragments, which are looked for by their positions")
    return inner


@_carry.register
def _(node: o.PythonMap, how: Carrying, _ordered: bool) -> Carried:
    lost = frozenset[int]().union(*(_sketched(child, how) for child in node.children))
    if lost:
        raise CannotCarry(node, sorted(lost), "nothing is carried through a Python function over many rows")
    return Carried(plan=node)


# --- unions --------------------------------------------------------------------------------------------------------------


@_carry.register
def _(node: o.Union, how: Carrying, ordered: bool) -> Carried:
    """Each branch gives its own marks, and NULL for those of the others."""
    inner = [carry(child, how, ordered=ordered) for child in node.children]
    if not any(one.marks for one in inner):
        return Carried(plan=with_children(node, tuple(one.plan for one in inner)))
    columns = [[_columns(mark, node) for mark in one.marks] for one in inner]
    made = [[tuple(how.attribute(a.type) for a in some) for some in of_branch] for of_branch in columns]
    branches = []
    for at, (one, original) in enumerate(zip(inner, node.children, strict=True)):
        values = [a if other == at else _nothing(a) for other, of_branch in enumerate(columns) for some in of_branch for a in some]
        named = tuple(Alias(child=value, attribute=how.attribute(value.type)) for value in values)
        branches.append(o.Project(child=one.plan, columns=(*original.output, *named)))
    given = [mark for one in inner for mark in one.marks]
    marks = tuple(_under(mark, new) for mark, new in zip(given, (some for of_branch in made for some in of_branch), strict=True))
    output = (*node.output, *(a for of_branch in made for some in of_branch for a in some))
    return Carried(plan=o.Union(children=tuple(branches), output=output), marks=marks)


def _columns(mark: Mark, node: o.Plan) -> tuple[Attribute, ...]:
    """What a mark is, when no column of the row tells it any more."""
    return mark.columns if isinstance(mark, Many) else (_number(mark, node),)


def _number(mark: One, node: o.Plan) -> Attribute:
    if mark.number is None:
        raise NumberLost(node, [mark.leaf], "the partners of a semi-join came with what they were joined by alone")
    return mark.number


def _under(mark: Mark, new: tuple[Attribute, ...]) -> Mark:
    return replace(mark, columns=new) if isinstance(mark, Many) else One(leaf=mark.leaf, number=new[0])


def _nothing(attribute: Attribute) -> e.Cast:
    return e.Cast(child=e.Literal(value=None, type="void"), type=attribute.type)


# --- joins ---------------------------------------------------------------------------------------------------------------


@_carry.register
def _(node: o.Join, how: Carrying, ordered: bool) -> Carried:
    if node.is_difference or node.kind == "existence":
        return _one_sided(node, how, ordered)
    if node.kind == "left_semi":
        return _semi(node, how, ordered)
    left, right = carry(node.left, how, ordered=ordered), carry(node.right, how, ordered=ordered)
    marks = (*_beside(left, node.kind in ("right", "full"), node), *_beside(right, node.kind in ("left", "full"), node))
    equal = left.equal.and_(right.equal)
    if node.kind in ("inner", "cross"):
        equal = equal.and_where(node.condition)
    return Carried(plan=replace(node, left=left.plan, right=right.plan), marks=marks, equal=equal)


def _beside(side: Carried, may_lack: bool, node: o.Plan) -> tuple[Mark, ...]:
    """The marks of a side; where its rows may be missing, NULL says that they are, so the number has to be there."""
    if not may_lack:
        return side.marks
    return tuple(One(leaf=mark.leaf, number=_number(mark, node)) if isinstance(mark, One) else mark for mark in side.marks)


def _one_sided(node: o.Join, how: Carrying, ordered: bool) -> Carried:
    lost = _sketched(node.right, how)
    if lost:
        raise CannotCarry(node, sorted(lost), "what its right side has is not carried to the left rows")
    left = carry(node.left, how, ordered=ordered)
    return replace(left, plan=replace(node, left=left.plan))


def _semi(node: o.Join, how: Carrying, ordered: bool) -> Carried:
    """A left row's partners all have its values in what they are joined by; else they are grouped by that, and joined."""
    left = carry(node.left, how, ordered=ordered)
    if not _sketched(node.right, how):
        return replace(left, plan=replace(node, left=left.plan))
    right = carry(node.right, how, ordered=ordered)
    equal = left.equal.and_(right.equal).and_where(node.condition)
    late = [_keys(mark, node.left.output, equal) for mark in right.marks]
    if not how.grouped and all(late):
        marks = tuple(One(leaf=mark.leaf, values=keys) for mark, keys in zip(right.marks, late, strict=True))
        return Carried(plan=replace(node, left=left.plan), marks=(*left.marks, *marks), equal=left.equal)
    return _grouped_partners(node, left, right, how, ordered)


def _grouped_partners(node: o.Join, left: Carried, right: Carried, how: Carrying, ordered: bool) -> Carried:
    """Each left row has one partner then, if any: the group of its partners."""
    leaves = [mark.leaf for mark in right.marks]
    pairs, wanted = equalities(node.condition), e.conjuncts(node.condition) if node.condition is not None else ()
    if not pairs or len(pairs) < len(wanted):
        raise CannotCarry(node, leaves, "the partners of a row are found by more than that columns are equal")
    if ordered:
        raise CannotCarry(node, leaves, "partners are grouped, which could change the order of rows, and what is above hangs on that")
    there = {a.id for a in node.right.output}
    keys = tuple(dict.fromkeys(a for pair in pairs for a in pair if a.id in there))
    grouped = o.Aggregate(child=node.right, keys=keys, columns=keys)
    partners = _united(grouped, right, how, ordered)
    joined = o.Join(left=left.plan, right=partners.plan, kind="inner", condition=node.condition)
    added = tuple(dict.fromkeys(a for mark in partners.marks for a in mark.attributes))
    plan = o.Project(child=joined, columns=(*left.plan.output, *added))
    equal = left.equal.and_(partners.equal).and_where(node.condition)
    return Carried(plan=plan, marks=(*left.marks, *partners.marks), equal=equal)


# --- groups --------------------------------------------------------------------------------------------------------------


@_carry.register
def _(node: o.Aggregate, how: Carrying, ordered: bool) -> Carried:
    if node.domain:
        return Carried(plan=node)  # nobody goes back to it
    return _united(node, carry(node.child, how, ordered=ordered), how, ordered)


@_carry.register
def _(node: o.Distinct, how: Carrying, _ordered: bool) -> Carried:
    lost = _sketched(node.child, how)
    if lost:
        raise CannotCarry(node, sorted(lost), "duplicates are groups, once the plan is in its canonical form")
    return Carried(plan=node)


def _united(node: o.Aggregate, inner: Carried, how: Carrying, ordered: bool) -> Carried:
    """The groups with one mark each for every mark of their rows."""
    columns, marks = list(node.columns), list[Mark]()
    witnessed = _witnessed(node, inner, how, ordered)
    for mark in inner.marks:
        if mark in witnessed:
            continue
        keys = _keys(mark, node.keys, inner.equal)
        alone = ordered and _has_distinct(node)
        made = _late(mark, alone) if keys and isinstance(mark, One) else _union(node, mark, how, ordered)
        named = tuple(Alias(child=one.call, attribute=how.attribute(one.type)) for one in made)
        columns += named
        new = tuple(one.attribute for one in named)
        if keys:
            marks.append(One(leaf=mark.leaf, values=keys, number=new[0] if new else None))
        else:
            marks.append(Many(leaf=mark.leaf, union=_union_of(node, mark, how, ordered), columns=new))
    groups = Carried(plan=replace(node, child=inner.plan, columns=tuple(columns)), marks=tuple(marks), equal=inner.equal)
    return _with_witness(node, groups, witnessed, how) if witnessed else groups


def _witnessed(node: o.Aggregate, inner: Carried, how: Carrying, ordered: bool) -> list[One]:
    """The marks that one row of each group gives, which stands for all; those of which the groups' keys tell all need none."""
    several = [mark for mark in inner.marks if not _keys(mark, node.keys, inner.equal)]
    if how.witness is None or not several:
        return []
    free = not ordered and not any("collate" in a.type.lower() for a in node.output)
    problem = why_no_witness(node, by_row=_by_row(node.child, how), ordered=not free)
    if problem:
        how.witness.refused |= {mark.leaf: f"{problem} ({operator_text(node)})" for mark in several}
        return []
    found = [mark for mark in several if isinstance(mark, One)]
    how.witness.leaves |= {mark.leaf for mark in found}
    return found


def _by_row(plan: o.Plan, how: Carrying) -> bool:
    """Whether each row of a plan is made of one row of every sketched source, so that it is the same whatever others there are."""
    if not _sketched(plan, how):
        return True
    match plan:
        case o.SegmentOutput():
            return _by_row(how.segments[plan.segment].plan, how)
        case o.Join(kind="inner" | "cross" | "left_semi"):
            return _by_row(plan.left, how) and _by_row(plan.right, how)
        case o.Source() | o.Filter() | o.Project() | o.FunctionOperator() | o.Generate() | o.Sort() | o.Repartition() | o.Union():
            return all(_by_row(child, how) for child in children(plan))
    return False


def _with_witness(node: o.Aggregate, made: Carried, witnessed: Sequence[One], how: Carrying) -> Carried:
    """The groups with the numbers of one row each."""
    (call,) = calls_of(node)
    assert isinstance(made.plan, o.Aggregate)
    row = witness_of(call, [_number(mark, node) for mark in witnessed])
    named = Alias(child=row, attribute=how.attribute(row.type))
    numbers = tuple(Alias(child=number_in(named.attribute, at), attribute=how.attribute("int")) for at in range(len(witnessed)))
    grouped = replace(made.plan, columns=(*made.plan.columns, named))
    marks = tuple(One(leaf=mark.leaf, number=one.attribute) for mark, one in zip(witnessed, numbers, strict=True))
    return replace(made, plan=o.Project(child=grouped, columns=(*made.plan.output, *numbers)), marks=(*made.marks, *marks))


def _keys(mark: Mark, keys: Sequence[Expression], equal: EqualColumns) -> tuple[Attribute, ...]:
    """The keys that tell the fragment: one for each sketched column, which it equals; none where a column has none."""
    values = mark.values if isinstance(mark, One) else ()
    found = [_key(equal.to(value), keys) for value in values]
    return tuple(one for one in found if one is not None) if all(found) else ()


def _key(same: frozenset[int], keys: Sequence[Expression]) -> Attribute | None:
    return next((key for key in keys if isinstance(key, Attribute) and key.id in same), None)


def _late(mark: One, alone: bool) -> list[Column]:
    """All rows of the group have one number: it comes along for those above that unite it, and is left out where there are none, or where
    the groups are to be made as they are (``alone``)."""
    if mark.number is None or alone:
        return []
    return [Column(call=e.AggregateCall(function="max", arguments=(mark.number,), type="int"), type="int")]


def _union(node: o.Aggregate, mark: Mark, how: Carrying, ordered: bool) -> list[Column]:
    union = _union_of(node, mark, how, ordered)
    if isinstance(mark, Many):
        return of_unions(union, mark.columns)
    return of_numbers(union, _number(mark, node), how.counts.get(mark.leaf, 1))


def _union_of(node: o.Aggregate, mark: Mark, how: Carrying, ordered: bool) -> Union:
    """How a mark is united in an aggregation; what was united before is united so again.

    :raises CannotCarry: it would change what the run gives.
    """
    if not node.keys and not node.columns:
        raise CannotCarry(node, [mark.leaf], "it has neither keys nor functions: with a function it would have a row where it has none")
    if ordered and _has_distinct(node):
        raise CannotCarry(node, [mark.leaf], "functions of different values are computed in another way beside others")
    free = not ordered and not any("collate" in a.type.lower() for a in node.output)
    union = mark.union if isinstance(mark, Many) else _chosen(node, mark.leaf, how, free)
    if not free and not keeps_order(union):
        because = "groups, or their rows, are in another order where sets are collected, and something hangs on that"
        raise CannotCarry(node, [mark.leaf], because)
    if not how.unites(union, mark.leaf):
        because = f"groups have rows of several fragments, and {how.counts[mark.leaf]:,} are too many to be united in the same order"
        raise CannotCarry(node, [mark.leaf], because)
    return union


def _chosen(node: o.Aggregate, leaf: int, how: Carrying, free: bool) -> Union:
    """Words where there are few: with many groups they take less than sets then, and with one group more."""
    if not free:
        return "words"
    few = leaf not in how.counts or how.counts[leaf] <= FEW
    return how.union or ("words" if node.keys and few else "set")


def _has_distinct(node: o.Aggregate) -> bool:
    """Whether Spark splits the rows that it aggregates, by the functions that are over different values."""
    return any(isinstance(one, Alias) and isinstance(one.child, e.AggregateCall) and one.child.distinct for one in node.columns)
