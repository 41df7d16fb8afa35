"""What a run writes down so that it can be traced in another process, months later, without the pipeline's code."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from airflow_lineage_provider.capture.wanted import Capture, CaptureTable
from airflow_lineage_provider.errors import InvalidCapture, InvalidTarget, RecordDamaged
from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.interval_columns import with_interval_types
from airflow_lineage_provider.plan.lineage_keys import MaterializedSegment, SourceIdentity
from airflow_lineage_provider.plan.names import free_name
from airflow_lineage_provider.plan.operators import Plan, Source
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.walk import operators, transform_up
from airflow_lineage_provider.reasons.discretion import WITHIN, Carried, Discretion, Redaction
from airflow_lineage_provider.records.run import RecordedInput, RowsOfLineage, RunRecord
from airflow_lineage_provider.records.versions import SourceVersion
from airflow_lineage_provider.tracing.columns.carried import carried, carried_within, fields_of_sources
from airflow_lineage_provider.tracing.columns.transformation import Origin
from airflow_lineage_provider.tracing.program import Program, programs
from airflow_lineage_provider.tracing.strategies import needed_for_tracing
from airflow_lineage_provider.tracing.trace import TracedRun

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class RecordedSource:
    """A source leaf as it was read: the version of what was read, and the files behind the file hashes of its lineage keys.

    ``of_batch``: they are a batch's of a stream, and other batches have the same plan over other files. ``rows_of``: the rows that alone
    were read of it, where it was not all.
    """

    source: Source
    identity: SourceIdentity
    version: SourceVersion
    files: Mapping[str, str]
    of_batch: bool = False
    rows_of: RowsOfLineage | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Its paths, where the recorded plan leaves them out."""
        return self.source.relation.paths if self.of_batch else ()

    @property
    def primary_key(self) -> tuple[str, ...]:
        """Its columns that tell all rows apart, as the run was told (``keys``), or knew; none where it did not."""
        if self.identity.kind != "primary_key":
            return ()
        return tuple(one.name for one in self.identity.columns if one.name in self.source.columns)


@dataclass(frozen=True, kw_only=True)
class RecordedPlan:
    """A run's plan, what was materialized of it, and its sources by leaf number.

    ``written_with``: with which of its writer's options the result became text, as far as they were recorded.
    ``behind``: the columns whose values those of its result and of its sources carry, as far as the runs that wrote these know more than
    the plan itself (`discretion_of`). ``written`` has texts of queries that were written of the plan, for as long as it is asked about.
    """

    plan: SegmentedPlan
    materialized: Mapping[int, MaterializedSegment]
    sources: Mapping[int, RecordedSource]
    written_with: Mapping[str, str] = field(default_factory=dict)
    behind: Carried | None = None
    written: dict[Hashable, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def ansi(self) -> bool:
        """Whether the run's session computed as ANSI SQL says (Spark's default)."""
        return dict(self.plan.conf).get("spark.sql.ansi.enabled", "true") == "true"

    @property
    def zone(self) -> str:
        """The time zone of the run's session."""
        return dict(self.plan.conf).get("spark.sql.session.timeZone", "")

    @property
    def traced(self) -> TracedRun:
        identities = {leaf: one.identity for leaf, one in self.sources.items()}
        return TracedRun(plan=self.plan, materialized=self.materialized, sources=identities)

    @property
    def missing(self) -> frozenset[int]:
        """The segments that a derivation needs and the run did not store."""
        return needed_for_tracing(self.plan) - frozenset(self.materialized)


def missing_programs(recorded: RecordedPlan) -> list[Program]:
    """What makes the segments again that a derivation needs and the run did not store, as the run would have stored them, in order."""
    identities = {leaf: one.identity for leaf, one in recorded.sources.items()}
    made = programs(recorded.plan, identities, recorded.missing | set(recorded.materialized))
    return [one for one in made if one.segment.number in recorded.missing]


def with_missing(recorded: RecordedPlan) -> RecordedPlan:
    """The plan with those segments among the materialized ones."""
    made = {one.segment.number: one.materialized for one in missing_programs(recorded)}
    return replace(recorded, materialized={**recorded.materialized, **made})


def plan_text(recorded: RecordedPlan) -> str:
    """The plan, as the run record keeps it."""
    return codec.to_json(_with_paths(recorded.plan, {leaf: () for leaf, one in recorded.sources.items() if one.of_batch}))


def _with_paths(plan: SegmentedPlan, paths: Mapping[int, tuple[str, ...]]) -> SegmentedPlan:
    """The plan with these paths of its sources, by their leaf numbers."""

    def changed(node: Plan) -> Plan:
        if not isinstance(node, Source) or node.leaf not in paths:
            return node
        return replace(node, relation=replace(node.relation, paths=paths[node.leaf]))

    if not paths:
        return plan
    return replace(plan, segments=tuple(replace(one, plan=transform_up(one.plan, changed)) for one in plan.segments))


def recorded_segments(recorded: RecordedPlan) -> tuple[MaterializedSegment, ...]:
    """What was materialized, as the run record keeps it."""
    return tuple(recorded.materialized.values())


def recorded_inputs(recorded: RecordedPlan) -> tuple[RecordedInput, ...]:
    """The sources that were read, as the run record keeps them."""
    return tuple(
        RecordedInput(
            leaf=leaf,
            name=one.source.relation.name,
            identity=one.identity,
            version=one.version,
            files=dict(one.files),
            paths=one.paths,
            rows_of=one.rows_of,
        )
        for leaf, one in recorded.sources.items()
    )


def read(record: RunRecord, plan: str | None = None) -> RecordedPlan:
    """What the run wrote down; ``plan`` in place of the record's, which has no secrets.

    :raises PlanVersionError: the record was written by a release whose plans this one cannot read.
    :raises RecordDamaged: its parts do not belong together.
    """
    kept: SegmentedPlan = codec.from_json(record.plan if plan is None else plan)
    segmented = _with_paths(kept, {one.leaf: one.paths for one in record.inputs if one.paths})
    leaves = {node.leaf: node for s in segmented.segments for node in operators(s.plan) if isinstance(node, Source)}
    strange = sorted({one.leaf for one in record.inputs} - set(leaves))
    if strange:
        raise RecordDamaged(f"the record of run {record.id} has input {strange[0]}, and its plan has no such source")
    sources = {
        one.leaf: RecordedSource(
            source=leaves[one.leaf],
            identity=one.identity,
            version=one.version,
            files=one.files,
            of_batch=bool(one.paths),
            rows_of=one.rows_of,
        )
        for one in record.inputs
    }
    return RecordedPlan(
        plan=segmented,
        materialized={one.segment: one for one in record.segments},
        sources=sources,
        written_with=(record.output and record.output.options) or {},
    )


def tables_of(recorded: RecordedPlan) -> dict[str, list[RecordedSource]]:
    """The source leaves by table; different tables of the same name are told apart by a number."""
    groups: dict[Any, list[RecordedSource]] = {}
    for one in recorded.sources.values():
        # Two leaves are one table when they read the same rows by the same key; a session's own data only with itself.
        own = one.source.leaf if one.identity.kind == "snapshot" else -1
        groups.setdefault((one.source.relation, one.source.columns, one.identity, one.rows_of, own), []).append(one)
    named: dict[str, list[RecordedSource]] = {}
    for group in groups.values():
        named[free_name(group[0].source.relation.name, named)] = group
    return named


def named_table(table: str, tables: Mapping[str, list[RecordedSource]]) -> str:
    """The name of the source table that is meant, which need not be in its letters' case.

    :raises InvalidTarget: there is none; the message lists the tables.
    """
    exact = [name for name in tables if name == table] or [name for name in tables if name.lower() == table.lower()]
    if len(exact) != 1:
        raise InvalidTarget(f"the run has no source table {table!r}; it has {listed_tables(tables)}")
    return exact[0]


def meant_tables(table: str | None, tables: Mapping[str, list[RecordedSource]]) -> list[str]:
    """The name of the source table that is meant, or of each where none is named.

    :raises InvalidTarget: as `named_table`.
    """
    return list(tables) if table is None else [named_table(table, tables)]


class Place(NamedTuple):
    """A source table, or with a ``leaf`` one of the places at which the plan reads it."""

    table: str
    leaf: int | None = None

    def sources(self, recorded: RecordedPlan) -> list[RecordedSource]:
        """What is read there."""
        return [one for one in tables_of(recorded)[self.table] if self.leaf in (None, one.source.leaf)]


def places_of(recorded: RecordedPlan, table: str | None, *, by_leaf: bool) -> dict[str, Place]:
    """The source table that is meant, or each, by name; ``by_leaf`` each place at which the plan reads it, told apart by a number.

    :raises InvalidTarget: as `named_table`.
    """
    tables = tables_of(recorded)
    names = meant_tables(table, tables)
    if not by_leaf:
        return {name: Place(name) for name in names}
    # The first place of each table has its name, whatever further places of others would be called.
    named = dict[str, Place]()
    for part in (slice(1), slice(1, None)):
        for name in names:
            for one in tables[name][part]:
                named[free_name(name, named)] = Place(name, one.source.leaf)
    return named


def listed_tables(tables: Mapping[str, list[RecordedSource]]) -> str:
    """The tables with their columns, for a message."""
    return "; ".join(f"{name} ({', '.join(leaves[0].source.columns)})" for name, leaves in tables.items())


def wanted_tables(recorded: RecordedPlan, wanted: Capture) -> Mapping[int, CaptureTable] | None:
    """The source leaves whose lineage is to be captured, and what of each; None: all of all.

    :raises InvalidCapture: a table is not read.
    """
    if wanted.tables is None:
        return None
    tables = tables_of(recorded)
    try:
        named = {named_table(name, tables): one for name, one in wanted.each.items()}
    except InvalidTarget as problem:
        raise InvalidCapture(f"capture: {problem}") from None
    return {one.source.leaf: of for name, of in named.items() for one in tables[name]}


def empty_rows(source: RecordedSource) -> pa.Table:
    """A source table as an answer has its rows, with none."""
    return _empty(tuple(a.type for a in source.source.output), source.source.columns)


@lru_cache(maxsize=256)
def _empty(types: tuple[str, ...], names: tuple[str, ...]) -> pa.Table:
    import pyarrow as pa

    return with_interval_types(pa.table([pa.array([], to_arrow(one)) for one in types], names=list(names)), types)


def carried_by_plan(plan: RecordedPlan) -> Carried:
    """The source columns whose values the columns of a run's result carry, and those that its plan has on the way (`WITHIN`)."""
    tables = {one.source.leaf: name for name, leaves in tables_of(plan).items() for one in leaves}
    columns, within = {leaf: one.source.columns for leaf, one in plan.sources.items()}, fields_of_sources(plan.plan)

    def named(found: Iterable[Origin]) -> frozenset[tuple[str, str]]:
        read = [(leaf, at) for leaf, at in found if leaf in tables]
        return frozenset((tables[leaf], one) for leaf, at in read for one in (columns[leaf][at], *within[leaf, at]))

    of_result = {("", name): named(found) for name, found in carried(plan.plan).items()}
    return of_result | {(WITHIN, name): named(found) for name, found in carried_within(plan.plan).items()}


def discretion_of(plan: RecordedPlan) -> Discretion:
    """What is withheld of a run under the settings: of its sources by their names, and of its result what carries their values, too."""
    discretion = Discretion.of()
    if not discretion:
        return discretion
    return discretion.following(plan.behind if plan.behind is not None else carried_by_plan(plan))


def redaction_of(plan: RecordedPlan) -> Redaction:
    """What a message about a run may not tell: columns of its result and of its sources."""
    discretion = discretion_of(plan)
    if not discretion:
        return Redaction()
    names = {(name, "") for name in (*plan.plan.names, *(a.name for one in plan.sources.values() for a in one.source.output))}
    names |= {(name, table) for table, name in plan.behind or () if table == WITHIN}
    names |= {(column, table) for table, leaves in tables_of(plan).items() for column in leaves[0].source.columns}
    hidden = frozenset(name for name, table in names if discretion.hides(name, table))
    return Redaction(hidden, frozenset(name for name, table in names if discretion.masks(name, table)))
