"""Tracing queries of segments whose rows go back to sets of rows: each a rule of its own.

===============  ==============================================================================================================
aggregation      the rows of the group (definition 5; section 5.3 of the augmented-lineage paper)
semi-join        the right rows for which the condition is true with the left row (the left row is carried as one row); on request
                 none, or all (``subqueries``: F 3.4's data and control lineage)
existence join   the same; a row whose flag is false has the whole right side as a control
difference       nothing: the right side is a control, named as a whole. On request all its rows: ``TQ(T₁, T₂) = {Ō, T₂}`` (5.3)
window           the rows of the frames (`tracing.frames`), besides the row itself
Python function  the rows of the group (of both groups), or those with the same passed columns; else nothing is known
===============  ==============================================================================================================

The targets of a link are what its set is found by (`annotate.annotate_segment`): grouping keys, the columns that the
condition reads, partition and positions. So the upper part of the segment is never run again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import references, replace_attributes
from airflow_lineage_provider.plan.expressions import (
    TRUE,
    AggregateCall,
    Alias,
    Attribute,
    Call,
    Expression,
    Named,
    conjunction,
    conjuncts,
    disjunction,
)
from airflow_lineage_provider.plan.expressions import Literal as Constant
from airflow_lineage_provider.plan.lineage_keys import MaterializedSegment
from airflow_lineage_provider.plan.segments import Segment
from airflow_lineage_provider.rewrite.fresh import FreshAttributes
from airflow_lineage_provider.rewrite.unique_names import unique_names
from airflow_lineage_provider.tracing.annotate import Annotated, Context, annotate, group_keys, inline, link_attributes
from airflow_lineage_provider.tracing.frames import frames, with_position
from airflow_lineage_provider.tracing.prune import needed, prune
from airflow_lineage_provider.tracing.reserved import TAG_ATTRIBUTE, TARGET

if TYPE_CHECKING:
    import pyarrow as pa

_COUNT = AggregateCall(function="count", arguments=(Constant(value="1", type="int"),), type="bigint")


@dataclass(frozen=True, kw_only=True)
class LinkedRows:
    """The rows that targets of a link go back to: those of a ``body`` that meet a ``condition`` with them (None: all).

    :ivar read: the body's columns that the condition reads. :ivar leaf: the targets: tag, a constant, the link's attributes.
    :ivar by_keys: a target goes back to rows with one value of each column that is read: to a group of them, or to none.
    :ivar frames: where targets say their rows by first and last position in a partition, so many such pairs are their last columns.
    """

    body: Annotated
    read: tuple[Attribute, ...]
    leaf: o.SegmentOutput
    condition: Expression | None
    by_keys: bool = False
    frames: int = 0

    @property
    def query(self) -> Annotated:
        """Tag and identities of the body's rows, each combination once."""
        wanted = tuple(dict.fromkeys((*self.read, *self.body.identity_attributes)))
        joined = self._joined(prune(self.body.plan, wanted))
        columns: tuple[Named, ...] = (TAG_ATTRIBUTE, *self.body.identity_attributes)
        return replace(self.body, plan=unique_names(o.Distinct(child=o.Project(child=joined, columns=columns))))

    @property
    def counted(self) -> o.Plan:
        """Tag, and how many of the body's rows its target goes back to; none may be left out. Groups are counted before they are joined."""
        fresh = FreshAttributes(self.body.plan, self.leaf)
        present = fresh.attribute("lineage_row", "boolean", nullable=False)
        count = fresh.attribute("lineage_rows", "bigint", nullable=False)
        counted = Alias(child=_COUNT, attribute=count)
        rows = o.Project(child=prune(self.body.plan, self.read), columns=(*self.read, Alias(child=TRUE, attribute=present)))
        if self.by_keys or self.condition is None:
            groups = o.Aggregate(child=rows, keys=self.read, columns=(*self.read, counted))
            return unique_names(o.Project(child=self._joined(groups), columns=(TAG_ATTRIBUTE, count)))
        return unique_names(o.Aggregate(child=self._joined(rows), keys=(TAG_ATTRIBUTE,), columns=(TAG_ATTRIBUTE, counted)))

    def _joined(self, rows: o.Plan) -> o.Join:
        kind: Literal["cross", "inner"] = "cross" if self.condition is None else "inner"
        return o.Join(left=rows, right=self.leaf, kind=kind, condition=self.condition)


def link_queries(segment: Segment, context: Context, stored: MaterializedSegment | None, target: pa.Table) -> tuple[Annotated, ...]:
    """The tracing queries of a link: tag, and the identities of the inputs' rows. ``target`` is tag and link attributes, by position.

    There is one, but for a Python function over pairs of groups: one a side.
    """
    return tuple(one.query for one in linked_rows(segment, context, stored, target))


def linked_rows(segment: Segment, context: Context, stored: MaterializedSegment | None, target: pa.Table) -> tuple[LinkedRows, ...]:
    """What the queries of a link ask for, as `link_queries` has them."""
    match segment.plan:
        case o.Window(limits=False) as window:
            return (_frame_rows(window, _window_body(segment, window, context, stored), target),)
        case o.Join() as join if segment.kind != "non_d":
            return () if join.is_difference else (_partners(join, annotate(join.right, context), target),)
        case o.PythonMap() as function:
            return _function_rows(function, context, target)
    o.check_known(segment.plan, "tracing rows to sets of rows")
    return (_linked(annotate(segment.aggregations[-1].child, context), group_keys(segment), target),)


def whole_side(segment: Segment, context: Context) -> LinkedRows:
    """All rows of the right side of a difference (or of a semi-join, an existence join), for every target: ``T₂`` of ``TQ(T₁, T₂)``. A
    target is a tag and a constant: nothing of it is read."""
    assert isinstance(segment.plan, o.Join)
    body = annotate(segment.plan.right, context)
    leaf, _ = _target(body.plan, ())
    return LinkedRows(body=body, read=(), leaf=leaf, condition=None)


def read_by_links(segment: Segment, context: Context) -> frozenset[int]:
    """The attributes of lower segments that the segment's tracing query reads."""
    match segment.plan:
        case o.Window(limits=False) as window:
            return needed(inline(window.child, context), _attributes(window))
        case o.Join() as join if segment.kind != "non_d":
            right = {attribute.id for attribute in join.right.output}
            condition = () if join.condition is None or join.is_difference else _read(join.condition, right)
            return needed(inline(join.right, context), condition)
        case o.PythonMap() as function:
            return frozenset[int]().union(*(needed(inline(c, context), k) for c, k in _sides(function)))
    o.check_known(segment.plan, "tracing rows to sets of rows")
    return needed(inline(segment.aggregations[-1].child, context), group_keys(segment)) if segment.aggregations else frozenset()


def _attributes(window: o.Window) -> tuple[Attribute, ...]:
    found = (*window.partition, *(key.child for key in window.order))
    return tuple(key for key in found if isinstance(key, Attribute))


def _read(condition: Expression, side: set[int]) -> tuple[Attribute, ...]:
    return tuple(attribute for attribute in references(condition) if attribute.id in side)


# --- aggregation ---------------------------------------------------------------------------------------------------------


def _linked(body: Annotated, keys: tuple[Attribute, ...], target: pa.Table) -> LinkedRows:
    """``Split(σ_C(T₁ ⋈ … ⋈ Tₘ) ⋉ Ō)``: rows with the target's keys."""
    leaf, copies = _target(body.plan, keys)
    terms = tuple(_equal(key, copies[key.id], _has_nulls(target, i)) for i, key in enumerate(keys))
    return LinkedRows(body=body, read=keys, leaf=leaf, condition=conjunction(terms), by_keys=True)


# --- semi-join, existence join, difference -------------------------------------------------------------------------------


def _partners(node: o.Join, body: Annotated, target: pa.Table) -> LinkedRows:
    """The right rows that match."""
    leaf, copies = _target(body.plan, link_attributes(node))
    if node.condition is None:
        return LinkedRows(body=body, read=(), leaf=leaf, condition=None)
    condition = replace_attributes(node.condition, copies)
    right = {attribute.id for attribute in node.right.output}
    read = _read(node.condition, right)
    return LinkedRows(body=body, read=read, leaf=leaf, condition=condition, by_keys=_are_keys(node.condition, read))


def _are_keys(condition: Expression, read: tuple[Attribute, ...]) -> bool:
    """Whether a condition says of each column that is read what it is equal to, by columns of the other side alone, and nothing else."""
    found, ids = set[int](), {attribute.id for attribute in read}
    for term in conjuncts(condition):
        sides = term.arguments if isinstance(term, Call) and term.function in ("=", "==", "<=>") else ()
        own = [a.id for a in sides if isinstance(a, Attribute) and a.id in ids]
        if len(own) != 1 or not all(isinstance(a, Attribute) for a in sides):
            return False
        found.update(own)
    return found == ids


# --- window --------------------------------------------------------------------------------------------------------------


def _window_body(segment: Segment, node: o.Window, context: Context, stored: MaterializedSegment | None) -> Annotated:
    """All rows that may be in a frame: with their positions, as stored where the run could not be repeated."""
    if stored is not None:
        inputs = tuple(one for one in stored.inputs if (one.kind, one.number) != ("link", segment.number))
        carried = tuple(a for one in inputs for a in one.attributes)
        position = () if stored.position is None else (stored.position,)
        output = tuple(dict.fromkeys((*(key for key in node.partition if isinstance(key, Attribute)), *position, *carried)))
        return Annotated(plan=o.SegmentOutput(segment=segment.number, output=output), inputs=inputs, position=stored.position)
    fresh = context.fresh()
    child = annotate(node.child, context, fresh)
    if not frames(node):
        return child
    numbered, place = with_position(replace(node, child=child.plan), fresh)
    return Annotated(plan=numbered, inputs=child.inputs, position=place)


def _frame_rows(node: o.Window, body: Annotated, target: pa.Table) -> LinkedRows:
    keys = tuple(key for key in node.partition if isinstance(key, Attribute))
    fresh = FreshAttributes(body.plan)
    pairs = [(fresh.attribute("lower", "int"), fresh.attribute("upper", "int")) for _ in frames(node)]
    leaf, copies = _target(body.plan, (*keys, *(bound for pair in pairs for bound in pair)))
    terms = [_equal(key, copies[key.id], _has_nulls(target, i)) for i, key in enumerate(keys)]
    if pairs:
        assert body.position is not None
        within = disjunction(tuple(_between(body.position, copies[low.id], copies[high.id]) for low, high in pairs))
        assert within is not None
        terms.append(within)
    read = keys if body.position is None else (*keys, body.position)
    return LinkedRows(
        body=body, read=read, leaf=leaf, condition=conjunction(tuple(terms)), by_keys=not pairs, frames=len(pairs)
    )  # fmt: skip


def _between(position: Attribute, low: Attribute, high: Attribute) -> Expression:
    after = Call(function=">=", arguments=(position, low), type="boolean")
    before = Call(function="<=", arguments=(position, high), type="boolean")
    return Call(function="and", arguments=(after, before), type="boolean")


# --- Python functions ----------------------------------------------------------------------------------------------------


def _sides(node: o.PythonMap) -> tuple[tuple[o.Plan, tuple[Attribute, ...]], ...]:
    """Each child with the columns by which its rows are found."""
    width = node.group_width
    return tuple((child, node.keys[i * width : (i + 1) * width] or node.passed) for i, child in enumerate(node.children))


def _function_rows(node: o.PythonMap, context: Context, target: pa.Table) -> tuple[LinkedRows, ...]:
    """The rows of the group, of both groups, or with the same passed columns; of a function of batches nothing is known."""
    if not node.keys and not node.passed:
        return ()
    return tuple(_linked(annotate(child, context), keys, target) for child, keys in _sides(node))


# --- all -----------------------------------------------------------------------------------------------------------------


def _target(body: o.Plan, attributes: tuple[Attribute, ...]) -> tuple[o.SegmentOutput, Mapping[int, Attribute]]:
    """The leaf of the targets (tag, a constant, the link's attributes), and its copy of each attribute."""
    fresh = FreshAttributes(body, o.SegmentOutput(segment=TARGET, output=attributes))
    copies = {a.id: fresh.attribute(f"target_{a.name}", a.type, a.nullable) for a in attributes}
    present = fresh.attribute("target_present", "boolean", nullable=False)
    output = (TAG_ATTRIBUTE, present, *(copies[a.id] for a in attributes))
    return o.SegmentOutput(segment=TARGET, output=output), copies


def _has_nulls(target: pa.Table, at: int) -> bool:
    return bool(target.column(2 + at).null_count > 0)


def _equal(left: Attribute, right: Attribute, with_nulls: bool) -> Expression:
    """Equality that takes NULL as a value only where there is one: databases cannot use an index otherwise."""
    return Call(function="<=>" if with_nulls else "=", arguments=(left, right), type="boolean")
