"""Algorithm 1: from target rows down the segments to the sources, one tracing query a segment.

Section 5.4 of the augmented-lineage paper. Targets carry a *tag* (the number of the row that is asked about), so that one
pass over many targets still tells which source row stands behind which of them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol
from typing import Literal as OneOf

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.guarantees import weakest
from airflow_lineage_provider.plan.lineage_keys import InputIdentity, MaterializedSegment, SourceIdentity
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan
from airflow_lineage_provider.tracing.annotate import Annotated, Context
from airflow_lineage_provider.tracing.binding import Key, leaf_keys
from airflow_lineage_provider.tracing.by_number import groups_of_rows, stored_keys
from airflow_lineage_provider.tracing.collected import Collected
from airflow_lineage_provider.tracing.looked_up import LookedUp
from airflow_lineage_provider.tracing.maps import Rows, RowSet, distinct_rows
from airflow_lineage_provider.tracing.numbers import different
from airflow_lineage_provider.tracing.python_guarantees import opaque
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.row_sets import link_queries, whole_side
from airflow_lineage_provider.words import Subqueries

if TYPE_CHECKING:
    import pyarrow as pa


INDEX = "index: "
LAZY = "lazy"
"""What the name of the engine begins with where captured lineage has answered; what follows is how it is written."""
COLLECTED = "spark, while the run was made"
"""The name of the engine where rows were collected with the values of their groups."""
StepOf = OneOf["rows", "sets", "groups", "side"]
"""What a step is asked about: rows of a stored segment, sets of rows by what they are found by, groups that a run made apart, or the right
side of a difference (or of an existence join) as a whole."""


class Executor(Protocol):
    """Runs a tracing query where its inputs live."""

    def run(self, plan: o.Plan, target: pa.Table) -> tuple[pa.Table, str, str]:
        """Execute a plan whose leaf ``SegmentOutput(segment=TARGET)`` is ``target``: rows, engine, and the SQL that was run."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """What stands behind rows of a stored segment, down to the next stored segments and sources.

    ``sources``, ``segments`` and ``controls`` are as a `Trace` has them; ``met`` are the segments whose sets of rows are on the
    way, and ``sets`` how many rows were found in these, where they were not looked up. ``links`` are sets of rows that were not gone into,
    by segment: the tag, and what they are found by; ``groups`` groups that the run made apart, which have numbers.
    """

    sources: Mapping[int, pa.Table]
    segments: Mapping[int, pa.Table]
    controls: Mapping[int, tuple[int, ...]]
    met: tuple[int, ...] = ()
    sets: Mapping[int, int] = field(default_factory=dict)
    links: Mapping[int, pa.Table] = field(default_factory=dict)
    groups: Mapping[int, pa.Table] = field(default_factory=dict)


class Captured(Protocol):
    """Lineage that was captured for all rows of some segments (`capture`)."""

    @property
    def pruned(self) -> frozenset[int]:
        """The source leaves that were not captured."""

    def step(
        self, segment: int, target: pa.Table, wanted: frozenset[int] | None = None, *, differences: bool = False
    ) -> tuple[Step, str] | None:
        """What stands behind rows of a segment, and what it was looked up in; None where that was not captured. Of other source leaves than
        those that are ``wanted`` something may be missing (None: all are). ``differences``: with all rows of the right sides of those that
        they passed."""


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
    """What Algorithm 1 found. Every table has the tag first and then the identity's columns, each combination once.

    ``links``: what the segments that go back to sets of rows were asked for (`plan.lineage_keys.InputIdentity`), by segment.
    ``controls``: the tags of the rows that passed a segment's difference or existence test by nothing being there, by segment: the whole
    right side has a say in them. ``met``: the segments whose sets of rows were looked for, here or when lineage was captured; ``sets``: how
    many rows were found in them here. ``reads``: from which source leaves tracing queries have found the rows of a source or a segment, or
    the rows that led to them.
    """

    run: TracedRun
    sources: dict[int, pa.Table] = field(default_factory=dict)
    segments: dict[int, pa.Table] = field(default_factory=dict)
    links: dict[int, pa.Table] = field(default_factory=dict)
    controls: dict[int, tuple[int, ...]] = field(default_factory=dict)
    met: set[int] = field(default_factory=set)
    sets: dict[int, int] = field(default_factory=dict)
    queries: list[TracingQuery] = field(default_factory=list)
    reads: dict[Key, frozenset[int]] = field(default_factory=dict)

    def rows(self, of: RowSet) -> Rows:
        """The rows of a row set that were found; what Python functions on the way leave of their guarantee."""
        import pyarrow as pa

        unknown = opaque(self.run.plan, self.met)
        tables, known = (self.sources, unknown.leaves) if of.kind == "source" else (self.segments, unknown.segments)
        types = [column.type for column in self.run.sources[of.numbers[0]].columns] if of.kind == "source" else ["bigint"]
        schema = pa.schema([(TAG, pa.int64()), *((f"key_{i}", to_arrow(one)) for i, one in enumerate(types))])
        parts = [tables[number].cast(schema) for number in of.numbers if number in tables]
        return Rows(
            of=of,
            keys=distinct_rows(pa.concat_tables([schema.empty_table(), *parts])),
            guarantee=weakest(*(known.get(number) for number in of.numbers)),
            engine=self.engine,
            leaves=frozenset[int]().union(*(self.reads.get((of.kind, number), ()) for number in of.numbers)),
        )

    @property
    def engine(self) -> str:
        """Who answered the tracing queries: an index that was captured, or an engine."""
        return engine_of(self.queries)


def engine_of(queries: Iterable[TracingQuery]) -> str:
    """Who answered tracing queries, in words: indexes that were captured, and engines."""
    found = {one.engine for one in queries}
    captured, lazy = sorted(one for one in found if one.startswith(INDEX)), sorted(one for one in found if not one.startswith(INDEX))
    told = [*captured, *([f"{LAZY}: {', '.join(lazy)}"] if lazy else [])]
    return "; ".join(told) or LAZY


def trace(
    run: TracedRun,
    start: int,
    target: pa.Table,
    executor: Executor,
    *,
    enumerate_differences: bool = False,
    subqueries: Subqueries = "partners",
    known: LookedUp | None = None,
    captured: Captured | None = None,
    wanted: frozenset[int] | None = None,
) -> Trace:
    """Trace rows of the materialized segment ``start``, given as a table of tag and row number.

    What stored rows hold is looked up where ``known`` has it not, and what stands behind them where ``captured`` does not say it. Segments
    are taken in the order of their numbers: all targets of a segment are known when its turn comes, and each segment's tracing query is
    run once (proposition 3). The right sides of differences are gone into only when asked. What was captured is of the same ``subqueries``.
    Where only some source leaves are ``wanted``, the trace may lack rows of others.
    """
    found, known = Trace(run=run), known or LookedUp()
    found.segments[start] = target
    for segment in run.plan.segments[start:]:
        asked = segment.number in found.segments and found.segments[segment.number].num_rows
        if asked and not _looked_up(segment, found, captured, wanted, enumerate_differences):
            trace_rows(run, segment, found, executor, known)
        if segment.number in found.links and found.links[segment.number].num_rows:
            link = found.links[segment.number]
            _trace_link(run, segment, link, found, executor, known, enumerate_differences=enumerate_differences, subqueries=subqueries)
    return found


def step(
    run: TracedRun,
    start: int,
    target: pa.Table,
    executor: Executor,
    of: StepOf = "rows",
    *,
    subqueries: Subqueries = "partners",
    collected: Collected | None = None,
) -> tuple[Step, list[TracingQuery]]:
    """What stands behind rows of a stored segment, as `trace` finds it, down to the next stored segments and sources, and to sets of rows
    of further segments, which are steps of their own: where many rows have a set in common, it is gone into once.

    ``target`` has a tag and a number for each row; ``of`` sets those of `Step.links`, of groups those of `Step.groups`, and of a side that
    everything goes back to it has one row: a tag, and a constant. What was ``collected`` while the run was made is not looked for.

    :raises CollectedLost: it is not of these rows, or cannot be had any more.
    """
    found, segment = Trace(run=run), run.plan.segments[start]
    if of == "side":
        found.sets[start] = _whole_side(run, segment, target, found, executor)
    elif of == "sets":
        found.links[start] = target
    else:
        found.segments[start] = target
        if collected is not None and start in collected.carried:
            _by_collected(segment, found, collected)
        else:
            trace_rows(run, segment, found, executor, LookedUp())
        del found.segments[start]
    # The rows of a stored aggregation are groups, one each.
    own = found.links.pop(start, None) if of == "sets" or segment.aggregations else None
    if own is not None and own.num_rows:
        _trace_link(run, segment, own, found, executor, LookedUp(), enumerate_differences=False, subqueries=subqueries)
    stored = {number: rows for number, rows in found.segments.items() if number in run.materialized}
    groups = {number: rows for number, rows in found.segments.items() if number not in stored}
    met = tuple(sorted(found.met | {*groups}))
    made = Step(sources=found.sources, segments=stored, controls=found.controls, met=met, sets=found.sets, links=found.links, groups=groups)
    return made, found.queries


def _by_collected(segment: Segment, found: Trace, collected: Collected) -> None:
    """What rows of a segment that the run kept have carried of the rows behind them."""
    started, carried = time.perf_counter(), collected.carried[segment.number]
    if carried.sets is not None:
        found.met.add(segment.number)
    if not found.segments[segment.number].num_rows:
        return  # nothing goes back to its groups (an outer join without partners): nor to what is below them
    rows = collected.behind(segment.number, found.segments[segment.number])
    _add_inputs(segment, Annotated(plan=segment.plan, inputs=carried.inputs), rows, found)
    for leaf in carried.left_out:
        # So that it is known that something is missing.
        found.sources.setdefault(leaf, _no_rows(found.run.sources[leaf]))
    if carried.sets is not None:
        found.sets[segment.number] = rows.num_rows
    seconds, told = time.perf_counter() - started, f"-- rows behind those of segment {segment.number}, collected while the run was made"
    found.queries.append(TracingQuery(segment=segment.number, engine=COLLECTED, sql=told, seconds=seconds, rows=rows.num_rows))


def _no_rows(identity: SourceIdentity) -> pa.Table:
    import pyarrow as pa

    types = [to_arrow(column.type) for column in identity.columns]
    return pa.schema([(TAG, pa.int64()), *((f"key_{i}", one) for i, one in enumerate(types))]).empty_table()


def _looked_up(segment: Segment, found: Trace, captured: Captured | None, wanted: frozenset[int] | None, differences: bool) -> bool:
    """Whether it was captured what stands behind rows of a segment: then it is known now."""
    started = time.perf_counter()
    looked_up = captured and captured.step(segment.number, found.segments[segment.number], wanted, differences=differences)
    if not looked_up:
        return False
    one, name = looked_up
    for own, tables in ((found.sources, one.sources), (found.segments, one.segments)):
        for number, rows in tables.items():
            own[number] = rows if number not in own else _together(own[number], rows)
    _note_reads(found, segment, (), [*(("source", leaf) for leaf in one.sources), *(("segment", number) for number in one.segments)])
    for number, tags in one.controls.items():
        found.controls[number] = _tags_of(found.controls.get(number, ()), tags)
    found.met.update(one.met)
    rows = sum(table.num_rows for table in (*one.sources.values(), *one.segments.values()))
    told = f"-- looked up in what was captured of segment {segment.number}: {name}"
    seconds = time.perf_counter() - started
    found.queries.append(TracingQuery(segment=segment.number, engine=INDEX + name, sql=told, seconds=seconds, rows=rows))
    return True


def _tags_of(*parts: Collection[int]) -> tuple[int, ...]:
    """The tags, each once, ascending."""
    import numpy as np

    return tuple(different(np.concatenate([np.asarray(one, np.int64) for one in parts])).tolist())


def _controlled(segment: Segment, link: pa.Table) -> pa.Table:
    """The targets of a link that have the whole right side of the segment as a control."""
    import pyarrow.compute as pc

    if segment.kind == "d":
        return link
    # The flag of an existence join comes right after the constant.
    return link.filter(pc.invert(link.column(2))) if segment.kind == "existence" else link.slice(0, 0)


def passed(segment: Segment, link: pa.Table) -> pa.Table:
    """The targets of a link that partners let pass, or whose flag they set."""
    return link.filter(link.column(2)) if segment.kind == "existence" else link


def trace_rows(run: TracedRun, segment: Segment, found: Trace, executor: Executor, known: LookedUp) -> None:
    """Rows of a materialized segment: their lineage keys are stored; of a segment with an aggregation, the grouping keys."""
    target, stored = found.segments[segment.number], run.materialized[segment.number]
    if segment.aggregations:
        plan, keys = groups_of_rows(segment, stored)
        rows = known.rows((segment.number, "groups"), target, lambda rows: _execute(segment, plan, rows, found, executor))
        _add(found, keys, _split(rows, keys.attributes, keys))
        return
    query = stored_keys(stored)
    if leads_on(query):
        rows = known.rows((segment.number, "rows"), target, lambda rows: _execute(segment, query.plan, rows, found, executor))
        _add_inputs(segment, query, rows, found)


def leads_on(query: Annotated) -> bool:
    return any(one.kind != "domain" for one in query.inputs)


def _trace_link(
    run: TracedRun,
    segment: Segment,
    target: pa.Table,
    found: Trace,
    executor: Executor,
    known: LookedUp,
    *,
    enumerate_differences: bool,
    subqueries: Subqueries,
) -> None:
    stored = run.materialized.get(segment.number)
    by_partners = subqueries == "partners" or not segment.has_partners
    for number, query in enumerate(link_queries(segment, run.context, stored, target) if by_partners else ()):
        if leads_on(query):
            # Written for the whole target: a key that is never NULL in it is never NULL in the part that is asked about.
            ask = partial(_execute, segment, query.plan, found=found, executor=executor)
            rows = known.rows((segment.number, "link", number), target, ask)
            found.sets[segment.number] = found.sets.get(segment.number, 0) + rows.num_rows
            _add_inputs(segment, query, rows, found)
    whole = _controlled(segment, target)
    if whole.num_rows:
        found.controls[segment.number] = _tags_of(found.controls.get(segment.number, ()), whole.column(0).to_numpy())
    asked = [whole] if enumerate_differences else []
    asked += [passed(segment, target)] if subqueries == "rows" and segment.has_partners else []
    for targets in (one for one in asked if one.num_rows):
        _whole_side(run, segment, targets.select([0, 1]), found, executor)


def _whole_side(run: TracedRun, segment: Segment, target: pa.Table, found: Trace, executor: Executor) -> int:
    """All rows of the right side; how many were found."""
    query = whole_side(segment, run.context).query
    if not leads_on(query):
        return 0
    rows = _execute(segment, query.plan, target, found, executor)
    _add_inputs(segment, query, rows, found)
    return int(rows.num_rows)


def _add_inputs(segment: Segment, query: Annotated, rows: pa.Table, found: Trace) -> None:
    inputs = [one for one in query.inputs if one.kind != "domain"]
    for identity in inputs:
        _add(found, identity, _split(rows, query.identity_attributes, identity))
    _note_reads(found, segment, leaf_keys(query.plan), [("source" if one.kind == "source" else "segment", one.number) for one in inputs])


def _note_reads(found: Trace, segment: Segment, read: Iterable[Key], inputs: Iterable[Key]) -> None:
    """That rows of these inputs were found from rows of a segment, by a query that has read so."""
    leaves = found.reads.get(("segment", segment.number), frozenset()) | {number for kind, number in read if kind == "source"}
    for one in inputs:
        found.reads[one] = found.reads.get(one, frozenset()) | leaves


def _execute(segment: Segment, plan: o.Plan, target: pa.Table, found: Trace, executor: Executor) -> pa.Table:
    started = time.perf_counter()
    rows, engine, sql = executor.run(plan, target)
    seconds = time.perf_counter() - started
    found.queries.append(TracingQuery(segment=segment.number, engine=engine, sql=sql, seconds=seconds, rows=rows.num_rows))
    return rows


def _split(rows: pa.Table, attributes: tuple[Attribute, ...], identity: InputIdentity) -> pa.Table:
    """Definition 9: the columns of one input, duplicates removed; rows without a partner there are left out.

    ``rows`` has the tag first and then ``attributes``, by position.
    """
    import pyarrow.compute as pc

    part = rows.select([0, *(1 + attributes.index(a) for a in identity.attributes)])
    part = part.rename_columns([TAG, *(f"key_{i}" for i in range(part.num_columns - 1))])
    return distinct_rows(part.filter(pc.is_valid(part.column(1))))


def _add(found: Trace, identity: InputIdentity, rows: pa.Table) -> None:
    tables = {"source": found.sources, "segment": found.segments, "link": found.links}[identity.kind]
    earlier = tables.get(identity.number)
    tables[identity.number] = rows if earlier is None else _together(earlier, rows)
    if identity.kind == "link":
        found.met.add(identity.number)


def _together(one: pa.Table, other: pa.Table) -> pa.Table:
    import pyarrow as pa

    return distinct_rows(pa.concat_tables([one, other.rename_columns(one.column_names).cast(one.schema)]))
