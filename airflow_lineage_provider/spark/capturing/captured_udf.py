"""Python UDF calls as they stand in a captured plan, and how the very same function is called again from SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.catalyst.datatypes import ddl
from airflow_lineage_provider.errors import UdfUnavailable
from airflow_lineage_provider.spark.releases import python_function

if TYPE_CHECKING:
    from collections.abc import Mapping

    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession


@dataclass(frozen=True, kw_only=True)
class CapturedUdf:
    """One call of a Python UDF. ``name`` is what Spark calls it: the name it was registered under in SQL, else the function's.

    ``function_name`` is the Python function's own name, whatever SQL calls it; empty when it cannot be read.
    """

    call: int
    name: str
    function_name: str
    type: str
    eval_type: int
    deterministic: bool
    expression: JavaObject


def captured_udf(call: int, expression: JavaObject) -> CapturedUdf:
    """What the JVM knows of a call."""
    import json

    return CapturedUdf(
        call=call,
        name=str(expression.name()),
        function_name=_function_name(expression),
        type=ddl(json.loads(expression.dataType().json())),
        eval_type=int(expression.evalType()),
        deterministic=bool(expression.udfDeterministic()),
        expression=expression,
    )


def register(spark: SparkSession, udfs: Mapping[int, CapturedUdf], call: int, temp_name: str) -> None:
    """Let SQL call a captured UDF under a temporary name: the same function object, not another of the same code.

    :raises UdfUnavailable: the plan has no such call.
    """
    if call not in udfs:
        known = ", ".join(f"{udf.name} (call {udf.call})" for udf in udfs.values()) or "none"
        raise UdfUnavailable(f"the captured plan has no UDF call {call}; its calls: {known}")
    udf = udfs[call]
    expression = udf.expression
    function = python_function(spark, temp_name, expression.func(), expression.dataType(), udf.eval_type, udf.deterministic)
    spark._jsparkSession.udf().registerPython(temp_name, function)


def _function_name(expression: JavaObject) -> str:
    """The name of the pickled function. It was pickled by this very process, so that unpickling it runs nothing foreign."""
    from pyspark.serializers import CPickleSerializer

    try:
        command = CPickleSerializer().loads(bytes(expression.func().command().unsafeArray()))  # type: ignore[no-untyped-call]
        function = command[0] if isinstance(command, tuple) else command
        return str(getattr(function, "__name__", "") or type(function).__name__)
    except Exception:  # a broadcast command, or a function that unpickles only on executors: Spark's name is all there is
        return ""
