"""How many rows an operator of a run has over a selection of a source, counted by Spark."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.spark.executing.run import under_settings
from airflow_lineage_provider.spark.rereading.declared import declared_functions
from airflow_lineage_provider.spark.rereading.tracing import SparkTracing, Views, spark_errors
from airflow_lineage_provider.spark.selected import selected
from airflow_lineage_provider.spark.session import carefully
from airflow_lineage_provider.sql import lower
from airflow_lineage_provider.tracing.binding import LeafTable, bind, leaf_keys

if TYPE_CHECKING:
    from airflow_lineage_provider.sketches.use import Selection
    from airflow_lineage_provider.store.kept_udfs import UdfsOfRun


def counted(tracing: SparkTracing, plan: o.Plan, selections: Mapping[int, tuple[str, Selection | None]], udfs: UdfsOfRun) -> int:
    """The one number that a plan over sources gives, where of some sources (by leaf) only rows are read that are
    selected by a column.

    :raises SourceUnavailable: a source has vanished. :raises UdfUnavailable, UdfVersionMismatch: the UDFs at hand are not those of the run.
    :raises TracingError: Spark failed otherwise.
    """
    with ExitStack() as stack:
        views = Views(tracing.spark, "counted", stack)
        names = declared_functions(tracing.spark, [plan], udfs, views.prefix, stack)
        stack.enter_context(under_settings(tracing.spark, dict(tracing.recorded.plan.conf)))
        stack.enter_context(spark_errors("counting rows over a sketch"))
        tables = {key: tracing.leaf_table(key, views) for key in leaf_keys(plan)}
        for leaf, (column, selection) in selections.items():
            frame = selected(tracing.spark.table(tables["source", leaf].name[0]), selection, column)
            tables["source", leaf] = LeafTable(name=(views.add(frame, f"selected_{leaf}"),))
        text = lower(plan, bind(plan, tables), dialect="spark", udfs=names)
        ((found,),) = carefully(tracing.spark, lambda: tracing.spark.sql(text).collect())
        return int(found)
