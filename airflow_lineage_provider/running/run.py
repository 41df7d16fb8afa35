"""A run, from the user's pipeline to a complete record: capture, rewrite, execute, store, write, publish."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import __version__
from airflow_lineage_provider.capture.recorded import RecordedIndex, RecordedWay
from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan.digest import plan_digest
from airflow_lineage_provider.plan.operators import Plan
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.progress import Progress
from airflow_lineage_provider.reasons.description import UdfDescription
from airflow_lineage_provider.recording import (
    RecordedPlan,
    plan_text,
    recorded_inputs,
    recorded_segments,
)
from airflow_lineage_provider.records.batches import BatchKey
from airflow_lineage_provider.records.cost import ended
from airflow_lineage_provider.records.run import RunRecord
from airflow_lineage_provider.rewrite.passed_keys import functions_of_batches, with_passed_keys
from airflow_lineage_provider.rewrite.pipeline import rewrite
from airflow_lineage_provider.running.capture_modes import CapturedWithRun, capture_modes, wanted_leaves
from airflow_lineage_provider.running.capture_options import checked_tables
from airflow_lineage_provider.running.captured_pipeline import captured_pipeline
from airflow_lineage_provider.running.carried_sketches import CarriedSketches, CarriedWithRun, carried_sketches
from airflow_lineage_provider.running.computing import compute
from airflow_lineage_provider.running.costs import measured_costs
from airflow_lineage_provider.running.failing import explained_failure, forget, record_failure, take_back
from airflow_lineage_provider.running.given_keys import check_named
from airflow_lineage_provider.running.given_output import GivenOutput, recorded_output
from airflow_lineage_provider.running.journal import Journal
from airflow_lineage_provider.running.keeping import Keeping, keeping
from airflow_lineage_provider.running.looked_up import looked_up, stored_indexes
from airflow_lineage_provider.running.many_rows import probably_many
from airflow_lineage_provider.running.numbered_result import check_numbered
from airflow_lineage_provider.running.output import Output, Written
from airflow_lineage_provider.running.recorded_sources import SourceVersions, recorded_sources
from airflow_lineage_provider.running.sketch_policy import hold_sketches, note_sketches
from airflow_lineage_provider.running.sketched_result import check_result
from airflow_lineage_provider.running.sketching import sketching
from airflow_lineage_provider.running.source_statistics import SourceStatistics
from airflow_lineage_provider.running.wanted_index import Index, IndexedColumns, indexed_columns
from airflow_lineage_provider.secrecy import Secrets
from airflow_lineage_provider.secrecy.failures import guarded, told
from airflow_lineage_provider.secrecy.known import AIRFLOW
from airflow_lineage_provider.secrecy.parameters import recorded_value, texts_of
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.tracing.program import Program, programs, rest_of_plan, with_reasons
from airflow_lineage_provider.tracing.strategies import Choice, SegmentCost, choose, stored_segments
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.capture.wanted import Capture
    from airflow_lineage_provider.reasons import ReasonedUdf
    from airflow_lineage_provider.running.asked_sketches import Sketching
    from airflow_lineage_provider.sketches.wanted import SketchOn
    from airflow_lineage_provider.spark.capturing.capture import CapturedPipeline
    from airflow_lineage_provider.spark.capturing.lineage_sources import LineageSource
    from airflow_lineage_provider.spark.capturing.micro_batch import MicroBatch
    from airflow_lineage_provider.spark.executing.run import Execution
    from airflow_lineage_provider.store.data_place import DataPlace
    from airflow_lineage_provider.store.run_store import RunStore
    from airflow_lineage_provider.words import SketchesWhen


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked for."""

    pipeline: Callable[..., Any] | str | DataFrame
    name: str
    params: Mapping[str, Any] = field(repr=False)
    recorded_params: Mapping[str, Any] = field(default_factory=dict)
    secrets: Secrets = field(default_factory=Secrets)
    output: Output | GivenOutput | None
    strategy: str
    reasons: str
    keys: Mapping[str, Sequence[str]]
    airflow: Mapping[str, Any]
    append_key: str = ""
    index: Index = ()
    data: DataPlace | None = None
    batch: MicroBatch | None = None
    capture: Capture | None = None
    sketches: SketchesWhen = "off"
    sketch_on: Mapping[str, SketchOn] = field(default_factory=dict)
    verify_sketches: bool = False
    witness: bool = False
    sources: Sequence[LineageSource] = ()
    sketches_refused: str = ""
    """Why a run that was asked to use sketches is made without: another one found them wrong."""
    shared_keys: bool = False
    """Whether ``keys`` and ``index`` are those of further runs, too, and may name what this one does not have."""

    @property
    def batch_key(self) -> BatchKey | None:
        """What the batch is known by, where the run is of one."""
        return None if self.batch is None else BatchKey(pipeline=self.name, query=self.batch.query, batch=self.batch.number)


@dataclass(frozen=True, kw_only=True)
class Prepared:
    captured: CapturedPipeline
    recorded: RecordedPlan
    choices: tuple[Choice, ...]
    programs: tuple[Program, ...]
    udfs: Mapping[int, ReasonedUdf]
    keeping: Keeping
    frame: DataFrame
    sketching: Sketching
    many: frozenset[str]
    index: IndexedColumns = ()
    ways: tuple[RecordedWay, ...] = ()
    carried: CarriedSketches | None = None

    @property
    def runs_as_it_is(self) -> bool:
        """Nothing is stored but the session's own data, and rows carry nothing: it is the user's frame that is computed."""
        return not self.programs and not self.sketching.selections and not self.marks

    @property
    def rest(self) -> Plan | None:
        """What makes the result, where it is not stored."""
        if 0 in self.recorded.materialized:
            return None
        return rest_of_plan(self.recorded.plan, frozenset(self.recorded.materialized)) if self.carried is None else self.carried.run.rest

    @property
    def indexed(self) -> list[list[str]]:
        """The stored columns of the result that are asked for together."""
        names = dict(self.recorded.materialized[0].columns) if self.index else {}
        return [[names[self.recorded.plan.output[at].id] for at in one] for one in self.index]

    @property
    def marks(self) -> list[str]:
        """The columns of what the result's rows carry."""
        return [] if self.carried is None else [one.name for one in self.carried.run.attributes]


@dataclass(frozen=True, kw_only=True)
class Executed:
    """The run as it is recorded, what Spark keeps of it, the result, what sketches are to be captured, and what was ``carried`` for them,
    what was collected of its lineage, and the values of its secrets: those of session variables are known since the plan is."""

    record: RunRecord
    execution: Execution
    result: DataFrame
    sketching: Sketching
    captured: CapturedWithRun
    carried: CarriedSketches | None = None
    secrets: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def carried_with_run(self) -> CarriedWithRun | None:
        """What the rows of the result carried for its sketches."""
        return None if self.carried is None else CarriedWithRun(carried=self.carried, execution=self.execution)


def execute(spark: SparkSession, store: RunStore, request: Request, progress: Progress) -> Executed:
    """Run a pipeline.

    :raises PlanError: the pipeline cannot be understood; nothing was run and nothing recorded.
    :raises InvalidOutput: the result could not be written; nothing was run and nothing recorded.
    :raises SketchMismatch, SketchOutdated: a sketch was used and must not have been; recorded as failed, and nothing is written.
    :raises UdfFailed, ReasonValueMismatch, LoadFailed, StoreUnavailable, RunFailed: it failed on the way; recorded as failed.
    """
    from airflow_lineage_provider.spark.executing.collected import collected
    from airflow_lineage_provider.spark.executing.lost_executors import check_kept_rows, lost_executors
    from airflow_lineage_provider.spark.executing.run import Execution
    from airflow_lineage_provider.spark.selected import without_dictionaries
    from airflow_lineage_provider.spark.session import KEPT_ROWS, apply_conf

    started = time.perf_counter()
    progress("reading the plan")
    frame, captured, request, called = captured_pipeline(spark, request)
    spark = frame.sparkSession  # whose views, functions and settings the pipeline means
    with guarded(request.secrets.message):
        prepared = prepare(spark, store, request, frame, captured)
    record = replace(_record(prepared, request), started=datetime.now(UTC))
    record = replace(record, id=store.begin(record, request.batch_key))
    execution = Execution(
        spark=spark, run_id=record.id, store=store, progress=progress, conf=record.conf, data=request.data, looked_up=looked_up(prepared),
        many=prepared.many, lost_before=lost_executors(spark),
    )  # fmt: skip
    execution.for_lineage(time.perf_counter() - started - called)
    journal = Journal(store, record.id, request.append_key, progress)
    try:
        hold_sketches(store, record.id, prepared.sketching.used)
        with apply_conf(spark, KEPT_ROWS), without_dictionaries(spark) if prepared.sketching.used else nullcontext():
            result, written = _result(execution, prepared, request, journal)
            check_kept_rows(execution)
        progress("publishing")
        execution.timings |= ended(execution.timings, time.perf_counter() - started, with_lineage=not prepared.runs_as_it_is)
        output = recorded_output(spark, request.output, written) if request.output and written else None
        # In its own transaction: a process that ends right after it leaves that lineage was to be captured.
        begun = None if request.capture is None or request.batch is not None else RecordedIndex.begun()
        record = replace(record, output=output, captured=begun, timings=execution.timings, row_counts=execution.rows)
        record = replace(record, finished=datetime.now(UTC))
        record = _publish(store, record, written.places if written else {}, prepared, journal, request.verify_sketches)
    except BaseException as error:
        raised = told(explained_failure(error, prepared.recorded, prepared.programs), request.secrets.message)
        if record_failure(store, record.id, raised) and request.output is not None and journal.own:
            take_back(spark, request.output, journal, raised)
        forget(execution, raised)
        if raised is error:
            raise
        raise raised from (error if told(error, request.secrets.message) is error else None)
    lineage = CapturedWithRun(ways=prepared.ways, collected=collected(execution, prepared.programs))
    return Executed(
        record=record, execution=execution, result=result, sketching=prepared.sketching, captured=lineage, carried=prepared.carried,
        secrets=request.secrets.values,
    )  # fmt: skip


def _publish(
    store: RunStore, record: RunRecord, places: Mapping[str, str], prepared: Prepared, journal: Journal, compared: bool
) -> RunRecord:
    """Make the run visible: complete, or, where its lineage is lost, incomplete."""

    def publish(opened: Store, again: bool = False) -> None:
        opened.publish_run(
            record.id, output=record.output, places=places, timings=record.timings, row_counts=record.row_counts,
            indexes=stored_indexes(prepared), udfs=prepared.keeping.kept, captured=record.captured, again=again,
        )  # fmt: skip

    store.ask(f"publishing run {record.id}", publish, None, lambda opened: publish(opened, True))
    if prepared.sketching.instance is not None:
        note_sketches(store, record, prepared.sketching, compared=compared)
    if not store.lost:
        return replace(record, status="complete")
    incomplete = replace(record, captured=None, status="incomplete", error=f"lineage incomplete: {store.lost}")
    store.incomplete(incomplete, places, journal.keyed)
    return incomplete


def _result(execution: Execution, prepared: Prepared, request: Request, journal: Journal) -> tuple[DataFrame, Written | None]:
    """The result, and what writing it gave where it is written."""
    from airflow_lineage_provider.spark.executing.run import compute_result

    result, through = compute(execution, prepared), bool(prepared.sketching.used)
    computed = 0 in prepared.recorded.materialized or execution.marked is not None
    if not computed and (request.output is None or through or request.output.reads_twice):
        execution.progress("computing result")
        result = compute_result(execution, result)
    if through:
        plain = prepared.frame if request.verify_sketches else None
        check_result(execution, prepared.recorded, prepared.sketching.used, result, plain)
    if request.output is not None:
        execution.progress(f"writing {request.output.shown}")
        return result, request.output.write(result, journal)
    return result, None


def prepare(spark: SparkSession, store: RunStore, request: Request, frame: DataFrame, captured: CapturedPipeline) -> Prepared:
    """What is known and decided before anything is computed, or recorded."""
    from airflow_lineage_provider.spark.executing.run import sources_of
    from airflow_lineage_provider.spark.identity import source_identity

    if request.output is not None:
        request.output.check(frame)
    pipeline = captured.pipeline
    versions, statistics = SourceVersions(spark, store, captured), SourceStatistics(dict(pipeline.conf))
    # Rows of lineage are some of a table's, and what batches of a stream read is one recorded plan.
    known = statistics.magnitudes(pipeline.plan, versions, captured.rows_of.keys()) if request.batch is None else {}
    plan = rewrite(replace(pipeline, plan=with_passed_keys(pipeline.plan, request.keys)), known)
    udfs = _declared(plan, captured)
    if request.reasons == "eager":
        plan = with_reasons(plan, frozenset(number for number, udf in udfs.items() if udf.has_reason))
    identities = {source.leaf: source_identity(source, request.keys) for source in sources_of(plan)}
    identities |= {leaf: one.source.identity for leaf, one in captured.rows_of.items() if leaf in identities}
    readable = {source.relation.name for source in sources_of(plan)} | functions_of_batches(pipeline.plan)
    if not request.shared_keys:
        check_named(request.keys, readable)
    index = indexed_columns(request.index, plan, is_shared=request.shared_keys)
    unknown_costs: dict[int, SegmentCost] = {}
    costs = store.ask("reading what earlier runs cost", lambda opened: _costs(opened, request, plan), unknown_costs)
    choices = choose(plan, request.strategy, _not_repeatable(plan, udfs), costs, captured=request.capture is not None)
    program = partial(
        programs, plan, identities, stored_segments(choices), frozenset(udfs), whole=request.strategy == "full_materialization"
    )
    made = program()

    sources = recorded_sources(versions, request.batch, captured, plan, identities)
    recorded = RecordedPlan(plan=plan, materialized={p.segment.number: p.materialized for p in made}, sources=sources)
    many, ways = _many(request, store, recorded, made, costs), tuple[RecordedWay, ...]()
    if request.capture is not None:
        checked_tables(recorded, request.capture)
        check_numbered(request, recorded)
        ways, collecting = capture_modes(request, store, recorded, many)
        if collecting:
            made = program(collected=collecting, wanted=wanted_leaves(recorded, request.capture))
            recorded = replace(recorded, materialized={p.segment.number: p.materialized for p in made})
    kept = keeping(udfs, _called_again(recorded, udfs), [text for one in request.secrets.values.values() for text in texts_of(one)])
    prepared = Prepared(
        captured=captured, recorded=recorded, choices=choices, programs=made, udfs=udfs, keeping=kept, frame=frame,
        sketching=sketching(request, captured, recorded, udfs, statistics, store), many=many, ways=ways,
        index=index if 0 in recorded.materialized else (),
    )  # fmt: skip
    return _carrying(prepared, store) if prepared.sketching.capture else prepared


def _carrying(prepared: Prepared, store: RunStore) -> Prepared:
    """The same, with what its rows carry for the sketches that are to be captured."""
    frame_of, wanted = prepared.captured.leaves.__getitem__, prepared.sketching
    carried = carried_sketches(store, prepared.recorded, prepared.programs, prepared.rest, wanted, prepared.many, frame_of)
    return replace(prepared, programs=carried.run.programs, carried=carried)


def _many(
    request: Request, store: RunStore, recorded: RecordedPlan, made: Sequence[Program], costs: Mapping[int, SegmentCost]
) -> frozenset[str]:
    """The tables that are likely to be so large that they go straight into files.

    None where the strategy `auto` has yet to learn what they cost: making and storing are measured apart then. And none where the run goes
    on without its store: it must have its rows if the folder fails, and no function is called twice for that.
    """
    if request.data is None or store.keeps_result or (request.strategy == "auto" and not costs):
        return frozenset()
    return probably_many(recorded, made, request.data.rows)


def _called_again(recorded: RecordedPlan, udfs: Mapping[int, ReasonedUdf]) -> frozenset[int]:
    """The function operators that a derivation calls: for reasons that the run does not record, and for segments that it does not store."""
    stored = {f.function: f for s in recorded.plan.segments if s.number in recorded.materialized for f in s.functions}
    return frozenset(number for number, udf in udfs.items() if number not in stored or (udf.has_reason and stored[number].reason is None))


def _not_repeatable(plan: SegmentedPlan, udfs: Mapping[int, ReasonedUdf]) -> frozenset[int]:
    """The function operators whose UDFs only this run has: a derivation finds declared reasoned UDFs alone, one of a name."""
    versions: dict[str, set[str]] = {}
    for udf in udfs.values():
        versions.setdefault(udf.name, set()).add(udf.version)
    found = {number for number, udf in udfs.items() if len(versions[udf.name]) == 1}
    return frozenset(f.function for segment in plan.segments for f in segment.functions if f.function not in found)


def _costs(store: Store, request: Request, plan: SegmentedPlan) -> dict[int, SegmentCost]:
    return measured_costs(store, request.name, request.secrets.sealed(codec.to_json(plan))) if request.strategy == "auto" else {}


def _declared(plan: SegmentedPlan, captured: CapturedPipeline) -> dict[int, ReasonedUdf]:
    """The reasoned UDF that stands in the user's plan, for every function operator; those of other UDFs are left out."""
    from airflow_lineage_provider.spark.executing.run import reasoned_udf_of

    functions = [function for segment in plan.segments for function in segment.functions]
    found = {function.function: reasoned_udf_of(captured.udfs[function.call]) for function in functions}
    return {number: udf for number, udf in found.items() if udf is not None}


def _record(prepared: Prepared, request: Request) -> RunRecord:
    recorded = prepared.recorded
    plan = request.secrets.sealed(plan_text(recorded))
    functions = [function for segment in recorded.plan.segments for function in segment.functions]
    described = prepared.keeping.described
    record = RunRecord(
        pipeline=request.name,
        strategy=request.strategy,
        reasons=request.reasons,
        params=dict(request.recorded_params),
        plan=plan,
        plan_digest=plan_digest(codec.from_json(plan)),
        segments=recorded_segments(recorded),
        inputs=recorded_inputs(recorded),
        udfs=tuple(described.get(f.function) or UdfDescription(function=f.function, name=f.udf) for f in functions),
        conf=dict(recorded.plan.conf),
        airflow={name: value if name in AIRFLOW else recorded_value(value) for name, value in request.airflow.items()},
        choices=prepared.choices,
        indexes=tuple(tuple(prepared.recorded.plan.names[at] for at in one) for one in prepared.index),
        sketches=prepared.sketching.uses,
        versions={
            "airflow_lineage_provider": __version__,
            "python": platform.python_version(),
            "spark": prepared.frame.sparkSession.version,
        },
    )
    request.secrets.check_absent(written(replace(record, plan="")), "record")
    return record
