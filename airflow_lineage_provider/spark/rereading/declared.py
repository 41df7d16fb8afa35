"""Declared reasoned UDFs as temporary SQL functions, for plans that are run again."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.walk import functions_of
from airflow_lineage_provider.spark.sql_functions import SqlFunctions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.store.kept_udfs import UdfsOfRun


def declared_functions(spark: SparkSession, plans: Iterable[o.Plan], udfs: UdfsOfRun, prefix: str, stack: ExitStack) -> dict[int, str]:
    """The temporary function of every function operator, one for all that call the same; they are dropped when the stack is closed.
    ``udfs`` are those of the run.

    :raises UdfUnavailable, UdfVersionMismatch: the UDFs at hand are not those of the run.
    """
    made, names = SqlFunctions(spark), dict[int, str]()
    stack.callback(_dropped, made)
    for node in (function for plan in plans for function in functions_of(plan)):
        names[node.function] = made.reasoned(f"{prefix}_udf_{node.function}", udfs.find(node.function), node)
    return names


def _dropped(functions: SqlFunctions) -> None:
    for name in functions.names:
        functions.spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")
