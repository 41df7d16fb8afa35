"""Classes of Spark's Java side, by their whole names.

Written as packages (``spark._jvm.org.apache.spark.…``) such a name is a question to Java at each of its dots, whether there is a class
called so, and Java looks for one in all of Spark's 300 files every time. Asked by its whole name it is one question, and here one for as
long as there is a JVM.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession


def java_class(spark: SparkSession, name: str) -> Any:
    """A class (to be called, or asked for its static members), or a package of some."""
    return named(spark._jvm, name)


def static_method(spark: SparkSession, class_name: str, method: str) -> Any:
    """A method of a class: through the class it would be a question at every call, whether there is one called so."""
    return member(spark._jvm, class_name, method)


def scala_object(spark: SparkSession, name: str) -> JavaObject:
    """A Scala ``object``, as the value that it is."""
    return module(spark._jvm, name)


@lru_cache(maxsize=128)
def named(jvm: Any, name: str) -> Any:
    """`java_class`, of a JVM."""
    return getattr(jvm, name)


@lru_cache(maxsize=128)
def member(jvm: Any, class_name: str, method: str) -> Any:
    """`static_method`, of a JVM."""
    return getattr(named(jvm, class_name), method)


@lru_cache(maxsize=64)
def module(jvm: Any, name: str) -> JavaObject:
    """`scala_object`, of a JVM."""
    return member(jvm, "java.lang.Class", "forName")(f"{name}$").getField("MODULE$").get(None)
