"""Catalyst's trees as they stand in the JVM: what reading and changing them needs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.spark.jvm_classes import java_class, member, static_method

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
    return member(jvm, "org.apache.spark.sql.catalyst.trees.TreePattern", name)()


def items(seq: JavaObject) -> list[JavaObject]:
    """A Scala sequence's items."""
    return [seq.apply(number) for number in range(seq.size())]


def class_name(value: JavaObject) -> str:
    """The class without its package."""
    return str(value.getClass().getSimpleName())


def frame_over(spark: SparkSession, plan: JavaObject) -> DataFrame:
    """A DataFrame over a plan, or over one node of it."""
    from pyspark.sql.classic.dataframe import DataFrame

    return DataFrame(static_method(spark, "org.apache.spark.sql.classic.Dataset", "ofRows")(spark._jsparkSession, plan), spark)


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


def sequence(spark: SparkSession, values: list[Any]) -> JavaObject:
    """A Scala sequence."""
    return static_method(spark, "org.apache.spark.api.python.PythonUtils", "toSeq")(values)


def with_child(spark: SparkSession, node: JavaObject, child: JavaObject) -> JavaObject:
    """An operator of one input over another one."""
    return node.withNewChildren(sequence(spark, [child]))


def with_fields(spark: SparkSession, node: JavaObject, **changed: Any) -> JavaObject:
    """A node of a plan, or of an expression, with some of its fields changed."""
    return node.makeCopy(array_of(spark, java_class(spark, "java.lang.Object"), fields_of(node, **changed)))


def fields_of(product: JavaObject, **changed: Any) -> list[Any]:
    """The fields of a Scala case class, some of them changed."""
    names = [str(product.productElementName(number)) for number in range(product.productArity())]
    return [changed[name] if name in changed else product.productElement(number) for number, name in enumerate(names)]


def array_of(spark: SparkSession, kind: Any, values: list[Any]) -> JavaObject:
    """A Java array."""
    context: Any = spark.sparkContext
    array = context._gateway.new_array(kind, len(values))
    for number, value in enumerate(values):
        array[number] = value
    return array
