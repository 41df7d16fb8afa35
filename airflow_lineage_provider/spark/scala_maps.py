"""Maps of Spark's Java side as dicts, in a handful of calls whatever their size: taken entry by entry each costs Java several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.spark.jvm_classes import static_method
from airflow_lineage_provider.spark.jvm_functions import texts

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

_ARROW, _TWO = " -> ", 2
"""Between a key and its value, where a map is a text; and so many parts has an entry, unless one of them has it, too."""


def scala_map(spark: SparkSession, value: JavaObject) -> dict[str, str]:
    """A map of texts, Scala's or Java's, as a dict."""
    from py4j.java_collections import JavaMap

    if isinstance(value, JavaMap):
        value = static_method(spark, "scala.jdk.javaapi.CollectionConverters", "asScala")(value)
    entries = [one.split(_ARROW) for one in texts(value)]
    # An empty map and one of an empty text alone look the same; nobody calls an option or a setting by an empty name.
    if entries == [[""]]:
        return {}
    if all(len(one) == _TWO and not one[1].startswith("-> ") for one in entries):
        return {one[0]: one[1] for one in entries}
    return dict(zip(texts(value.keys()), texts(value.values()), strict=True))


def all_settings(spark: SparkSession) -> dict[str, str]:
    """All settings of a session that have a value of their own."""
    classic: Any = spark.conf
    return scala_map(spark, classic._jconf.getAll())
