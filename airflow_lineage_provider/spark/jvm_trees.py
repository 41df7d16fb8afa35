"""Catalyst's trees as they stand in the JVM: what reading and changing them needs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.spark.jvm_classes import java_class

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession

SUBQUERIES = frozenset({"ScalarSubquery", "Exists", "ListQuery", "LateralSubquery"})
"""The classes of expressions that have a plan."""


def has(spark: SparkSession, tree: JavaObject, pattern: str) -> bool:
    """Whether a plan or an expression has one of these (a ``TreePattern``) anywhere in it, subqueries included."""
    return bool(tree.containsPattern(_pattern(spark._jvm, pattern)))


@lru_cache(maxsize=32)
def _pattern(jvm: Any, name: str) -> JavaObject:
    """Kept for as long as there is a JVM."""
    return getattr(getattr(jvm, "org.apache.spark.sql.catalyst.trees.TreePattern"), name)()


def items(seq: JavaObject) -> list[JavaObject]:
    """A Scala sequence's items."""
    return [seq.apply(number) for number in range(seq.size())]


def class_name(value: JavaObject) -> str:
    """The class without its package."""
    return str(value.getClass().getSimpleName())


def frame_over(spark: SparkSession, plan: JavaObject) -> DataFrame:
    """A DataFrame over a plan, or over one node of it."""
    from pyspark.sql.classic.dataframe import DataFrame

    return DataFrame(java_class(spark, "org.apache.spark.sql.classic.Dataset").ofRows(spark._jsparkSession, plan), spark)


def operators(plan: JavaObject) -> Iterator[JavaObject]:
    """The operators of a plan from the top, without those of its subqueries."""
    yield plan
    for child in items(plan.children()):
        yield from operators(child)


def parts(expression: JavaObject) -> Iterator[JavaObject]:
    """An expression and all those in it."""
    yield expression
    for child in items(expression.children()):
        yield from parts(child)
