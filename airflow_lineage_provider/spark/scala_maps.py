"""Maps of Spark's Java side as dicts, in a handful of calls whatever their size: taken entry by entry each costs Java several."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from airflow_lineage_provider.spark.jvm_classes import java_class

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession


def scala_map(spark: SparkSession, value: JavaObject) -> dict[str, str]:
    """A map of texts, Scala's or Java's, as a dict."""
    name = str(value.getClass().getName())
    if not (name.startswith("scala.") or "CaseInsensitiveMap" in name):
        value = java_class(spark, "scala.jdk.javaapi.CollectionConverters").asScala(value)
    if value.isEmpty():
        return {}
    # No key and no value has this in it.
    mark = uuid4().hex
    keys, values = (str(part.mkString(mark)).split(mark) for part in (value.keys(), value.values()))
    return dict(zip(keys, values, strict=True))


def all_settings(spark: SparkSession) -> dict[str, str]:
    """All settings of a session that have a value of their own."""
    return scala_map(spark, spark._jsparkSession.conf().getAll())
