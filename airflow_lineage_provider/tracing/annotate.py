"""A segment's body with the identity of each input row carried to its output, operator by operator.

Segments that the run does not materialize are inlined. Where a row goes back to a set of rows (a group, the frame of a window,
the partners of a semi-join), what the set is found by is carried instead: a link.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import LineageRule, no_rule
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.plan.expressions import TRUE, Alias, Attribute, Cast, Literal, Named
from airflow_lineage_provider.plan.lineage_keys import InputIdentity, SourceIdentity
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan
from airflow_lineage_provider.plan.walk import children, transform_up, with_children
from airflow_lineage_provider.rewrite.fresh import FreshAttributes
from airflow_lineage_provider.tracing.frames import with_bounds
from airflow_lineage_provider.tracing.reserved import row_number


@dataclass(frozen=True, kw_only=True)
class Context:
    """What annotating a plan needs to know of the run.

    ``collected``: the segments whose groups the run makes apart, numbered, with what their rows are known by (`tracing.collecting`): those
    that are not materialized are leaves, too.
    """

    plan: SegmentedPlan
    materialized: frozenset[int]
    sources: Mapping[int, SourceIdentity]
    collected: frozenset[int] = frozenset()

    def is_leaf(self, segment: int) -> bool:
        """Whether what stands above a segment reads rows that were made of it."""
        return segment in self.materialized or segment in self.collected

    def fresh(self) -> FreshAttributes:
        return FreshAttributes(*(segment.plan for segment in self.plan.segments))


@dataclass(frozen=True, kw_only=True)
class Annotated:
    """A plan whose output holds, besides its own attributes, the identities of its inputs' rows.

    ``position``: for a window, the attribute with the row's position in its partition.
    """

    plan: o.Plan
    inputs: tuple[InputIdentity, ...]
    position: Attribute | None = None

    @property
    def identity_attributes(self) -> tuple[Attribute, ...]:
        return tuple(dict.fromkeys(attribute for one in self.inputs for attribute in one.attributes))


def annotate(plan: o.Plan, context: Context, fresh: FreshAttributes | None = None) -> Annotated:
    """Annotate a plan of projections, selections, joins, unions and function operators over a segment's leaves."""
    return _annotate(plan, context, fresh or context.fresh())


def annotate_segment(segment: Segment, context: Context, fresh: FreshAttributes | None = None) -> Annotated:
    """Annotate a segment's output. What its rows have in common with sets of rows is a ``link`` among the inputs."""
    fresh = fresh or context.fresh()
    match segment.plan:
        case o.Window(limits=False) as window:
            return _window(segment.number, window, context, fresh)
        case o.PythonMap() as function:
            return _python_map(segment.number, function, context, fresh)
        case o.Join() as join if segment.kind != "non_d":
            return _set_join(segment.number, join, context, fresh)
    return _grouped(segment, context, fresh) if segment.aggregations else _annotate(segment.plan, context, fresh)


def inline(plan: o.Plan, context: Context) -> o.Plan:
    """The plan with the segments that are not materialized in place of their outputs, without annotation."""

    def expand(node: o.Plan) -> o.Plan:
        if isinstance(node, o.SegmentOutput) and not context.is_leaf(node.segment):
            return inline(context.plan.segments[node.segment].plan, context)
        return node

    return transform_up(plan, expand)


def _annotate(node: o.Plan, context: Context, fresh: FreshAttributes) -> Annotated:
    match node:
        case o.Source():
            return _source(node, context, fresh)
        case o.SegmentOutput():
            return _segment_output(node, context, fresh)
        case o.Aggregate() if node.domain:
            # Nobody goes back to it; but it tells apart the rows that a join makes with it.
            return Annotated(plan=inline(node, context), inputs=(domain_identity(node),))
        case o.Union():
            return _union(node, [_annotate(child, context, fresh) for child in node.children], fresh)
        case (
            o.Project() | o.Filter() | o.Sort() | o.Limit() | o.Repartition() | o.Generate() | o.Join() | o.Window() | o.FunctionOperator()
        ):
            return _passed_on(node, context, fresh)
        case o.Aggregate() | o.Distinct() | o.PythonMap():
            raise _of_sets(node)
    raise no_rule(node, "the identity of rows")


def _passed_on(node: o.Plan, context: Context, fresh: FreshAttributes) -> Annotated:
    """Rows that are each made of one row of every input."""
    if node.lineage not in (LineageRule.ONE_ROW, LineageRule.BOTH_PARTNERS):
        raise _of_sets(node)
    inner = [_annotate(child, context, fresh) for child in children(node)]
    inputs = tuple(identity for child in inner for identity in child.inputs)
    rebuilt = with_children(node, tuple(child.plan for child in inner))
    if isinstance(rebuilt, o.Project):
        rebuilt = _project(rebuilt, inputs)
    return Annotated(plan=rebuilt, inputs=inputs)


def _of_sets(node: o.Plan) -> TypeError:
    """The rows of such an operator go back to sets of rows."""
    return TypeError(f"identities do not pass through {type(node).__name__} ({node.lineage.value}): annotate what stands below it")


def _source(node: o.Source, context: Context, fresh: FreshAttributes) -> Annotated:
    identity = context.sources[node.leaf]
    keys = tuple(fresh.attribute(f"lineage_{node.leaf}_{key.name.removeprefix('lineage_')}", key.type) for key in identity.columns)
    plan = replace(node, output=node.output + keys, columns=node.columns + tuple(key.name for key in identity.columns))
    return Annotated(plan=plan, inputs=(InputIdentity(kind="source", number=node.leaf, attributes=keys),))


def _segment_output(node: o.SegmentOutput, context: Context, fresh: FreshAttributes) -> Annotated:
    if node.segment in context.materialized:
        row = row_number(node.segment)
        identity = InputIdentity(kind="segment", number=node.segment, attributes=(row,))
        return Annotated(plan=o.SegmentOutput(segment=node.segment, output=(*node.output, row)), inputs=(identity,))
    if node.segment in context.collected:
        return _numbered_groups(node, context, fresh)
    return annotate_segment(context.plan.segments[node.segment], context, fresh)


def _numbered_groups(node: o.SegmentOutput, context: Context, fresh: FreshAttributes) -> Annotated:
    """Groups that the run made apart: known by their keys, as ever, and by their numbers as long as the run is made."""
    row = row_number(node.segment)
    leaf = o.SegmentOutput(segment=node.segment, output=(*node.output, row))
    plan, link = _linked_by_keys(leaf, context.plan.segments[node.segment], fresh)
    return Annotated(plan=plan, inputs=(link, InputIdentity(kind="segment", number=node.segment, attributes=(row,))))


def domain_identity(node: o.Aggregate) -> InputIdentity:
    """The values of a domain, which its first attribute numbers."""
    return InputIdentity(kind="domain", number=node.output[0].id, attributes=node.output)


def _grouped(segment: Segment, context: Context, fresh: FreshAttributes) -> Annotated:
    plan, link = _linked_by_keys(inline(segment.plan, context), segment, fresh)
    return Annotated(plan=plan, inputs=(link,))


def _linked_by_keys(plan: o.Plan, segment: Segment, fresh: FreshAttributes) -> tuple[o.Plan, InputIdentity]:
    marked, present = _marked(plan, segment.number, fresh)
    return marked, InputIdentity(kind="link", number=segment.number, attributes=(present, *group_keys(segment)))


def _marked(plan: o.Plan, number: int, fresh: FreshAttributes) -> tuple[o.Plan, Attribute]:
    """The plan with a constant that is not NULL: what a link's attributes begin with, since the others may be NULL."""
    present = fresh.attribute(f"lineage_segment_{number}_present", "boolean", nullable=False)
    return o.Project(child=plan, columns=(*plan.output, Alias(child=TRUE, attribute=present))), present


def _set_join(number: int, node: o.Join, context: Context, fresh: FreshAttributes) -> Annotated:
    """Semi-join, existence join and difference: the left row is one row; the right side's are found by what the condition reads."""
    left = _annotate(node.left, context, fresh)
    joined = replace(node, left=left.plan, right=inline(node.right, context))
    plan, present = _marked(joined, number, fresh)
    link = InputIdentity(kind="link", number=number, attributes=(present, *link_attributes(node)))
    return Annotated(plan=plan, inputs=(*left.inputs, link))


def link_attributes(node: o.Join) -> tuple[Attribute, ...]:
    """What tells which right rows a left row of a semi-join or existence join has to do with; nothing for a difference."""
    if node.is_difference or node.condition is None:
        return () if node.exists is None else (node.exists,)
    left = {attribute.id for attribute in node.left.output}
    read = tuple(attribute for attribute in references(node.condition) if attribute.id in left)
    return read if node.exists is None else (node.exists, *read)


def _python_map(number: int, node: o.PythonMap, context: Context, fresh: FreshAttributes) -> Annotated:
    """A Python function's rows: the keys of the group are given beside what it returns; columns that pass through are there already."""
    groups = tuple(fresh.attribute(f"lineage_group_{i}", key.type) for i, key in enumerate(node.keys[: node.group_width]))
    inputs = tuple(inline(child, context) for child in node.children)
    plan, present = _marked(replace(node, children=inputs, output=(*node.output, *groups)), number, fresh)
    return Annotated(plan=plan, inputs=(InputIdentity(kind="link", number=number, attributes=(present, *groups, *node.passed_as)),))


def _window(number: int, node: o.Window, context: Context, fresh: FreshAttributes) -> Annotated:
    """A window gives each row of its child once; the rows of its frames are found by partition and positions."""
    child = _annotate(node.child, context, fresh)
    framed = with_bounds(replace(node, child=child.plan), fresh)
    plan, present = _marked(framed.plan, number, fresh)
    bounds = tuple(bound for pair in framed.bounds for bound in pair)
    keys = tuple(key for key in node.partition if isinstance(key, Attribute))
    link = InputIdentity(kind="link", number=number, attributes=(present, *keys, *bounds))
    return Annotated(plan=plan, inputs=(*child.inputs, link), position=framed.position)


def group_keys(segment: Segment) -> tuple[Attribute, ...]:
    """The grouping keys of the segment's top aggregation: they stand in every row of its output."""
    return tuple(key for key in segment.aggregations[0].keys if isinstance(key, Attribute))


def _project(node: o.Project, inputs: tuple[InputIdentity, ...]) -> o.Project:
    kept = {attribute.id for attribute in node.output}
    passed = tuple(dict.fromkeys(a for one in inputs for a in one.attributes if a.id not in kept))
    return o.Project(child=node.child, columns=(*node.columns, *passed)) if passed else node


def _union(node: o.Union, inner: list[Annotated], fresh: FreshAttributes) -> Annotated:
    """Each branch gives the identities of its own inputs and NULL for those of the others."""
    inputs = tuple(replace(one, attributes=tuple(map(fresh.like, one.attributes))) for child in inner for one in child.inputs)
    branches = []
    for child, original in zip(inner, node.children, strict=True):
        columns: list[Named] = list(original.output)
        for other in inner:
            for one in other.inputs:
                columns.extend(_pass_or_null(one, other is child, fresh))
        branches.append(o.Project(child=child.plan, columns=tuple(columns)))
    extra = tuple(attribute for one in inputs for attribute in one.attributes)
    return Annotated(plan=o.Union(children=tuple(branches), output=node.output + extra), inputs=inputs)


def _pass_or_null(identity: InputIdentity, own: bool, fresh: FreshAttributes) -> list[Named]:
    """Aliases throughout: a grouping key may stand among the branch's columns already."""
    if own:
        return [Alias(child=attribute, attribute=fresh.like(attribute)) for attribute in identity.attributes]
    return [
        Alias(child=Cast(child=Literal(value=None, type="void"), type=attribute.type), attribute=fresh.like(attribute))
        for attribute in identity.attributes
    ]
