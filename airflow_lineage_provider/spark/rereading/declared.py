"""Declared reasoned UDFs as temporary SQL functions, for plans that are run again."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.walk import functions_of
from airflow_lineage_provider.reasons.spark_function import spark_function

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.store.kept_udfs import UdfsOfRun


def declared_functions(spark: SparkSession, plans: Iterable[o.Plan], udfs: UdfsOfRun, prefix: str, stack: ExitStack) -> dict[int, str]:
    """A temporary function for every function operator, dropped when the stack is closed. ``udfs`` are those of the run.

    :raises UdfUnavailable, UdfVersionMismatch: the UDFs at hand are not those of the run.
    """
    names: dict[int, str] = {}
    for node in (function for plan in plans for function in functions_of(plan)):
        udf = udfs.find(node.function)
        names[node.function] = f"{prefix}_udf_{node.function}"
        mode: Literal["normal", "reasoning"] = "normal" if node.reason is None else "reasoning"
        spark.udf.register(names[node.function], spark_function(udf, mode).asNondeterministic())
        stack.callback(spark.sql, f"DROP TEMPORARY FUNCTION IF EXISTS {names[node.function]}")
    return names
