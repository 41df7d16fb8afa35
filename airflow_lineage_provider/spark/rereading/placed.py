"""The rows in a limit's places, made again by Spark with the fragments behind them (`sketches.at_limit`)."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.sketches.marks import FRAGMENT
from airflow_lineage_provider.spark.executing.marked import fragments_in
from airflow_lineage_provider.spark.executing.run import under_settings
from airflow_lineage_provider.spark.fragment_numbers import with_fragments
from airflow_lineage_provider.spark.rereading.declared import declared_functions
from airflow_lineage_provider.spark.rereading.tracing import SparkTracing, Views, spark_errors
from airflow_lineage_provider.spark.session import PARSER, apply_conf, carefully
from airflow_lineage_provider.sql import lower
from airflow_lineage_provider.tracing.binding import LeafTable, bind, leaf_keys

if TYPE_CHECKING:
    from airflow_lineage_provider.sketches.carried_run import CarriedRun
    from airflow_lineage_provider.sketches.numbering import Numbering
    from airflow_lineage_provider.store.kept_udfs import UdfsOfRun


def fragments_of_places(
    tracing: SparkTracing, carried: CarriedRun, leaf: int, column: str, how: Numbering, udfs: UdfsOfRun
) -> tuple[frozenset[int], int]:
    """The fragments of a leaf's ``column`` that stand behind the rows of a plan over sources, which carries them; and how many rows it has.

    :raises SourceUnavailable: a source has vanished. :raises UdfUnavailable, UdfVersionMismatch: the UDFs at hand are not those of the run.
    :raises TracingError: Spark failed otherwise.
    """
    assert carried.rest is not None
    plan = o.Project(child=carried.rest, columns=carried.attributes)
    with ExitStack() as stack:
        views = Views(tracing.spark, "placed", stack)
        names = declared_functions(tracing.spark, [plan], udfs, views.prefix, stack)
        stack.enter_context(under_settings(tracing.spark, dict(tracing.recorded.plan.conf)))
        stack.enter_context(spark_errors("making the rows of a limit again"))
        tables = {key: tracing.leaf_table(key, views) for key in leaf_keys(plan)}
        if leaf in carried.numbered:
            numbered = with_fragments(tracing.spark.table(tables["source", leaf].name[0]), column, how, FRAGMENT)
            tables["source", leaf] = LeafTable(name=(views.add(numbered, f"numbered_{leaf}"),))
        text = lower(plan, bind(plan, tables), dialect="spark", udfs=names)
        frame = carefully(tracing.spark, lambda: tracing.spark.sql(text))
        frame.persist()
        stack.callback(frame.unpersist)
        with apply_conf(tracing.spark, PARSER):
            return fragments_in(frame, carried.marks[leaf], how), frame.count()
