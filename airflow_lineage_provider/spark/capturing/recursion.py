"""Recursive queries (``WITH RECURSIVE``): Spark runs them as they are, and their rows are data of the session, where lineage ends.

Which rows made which is known to Spark's loop alone; so that the rows are stored with the run, and the answer says that their origin is not
known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_lineage_provider.spark.capturing.kept_rows import over, session_data
from airflow_lineage_provider.spark.capturing.subqueries import inlined, replaced
from airflow_lineage_provider.spark.jvm_trees import class_name, has, items

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

_LIMITS = ("GlobalLimit", "LocalLimit")
# A limit over these is one of the recursion's: Spark ends the loop when it has so many rows.
_ROW_BY_ROW = ("Project", "SubqueryAlias", *_LIMITS)


def without_recursion(spark: SparkSession, analyzed: JavaObject) -> JavaObject:
    """The plan over the rows of its recursive queries, in subqueries too; itself where it has none."""
    if not has(spark, analyzed, "CTE") or "UnionLoop" not in str(analyzed.toString()):
        return analyzed
    return _without(spark, inlined(spark, analyzed))


def _without(spark: SparkSession, plan: JavaObject) -> JavaObject:
    whole = _over_rows(spark, plan)
    return replaced(spark, whole, lambda subquery: subquery.withNewPlan(_without(spark, subquery.plan())))


def _over_rows(spark: SparkSession, plan: JavaObject) -> JavaObject:
    if class_name(plan) == "UnionLoop" or _limits_a_loop(plan):
        return session_data(spark, plan)
    return over(spark, plan, [_over_rows(spark, child) for child in items(plan.children())])


def _limits_a_loop(plan: JavaObject) -> bool:
    if class_name(plan) not in _LIMITS:
        return False
    while class_name(plan) in _ROW_BY_ROW:
        plan = plan.child()
    return class_name(plan) == "UnionLoop"
