"""Which sketches a run captures, once it is complete: the columns, chosen before it is computed."""

from __future__ import annotations

from airflow_lineage_provider.errors import LineageError
from airflow_lineage_provider.records.sketches import SketchUse
from airflow_lineage_provider.running.asked_sketches import Asked, Sketching, unused
from airflow_lineage_provider.sketches import cuts
from airflow_lineage_provider.sketches.choice import chosen
from airflow_lineage_provider.sketches.columns import canonical, safe_columns
from airflow_lineage_provider.sketches.cuts import RowGroup
from airflow_lineage_provider.sketches.template import why_another_time
from airflow_lineage_provider.sketches.ties import limit_to_count
from airflow_lineage_provider.sources.row_groups import bounds_of_row_groups


def to_capture(asked: Asked) -> Sketching:
    """The columns that sketches are to be captured of, once the run is complete.

    :raises SketchUnsafe: a column was named that is not proved safe. :raises EnvironmentProblem: z3 is not installed.
    """
    pipeline, sources = asked.captured.pipeline, asked.recorded.sources
    judged = [one for one in safe_columns(pipeline, keys=asked.keys) if one.leaf in sources]
    clustering = {} if asked.named.keys() >= sources.keys() else _clustering(asked)
    plan = canonical(pipeline.plan)
    tied = {one.leaf for one in judged if one.ties and limit_to_count(plan, one.leaf) is not None}
    uses, capture = [], {}
    for leaf, found in chosen(judged, asked.named, clustering, tied).items():
        problem = found if isinstance(found, str) else why_another_time(plan, frozenset({leaf}))
        if isinstance(found, str) or problem:
            uses.append(unused(sources[leaf], problem))
        else:
            capture[leaf] = found
    return asked.sketching(tuple(uses), capture=capture, tied=frozenset(tied))


def _clustering(asked: Asked) -> dict[tuple[int, str], float]:
    found = {}
    for one in asked.sources:
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
