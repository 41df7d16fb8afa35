"""The rows in a limit's places, made again by Spark with the fragments behind them (`sketches.at_limit`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.sketches.marks import FRAGMENT
from airflow_lineage_provider.spark.executing.marked import fragments_in
from airflow_lineage_provider.spark.fragment_numbers import with_fragments
from airflow_lineage_provider.spark.rereading.over_sources import over_sources
from airflow_lineage_provider.spark.session import PARSER, apply_conf

if TYPE_CHECKING:
    from airflow_lineage_provider.sketches.carried_run import CarriedRun
    from airflow_lineage_provider.sketches.numbering import AnyNumbering
    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing
    from airflow_lineage_provider.store.kept_udfs import UdfsOfRun


def fragments_of_places(
    tracing: SparkTracing, carried: CarriedRun, leaf: int, column: str, how: AnyNumbering, udfs: UdfsOfRun
) -> tuple[frozenset[int], int]:
    """The fragments of a leaf's ``column`` that stand behind the rows of a plan over sources, which carries them; and how many rows it has.

    :raises SourceUnavailable: a source has vanished. :raises UdfUnavailable, UdfVersionMismatch: the UDFs at hand are not those of the run.
    :raises TracingError: Spark failed otherwise.
    """
    assert carried.rest is not None
    plan = o.Project(child=carried.rest, columns=carried.attributes)
    with over_sources(tracing, plan, udfs, "placed", "making the rows of a limit again") as again:
        if leaf in carried.numbered:
            again.replace(leaf, with_fragments(again.source(leaf), column, how, FRAGMENT), "numbered")
        frame = again.frame().persist()
        try:
            with apply_conf(tracing.spark, PARSER):
                return fragments_in(frame, carried.marks[leaf], how), frame.count()
        finally:
            frame.unpersist()
