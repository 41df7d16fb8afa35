"""The functions of a plan's function operators as temporary SQL functions: a run calls them, and a derivation calls them again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import UdfUnavailable
from airflow_lineage_provider.reasons.spark_function import spark_function
from airflow_lineage_provider.spark.releases import python_function
from airflow_lineage_provider.words import Mode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.plan.operators import FunctionOperator
    from airflow_lineage_provider.reasons import ReasonedUdf
    from airflow_lineage_provider.spark.capturing.captured_udf import CapturedUdf


def register_reasoned(spark: SparkSession, name: str, udf: ReasonedUdf, node: FunctionOperator) -> None:
    """Let SQL call a reasoned UDF in the mode of its operator, with the operator's keys for messages.

    Spark calls a deterministic UDF again wherever its value is read; this one it calls once a row. (It is a function of its own:
    ``asNondeterministic`` changes the one that it is called on.)
    """
    mode: Mode = "normal" if node.reason is None else "reasoning"
    # Whoever runs a function operator loads what it gives, or asks about it: both part reasons.
    function = spark_function(udf, mode, tuple(key.name for key in node.keys), apart=True)
    spark.udf.register(name, function.asNondeterministic())


def register_captured(spark: SparkSession, udfs: Mapping[int, CapturedUdf], call: int, name: str) -> None:
    """Let SQL call a UDF of a captured plan (``UdfCall.call``): the user's very function, not another of the same code.

    :raises UdfUnavailable: the plan has no such call.
    """
    if call not in udfs:
        known = ", ".join(f"{udf.name} (call {udf.call})" for udf in udfs.values()) or "none"
        raise UdfUnavailable(f"the captured plan has no UDF call {call}; its calls: {known}")
    udf = udfs[call]
    expression = udf.expression
    function = python_function(spark, name, expression.func(), expression.dataType(), udf.eval_type, udf.deterministic)
    spark._jsparkSession.udf().registerPython(name, function)
