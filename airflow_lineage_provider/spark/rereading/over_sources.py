"""A plan over sources of a run, made again by Spark: with the run's functions, under its settings, over the sources as they were read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.spark.executing.run import under_settings
from airflow_lineage_provider.spark.rereading.declared import declared_functions
from airflow_lineage_provider.spark.rereading.tracing import SparkTracing, Views, spark_errors
from airflow_lineage_provider.spark.session import carefully
from airflow_lineage_provider.sql import lower
from airflow_lineage_provider.tracing.binding import Key, LeafTable, bind, leaf_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from airflow_lineage_provider.store.kept_udfs import UdfsOfRun


@dataclass(frozen=True)
class OverSources:
    """The plan, its sources' tables, of which each may be replaced, and what its functions are called."""

    tracing: SparkTracing
    plan: o.Plan
    views: Views
    tables: dict[Key, LeafTable]
    names: Mapping[int, str]

    def source(self, leaf: int) -> DataFrame:
        """A source's rows."""
        return self.tracing.spark.table(self.tables["source", leaf].name[0])

    def replace(self, leaf: int, frame: DataFrame, name: str) -> None:
        """Have other rows stand for a source's."""
        self.tables["source", leaf] = LeafTable(name=(self.views.add(frame, f"{name}_{leaf}"),))

    def frame(self) -> DataFrame:
        """The plan's rows."""
        text = lower(self.plan, bind(self.plan, self.tables), dialect="spark", udfs=self.names)
        return carefully(self.tracing.spark, lambda: self.tracing.spark.sql(text))


@contextmanager
def over_sources(tracing: SparkTracing, plan: o.Plan, udfs: UdfsOfRun, prefix: str, doing: str) -> Iterator[OverSources]:
    """For as long as views and functions are there, whose names begin with ``prefix``.

    :param doing: for messages: ``"counting rows over a sketch"``.
    :raises SourceUnavailable: a source has vanished. :raises UdfUnavailable, UdfVersionMismatch: the UDFs at hand are not those of the run.
    :raises TracingError: Spark failed otherwise.
    """
    with ExitStack() as stack:
        views = Views(tracing.spark, prefix, stack)
        names = declared_functions(tracing.spark, [plan], udfs, views.prefix, stack)
        stack.enter_context(under_settings(tracing.spark, dict(tracing.recorded.plan.conf)))
        stack.enter_context(spark_errors(doing))
        yield OverSources(tracing, plan, views, {key: tracing.leaf_table(key, views) for key in leaf_keys(plan)}, names)
