"""How many rows an operator of a run has over a selection of a source, counted by Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.spark.rereading.over_sources import over_sources
from airflow_lineage_provider.spark.selected import selected_by, without_dictionaries
from airflow_lineage_provider.spark.session import carefully

if TYPE_CHECKING:
    from airflow_lineage_provider.sketches.use import Selection
    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing
    from airflow_lineage_provider.store.kept_udfs import UdfsOfRun


def counted(tracing: SparkTracing, plan: o.Plan, selections: Mapping[int, tuple[str, Selection | None]], udfs: UdfsOfRun) -> int:
    """The one number that a plan over sources gives, where of some sources (by leaf) only rows are read that are
    selected by a column.

    :raises SourceUnavailable: a source has vanished. :raises UdfUnavailable, UdfVersionMismatch: the UDFs at hand are not those of the run.
    :raises TracingError: Spark failed otherwise.
    """
    with over_sources(tracing, plan, udfs, "counted", "counting rows over a sketch") as again, without_dictionaries(tracing.spark):
        for leaf, (column, selection) in selections.items():
            again.replace(leaf, selected_by(again.source(leaf), selection, column), "selected")
        frame = again.frame()
        ((found,),) = carefully(tracing.spark, frame.collect)
        return int(found)
