"""Spark's type texts against Spark's own conversion to Arrow (no JVM)."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_type

from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.plan.datatypes import MapType, ScalarType, StructField, StructType, from_arrow, parse_type, to_arrow

SPARK = [
    T.NullType(),
    T.BooleanType(),
    T.ByteType(),
    T.ShortType(),
    T.IntegerType(),
    T.LongType(),
    T.FloatType(),
    T.DoubleType(),
    T.DecimalType(38, 18),
    T.DecimalType(1, 0),
    T.StringType(),
    T.BinaryType(),
    T.DateType(),
    T.TimestampType(),
    T.TimestampNTZType(),
    T.DayTimeIntervalType(),
    T.TimeType(3),
    T.VariantType(),
    T.GeometryType(4326),
    T.GeographyType("ANY"),
    T.ArrayType(T.ArrayType(T.DecimalType(5, 2))),
    T.MapType(T.StringType(), T.MapType(T.IntegerType(), T.BinaryType())),
    T.StructType(
        [T.StructField("a", T.ArrayType(T.VariantType())), T.StructField("b c", T.StructType([T.StructField("d", T.DateType())]))]
    ),
    T.StructType([]),
    T.StructType([T.StructField("x", T.IntegerType()), T.StructField("x", T.StringType())]),
]


@pytest.mark.parametrize("spark", SPARK, ids=lambda t: t.simpleString())
def test_the_arrow_type_is_the_one_that_spark_gives(spark: T.DataType) -> None:
    found = to_arrow(spark.simpleString())
    expected = to_arrow_type(spark, timezone="UTC")
    assert found.equals(expected, check_metadata=True) or (found == expected and found.num_fields)


@pytest.mark.parametrize("spark", SPARK, ids=lambda t: t.simpleString())
def test_back_from_arrow(spark: T.DataType) -> None:
    arrow = to_arrow(spark.simpleString())
    assert to_arrow(from_arrow(arrow)) == arrow


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("STRUCT<a INT NOT NULL COMMENT 'it''s'>".replace("''", "\\'"), StructType((StructField("a", ScalarType("int"), False),))),
        ("struct<`a``:b`:int>", StructType((StructField("a`:b", ScalarType("int")),))),
        ("struct<日本 語:int>", StructType((StructField("日本 語", ScalarType("int")),))),
        ("map < string , long >", MapType(ScalarType("string"), ScalarType("bigint"))),
        ("interval month", ScalarType("interval year to month")),
        ("interval DAY TO second", ScalarType("interval day to second")),
        ("interval", ScalarType("interval")),
        ("varchar(12)", ScalarType("string")),
        ("string collate UTF8_LCASE", ScalarType("string")),
        ("DECIMAL", ScalarType("decimal", (10, 0))),
        ("dec(7)", ScalarType("decimal", (7, 0))),
    ],
)
def test_other_ways_to_write_a_type(text: str, expected: object) -> None:
    assert parse_type(text) == expected


@pytest.mark.parametrize(
    "text", ["", "foo", "array<int", "int x", "map<int>", "decimal(1,2)", "decimal(39,0)", "decimal(1,2,3)", "udt", "struct<:int"]
)
def test_what_is_no_type_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(PlanError, match="not a Spark type"):
        parse_type(text)


def test_arrow_types_that_are_not_spark_s() -> None:
    assert from_arrow(pa.dictionary(pa.int8(), pa.large_string())) == "string"
    assert from_arrow(pa.uint64()) == "decimal(20,0)"
    with pytest.raises(PlanError, match="Spark has no type"):
        from_arrow(pa.dense_union([pa.field("a", pa.int32())]))
