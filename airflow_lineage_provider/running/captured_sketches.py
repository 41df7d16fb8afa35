"""Which sketches a run captures, once it is complete: the columns, chosen before it is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.records.sketches import SketchUse
from airflow_lineage_provider.running.asked_sketches import Asked, Sketching, bounds_of, named_columns, primary_keys, sources_of, unused
from airflow_lineage_provider.running.source_statistics import SourceStatistics
from airflow_lineage_provider.sketches import cuts
from airflow_lineage_provider.sketches.choice import KnownColumns, chosen, keys_in, values_in
from airflow_lineage_provider.sketches.columns import canonical, safe_columns
from airflow_lineage_provider.sketches.cuts import RowGroup
from airflow_lineage_provider.sketches.template import why_another_time
from airflow_lineage_provider.sketches.ties import limit_to_count
from airflow_lineage_provider.sources.row_groups import in_footers
from airflow_lineage_provider.tracing.program import whole_plan

if TYPE_CHECKING:
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.sketches.statistics import Bounds
    from airflow_lineage_provider.sketches.template import Instance
    from airflow_lineage_provider.sketches.wanted import SketchOn


def to_capture(asked: Asked) -> Sketching:
    """The columns that sketches are to be captured of, once the run is complete.

    :raises SketchUnsafe: a column was named that is not proved safe. :raises EnvironmentProblem: z3 is not installed.
    """
    found = columns_to_capture(asked.captured.pipeline, asked.recorded, asked.named, asked.keys, asked.bounds)
    witness = asked.request.witness
    against = _why_no_witness(found) if witness else ""
    return asked.sketching(found.uses, capture=found.capture, tied=found.tied, witness=witness and not against, no_witness=against)


def _why_no_witness(found: Sketching) -> str:
    """Why all rows of groups are carried: what a proof says of all that stands behind a result it does not say of a part."""
    for one in (column.safe for column in found.capture.values()):
        if one.at_limit or one.ties or one.leaf in found.tied:
            return f"rows may tie at a limit above {one.table}, or are dropped above it"
        if one.needs_rows or one.needs_fewer is not None:
            return f"whether {one.column} of {one.table} is safe hangs on how many rows the result has"
    return ""


def columns_to_capture(
    pipeline: Pipeline, recorded: RecordedPlan, named: Mapping[int, SketchOn], keys: Mapping[int, Sequence[str]], bounds: Bounds
) -> Sketching:
    """The same of a pipeline, of what was recorded of its sources, and of what is known of the values in them.

    :raises SketchUnsafe, EnvironmentProblem: as `to_capture`.
    """
    sources = recorded.sources
    # Of a source that is named no other column is asked; files, and several columns together, are judged where they are named.
    only = [(leaf, name) for leaf, one in sources.items() for name in ((named[leaf].name,) if leaf in named else one.source.columns)]
    judged = safe_columns(pipeline, bounds=bounds, keys=keys, clock=perf_counter, only=only)
    plan = canonical(pipeline.plan)
    types = {(one.leaf, one.column): one.type for one in judged}
    likely = keys_in(plan) | {(leaf, column): 0 for leaf, columns in keys.items() for column in columns}
    clustering = {} if named.keys() >= sources.keys() else _clustering(recorded)
    known = KnownColumns(clustering, likely, values_in(bounds, types))
    tied = {one.leaf for one in judged if one.ties and limit_to_count(plan, one.leaf) is not None}
    uses, capture = [], {}
    for leaf, found in chosen(judged, named, known, tied).items():
        problem = found if isinstance(found, str) else why_another_time(plan, frozenset({leaf}))
        if isinstance(found, str) or problem:
            uses.append(unused(sources[leaf], problem))
        else:
            capture[leaf] = found
    return Sketching(uses=tuple(uses), capture=capture, tied=frozenset(tied))


def capture_later(recorded: RecordedPlan, sketch_on: Mapping[str, SketchOn], instance: Instance, versions: Mapping[int, str]) -> Sketching:
    """What is captured of a run that was recorded earlier, as the ``instance`` that it noted then: the proof is of the recorded plan, which
    gives the rows of the pipeline.

    :raises PlanError: ``sketch_on`` names a table or a column that the pipeline does not read.
    :raises SketchError: the same segment is read twice, and rows of the one are not told from those of the other.
    :raises SketchUnsafe, EnvironmentProblem: as `to_capture`.
    """
    plan, whole = recorded.plan, whole_plan(recorded.plan)
    read = [a.id for node in operators(whole) if isinstance(node, o.Source) for a in node.output]
    if len(set(read)) < len(read):
        raise SketchError("a part of the pipeline is read twice: capture with the run")
    pipeline = Pipeline(plan=whole, names=plan.names, conf=plan.conf)
    bounds = bounds_of(recorded, SourceStatistics(dict(plan.conf)))
    found = columns_to_capture(pipeline, recorded, named_columns(sketch_on, recorded), primary_keys(recorded), bounds)
    return replace(found, instance=instance, versions=versions)


def _clustering(recorded: RecordedPlan) -> dict[tuple[int, str], float]:
    found: dict[tuple[int, str], float] = {}
    for one in sources_of(recorded):
        for column, bounds in in_footers(one.source, one.files.values()).bounds.items():
            try:
                found[one.source.leaf, column] = cuts.clustering([RowGroup(*each) for each in bounds])
            except TypeError:  # values that have no order
                continue
        # A value is in one folder: nothing skips better.
        found |= {(one.source.leaf, column): 0.0 for column in one.source.relation.partition_columns if column in one.source.columns}
    return found


def not_captured(wanted: Sketching, problem: str) -> tuple[SketchUse, ...]:
    """What is said of the sources of a run whose sketches could not be captured."""
    failed = (
        SketchUse(leaf=leaf, table=one.safe.table, column=one.safe.column, state="unused", because=f"not captured: {problem}")
        for leaf, one in wanted.capture.items()
    )
    return tuple(sorted((*wanted.uses, *failed), key=lambda one: one.leaf))
