"""The functions that SQL text can call in a session: Spark's own, and those that were registered in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from airflow_lineage_provider.spark.jvm_classes import scala_object
from airflow_lineage_provider.spark.jvm_functions import method, texts
from airflow_lineage_provider.spark.releases import hides_built_in_functions

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

_INFO = "org.apache.spark.sql.catalyst.expressions.ExpressionInfo"
_REGISTRY = "org.apache.spark.sql.catalyst.analysis.FunctionRegistry"
# How the names of built-in functions begin since Spark 4.2.
_BUILT_IN = "system.builtin."


class Registered(NamedTuple):
    """A function: its name, and the class of its expression (with the package)."""

    name: str
    class_name: str
    built_in: bool


def registered_functions(spark: SparkSession) -> list[Registered]:
    """Every function of a session, in a handful of calls: there are six hundred."""
    builders = spark._jsparkSession.sessionState().functionRegistry().functionBuilders()
    told = zip(texts(builders.keys()), _told(spark, builders, "getClassName"), _told(spark, builders, "getSource"), strict=True)
    return [Registered(name.removeprefix(_BUILT_IN), class_name, source == "built-in") for name, class_name, source in told]


def hidden_functions(spark: SparkSession) -> list[str]:
    """The built-in functions in whose place SQL text calls the session's own of the same names."""
    if not hides_built_in_functions(spark):
        return []
    built_in = texts(scala_object(spark, _REGISTRY).builtin().functionBuilders().keys())
    return sorted({one.name for one in registered_functions(spark) if not one.built_in}.intersection(built_in))


def _told(spark: SparkSession, builders: JavaObject, what: str) -> list[str]:
    return texts(builders.values().map(method(spark, "scala.Tuple2._1", f"{_INFO}.{what}")))
