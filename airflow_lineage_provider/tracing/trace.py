"""Algorithm 1: from target rows down the segments to the sources, one tracing query a segment.

Section 5.4 of the augmented-lineage paper. Targets carry a *tag* (the number of the row that is asked about), so that one
pass over many targets still tells which source row stands behind which of them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import TRUE, Alias, Attribute, Call, Expression, Named, conjunction
from airflow_lineage_provider.plan.lineage_keys import ROW, InputIdentity, MaterializedSegment, SourceIdentity
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan
from airflow_lineage_provider.rewrite.fresh import FreshAttributes
from airflow_lineage_provider.rewrite.unique_names import unique_names
from airflow_lineage_provider.tracing.annotate import Annotated, Context, annotate, group_keys
from airflow_lineage_provider.tracing.prune import prune

if TYPE_CHECKING:
    import pyarrow as pa

TARGET = -1
"""The segment number under which a tracing query reads its targets."""

TAG = "lineage_tag"


class Executor(Protocol):
    """Runs a tracing query where its inputs live."""

    def run(self, plan: o.Plan, target: pa.Table) -> tuple[pa.Table, str, str]:
        """Execute a plan whose leaf ``SegmentOutput(segment=TARGET)`` is ``target``: rows, engine, and the SQL that was run."""


@dataclass(frozen=True, kw_only=True)
class TracedRun:
    """What tracing needs to know of a recorded run."""

    plan: SegmentedPlan
    materialized: Mapping[int, MaterializedSegment]
    sources: Mapping[int, SourceIdentity]

    @property
    def context(self) -> Context:
        return Context(plan=self.plan, materialized=frozenset(self.materialized), sources=self.sources)


@dataclass(frozen=True, kw_only=True)
class TracingQuery:
    """A tracing query that was run: for people, and for the record."""

    segment: int
    engine: str
    sql: str
    seconds: float
    rows: int


@dataclass(kw_only=True)
class Trace:
    """What Algorithm 1 found. Every table has the tag first and then the identity's columns, each combination once."""

    sources: dict[int, pa.Table] = field(default_factory=dict)
    segments: dict[int, pa.Table] = field(default_factory=dict)
    queries: list[TracingQuery] = field(default_factory=list)


def trace(run: TracedRun, start: int, target: pa.Table, executor: Executor) -> Trace:
    """Trace rows of segment ``start``, given as a table of tag and identity (a row number for a materialized segment).

    Segments are taken in the order of their numbers: all targets of a segment are known when its turn comes, and each
    segment's tracing query is run once (proposition 3).
    """
    found = Trace()
    found.segments[start] = target
    for number in range(start, len(run.plan.segments)):
        if number in found.segments and found.segments[number].num_rows:
            _trace_segment(run, run.plan.segments[number], found, executor)
    return found


def _trace_segment(run: TracedRun, segment: Segment, found: Trace, executor: Executor) -> None:
    target = found.segments[segment.number]
    stored = run.materialized.get(segment.number)
    if stored is not None and segment.aggregations:
        target = _execute(segment, _groups_of_rows(segment, stored), target, found, executor)
    query = _stored_keys(stored) if stored is not None and not segment.aggregations else _tracing_query(run, segment, target)
    if query.inputs:
        rows = _execute(segment, query.plan, target, found, executor)
        for identity in query.inputs:
            _add(found, identity, _split(rows, query.identity_attributes, identity))


def _execute(segment: Segment, plan: o.Plan, target: pa.Table, found: Trace, executor: Executor) -> pa.Table:
    started = time.perf_counter()
    rows, engine, sql = executor.run(plan, target)
    seconds = time.perf_counter() - started
    found.queries.append(TracingQuery(segment=segment.number, engine=engine, sql=sql, seconds=seconds, rows=rows.num_rows))
    return rows


def _tag() -> Attribute:
    return Attribute(id=-1, name=TAG, type="bigint", nullable=False)


def _row_target() -> tuple[o.SegmentOutput, Attribute, Attribute]:
    tag = _tag()
    row = Attribute(id=-2, name="target_row", type="bigint", nullable=False)
    return o.SegmentOutput(segment=TARGET, output=(tag, row)), tag, row


def _rows(stored: MaterializedSegment, columns: tuple[Attribute, ...]) -> tuple[o.Plan, Attribute]:
    """The stored rows whose numbers are the targets', and the tag."""
    target, tag, wanted = _row_target()
    row = Attribute(id=-3, name=ROW, type="bigint", nullable=False)
    rows = o.SegmentOutput(segment=stored.segment, output=(row, *columns))
    condition = Call(function="=", arguments=(row, wanted), type="boolean")
    return o.Join(left=rows, right=target, kind="inner", condition=condition), tag


def _stored_keys(stored: MaterializedSegment) -> Annotated:
    """A materialized segment without aggregation: its rows hold their lineage keys; tracing is a look-up."""
    query = Annotated(plan=o.SegmentOutput(segment=stored.segment, output=()), inputs=stored.inputs)
    rows, tag = _rows(stored, query.identity_attributes)
    return replace(query, plan=o.Project(child=rows, columns=(tag, *query.identity_attributes)))


def _groups_of_rows(segment: Segment, stored: MaterializedSegment) -> o.Plan:
    """A materialized segment with an aggregation: the groups of the target rows, as an unmaterialized one's targets are given."""
    keys = group_keys(segment)
    rows, tag = _rows(stored, keys)
    present = Alias(child=TRUE, attribute=Attribute(id=-4, name="target_present", type="boolean", nullable=False))
    columns: tuple[Named, ...] = (tag, present, *keys)
    return o.Distinct(child=o.Project(child=rows, columns=columns))


def _tracing_query(run: TracedRun, segment: Segment, target: pa.Table) -> Annotated:
    """``Split(σ_C(T₁ ⋈ … ⋈ Tₘ) ⋉ Ō)`` (section 5.3), linked by the grouping keys, giving the inputs' identities."""
    keys = group_keys(segment)
    annotated = annotate(segment.aggregations[-1].child, run.context)
    wanted = tuple(dict.fromkeys((*keys, *annotated.identity_attributes)))
    return replace(annotated, plan=_linked(prune(annotated.plan, wanted), keys, annotated, target))


def _linked(body: o.Plan, keys: tuple[Attribute, ...], annotated: Annotated, target: pa.Table) -> o.Plan:
    tag = _tag()
    fresh = FreshAttributes(body)
    linked = tuple(fresh.attribute(f"target_{key.name}", key.type, key.nullable) for key in keys)
    present = fresh.attribute("target_present", "boolean", nullable=False)
    leaf = o.SegmentOutput(segment=TARGET, output=(tag, present, *linked))
    terms = tuple(_equal(key, copy, target.column(2 + i).null_count > 0) for i, (key, copy) in enumerate(zip(keys, linked, strict=True)))
    joined = o.Join(left=body, right=leaf, kind="inner" if terms else "cross", condition=conjunction(terms))
    return unique_names(o.Distinct(child=o.Project(child=joined, columns=(tag, *annotated.identity_attributes))))


def _equal(left: Attribute, right: Attribute, with_nulls: bool) -> Expression:
    """Equality that takes NULL as a value only where there is one: databases cannot use an index otherwise."""
    return Call(function="<=>" if with_nulls else "=", arguments=(left, right), type="boolean")


def _split(rows: pa.Table, attributes: tuple[Attribute, ...], identity: InputIdentity) -> pa.Table:
    """Definition 9: the columns of one input, duplicates removed; rows without a partner there are left out.

    ``rows`` has the tag first and then ``attributes``, by position.
    """
    import pyarrow.compute as pc

    part = rows.select([0, *(1 + attributes.index(a) for a in identity.attributes)])
    part = part.rename_columns([TAG, *(f"key_{i}" for i in range(part.num_columns - 1))])
    return distinct_rows(part.filter(pc.is_valid(part.column(1))))


def _add(found: Trace, identity: InputIdentity, rows: pa.Table) -> None:
    import pyarrow as pa

    tables = found.sources if identity.kind == "source" else found.segments
    earlier = tables.get(identity.number)
    tables[identity.number] = rows if earlier is None else distinct_rows(pa.concat_tables([earlier, rows.cast(earlier.schema)]))


def distinct_rows(table: pa.Table) -> pa.Table:
    """The table's rows, each once, in order of first appearance."""
    import pyarrow as pa

    if not any(pa.types.is_nested(column.type) for column in table.schema):
        return table.group_by(table.column_names, use_threads=False).aggregate([])
    # Arrow does not group by arrays or structs.
    seen: dict[str, int] = {}
    for number, row in enumerate(zip(*(column.to_pylist() for column in table.columns), strict=True)):
        seen.setdefault(repr(row), number)
    return table.take(list(seen.values()))
