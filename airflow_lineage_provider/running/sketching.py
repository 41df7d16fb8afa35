"""What a run does with provenance sketches, decided before it is computed: which of them it reads through (`fitting_sketches`), and which
it is to capture (`captured_sketches`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_lineage_provider import __version__
from airflow_lineage_provider.plan.digest import digest_of
from airflow_lineage_provider.records.versions import FilesVersion, SnapshotVersion, SourceVersion
from airflow_lineage_provider.running.asked_sketches import Asked, Sketching, named_columns, primary_keys, sources_of, unused
from airflow_lineage_provider.running.captured_sketches import to_capture
from airflow_lineage_provider.running.fitting_sketches import fitting
from airflow_lineage_provider.running.sketch_policy import forgotten_if_useless, measured, whether_captured
from airflow_lineage_provider.sketches.policy import whether_to_use
from airflow_lineage_provider.sketches.solver import z3_module
from airflow_lineage_provider.sketches.template import instance_of
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    from airflow_lineage_provider.reasons import ReasonedUdf
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.running.run import Request
    from airflow_lineage_provider.running.source_statistics import SourceStatistics
    from airflow_lineage_provider.spark.capturing.capture import CapturedPipeline
    from airflow_lineage_provider.store.run_store import RunStore


def sketching(
    request: Request,
    captured: CapturedPipeline,
    recorded: RecordedPlan,
    udfs: Mapping[int, ReasonedUdf],
    statistics: SourceStatistics,
    store: RunStore,
) -> Sketching:
    """What the run does with sketches.

    :raises PlanError: ``sketch_on`` names a table or a column that the pipeline does not read.
    :raises SketchUnsafe: it names a column that is not proved safe. :raises EnvironmentProblem: z3 is not installed, and is needed.
    """
    if request.sketches == "off":
        return Sketching(
            uses=tuple(unused(one, request.sketches_refused) for one in sources_of(recorded)) if request.sketches_refused else ()
        )
    named = named_columns(request.sketch_on, recorded)
    against = _why_none(request, captured, recorded, udfs)
    if against:
        return Sketching(uses=tuple(unused(one, against) for one in sources_of(recorded)))
    instance = instance_of(captured.pipeline, _others(captured, recorded, udfs))
    versions = {leaf: digest_of(written(one.version)) for leaf, one in recorded.sources.items()}
    asked = Asked(request, captured, recorded, named, instance, versions, statistics)
    if request.sketches == "auto":
        return _by_policy(asked, store)
    found = fitting(asked, store) if request.sketches in ("use", "eager") else Sketching()
    if found.used or request.sketches == "use":
        return found
    return to_capture(asked)


def _by_policy(asked: Asked, store: RunStore) -> Sketching:
    """Through sketches that fit, and what is captured where none does, if that pays."""
    z3_module()  # a run that needs it would else fail some day
    found, runs = fitting(asked, store), measured(store, asked.instance)
    if found.used:
        decision = whether_to_use(runs)
        if decision.yes:
            return found
        return asked.unused(decision.because + forgotten_if_useless(store, runs, asked.instance.template))
    decision = whether_captured(runs, asked)
    if decision.yes:
        return replace(to_capture(asked), because=decision.because)
    return replace(found, uses=tuple(replace(one, because=f"{one.because}; {decision.because}") for one in found.uses))


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
    for one in sources_of(recorded):
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
            return version.is_known
    return False


def _others(captured: CapturedPipeline, recorded: RecordedPlan, udfs: Mapping[int, ReasonedUdf]) -> list[str]:
    """What else a template is told by. Keys that a person names are assumed in proofs: who has not named them does not rely on them."""
    spark = captured.leaves[0].sparkSession.version if captured.leaves else ""
    keys = primary_keys(recorded)
    return [
        __version__, spark, *(f"{udfs[number].name} {udfs[number].version}" for number in sorted(udfs)),
        *(f"key of {leaf}: {sorted(keys[leaf])}" for leaf in sorted(keys)),
    ]  # fmt: skip
