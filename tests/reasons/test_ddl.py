"""Spark's DDL types as Arrow types."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import UdfDeclarationError
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.reasons.ddl import arrow_type, spark_ddl

UTC = pa.timestamp("us", tz="UTC")


@pytest.mark.parametrize(
    ("ddl", "wanted"),
    [
        ("string", pa.string()),
        (" BIGINT ", pa.int64()),
        ("decimal", pa.decimal128(10, 0)),
        ("DECIMAL( 38 , 18 )", pa.decimal128(38, 18)),
        ("varchar(12)", pa.string()),
        ("timestamp", UTC),
        ("timestamp_ntz", pa.timestamp("us")),
        ("interval day to second", pa.duration("us")),
        ("array<array<int>>", pa.list_(pa.list_(pa.int32()))),
        ("map<string,array<double>>", pa.map_(pa.string(), pa.list_(pa.float64()))),
        ("struct<>", pa.struct([])),
        ("struct<a:int,b:struct<c:timestamp>>", pa.struct([("a", pa.int32()), ("b", pa.struct([("c", UTC)]))])),
        ("struct<`a ``b`: int>", pa.struct([("a `b", pa.int32())])),
        ("a int, b string", pa.struct([("a", pa.int32()), ("b", pa.string())])),
        ("struct<größe double comment 'in, cm'>", pa.struct([("größe", pa.float64())])),
        ("a int not null", pa.struct([pa.field("a", pa.int32(), nullable=False)])),
    ],
)
def test_types(ddl: str, wanted: pa.DataType) -> None:
    assert arrow_type(ddl) == wanted
    assert arrow_type(ddl) == arrow_type(spark_ddl(ddl))


@pytest.mark.parametrize("ddl", ["time", "time(3)", "string collate UTF8_LCASE", "variant", "array<time>", "struct<a: variant>"])
def test_every_type_is_that_of_plans(ddl: str) -> None:
    assert arrow_type(ddl) == to_arrow(ddl)


@pytest.mark.parametrize(("ddl", "advice"), [("interval year to month", "make_ym_interval"), ("array<interval>", "make_interval")])
def test_what_python_cannot_give_to_spark(ddl: str, advice: str) -> None:
    with pytest.raises(UdfDeclarationError, match=rf"cannot return the Spark type '{ddl}' from Python.*{advice}"):
        arrow_type(ddl)


@pytest.mark.parametrize("ddl", ["", "strng", "array<int", "array<>", "decimal(39,1)", "decimal(5,6)", "int>", "map<int>", "int;"])
def test_what_spark_would_not_take(ddl: str) -> None:
    with pytest.raises(UdfDeclarationError, match="cannot read the Spark type"):
        arrow_type(ddl)
