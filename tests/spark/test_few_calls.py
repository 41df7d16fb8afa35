"""What is read of Java in a few calls is what many small ones would read."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from airflow_lineage_provider.spark.frames import columns_named, renamed, with_columns
from airflow_lineage_provider.spark.function_registry import registered_functions
from airflow_lineage_provider.spark.jvm_classes import java_class, scala_object, static_method
from airflow_lineage_provider.spark.jvm_functions import method, texts
from airflow_lineage_provider.spark.scala_maps import scala_map
from airflow_lineage_provider.spark.session import apply_conf, sql_conf
from airflow_lineage_provider.spark.xxhash64 import xxhash64

pytestmark = pytest.mark.spark

_ODD = ["a.b", "`tick`", "", "two words", "ü😀", "line\nbreak", 'q"uote\\', "*"]


def test_hashes_are_sparks(spark: SparkSession) -> None:
    letters = random.Random(1)
    values = ["".join(letters.choice("abcé😀/%20 ") for _ in range(length)) for length in range(100)]
    rows = (
        spark.createDataFrame([(value,) for value in values], "value string").select("value", F.xxhash64("value").alias("hash")).collect()
    )
    assert {row["value"]: row["hash"] for row in rows} == {value: xxhash64(value.encode()) for value in values}


def test_every_built_in_function_has_its_class(spark: SparkSession) -> None:
    registry: Any = spark._jsparkSession.sessionState().functionRegistry()
    found = {one.name: one.class_name for one in registered_functions(spark) if one.built_in}
    names = registry.listFunction()
    every = {str(one.unquotedString()).removeprefix("system.builtin."): one for one in map(names.apply, range(names.size()))}
    info = {name: registry.lookupFunction(one).get() for name, one in every.items()}
    assert set(found) == {name for name, one in info.items() if one.getSource() == "built-in"}
    for name in random.Random(2).sample(sorted(found), 40):
        assert info[name].getClassName() == found[name]


def test_names_of_any_letters_come_through(spark: SparkSession) -> None:
    frame = renamed(spark.range(1).selectExpr(*["id"] * len(_ODD)), _ODD)
    assert frame.columns == _ODD
    chosen = [name for name in reversed(_ODD) if name]
    assert columns_named(frame, chosen).columns == chosen
    assert with_columns(frame, {"further `one`": "1 + 1"}).columns == [*_ODD, "further `one`"]


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"": "an empty name"},
        {"a": "", "b c": " -> "},
        {"a -> b": "c", "a": "b -> c", "->": "->"},
        {"a": "1", "b": "x, y -> z\n"},
        {"a": "b"},
    ],
)
def test_maps_are_what_they_are(spark: SparkSession, found: dict[str, str]) -> None:
    java = java_class(spark, "java.util.LinkedHashMap")()
    for key, value in found.items():
        java.put(key, value)
    scala = static_method(spark, "scala.jdk.javaapi.CollectionConverters", "asScala")(java)
    immutable = getattr(scala_object(spark, "scala.collection.immutable.Map"), "from")(scala)
    assert scala_map(spark, java) == found
    assert scala_map(spark, immutable) == found


def test_what_has_no_answer_is_null(spark: SparkSession) -> None:
    window = spark.sql("SELECT sum(id) OVER (ORDER BY id ROWS 2 PRECEDING) AS s FROM range(3)")._jdf.queryExecution().analyzed()
    plan = window.toString()
    while window.nodeName() != "Window":
        assert window.children().size(), plan
        window = window.children().apply(0)
    expression = window.windowExpressions().apply(0)
    of_node = method(spark, "org.apache.spark.sql.catalyst.expressions.Expression.dataType", "org.apache.spark.sql.types.DataType.json")
    types = texts(expression.map(of_node))
    assert types[0] == '"long"'
    assert "null" in types  # a window's frame has no type


def test_settings_are_those_in_force(spark: SparkSession) -> None:
    before = sql_conf(spark)
    with apply_conf(spark, {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.ansi.enabled": "false"}):
        changed = sql_conf(spark)
        assert (changed["spark.sql.session.timeZone"], changed["spark.sql.ansi.enabled"]) == ("Asia/Tokyo", "false")
        assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    assert sql_conf(spark) == before
