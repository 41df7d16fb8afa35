"""A run, from the user's pipeline to a complete record: capture, rewrite, execute, store, write, publish."""

from __future__ import annotations

import json
import platform
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from airflow_lineage_provider import __version__
from airflow_lineage_provider.errors import LineageError, PlanCheckError, PlanError, RunFailed
from airflow_lineage_provider.output import Output, Written
from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.text import segments_text
from airflow_lineage_provider.plan.walk import functions_of
from airflow_lineage_provider.recording import RecordedPlan, RecordedSource, inputs_document, plan_text, segments_document
from airflow_lineage_provider.rewrite.passed_keys import functions_of_batches, with_passed_keys
from airflow_lineage_provider.rewrite.pipeline import rewrite
from airflow_lineage_provider.store import RunRecord, Store
from airflow_lineage_provider.tracing.annotate import group_keys
from airflow_lineage_provider.tracing.program import Program, programs, rest_of_plan, with_reasons
from airflow_lineage_provider.tracing.strategies import STRATEGIES, Choice, SegmentCost, choose, stored_segments

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.reasons import ReasonedUdf
    from airflow_lineage_provider.spark.capture import CapturedPipeline
    from airflow_lineage_provider.spark.run import Execution

Progress = Callable[[str], None]

REASONS = ("lazy", "eager")

_SECRET = re.compile(r"password|passwd|pwd|secret|token|credential|access_?key|api_?key", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked for."""

    pipeline: Callable[..., DataFrame] | str
    name: str
    params: Mapping[str, Any]
    output: Output | None
    strategy: str
    reasons: str
    keys: Mapping[str, Sequence[str]]
    airflow: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise PlanError(f"strategy {self.strategy!r} is not known; it can be {', '.join(STRATEGIES)}")
        if self.reasons not in REASONS:
            raise PlanError(f"reasons {self.reasons!r} is not known; it can be {' or '.join(REASONS)}")


@dataclass(frozen=True, kw_only=True)
class _Prepared:
    captured: CapturedPipeline
    recorded: RecordedPlan
    choices: tuple[Choice, ...]
    programs: tuple[Program, ...]
    udfs: Mapping[int, ReasonedUdf]
    frame: DataFrame


def execute(spark: SparkSession, store: Store, request: Request, progress: Progress) -> tuple[str, Execution, DataFrame]:
    """Run a pipeline: the run's id, what Spark keeps of it, and the result.

    :raises PlanError: the pipeline cannot be understood; nothing was run and nothing recorded.
    :raises UdfFailed, ReasonValueMismatch, LoadFailed, StoreUnavailable, RunFailed: it failed on the way; recorded as failed.
    """
    from airflow_lineage_provider.spark.run import Execution
    from airflow_lineage_provider.spark.session import KEPT_ROWS, apply_conf

    started = time.perf_counter()
    progress("reading the plan")
    prepared = _prepare(spark, store, request)
    record = _record(prepared, request)
    run_id = store.begin_run(record)
    execution = Execution(spark=spark, run_id=run_id, store=store, progress=progress, conf=record.conf)
    try:
        with apply_conf(spark, KEPT_ROWS):
            result, written = _result(execution, prepared, request)
        progress("publishing")
        execution.timings["total"] = time.perf_counter() - started
        store.publish_run(
            run_id,
            output=request.output.describe() | {"version": written.version} if request.output and written else None,
            places=written.places if written else {},
            timings=execution.timings,
            row_counts=execution.rows,
            indexes=_indexes(prepared),
        )
    except BaseException as error:
        raised = _explained(error, prepared)
        _record_failure(store, run_id, raised)
        _forget(execution, raised)
        if raised is error:
            raise
        raise raised from error
    return run_id, execution, result


def _result(execution: Execution, prepared: _Prepared, request: Request) -> tuple[DataFrame, Written | None]:
    """The result, and what writing it gave where it is written."""
    from airflow_lineage_provider.spark.run import compute_result

    result = _compute(execution, prepared)
    if request.output is not None:
        execution.progress(f"writing {request.output.target}")
        return result, request.output.write(result)
    if 0 not in prepared.recorded.materialized:
        execution.progress("computing result")
        result = compute_result(execution, result)
    return result, None


def _prepare(spark: SparkSession, store: Store, request: Request) -> _Prepared:
    from airflow_lineage_provider.spark.capture import capture
    from airflow_lineage_provider.spark.environment import check_pyspark_once
    from airflow_lineage_provider.spark.identity import file_hashes, source_identity
    from airflow_lineage_provider.spark.run import SETTINGS, sources_of
    from airflow_lineage_provider.spark.session import require_classic
    from airflow_lineage_provider.spark.sources import version_of

    check_pyspark_once()
    require_classic(spark)
    with SETTINGS:  # a derivation in another thread runs under the settings of its own run
        frame = _frame(spark, request)
        captured = capture(frame)
    pipeline = captured.pipeline
    plan = rewrite(replace(pipeline, plan=with_passed_keys(pipeline.plan, request.keys)))
    udfs = _declared(plan, captured)
    if request.reasons == "eager":
        plan = with_reasons(plan, frozenset(number for number, udf in udfs.items() if udf.has_reason))
    identities = {source.leaf: source_identity(source, request.keys) for source in sources_of(plan)}
    readable = {source.relation.name for source in sources_of(plan)} | functions_of_batches(pipeline.plan)
    unknown = sorted(set(request.keys) - readable)
    if unknown:
        raise PlanError(f"keys name {', '.join(unknown)}, which the pipeline does not read; it reads {', '.join(sorted(readable))}")
    choices = choose(plan, request.strategy, _not_repeatable(plan, udfs), measured_costs(store, request, plan))
    made = programs(plan, identities, stored_segments(choices), frozenset(udfs), whole=request.strategy == "full_materialization")
    sources = {
        source.leaf: RecordedSource(
            source=source,
            identity=identities[source.leaf],
            version=version_of(spark, captured.leaves[source.leaf], source.relation, lambda place: bool(store.written([place]))),
            files=file_hashes(captured.leaves[source.leaf]) if identities[source.leaf].kind == "file_position" else {},
        )
        for source in sources_of(plan)
    }
    recorded = RecordedPlan(plan=plan, materialized={p.segment.number: p.materialized for p in made}, sources=sources)
    return _Prepared(captured=captured, recorded=recorded, choices=choices, programs=made, udfs=udfs, frame=frame)


def _not_repeatable(plan: SegmentedPlan, udfs: Mapping[int, ReasonedUdf]) -> frozenset[int]:
    """The function operators whose UDFs only this run has: a derivation finds declared reasoned UDFs alone, one of a name."""
    versions: dict[str, set[str]] = {}
    for udf in udfs.values():
        versions.setdefault(udf.name, set()).add(udf.version)
    found = {number for number, udf in udfs.items() if len(versions[udf.name]) == 1}
    return frozenset(f.function for segment in plan.segments for f in segment.functions if f.function not in found)


def measured_costs(store: Store, request: Request, plan: SegmentedPlan) -> dict[int, SegmentCost]:
    """What the segments cost in the newest complete run of the same pipeline with the same segments; nothing when there is none."""
    if request.strategy != "auto":
        return {}
    shape = segments_text(plan)
    for record in store.runs(request.name, 100):
        if record.status == "complete" and record.plan and segments_text(codec.from_json(record.plan)) == shape:
            names = {one.segment: one.name for one in map(codec.from_json, map(json.dumps, record.segments))}
            found = {number: _cost(record, name) for number, name in names.items() if f"{name}.compute" in (record.timings or {})}
            if found:
                return found
    return {}


def _cost(record: RunRecord, name: str) -> SegmentCost:
    timings = record.timings
    return SegmentCost(rows=record.row_counts.get(name, 0), compute=timings[f"{name}.compute"], store=timings[f"{name}.store"])


def _frame(spark: SparkSession, request: Request) -> DataFrame:
    from pyspark.sql import DataFrame

    if isinstance(request.pipeline, str):
        return spark.sql(request.pipeline, args=dict(request.params)) if request.params else spark.sql(request.pipeline)
    frame = request.pipeline(spark, **request.params)
    if not isinstance(frame, DataFrame):
        raise PlanError(f"pipeline {request.name} returned {type(frame).__name__}; it must return a DataFrame")
    return frame


def _declared(plan: SegmentedPlan, captured: CapturedPipeline) -> dict[int, ReasonedUdf]:
    """The reasoned UDF that stands in the user's plan, for every function operator; those of other UDFs are left out."""
    from airflow_lineage_provider.spark.run import reasoned_udf_of

    functions = [function for segment in plan.segments for function in segment.functions]
    found = {function.function: reasoned_udf_of(captured.udfs[function.call]) for function in functions}
    return {number: udf for number, udf in found.items() if udf is not None}


def _compute(execution: Execution, prepared: _Prepared) -> DataFrame:
    from airflow_lineage_provider.spark.run import result_frame, run_program, run_rest, source_views

    plan = prepared.recorded.plan
    identities = {leaf: one.identity for leaf, one in prepared.recorded.sources.items()}
    leaves = dict(enumerate(prepared.captured.leaves))
    tables = source_views(execution, plan, leaves, identities)
    if not prepared.programs:
        return prepared.frame  # nothing is stored but the session's own data: the pipeline runs as it is
    names = _register_udfs(execution, prepared)
    frame = None
    for program in prepared.programs:
        execution.progress(f"computing {program.materialized.name}")
        frame = run_program(execution, program, tables, names, prepared.captured.udfs)
    if 0 in prepared.recorded.materialized:
        assert frame is not None
        root = prepared.programs[-1].plan
    else:
        root = rest_of_plan(plan, frozenset(prepared.recorded.materialized))
        frame = run_rest(execution, root, tables, names)
    names_by_id = {a.id: a.name for a in root.output}
    result = result_frame(frame, tuple(names_by_id[a.id] for a in plan.output), plan.names)
    _check_schema(result, prepared.frame)
    return result


def _register_udfs(execution: Execution, prepared: _Prepared) -> dict[int, str]:
    """A temporary SQL function for every function operator."""
    from airflow_lineage_provider.reasons.spark_function import spark_function
    from airflow_lineage_provider.spark.capture import register_captured_udf

    names: dict[int, str] = {}
    keys = {node.function: tuple(a.name for a in node.keys) for program in prepared.programs for node in functions_of(program.plan)}
    for segment in prepared.recorded.plan.segments:
        for function in segment.functions:
            name = f"lineage_{execution.run_id.replace('-', '_')}_udf_{function.function}"
            udf = prepared.udfs.get(function.function)
            if udf is None:
                register_captured_udf(execution.spark, prepared.captured, function.call, name)
            else:
                mode: Literal["normal", "reasoning"] = "normal" if function.reason is None else "reasoning"
                # Spark calls a deterministic UDF again wherever its value is read; this one it calls once a row.
                # (A function of its own: asNondeterministic() changes the one that it is called on.)
                function_once = spark_function(udf, mode, keys.get(function.function, ())).asNondeterministic()
                execution.spark.udf.register(name, function_once)
            execution.functions.append(name)
            names[function.function] = name
    return names


def _check_schema(result: DataFrame, expected: DataFrame) -> None:
    """The result has the columns of the user's own frame, or something was lost on the way."""
    ours = [(field.name, field.dataType.simpleString()) for field in result.schema]
    theirs = [(field.name, field.dataType.simpleString()) for field in expected.schema]
    if ours != theirs:
        raise PlanCheckError(f"the rewritten pipeline gives columns {ours}, the pipeline itself {theirs}: please report this")


def _indexes(prepared: _Prepared) -> dict[str, list[list[str]]]:
    """Row numbers, and the grouping keys by which the aggregations above look rows up."""
    indexes: dict[str, list[list[str]]] = {}
    keys = {key.id for s in prepared.recorded.plan.segments if s.aggregations for key in group_keys(s)}
    for one in prepared.recorded.materialized.values():
        looked_up = [name for i, name in one.columns if i in keys] if one.segment else []
        indexes[one.name] = [[ROW], *([name] for name in looked_up)]
    for leaf, source in prepared.recorded.sources.items():
        if source.identity.kind == "snapshot":
            indexes[f"source_{leaf}"] = [[ROW]]
    return indexes


def _record(prepared: _Prepared, request: Request) -> RunRecord:
    recorded = prepared.recorded
    functions = [function for segment in recorded.plan.segments for function in segment.functions]
    described = {number: udf.describe() for number, udf in prepared.udfs.items()}
    return RunRecord(
        pipeline=request.name,
        strategy=request.strategy,
        reasons=request.reasons,
        params=_jsonable(request.params),
        plan=plan_text(recorded),
        segments=segments_document(recorded),
        inputs=inputs_document(recorded),
        udfs=[{"function": f.function, "name": f.udf} | described.get(f.function, {"has_reason": False}) for f in functions],
        conf=dict(recorded.plan.conf),
        airflow=dict(request.airflow),
        choices=[asdict(choice) for choice in prepared.choices],
        versions={
            "airflow_lineage_provider": __version__,
            "python": platform.python_version(),
            "spark": prepared.frame.sparkSession.version,
        },
    )


def _jsonable(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as they are recorded: without passwords, which nobody needs to trace a run."""
    return {name: "***" if _SECRET.search(name) else _plain(value) for name, value in params.items()}


def _plain(value: Any) -> Any:
    from airflow_lineage_provider.store.connection import redact

    return value if isinstance(value, int | float | bool | None) else redact(str(value))


def _explained(error: BaseException, prepared: _Prepared) -> BaseException:
    """The error as the user should see it."""
    if isinstance(error, LineageError) or not isinstance(error, Exception):
        return error
    from airflow_lineage_provider.spark.failures import explained

    return explained(error, prepared.recorded, prepared.programs) or RunFailed(f"the pipeline failed: {error}")


def _forget(execution: Execution, error: BaseException) -> None:
    """Let Spark forget the run; a session that is gone as well does not hide the first error."""
    try:
        execution.close()
    except Exception as second:
        error.add_note(f"Spark could not be told to forget the run: {second}")


def _record_failure(store: Store, run_id: str, error: BaseException) -> None:
    """Say in the store that the run failed; a store that is gone as well does not hide the first error."""
    try:
        store.fail_run(run_id, f"{type(error).__name__}: {error}"[:10_000])
    except Exception as second:
        error.add_note(f"the store could not be told either: {second}; the next start cleans up")
