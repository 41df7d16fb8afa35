"""A segment's body with the identity of each input row carried to its output, operator by operator.

Segments that the run does not materialize are inlined: without an aggregation their own inputs' identities pass through;
an aggregation's rows are known by their grouping keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import TRUE, Alias, Attribute, Cast, Literal, Named
from airflow_lineage_provider.plan.lineage_keys import InputIdentity, SourceIdentity
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan
from airflow_lineage_provider.plan.walk import children, transform_up, with_children
from airflow_lineage_provider.rewrite.fresh import FreshAttributes


@dataclass(frozen=True, kw_only=True)
class Context:
    """What annotating a plan needs to know of the run."""

    plan: SegmentedPlan
    materialized: frozenset[int]
    sources: Mapping[int, SourceIdentity]

    def fresh(self) -> FreshAttributes:
        return FreshAttributes(*(segment.plan for segment in self.plan.segments))


@dataclass(frozen=True, kw_only=True)
class Annotated:
    """A plan whose output holds, besides its own attributes, the identities of its inputs' rows."""

    plan: o.Plan
    inputs: tuple[InputIdentity, ...]

    @property
    def identity_attributes(self) -> tuple[Attribute, ...]:
        return tuple(dict.fromkeys(attribute for one in self.inputs for attribute in one.attributes))


def annotate(plan: o.Plan, context: Context, fresh: FreshAttributes | None = None) -> Annotated:
    """Annotate a plan without aggregation (what stands below a segment's aggregations, or a whole segment)."""
    return _annotate(plan, context, fresh or context.fresh())


def inline(plan: o.Plan, context: Context) -> o.Plan:
    """The plan with the segments that are not materialized in place of their outputs, without annotation."""

    def expand(node: o.Plan) -> o.Plan:
        if isinstance(node, o.SegmentOutput) and node.segment not in context.materialized:
            return inline(context.plan.segments[node.segment].plan, context)
        return node

    return transform_up(plan, expand)


def _annotate(node: o.Plan, context: Context, fresh: FreshAttributes) -> Annotated:
    if isinstance(node, o.Source):
        return _source(node, context, fresh)
    if isinstance(node, o.SegmentOutput):
        return _segment_output(node, context, fresh)
    if isinstance(node, o.Aggregate | o.Distinct):
        raise TypeError("identities do not pass through an aggregation: annotate what stands below it")
    inner = [_annotate(child, context, fresh) for child in children(node)]
    if isinstance(node, o.Union):
        return _union(node, inner, fresh)
    inputs = tuple(identity for child in inner for identity in child.inputs)
    rebuilt = with_children(node, tuple(child.plan for child in inner))
    if isinstance(rebuilt, o.Project):
        rebuilt = _project(rebuilt, inputs)
    return Annotated(plan=rebuilt, inputs=inputs)


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
    segment = context.plan.segments[node.segment]
    if segment.aggregations:
        return _grouped(segment, context, fresh)
    return _annotate(segment.plan, context, fresh)


def row_number(segment: int) -> Attribute:
    """The row number of a materialized segment: the same attribute whenever the segment is annotated, and no other's id."""
    return Attribute(id=-1000 - segment, name=f"lineage_segment_{segment}_row", type="bigint", nullable=False)


def _grouped(segment: Segment, context: Context, fresh: FreshAttributes) -> Annotated:
    plan = inline(segment.plan, context)
    present = fresh.attribute(f"lineage_segment_{segment.number}_present", "boolean", nullable=False)
    keys = group_keys(segment)
    marked = o.Project(child=plan, columns=(*plan.output, Alias(child=TRUE, attribute=present)))
    return Annotated(plan=marked, inputs=(InputIdentity(kind="segment", number=segment.number, attributes=(present, *keys)),))


def group_keys(segment: Segment) -> tuple[Attribute, ...]:
    """The grouping keys of the segment's top aggregation: they stand in every row of its output."""
    return tuple(key for key in segment.aggregations[0].keys if isinstance(key, Attribute))


def _project(node: o.Project, inputs: tuple[InputIdentity, ...]) -> o.Project:
    kept = {attribute.id for attribute in node.output}
    passed = tuple(dict.fromkeys(a for one in inputs for a in one.attributes if a.id not in kept))
    return o.Project(child=node.child, columns=(*node.columns, *passed)) if passed else node


def _union(node: o.Union, inner: list[Annotated], fresh: FreshAttributes) -> Annotated:
    """Each branch gives the identities of its own inputs and NULL for those of the others."""
    made = {id(one): tuple(fresh.like(a) for a in one.attributes) for child in inner for one in child.inputs}
    branches = []
    for child, original in zip(inner, node.children, strict=True):
        columns: list[Named] = list(original.output)
        for other in inner:
            for one in other.inputs:
                columns.extend(_pass_or_null(one, other is child, fresh))
        branches.append(o.Project(child=child.plan, columns=tuple(columns)))
    extra = tuple(attribute for child in inner for one in child.inputs for attribute in made[id(one)])
    inputs = tuple(replace(one, attributes=made[id(one)]) for child in inner for one in child.inputs)
    return Annotated(plan=o.Union(children=tuple(branches), output=node.output + extra), inputs=inputs)


def _pass_or_null(identity: InputIdentity, own: bool, fresh: FreshAttributes) -> list[Named]:
    """Aliases throughout: a grouping key may stand among the branch's columns already."""
    if own:
        return [Alias(child=attribute, attribute=fresh.like(attribute)) for attribute in identity.attributes]
    return [
        Alias(child=Cast(child=Literal(value=None, type="void"), type=attribute.type), attribute=fresh.like(attribute))
        for attribute in identity.attributes
    ]
