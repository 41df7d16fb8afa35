"""Declared reasoned UDFs as temporary SQL functions, for plans that are run again."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.walk import functions_of
from airflow_lineage_provider.spark.sql_functions import register_reasoned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.store.kept_udfs import UdfsOfRun


def declared_functions(spark: SparkSession, plans: Iterable[o.Plan], udfs: UdfsOfRun, prefix: str, stack: ExitStack) -> dict[int, str]:
    """A temporary function for every function operator, dropped when the stack is closed. ``udfs`` are those of the run.

    :raises UdfUnavailable, UdfVersionMismatch: the UDFs at hand are not those of the run.
    """
    names: dict[int, str] = {}
    for node in (function for plan in plans for function in functions_of(plan)):
        names[node.function] = f"{prefix}_udf_{node.function}"
        register_reasoned(spark, names[node.function], udfs.find(node.function), node)
        stack.callback(spark.sql, f"DROP TEMPORARY FUNCTION IF EXISTS {names[node.function]}")
    return names
