"""The functions of a plan's function operators as temporary SQL functions: a run calls them, and a derivation calls them again."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
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


@dataclass
class SqlFunctions:
    """The temporary functions of a plan, by what they call: operators that call the same have one in common.

    Registering a function is some thirty calls into the JVM. ``names`` are the functions that there are.
    """

    spark: SparkSession
    names: list[str] = field(default_factory=list)
    _known: dict[Hashable, str] = field(default_factory=dict)

    def reasoned(self, name: str, udf: ReasonedUdf, node: FunctionOperator) -> str:
        """The function by which SQL calls a reasoned UDF in the mode of its operator, with the operator's keys for messages; ``name`` is
        its name where there is none yet.

        Spark calls a deterministic UDF again wherever its value is read; this one it calls once a row. (It is a function of its own:
        ``asNondeterministic`` changes the one that it is called on.)
        """
        mode: Mode = "normal" if node.reason is None else "reasoning"
        keys = tuple(key.name for key in node.keys)
        known = self._known.get((udf, mode, keys))
        if known is not None:
            return known
        # Whoever runs a function operator loads what it gives, or asks about it: both part reasons.
        self.spark.udf.register(name, spark_function(udf, mode, keys, apart=True).asNondeterministic())
        return self._made(name, (udf, mode, keys))

    def captured(self, name: str, udfs: Mapping[int, CapturedUdf], call: int) -> str:
        """The function by which SQL calls a UDF of a captured plan, as `register_captured`.

        :raises UdfUnavailable: the plan has no such call.
        """
        one = udfs.get(call)
        what = None if one is None else (one.function, one.type, one.eval_type, one.deterministic)
        if what in self._known:
            return self._known[what]
        register_captured(self.spark, udfs, call, name)
        return self._made(name, what)

    def _made(self, name: str, what: Hashable) -> str:
        self.names.append(name)
        self._known[what] = name
        return name


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
