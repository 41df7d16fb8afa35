"""Whether the result of a run that read sources through sketches may stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import SketchMismatch, SketchOutdated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.spark.executing.run import Execution


def check_result(execution: Execution, recorded: RecordedPlan, sketches: Sequence[str], result: DataFrame, plain: DataFrame | None) -> None:
    """That the sources are still of the versions that the sketches are of, and, where a ``plain`` result is given, that both have the same
    rows: sketches that gave others are set aside. The result has been computed, and nothing was written.

    :raises SketchOutdated: a source has changed. :raises SketchMismatch: there are other rows.
    """
    from airflow_lineage_provider.spark.executing.same_rows import differing_rows
    from airflow_lineage_provider.spark.rereading.sources import changed

    for one in recorded.sources.values():
        found = changed(one.source.relation, one.version, execution.spark)
        if found:
            raise SketchOutdated(f"{one.source.relation.name} changed while it was read through a sketch: {found[0]}")
    if plain is None:
        return
    execution.progress("comparing with the plain run")
    more, fewer = differing_rows(result, plain)
    if more or fewer:
        told = f"through sketches the result has {more:,} rows that the plain run has not, and lacks {fewer:,}"
        because = f"run {execution.run_id}: {told}"
        execution.store.ask("setting sketches aside", lambda opened: opened.quarantine_sketches(sketches, because), 0)
        raise SketchMismatch(f"{told}: the sketches are set aside")
