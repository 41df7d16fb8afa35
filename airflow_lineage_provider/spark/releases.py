"""Where the releases of Spark that lineage works with differ in what it calls of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.spark.jvm_classes import java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def since(spark: SparkSession, major: int, minor: int) -> bool:
    """Is the session's Spark of this release, or of a later one?"""
    found = spark.version.split(".")
    return (int(found[0]), int(found[1])) >= (major, minor)


def inline_cte(spark: SparkSession) -> Any:
    """Spark's rule that writes every common table expression out where it is read, and keeps no definition that nobody reads."""
    later = (False,) if since(spark, 4, 3) else ()
    return java_class(spark, "org.apache.spark.sql.catalyst.optimizer.InlineCTE")(True, False, *later)


def python_function(spark: SparkSession, name: str, function: Any, type_: Any, eval_type: int, deterministic: bool) -> Any:
    """A Python UDF as Spark's SQL calls it."""
    transpiled: tuple[Any, ...] = ([], []) if since(spark, 4, 3) else ()
    made = java_class(spark, "org.apache.spark.sql.execution.python.UserDefinedPythonFunction")
    return made(name, function, type_, eval_type, deterministic, *transpiled)


def needs_join_conditions(spark: SparkSession) -> bool:
    """Whether Spark's rule for subqueries (``RewritePredicateSubquery``) makes no join of an EXISTS that has no condition."""
    return not since(spark, 4, 2)


def hides_built_in_functions(spark: SparkSession) -> bool:
    """Whether a function of the session takes the place of a built-in one of its name. Since Spark 4.2 that one is called all the same."""
    return not since(spark, 4, 2)
