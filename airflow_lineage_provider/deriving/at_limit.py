"""What stands behind all rows of a limit of a run: some of them are dropped above it, so it is not known by the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.rewrite.unique_names import unique_names
from airflow_lineage_provider.sketches.carried_run import carried_run
from airflow_lineage_provider.sketches.numbering import numbering
from airflow_lineage_provider.sketches.ties import lowest_limit, placed_rows, places
from airflow_lineage_provider.tracing.program import rest_of_plan

if TYPE_CHECKING:
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.sketches.composite import AnyPartition
    from airflow_lineage_provider.sketches.sketch import SketchKind
    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing


@dataclass(frozen=True)
class BehindLimit:
    """The fragments; more than are needed where rows that are alike share the last place."""

    fragments: frozenset[int]
    kind: SketchKind


def behind_limit(run: AskedRun, spark: SparkTracing, leaf: int, column: str, partition: AnyPartition, *, tied: bool) -> BehindLimit:
    """The fragments of a leaf's column behind the rows in the places of the limit next above it. What is below it is made once more.

    :param tied: whether rows that share a place may be different ones.
    :raises SketchError: it is not carried to the rows of the limit, or different rows share its last place.
    """
    from airflow_lineage_provider.spark.rereading.placed import fragments_of_places

    limit = lowest_limit(rest_of_plan(run.recorded.plan, frozenset()), leaf)
    if limit is None:
        raise SketchError("the limit of whose rows the sketch would be is not in the recorded plan")
    rows = unique_names(placed_rows(limit))
    carried = carried_run((), rows, {leaf: column}, {leaf: partition.count})
    if not carried.marks.get(leaf):
        raise SketchError(f"what stands behind the rows of a limit is not carried to them: {carried.refused.get(leaf, 'no row is read')}")
    run.progress("making the rows of a limit again")
    fragments, found = fragments_of_places(spark, carried, leaf, column, numbering(partition), run.udfs)
    if found > places(limit) and tied:
        raise SketchError(f"rows tie at the limit: {found:,} are in its first {places(limit):,} places, and another run may take others")
    return BehindLimit(fragments, "superset" if found > places(limit) else "accurate")
