"""Types as DDL text, and constants as text."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_lineage_provider.catalyst.datatypes import ddl, schema_ddl
from airflow_lineage_provider.catalyst.literals import instant, literal
from airflow_lineage_provider.errors import UnsupportedOperator


def struct(*fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in fields]}


@pytest.mark.parametrize(
    ("json_type", "text"),
    [
        ("integer", "int"),
        ("long", "bigint"),
        ("decimal(10,2)", "decimal(10,2)"),
        ("interval day to second", "interval day to second"),
        ({"type": "array", "elementType": "short", "containsNull": False}, "array<smallint>"),
        (
            {"type": "map", "keyType": "string", "valueType": struct(("a", "byte")), "valueContainsNull": True},
            "map<string,struct<a:tinyint>>",
        ),
        (struct(("a b", "long"), ("c`d", "void"), ("é", "string")), "struct<`a b`:bigint,`c``d`:void,`é`:string>"),
        (struct(), "struct<>"),
    ],
)
def test_types(json_type: Any, text: str) -> None:
    assert ddl(json_type) == text


def test_collations_are_told_beside_a_field() -> None:
    kinds = {"type": "map", "keyType": "string", "valueType": {"type": "array", "elementType": "string"}}
    told = {"m.key": "spark.UTF8_LCASE", "m.value.element": "icu.UNICODE_CI"}
    field = {"name": "m", "type": kinds, "nullable": True, "metadata": {"__COLLATIONS": told}}
    assert ddl({"type": "struct", "fields": [field]}) == "struct<m:map<string collate UTF8_LCASE,array<string collate UNICODE_CI>>>"
    assert ddl({"type": "array", "elementType": "string collate UTF8_LCASE"}) == "array<string collate UTF8_LCASE>"


@pytest.mark.parametrize(
    ("json_type", "text"),
    [
        ("geometry(SRID:0)", "geometry(0)"), ("geometry(EPSG:3857)", "geometry(3857)"), ("geography(any, SPHERICAL)", "geography(any)"),
        ("geography(OGC:CRS84, SPHERICAL)", "geography(4326)"),
    ],
)  # fmt: skip
def test_shapes(json_type: str, text: str) -> None:
    assert ddl(json_type) == text


def test_a_reference_system_without_a_number_is_refused() -> None:
    with pytest.raises(UnsupportedOperator, match="EPSG:9999"):
        ddl("geometry(EPSG:9999)")


def test_user_defined_types_are_refused() -> None:
    with pytest.raises(UnsupportedOperator, match="VectorUDT"):
        ddl({"type": "udt", "class": "org.apache.spark.ml.linalg.VectorUDT", "pyClass": None, "sqlType": struct()})


def test_a_schema_quotes_every_name() -> None:
    assert schema_ddl([("a`b", "int"), ("select", "string")]) == "`a``b` int, `select` string"


@pytest.mark.parametrize(
    ("value", "type_text", "text"),
    [
        ("0", "timestamp_ntz", "1970-01-01 00:00:00.000000"),
        ("14", "interval year to month", "INTERVAL '1-2' YEAR TO MONTH"),
        ("-14", "interval month", "INTERVAL '-14' MONTH"),
        ("-24", "interval year", "INTERVAL '-2' YEAR"),
        ("86400000000", "interval day", "INTERVAL '1' DAY"),
        ("93784500000", "interval day to second", "INTERVAL '1 02:03:04.500000' DAY TO SECOND"),
        ("90000000000", "interval hour", "INTERVAL '25' HOUR"),
        ("-90061500000", "interval hour to second", "INTERVAL '-25:01:01.500000' HOUR TO SECOND"),
        ("5000000", "interval second", "INTERVAL '5.000000' SECOND"),
        ("3723000000", "interval minute to second", "INTERVAL '62:03.000000' MINUTE TO SECOND"),
        ("it's", "string", "it's"),
    ],
)
def test_constants(value: str, type_text: str, text: str) -> None:
    found = literal(value, type_text)
    assert found is not None
    assert found.value == text


@pytest.mark.parametrize(("value", "type_text"), [("[B@5f692bb7", "binary"), ("[1,2]", "array<int>"), ("x", "variant")])
def test_constants_without_a_text(value: str, type_text: str) -> None:
    assert literal(value, type_text) is None


def test_moments_outside_the_calendar() -> None:
    assert instant(2**62) is None
    assert instant(-1) == "1969-12-31 23:59:59.999999"
