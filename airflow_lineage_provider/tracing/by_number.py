"""Tracing queries that look up stored rows by their numbers: what these hold leads on, their lineage keys or the keys of their groups."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import TRUE, Alias, Attribute, Call, Named
from airflow_lineage_provider.plan.lineage_keys import InputIdentity, MaterializedSegment
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.tracing.annotate import Annotated, group_keys
from airflow_lineage_provider.tracing.reserved import STORED_ROW, TAG_ATTRIBUTE, TARGET, TARGET_PRESENT, TARGET_ROW

if TYPE_CHECKING:
    from airflow_lineage_provider.plan.segments import Segment

_BY_NUMBER = Call(function="=", arguments=(STORED_ROW, TARGET_ROW), type="boolean")


def stored_keys(stored: MaterializedSegment) -> Annotated:
    """A materialized segment without aggregation: its rows hold their lineage keys; tracing is a look-up."""
    query = _keys(stored)
    rows = _rows(stored, query.identity_attributes)
    return replace(query, plan=o.Project(child=rows, columns=(TAG_ATTRIBUTE, *query.identity_attributes)))


def groups_of_rows(segment: Segment, stored: MaterializedSegment) -> tuple[o.Plan, InputIdentity]:
    """A materialized segment with an aggregation: the groups of the target rows, as an unmaterialized one's targets are given."""
    keys = group_keys(segment)
    rows = _rows(stored, keys)
    columns: tuple[Named, ...] = (TAG_ATTRIBUTE, Alias(child=TRUE, attribute=TARGET_PRESENT), *keys)
    link = InputIdentity(kind="link", number=segment.number, attributes=(TARGET_PRESENT, *keys))
    return o.Distinct(child=o.Project(child=rows, columns=columns)), link


def looked_up(segment: Segment, stored: MaterializedSegment) -> tuple[Attribute, ...]:
    """What is looked up of a materialized segment's rows, by either query."""
    return group_keys(segment) if segment.aggregations else _keys(stored).identity_attributes


def read_by_number(plan: o.Plan) -> int | None:
    """The segment of which a tracing query reads the stored rows with the targets' numbers (`TARGET_ROW`), and no others; None where there
    is none. An engine need not look for them among all."""
    found = [one.left for one in operators(plan) if isinstance(one, o.Join) and one.kind == "inner" and one.condition == _BY_NUMBER]
    segments = [one.segment for one in operators(plan) if isinstance(one, o.SegmentOutput)]
    asked = [one.segment for one in found if isinstance(one, o.SegmentOutput) and segments.count(one.segment) == 1]
    return asked[0] if asked else None


def columns_by_number(plan: o.Plan) -> tuple[int, tuple[Attribute | None, ...]] | None:
    """The segment of whose rows a query gives stored columns after the tag, where it is one of this module's, and these; None is TRUE.

    (A row has one number: that groups of rows are told once takes none away.)
    """
    project = plan.child if isinstance(plan, o.Distinct) else plan
    if not isinstance(project, o.Project) or not isinstance(join := project.child, o.Join) or join.condition != _BY_NUMBER:
        return None
    columns = tuple(None if isinstance(one, Alias) and one.child == TRUE else one for one in project.columns)
    plain = tuple(one for one in columns if not isinstance(one, Alias))
    if not isinstance(join.left, o.SegmentOutput) or plain != columns or columns[0] != TAG_ATTRIBUTE:
        return None
    return join.left.segment, plain[1:]


def _keys(stored: MaterializedSegment) -> Annotated:
    return Annotated(plan=o.SegmentOutput(segment=stored.segment, output=()), inputs=stored.inputs)


def _rows(stored: MaterializedSegment, columns: tuple[Attribute, ...]) -> o.Plan:
    """The stored rows whose numbers are the targets', and the tag (`TAG_ATTRIBUTE`)."""
    rows = o.SegmentOutput(segment=stored.segment, output=(STORED_ROW, *columns))
    target = o.SegmentOutput(segment=TARGET, output=(TAG_ATTRIBUTE, TARGET_ROW))
    return o.Join(left=rows, right=target, kind="inner", condition=_BY_NUMBER)
