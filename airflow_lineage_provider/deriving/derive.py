"""One derivation: target rows, Algorithm 1, source rows, reasons, and what all of it is worth."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from airflow_lineage_provider import settings
from airflow_lineage_provider.answers.decided import Reasons
from airflow_lineage_provider.answers.explanation import Control, Difference, Explanation, RunSummary
from airflow_lineage_provider.answers.guarantees import Guarantee, weakest
from airflow_lineage_provider.deriving.controls import controls
from airflow_lineage_provider.deriving.engines import Engines
from airflow_lineage_provider.deriving.python_guarantees import opaque
from airflow_lineage_provider.deriving.reasons import ReasonReader
from airflow_lineage_provider.deriving.rows import SegmentRows
from airflow_lineage_provider.deriving.sources import KeptRows, Key, SourceReader, SourceRows, key_tuples
from airflow_lineage_provider.deriving.target import PredicateTarget, is_predicate
from airflow_lineage_provider.deriving.target_rows import PositionTarget, RowsTarget
from airflow_lineage_provider.errors import AnswerTooLarge, InvalidTarget, SparkRequired
from airflow_lineage_provider.plan.interval_columns import with_interval_types
from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.plan.names import free_name
from airflow_lineage_provider.progress import Progress
from airflow_lineage_provider.reasons.features import Names
from airflow_lineage_provider.recording import RecordedPlan, choices_of
from airflow_lineage_provider.store.kept_udfs import UdfsOfRun
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.trace import Trace, TracingQuery, trace

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.plan.expressions import Expression
    from airflow_lineage_provider.recording import RecordedSource
    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing
    from airflow_lineage_provider.store import Materialization, RunRecord, Store


@dataclass(kw_only=True)
class _Answer:
    """An explanation in the making."""

    source: dict[str, pa.Table] = field(default_factory=dict)
    reasons: dict[str, Reasons] = field(default_factory=dict)
    links: dict[str, pa.Table] = field(default_factory=dict)
    guarantees: dict[str, Guarantee] = field(default_factory=dict)
    controls: tuple[Control, ...] = ()
    stale: list[str] = field(default_factory=list)
    queries: list[TracingQuery] = field(default_factory=list)
    read: pa.Table | None = None


@dataclass(frozen=True, kw_only=True)
class FoundSources:
    """Source tables by name: their rows, and for each leaf where its keys are in them."""

    rows: Mapping[str, SourceRows]
    leaves: Mapping[int, str]
    tables: Mapping[str, RecordedSource]


class Target(Protocol):
    """Which rows of a result a derivation is about."""

    asked: str

    def condition(self) -> Expression: ...

    def numbers(self, rows: SegmentRows, recorded: RecordedPlan, engines: Engines, store: Store) -> list[int]: ...


@dataclass(frozen=True, kw_only=True)
class Derived:
    """A derivation: the explanation, its source tables with the keys of their rows, and the numbers of the target's rows.

    ``read`` is the explanation's links of the target, without the rows of tables that decided as a whole (``difference="rows"`` has those).
    """

    explanation: Explanation
    sources: FoundSources
    numbers: tuple[int, ...]
    read: pa.Table


class Deriver:
    """Derives augmented lineage from one recorded run."""

    def __init__(
        self,
        store: Store,
        record: RunRecord,
        recorded: RecordedPlan,
        spark: SparkTracing | None,
        progress: Progress,
        kept: KeptRows | None = None,
        keep_reasons: bool = True,
    ) -> None:
        """``kept`` has rows of sources that are no longer there; without ``keep_reasons`` nothing is written into the store."""
        self.keep_reasons = keep_reasons
        self.store = store
        self.record = record
        self.record_plan = recorded
        self.recorded = recorded
        """The run's plan; with the segments that were made again among the materialized ones, once they are."""
        self.spark = spark
        self.progress = progress
        self.kept = kept
        self.udfs = UdfsOfRun(store, record)
        self.stored: dict[str, Materialization] = store.materializations(record.id)

    def derive(self, target: Any, *, at: Any = None, summary: RunSummary, limit: int, difference: Difference = "control") -> Derived:
        """The explanation of the result's rows that match ``target``, or are at the positions ``at``.

        ``difference`` says what the right side of a difference (EXCEPT, NOT IN, NOT EXISTS) is in the answer: ``control``, one entry
        for the whole of it; ``data``, nothing; ``rows``, all its rows, among the source rows.

        :raises InvalidTarget, EmptyTarget, TargetTooLarge: the target cannot be used.
        :raises ResultNotStored: positions of a result that the run did not store.
        :raises SparkRequired: a part of the answer needs a Spark session, and there is none.
        """
        return self.derive_rows(self._chosen(target, at, limit), summary=summary, difference=difference)

    def _chosen(self, target: Any, at: Any, limit: int) -> Target:
        if (target is None) == (at is None):
            raise InvalidTarget("say which rows are meant, once: a predicate or rows, or positions, at=[0, 3]")
        if at is not None:
            return PositionTarget(at, self.recorded, self.stored.get("result"), self.store, limit, self.record.strategy)
        if is_predicate(target):
            return PredicateTarget(target, self.recorded, limit, self._total, None if self.spark is None else self.spark.spark)
        return RowsTarget(target, self.recorded, limit, self._total)

    def derive_rows(self, target: Target, *, summary: RunSummary, difference: Difference = "control") -> Derived:
        """The same for rows that are chosen otherwise."""
        started = time.perf_counter()
        with ExitStack() as stack:
            rows = self._rows(target, stack)
            session = stack.enter_context(self.store.session())
            engines = Engines(self.recorded, self.stored, session, self.spark)
            self.progress("finding the target rows")
            numbers = target.numbers(rows, self.recorded, engines, self.store)
            self.progress("tracing")
            answer, found = self._answer(engines, numbers, difference, rows)
            target_rows = self._target_rows(rows, numbers)
        explanation = Explanation(
            id="",
            run=summary,
            asked=target.asked,
            target=target_rows,
            result_rows=self._total,
            source=answer.source,
            reasons=answer.reasons,
            links=answer.links,
            controls=answer.controls,
            runs=dict.fromkeys(answer.reasons, summary.id),
            guarantees=answer.guarantees,
            stale=tuple(dict.fromkeys(answer.stale)),
            queries=tuple(answer.queries),
            plan=self.record_plan.plan,
            materialized=frozenset(self.record_plan.materialized),
            choices=choices_of(self.record.choices),
            seconds=time.perf_counter() - started,
        )
        assert answer.read is not None
        return Derived(explanation=explanation, sources=found, numbers=tuple(numbers), read=answer.read)

    @property
    def _total(self) -> int | None:
        return (self.record.row_counts or {}).get("result")

    def _rows(self, target: Target, stack: ExitStack) -> SegmentRows:
        """The rows of the run's segments; those that it did not store are made again, for this target."""
        from airflow_lineage_provider.spark.rereading.restore import missing_segments, restore
        from airflow_lineage_provider.spark.rereading.tracing import SparkTracing

        if not missing_segments(self.record_plan):
            return SegmentRows(self.store, self.recorded, self.stored, None)
        if self.spark is None:
            raise SparkRequired(
                f"the run was made under strategy {self.record.strategy}: a derivation makes again what it did not store, which needs a "
                "Spark session"
            )
        self.progress("making segments again")
        spark = self.spark.spark
        restored = restore(spark, self.store, self.record_plan, self.stored, self.udfs, target.condition(), stack)
        self.recorded = restored.recorded
        self.spark = SparkTracing(spark, self.store, restored.recorded, self.stored, restored.tables)
        return SegmentRows(self.store, restored.recorded, self.stored, restored)

    def _answer(self, engines: Engines, numbers: list[int], difference: Difference, rows: SegmentRows) -> tuple[_Answer, FoundSources]:
        answer = _Answer()
        targets = _targets(list(range(len(numbers))), numbers)
        whole = difference == "rows"
        traced = trace(self.recorded.traced, 0, targets, engines, enumerate_differences=whole)
        answer.queries.extend(traced.queries)
        self.progress("reading source rows")
        found = self._sources(traced, answer)
        answer.links["target"] = _links(traced, found)
        # What let a row through, and what a function read, is the same whether the rows of whole tables are listed or not.
        read = trace(self.recorded.traced, 0, targets, engines) if whole else traced
        answer.read = _links(read, found) if whole else answer.links["target"]
        answer.controls = () if difference == "data" else controls(self.recorded, read, found.leaves, listed=whole)
        self.progress("reading reasons")
        self._reasons(traced, found, engines, answer, rows)
        return answer, found

    def _target_rows(self, rows: SegmentRows, numbers: list[int]) -> pa.Table:
        names = dict(self.recorded.materialized[0].columns)
        columns = [names[a.id] for a in self.recorded.plan.output]
        found = rows.read(0, [*dict.fromkeys(columns), ROW], numbers)
        chosen = found.select([found.column_names.index(name) for name in columns]).rename_columns(list(self.recorded.plan.names))
        return with_interval_types(chosen, [a.type for a in self.recorded.plan.output])

    def _sources(self, traced: Trace, answer: _Answer) -> FoundSources:
        """Every source table once, whatever number of leaves read it (a self-join reads one table twice)."""
        reader = SourceReader(self.store, self.stored, dict(self.recorded.plan.conf), self.spark, self.kept)
        opaque_rows = opaque(self.recorded.plan, traced)
        rows: dict[str, SourceRows] = {}
        leaves: dict[int, str] = {}
        wanted = {name: _keys(group, traced) for name, group in tables_of(self.recorded).items()}
        _check_size(wanted)
        for name, group in tables_of(self.recorded).items():
            keys = wanted[name]
            rows[name] = reader.read(group[0], keys)
            leaves |= {one.source.leaf: name for one in group}
            answer.source[name] = rows[name].table
            behind = [opaque_rows.leaves.get(one.source.leaf) for one in group]
            answer.guarantees[name] = weakest(rows[name].guarantee, *behind)
            answer.stale.extend(rows[name].stale)
        return FoundSources(rows=rows, leaves=leaves, tables={name: group[0] for name, group in tables_of(self.recorded).items()})

    def _reasons(self, traced: Trace, found: FoundSources, engines: Engines, answer: _Answer, rows: SegmentRows) -> None:
        reader = ReasonReader(self.store, self.record.id, self.udfs, rows, self.keep_reasons)
        unknown = opaque(self.recorded.plan, traced)
        traceable = self.recorded.plan.traceable
        for segment in self.recorded.plan.segments:
            reached = traced.segments.get(segment.number)
            if not segment.functions or segment.number not in self.recorded.materialized or segment.number not in traceable:
                continue
            materialized = self.recorded.materialized[segment.number]
            numbers = sorted(set(reached.column(1).to_pylist())) if reached is not None else []
            for function in segment.functions:
                calls = reader.read(function, materialized, numbers or [-1])
                name = free_name(function.udf, {**answer.guarantees, **answer.links})
                answer.reasons[name] = Reasons(calls.table, names=Names.of(self.udfs.descriptions[function.function]))
                answer.guarantees[name] = weakest(calls.guarantee, unknown.segments.get(segment.number))
                # A table that decided as a whole let the row through; the function read no row of it.
                behind = trace(self.recorded.traced, segment.number, calls.rows, engines) if numbers else Trace()
                answer.links[name] = _links(behind, found)


def _targets(tags: list[int], numbers: list[int]) -> pa.Table:
    import pyarrow as pa

    return pa.table({TAG: pa.array(tags, pa.int64()), "key_0": pa.array(numbers, pa.int64())})


def tables_of(recorded: RecordedPlan) -> dict[str, list[RecordedSource]]:
    """The source leaves by table; different tables of the same name are told apart by a number."""
    groups: dict[Any, list[RecordedSource]] = {}
    for one in recorded.sources.values():
        # Two leaves are one table when they read the same thing by the same key; a session's own data only with itself.
        own = one.source.leaf if one.identity.kind == "snapshot" else -1
        groups.setdefault((one.source.relation, one.source.columns, one.identity, own), []).append(one)
    named: dict[str, list[RecordedSource]] = {}
    for group in groups.values():
        named[free_name(group[0].source.relation.name, named)] = group
    return named


def _keys(group: list[RecordedSource], traced: Trace) -> pa.Table:
    """The keys of all leaves of a table, each once."""
    import pyarrow as pa

    from airflow_lineage_provider.plan.datatypes import to_arrow
    from airflow_lineage_provider.tracing.trace import distinct_rows

    schema = pa.schema([(f"key_{i}", to_arrow(column.type)) for i, column in enumerate(group[0].identity.columns)])
    parts = [traced.sources[one.source.leaf].drop_columns([TAG]).cast(schema) for one in group if one.source.leaf in traced.sources]
    return distinct_rows(pa.concat_tables([schema.empty_table(), *parts]))


def _check_size(wanted: Mapping[str, pa.Table]) -> None:
    """Before any source row is read.

    :raises AnswerTooLarge: there are more of them than one answer may have.
    """
    rows, most = sum(keys.num_rows for keys in wanted.values()), settings.source_limit()
    if rows > most:
        tables = ", ".join(f"{keys.num_rows:,} of {name}" for name, keys in wanted.items() if keys.num_rows)
        raise AnswerTooLarge(
            f"{rows:,} source rows stand behind the target ({tables}), more than the {most:,} that one answer may have: narrow the target,"
            " or raise AIRFLOW_LINEAGE_SOURCE_LIMIT"
        )


def _links(traced: Trace, found: FoundSources) -> pa.Table:
    """Which source rows stand behind which tag."""
    import pyarrow as pa

    links: dict[tuple[int, str, int], None] = {}
    for leaf, keys in sorted(traced.sources.items()):
        name = found.leaves[leaf]
        positions: Mapping[Key, tuple[int, ...]] = found.rows[name].positions
        for tag, *key in key_tuples(keys):
            for number in positions.get(tuple(key), ()):
                links[(tag, name, number)] = None
    rows = sorted(links)
    return pa.table({
        "row": pa.array([row for row, _, _ in rows], pa.int64()),
        "source": pa.array([name for _, name, _ in rows], pa.string()),
        "source_row": pa.array([number for _, _, number in rows], pa.int64()),
    })  # fmt: skip
