"""What a run does with provenance sketches, decided before it is computed: which of them it reads through, and which it is to capture.

A sketch is used where all sources are of the very versions that it was captured of, and for the very instance of the pipeline
(`sketches.template`): then what the proof said when it was captured holds. For an instance with other constants it is proved anew that the
column is safe, and that the sketch has all that stands behind the result. Whatever stands against it is said of each source.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from airflow_lineage_provider import __version__
from airflow_lineage_provider.errors import EnvironmentProblem, LineageError, PlanError, SketchError
from airflow_lineage_provider.plan.digest import digest_of
from airflow_lineage_provider.records.sketches import SketchUse, StoredSketch
from airflow_lineage_provider.records.versions import FilesVersion, SnapshotVersion, SourceVersion
from airflow_lineage_provider.running.sketch_policy import measured, to_capture
from airflow_lineage_provider.sketches import cuts, kept_cuts
from airflow_lineage_provider.sketches.choice import ChosenColumn, chosen, why_not
from airflow_lineage_provider.sketches.columns import canonical, safe_columns
from airflow_lineage_provider.sketches.cuts import RowGroup
from airflow_lineage_provider.sketches.policy import whether_to_use
from airflow_lineage_provider.sketches.reuse import why_not_reused
from airflow_lineage_provider.sketches.sketch import Sketch
from airflow_lineage_provider.sketches.solver import z3_module
from airflow_lineage_provider.sketches.template import Binding, Instance, instance_of, why_another_time
from airflow_lineage_provider.sketches.ties import limit_to_count
from airflow_lineage_provider.sketches.use import selection
from airflow_lineage_provider.sources.row_groups import bounds_of_row_groups
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    from airflow_lineage_provider.plan.expressions import Expression
    from airflow_lineage_provider.plan.operators import Source
    from airflow_lineage_provider.reasons import ReasonedUdf
    from airflow_lineage_provider.recording import RecordedPlan, RecordedSource
    from airflow_lineage_provider.running.run import Request
    from airflow_lineage_provider.sketches.wanted import SketchOn
    from airflow_lineage_provider.spark.capturing.capture import CapturedPipeline
    from airflow_lineage_provider.store.run_store import RunStore

log = logging.getLogger(__name__)

_SAME = "of the same pipeline, constants and versions"
_OTHER = "of the same pipeline and versions with other constants, which has all that this one needs"
MOST_TRIED = 20
"""So many sketches of other constants are looked at, the smallest first: each may take a second."""


@dataclass(frozen=True, kw_only=True)
class Sketching:
    """``uses`` says of each source what became of it; ``selections`` are the conditions of the sketches that are used, ``capture`` the
    columns that are to be captured, by leaf, of which those of ``tied`` leaves are good only if no rows tie at the limit; ``versions`` are
    digests of the versions of the sources that the run reads, ``because`` is why some are captured, where that was decided."""

    uses: tuple[SketchUse, ...] = ()
    selections: Mapping[int, Expression] = field(default_factory=dict)
    capture: Mapping[int, ChosenColumn] = field(default_factory=dict)
    tied: frozenset[int] = frozenset()
    instance: Instance | None = None
    versions: Mapping[int, str] = field(default_factory=dict)
    because: str = ""

    @property
    def used(self) -> tuple[str, ...]:
        """The ids of the sketches that are used."""
        return tuple(one.sketch for one in self.uses if one.state == "used")


def sketching(
    request: Request, captured: CapturedPipeline, recorded: RecordedPlan, udfs: Mapping[int, ReasonedUdf], store: RunStore
) -> Sketching:
    """What the run does with sketches.

    :raises PlanError: ``sketch_on`` names a table or a column that the pipeline does not read.
    :raises SketchUnsafe: it names a column that is not proved safe. :raises EnvironmentProblem: z3 is not installed, and is needed.
    """
    if request.sketches == "off":
        return Sketching(
            uses=tuple(_unused(one, request.sketches_refused) for one in _sources(recorded)) if request.sketches_refused else ()
        )
    named = _named(request, recorded)
    against = _why_none(request, captured, recorded, udfs)
    if against:
        return Sketching(uses=tuple(_unused(one, against) for one in _sources(recorded)))
    instance = instance_of(captured.pipeline, _others(captured, udfs))
    asked = _Asked(request, captured, recorded, named, instance, {leaf: _digest(one) for leaf, one in recorded.sources.items()})
    if request.sketches == "auto":
        return _by_policy(asked, store)
    found = asked.used(store) if request.sketches in ("use", "eager") else Sketching()
    if found.used or request.sketches == "use":
        return found
    return asked.to_capture()


def _by_policy(asked: _Asked, store: RunStore) -> Sketching:
    """Through sketches that fit, and what is captured where none does, if that pays."""
    z3_module()  # a run that needs it would else fail some day
    found, runs = asked.used(store), measured(store, asked.instance)
    if found.used:
        decision = whether_to_use(runs)
        return found if decision.yes else asked.unused(decision.because)
    decision = to_capture(runs, asked.captured.pipeline, asked.instance, asked.versions)
    if decision.yes:
        return replace(asked.to_capture(), because=decision.because)
    return replace(found, uses=tuple(replace(one, because=f"{one.because}; {decision.because}") for one in found.uses))


def _sources(recorded: RecordedPlan) -> list[RecordedSource]:
    return [recorded.sources[leaf] for leaf in sorted(recorded.sources)]


def _unused(one: RecordedSource, because: str, column: str = "") -> SketchUse:
    return SketchUse(leaf=one.source.leaf, table=one.source.relation.name, column=column, state="unused", because=because)


def _named(request: Request, recorded: RecordedPlan) -> dict[int, SketchOn]:
    """What ``sketch_on`` says, by leaf, with the columns in the table's own letters.

    :raises PlanError: there is no such table or column.
    """
    found: dict[int, SketchOn] = {}
    for table, on in request.sketch_on.items():
        read = [one.source for one in _sources(recorded) if one.source.relation.name.casefold() == table.casefold()]
        if not read:
            tables = ", ".join(sorted({one.source.relation.name for one in _sources(recorded)}))
            raise PlanError(f"sketch_on names table {table}, which the pipeline does not read; it reads {tables}")
        found |= {source.leaf: replace(on, column=_column_of(source, on.column)) for source in read}
    return found


def _column_of(source: Source, name: str) -> str:
    same = [one for one in source.columns if one == name] or [one for one in source.columns if one.casefold() == name.casefold()]
    if len(same) != 1:
        raise PlanError(f"sketch_on names column {name} of {source.relation.name}; the table has {', '.join(source.columns)}")
    return same[0]


def _why_none(request: Request, captured: CapturedPipeline, recorded: RecordedPlan, udfs: Mapping[int, ReasonedUdf]) -> str:
    """Why no sketch can be used or captured, whatever it is of."""
    from airflow_lineage_provider.spark.executing.run import reasoned_udf_of

    if request.secrets.values:
        return "the pipeline has secret parameters, which nobody can compare with those of another run"
    if request.strategy == "full_materialization":
        return "full_materialization stores every segment, and over a sketch they would have parts of groups"
    if request.batch is not None:
        return "each batch of a stream is read once"
    if request.sources:
        return "the pipeline reads rows of lineage, and a sketch is of the rows behind a result of whole tables"
    functions = {f.function for segment in recorded.plan.segments for f in segment.functions}
    if functions - set(udfs) or captured.operators or not all(map(reasoned_udf_of, captured.udfs.values())):
        return "the pipeline calls a function whose version nobody knows: declare it as a reasoned UDF"
    for one in _sources(recorded):
        if one.version.kept_rows == "doubtful":
            return f"the session keeps rows of {one.source.relation.name} (a cache), which may be others"
        if not _is_known(one.version):
            return f"{one.source.relation.name} has no version that tells whether its rows are still the same"
    return ""


def _is_known(version: SourceVersion) -> bool:
    """Whether a version tells that all rows are the same."""
    match version:
        case FilesVersion():
            return version.complete
        case SnapshotVersion():
            return version.snapshot is not None
    return False


def _others(captured: CapturedPipeline, udfs: Mapping[int, ReasonedUdf]) -> list[str]:
    spark = captured.leaves[0].sparkSession.version if captured.leaves else ""
    return [__version__, spark, *(f"{udfs[number].name} {udfs[number].version}" for number in sorted(udfs))]


def _digest(one: RecordedSource) -> str:
    return digest_of(written(one.version))


@dataclass(frozen=True)
class _Asked:
    request: Request
    captured: CapturedPipeline
    recorded: RecordedPlan
    named: Mapping[int, SketchOn]
    instance: Instance
    versions: Mapping[int, str]
    contained: dict[Binding, str] = field(default_factory=dict)
    """Why an instance's sketches do not serve, by its constants."""
    safe: dict[tuple[int, str], str] = field(default_factory=dict)
    """Why a column is not safe for this instance, by leaf and name."""

    def unused(self, because: str) -> Sketching:
        """No source is read through a sketch."""
        uses = tuple(_unused(one, because) for one in _sources(self.recorded))
        return Sketching(uses=uses, instance=self.instance, versions=self.versions)

    # --- use -----------------------------------------------------------------------------------------------------------

    def used(self, store: RunStore) -> Sketching:
        """The sketches that fit, one for each source."""
        nothing: list[StoredSketch] = []
        stored = store.ask("finding sketches", lambda opened: opened.sketches_of(self.instance.template), nothing)
        uses, selections = [], {}
        for source in _sources(self.recorded):
            use, condition = self._used(source, [one for one in stored if one.leaf == source.source.leaf])
            uses.append(use)
            if condition is not None:
                selections[source.source.leaf] = condition
        return Sketching(uses=tuple(uses), selections=selections, instance=self.instance, versions=self.versions)

    def _used(self, source: RecordedSource, stored: Sequence[StoredSketch]) -> tuple[SketchUse, Expression | None]:
        on = self.named.get(source.source.leaf)
        on_it = [one for one in stored if on is None or one.column == on.column]
        column = "" if on is None else on.column
        if not on_it:
            return _unused(source, "no sketch was captured of a run of this pipeline", column), None
        fresh = [one for one in on_it if one.versions == dict(self.versions)]
        if not fresh:
            return _unused(source, f"a source has changed since the sketch was captured: {self._changed(on_it[0])}", on_it[0].column), None
        small = sorted(fresh, key=lambda one: one.rows)
        same = next((one for one in small if one.binding == self.instance.binding), None)
        return self._reused(source, small[:MOST_TRIED]) if same is None else self._selected(source, same, _SAME)

    def _reused(self, source: RecordedSource, stored: Sequence[StoredSketch]) -> tuple[SketchUse, Expression | None]:
        """The smallest sketch of another instance that surely serves this one."""
        problem = ""
        for one in stored:
            try:
                problem = self._why_not_reused(one)
            except EnvironmentProblem as missing:
                return _unused(source, f"the sketches that there are ({len(stored)}) are of other constants: {missing}", one.column), None
            if not problem:
                return self._selected(source, one, _OTHER)
        return _unused(source, f"the sketches that there are ({len(stored)}) are of other constants: {problem}", stored[-1].column), None

    def _why_not_reused(self, one: StoredSketch) -> str:
        if one.binding not in self.contained:
            self.contained[one.binding] = why_not_reused(self.captured.pipeline, one.binding)
        if self.contained[one.binding]:
            return self.contained[one.binding]
        column = (one.leaf, one.column)
        if column not in self.safe:
            (judged,) = safe_columns(self.captured.pipeline, keys=self._keys(), only=[column])
            self.safe[column] = why_not(judged) or ("it is safe only for a result that has rows" if judged.needs_rows else "")
        return self.safe[column]

    def _changed(self, one: StoredSketch) -> str:
        names = [s.source.relation.name for s in _sources(self.recorded) if one.versions.get(s.source.leaf) != self.versions[s.source.leaf]]
        return ", ".join(dict.fromkeys(names)) or "another table was read"

    def _selected(self, source: RecordedSource, stored: StoredSketch, of: str) -> tuple[SketchUse, Expression | None]:
        attributes = dict(zip(source.source.columns, source.source.output, strict=True))
        try:
            sketch, partition = Sketch.from_bytes(stored.content), kept_cuts.from_bytes(stored.cuts)
            if (sketch.leaf, sketch.column, sketch.count) != (
                stored.leaf,
                stored.column,
                partition.count,
            ) or stored.column not in attributes:
                raise SketchError("its parts do not belong together")
            condition = selection(partition, sketch.fragments, attributes[stored.column])
        except SketchError as problem:
            log.warning("sketch %s is not used: %s", stored.id, problem)
            return _unused(source, f"sketch {stored.id} cannot be read: {problem}", stored.column), None
        told = f"sketch of run {stored.run_id}, {of}: {stored.rows:,} of {stored.total:,} rows"
        return SketchUse(
            leaf=stored.leaf, table=source.source.relation.name, column=stored.column, state="used", because=told, sketch=stored.id,
            run_id=stored.run_id, fragments=len(sketch.fragments), count=sketch.count, rows=stored.rows, total=stored.total,
        ), condition  # fmt: skip

    # --- capture -------------------------------------------------------------------------------------------------------

    def to_capture(self) -> Sketching:
        """The columns that sketches are to be captured of, once the run is complete."""
        judged = [one for one in safe_columns(self.captured.pipeline, keys=self._keys()) if one.leaf in self.recorded.sources]
        clustering = {} if self.named.keys() >= self.recorded.sources.keys() else self._clustering()
        plan = canonical(self.captured.pipeline.plan)
        tied = {one.leaf for one in judged if one.ties and limit_to_count(plan, one.leaf) is not None}
        uses, capture = [], {}
        for leaf, found in chosen(judged, self.named, clustering, tied).items():
            problem = found if isinstance(found, str) else why_another_time(plan, frozenset({leaf}))
            if isinstance(found, str) or problem:
                uses.append(_unused(self.recorded.sources[leaf], problem))
            else:
                capture[leaf] = found
        return Sketching(uses=tuple(uses), capture=capture, tied=frozenset(tied), instance=self.instance, versions=self.versions)

    def _keys(self) -> dict[int, tuple[str, ...]]:
        keys = self.request.keys
        return {
            one.source.leaf: tuple(_column_of(one.source, name) for name in keys[one.source.relation.name])
            for one in _sources(self.recorded) if one.source.relation.name in keys
        }  # fmt: skip

    def _clustering(self) -> dict[tuple[int, str], float]:
        found = {}
        for one in _sources(self.recorded):
            for column, bounds in bounds_of_row_groups(one.source, one.files.values()).items():
                try:
                    found[one.source.leaf, column] = cuts.clustering([RowGroup(*each) for each in bounds])
                except TypeError:  # values that have no order
                    continue
        return found


def not_captured(wanted: Sketching, problem: LineageError) -> tuple[SketchUse, ...]:
    """What is said of the sources of a run whose sketches could not be captured."""
    failed = (
        SketchUse(leaf=leaf, table=one.safe.table, column=one.safe.column, state="unused", because=f"not captured: {problem}")
        for leaf, one in wanted.capture.items()
    )
    return tuple(sorted((*wanted.uses, *failed), key=lambda one: one.leaf))
