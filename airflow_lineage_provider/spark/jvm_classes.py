"""Classes of Spark's Java side, by their whole names.

Written as packages (``spark._jvm.org.apache.spark.…``) such a name is a question to Java at each of its dots, whether there is a class
called so, and Java looks for one in all of Spark's 300 files every time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def java_class(spark: SparkSession, name: str) -> Any:
    """A class (to be called, or asked for its static members), or a package of some."""
    return getattr(spark._jvm, name)
