"""What an operator that dropped a row read of it: plans for the evidence, one kind of operator at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import no_rule
from airflow_lineage_provider.plan.expression_walk import references, replace_attributes
from airflow_lineage_provider.plan.expressions import (
    TRUE,
    AggregateCall,
    Alias,
    Attribute,
    Call,
    Expression,
    Literal,
    Named,
    Part,
    conjuncts,
)
from airflow_lineage_provider.plan.lineage_keys import InputIdentity
from airflow_lineage_provider.plan.numbering import NumberedOperator
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.walk import children
from airflow_lineage_provider.rewrite.fresh import FreshAttributes
from airflow_lineage_provider.rewrite.unique_names import unique_names
from airflow_lineage_provider.tracing.forward.columns import child_of
from airflow_lineage_provider.tracing.forward.plans import Forward, ForwardPlan
from airflow_lineage_provider.tracing.prune import prune


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The rows of an operator's input with the columns that it reads, and what the terms of its condition come to."""

    plan: o.Plan
    read: tuple[Attribute, ...]
    terms: tuple[Expression, ...] = ()
    values: tuple[Attribute, ...] = ()
    one_by_one: bool = False


def order_of(node: o.Limit) -> o.Sort | None:
    """The order that a limit takes the first rows of; projections in between change no row's place."""
    below = node.child
    while isinstance(below, o.Project):
        below = below.child
    return below if isinstance(below, o.Sort) else None


def seen_by(plan: ForwardPlan, at: NumberedOperator, side: int) -> Forward:
    """The input by which an operator decides: a limit's is that of the sort below it."""
    if not isinstance(at.node, o.Limit) or order_of(at.node) is None:
        return child_of(plan, at, side)
    while not isinstance(at.node, o.Sort):  # on the way that `order_of` takes
        (at,) = plan.plan.numbering.inputs(at)
    return child_of(plan, at, 0)


def read_by(node: o.Plan, side: int) -> tuple[Attribute, ...]:
    """The columns of one of its inputs that an operator reads to decide about a row, in the order in which it does."""
    sort = order_of(node) if isinstance(node, o.Limit) else None
    given = {a.id for a in children(node if sort is None else sort)[side].output}
    return tuple(a for a in dict.fromkeys(a for own in _deciding(node) for a in references(own)) if a.id in given)


def _deciding(node: o.Plan) -> tuple[Part, ...]:
    match node:
        case o.Filter():
            return (node.condition,)
        case o.Join() if node.condition is not None:
            return (node.condition,)
        case o.Generate():
            return (node.generator,)
        case o.Limit():
            sort = order_of(node)
            return () if sort is None else sort.order
        case o.Source() | o.SegmentOutput() | o.Project() | o.Join() | o.Aggregate() | o.Distinct() | o.Union() | o.Sort():
            return ()
        case o.FunctionOperator() | o.Window() | o.PythonMap() | o.Repartition():
            return ()
    raise no_rule(node, "what an operator decides by")


def judged(node: o.Plan, child: Forward, side: int = 0, *, one_by_one: bool = False) -> Judged:
    """The rows of an input as the operator saw them. ``one_by_one``: a term is evaluated only where no earlier one is false.

    That is how Spark evaluates them: a term may fail on a row that an earlier one keeps away from it.
    """
    read = read_by(node, side)
    if not isinstance(node, o.Filter):
        return Judged(plan=child.plan, read=read)
    terms = conjuncts(node.condition)
    fresh = FreshAttributes(child.plan)
    made = tuple(fresh.attribute(f"lineage_term_{i}", "boolean") for i in range(len(terms)))
    values = [_unless_false(terms[:i], term) if one_by_one and i else term for i, term in enumerate(terms)]
    aliases = tuple(Alias(child=value, attribute=a) for value, a in zip(values, made, strict=True))
    tags = () if child.tags is None else (child.tags,)
    columns: tuple[Named, ...] = tuple(dict.fromkeys((*read, *tags)))
    return Judged(
        plan=o.Project(child=child.plan, columns=(*columns, *aliases)), read=read, terms=terms, values=made, one_by_one=one_by_one
    )


def _unless_false(before: Sequence[Expression], term: Expression) -> Expression:
    condition: Expression = TRUE
    for one in before:
        known = Call(function="coalesce", arguments=(one, TRUE), type="boolean")
        condition = Call(function="and", arguments=(condition, known), type="boolean")
    return Call(function="when", arguments=(condition, term), type="boolean")


@dataclass(frozen=True, kw_only=True)
class Counted:
    """A query that counts rows of a join's other side for given rows, of which it reads ``read``: ``given`` are a number and these.

    Its columns are a given row's number and its count; a row that is not there has none. With ``all_or_none`` a row that is there has all
    rows of the side. What reads nothing of a given row counts for all of them alike.
    """

    plan: o.Plan
    read: tuple[Attribute, ...]
    given: tuple[Attribute, ...]
    all_or_none: bool = False


@dataclass(frozen=True, kw_only=True)
class Partners:
    """For given rows how many rows the other side of a join has, how many of them meet the whole condition (where there is one), and for
    how many of them each term of it is true: queries in this order."""

    queries: tuple[Counted, ...]
    terms: tuple[Expression, ...]


def partners(node: o.Join, other: Forward, read: tuple[Attribute, ...], given_leaf: int) -> Partners:
    """The queries; the leaf ``given_leaf`` gives a number for each row, and the columns that a query reads of it.

    There is one for each term, not one over all pairs of rows: a term that compares for equality is a join that needs to look at few, and
    of rows of which a term reads the same it needs to look at one.
    """
    terms = () if node.condition is None else conjuncts(node.condition)
    tests = (TRUE, *(() if node.condition is None else (node.condition,)), *terms)
    return Partners(queries=tuple(_count(other, read, test, given_leaf) for test in tests), terms=terms)


def _count(other: Forward, read: tuple[Attribute, ...], test: Expression, given_leaf: int) -> Counted:
    """For how many rows of the other side a test is true."""
    needed = references(test)
    own = tuple(a for a in read if a in needed)
    theirs = tuple(a for a in dict.fromkeys(needed) if a not in own)
    leaf, copies, fresh = _given(other, own, given_leaf)
    test, number, count = replace_attributes(test, copies), leaf.output[0], fresh.attribute("lineage_count", "bigint")
    if own and not theirs:
        one = Alias(child=Literal(value="1", type="bigint"), attribute=count)
        chosen = o.Project(child=o.Filter(child=leaf, condition=test), columns=(number, one))
        return Counted(plan=unique_names(chosen), read=own, given=leaf.output, all_or_none=True)
    present = Alias(child=TRUE, attribute=fresh.attribute("lineage_present", "boolean", nullable=False))
    there: o.Plan = o.Project(child=prune(other.plan, theirs), columns=(*theirs, present))
    call = AggregateCall(function="count", arguments=(Literal(value="1", type="int"),), type="bigint")
    counted = Alias(child=call, attribute=count)
    if own:
        met = o.Join(left=leaf, right=there, kind="inner", condition=test)
        plan: o.Plan = o.Aggregate(child=met, keys=(number,), columns=(number, counted))
    else:
        there = there if test == TRUE else o.Filter(child=there, condition=test)
        zero = Alias(child=Literal(value="0", type="bigint"), attribute=fresh.attribute("lineage_all", "bigint"))
        plan = o.Project(child=o.Aggregate(child=there, keys=(), columns=(counted,)), columns=(zero, count))
    return Counted(plan=unique_names(plan), read=own, given=leaf.output)


def excluding(node: o.Join, other: Forward, read: tuple[Attribute, ...], given_leaf: int) -> tuple[o.Plan, tuple[Attribute, ...]]:
    """The rows of a difference's right side that take given rows away: the number of the given row, the right side's columns, and the
    lineage keys of the source rows that they are made of (`source_keys`).
    """
    leaf, copies, _ = _given(other, read, given_leaf)
    shown = tuple(dict.fromkeys((*node.right.output, *(a for one in source_keys(other) for a in one.attributes))))
    right = prune(other.plan, shown)
    condition = None if node.condition is None else replace_attributes(node.condition, copies)
    joined = o.Join(left=leaf, right=right, kind="cross" if condition is None else "inner", condition=condition)
    return unique_names(o.Project(child=joined, columns=(leaf.output[0], *shown))), leaf.output


def source_keys(one: Forward) -> tuple[InputIdentity, ...]:
    """The source tables whose rows are known in each row by their keys: none behind groups, or behind rows that the run stored."""
    given = {a.id for a in one.plan.output}
    return tuple(each for each in one.inputs if each.kind == "source" and all(a.id in given for a in each.attributes))


def leaves_below(plan: SegmentedPlan, node: o.Plan) -> tuple[int, ...]:
    """The source leaves that an operator's rows are made of; what only a domain reads is not among them."""
    if isinstance(node, o.Source):
        return (node.leaf,)
    if isinstance(node, o.SegmentOutput):
        return leaves_below(plan, plan.segments[node.segment].plan)
    if isinstance(node, o.Aggregate) and node.domain:
        return ()
    return tuple(dict.fromkeys(leaf for child in children(node) for leaf in leaves_below(plan, child)))


def _given(other: Forward, read: tuple[Attribute, ...], number: int) -> tuple[o.SegmentOutput, dict[int, Expression], FreshAttributes]:
    fresh = FreshAttributes(other.plan, o.SegmentOutput(segment=number, output=read))
    row = fresh.attribute("lineage_given", "bigint", nullable=False)
    made = {a.id: fresh.like(a) for a in read}
    copies: dict[int, Expression] = dict(made.items())
    return o.SegmentOutput(segment=number, output=(row, *made.values())), copies, fresh


def is_having(plan: SegmentedPlan, node: o.Plan) -> bool:
    """Whether a selection is over groups."""
    below = children(node)[0]
    while isinstance(below, o.Project | o.SegmentOutput | o.FunctionOperator):
        below = plan.segments[below.segment].plan if isinstance(below, o.SegmentOutput) else below.child
    return isinstance(below, o.Aggregate)
