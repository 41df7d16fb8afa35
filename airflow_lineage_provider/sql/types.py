"""Types as SQL text: Spark's in full, PostgreSQL's and DuckDB's for the scalar types whose values mean the same there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.plan.datatypes import ArrayType, DataType, MapType, ScalarType, StructField, StructType, parse_type
from airflow_lineage_provider.plan.intervals import units_of
from airflow_lineage_provider.sql.names import quote
from airflow_lineage_provider.sql.problems import PortabilityProblem

_POSTGRES = {
    "string": "TEXT",
    "boolean": "BOOLEAN",
    "tinyint": "SMALLINT",
    "smallint": "SMALLINT",
    "int": "INT",
    "bigint": "BIGINT",
    "float": "REAL",
    "double": "DOUBLE PRECISION",
    "date": "DATE",
    "timestamp": "TIMESTAMPTZ",
    "timestamp_ntz": "TIMESTAMP",
    "binary": "BYTEA",
    # Stored as their number of microseconds and months.
    "interval day to second": "BIGINT",
    "interval year to month": "INT",
}
# Intervals are not among them: what stands for them is a matter of the store.
_DUCKDB = {
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "REAL",
    "double": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMPTZ",
    "timestamp_ntz": "TIMESTAMP",
    "binary": "BLOB",
}
# `parse_type` reads these and forgets a part of them (the collation, the interval's units, the length).
_LOSSY = re.compile(r"\b(collate|interval|char|varchar|character)\b", re.IGNORECASE)
INTEGER_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
BEYOND = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31, "bigint": 2**63}
"""The least whole number above 0 that is none of the type."""
FLOATS = ("float", "double")


def says_more(text: str) -> bool:
    """Whether a type's text says more than its type tree: a collation, an interval's units, a length."""
    return _LOSSY.search(text) is not None


@lru_cache(maxsize=4096)
def scalar(text: str) -> ScalarType | None:
    """The scalar type that a DDL text says, where PostgreSQL and DuckDB have the same type; None otherwise."""
    if says_more(text) and units_of(text) is None:
        return None
    try:
        parsed = parse_type(text)
    except PlanError:
        return None
    known = isinstance(parsed, ScalarType) and (parsed.name in _POSTGRES or parsed.name == "decimal")
    return parsed if known else None  # type: ignore[return-value]


def portable(text: str, what: str) -> ScalarType:
    """The scalar type of a DDL text.

    :raises PortabilityProblem: no type outside Spark has values that compare as this one's; ``what`` has it.
    """
    found = scalar(text)
    if found is None:
        raise PortabilityProblem(what, f"values of type {text} have no type there that behaves the same")
    return found


def postgres_type(text: str, what: str) -> str:
    """PostgreSQL's name of a Spark type. Raises as `portable`."""
    found = portable(text, what)
    if found.name == "decimal":
        return f"NUMERIC({found.parameters[0]}, {found.parameters[1]})"
    return _POSTGRES[found.name]


def duckdb_type(text: str, what: str) -> str:
    """DuckDB's name of a Spark type. Raises as `portable`."""
    found = portable(text, what)
    if found.name == "decimal":
        return f"DECIMAL({found.parameters[0]}, {found.parameters[1]})"
    if found.name not in _DUCKDB:
        raise PortabilityProblem(what, f"values of type {text} have no type in DuckDB that behaves the same")
    return _DUCKDB[found.name]


def spark_type(text: str) -> str:
    """A DDL type as Spark's parser takes it: field names quoted where needed, and TIMESTAMP_LTZ, which no setting changes.

    :raises PlanError: the text is not a type of Spark's.
    """
    parsed = parse_type(text)
    return text.strip() if says_more(text) else _spark(parsed)


@lru_cache(maxsize=4096)
def travelling(text: str) -> tuple[str, ...]:
    """The casts, one after the other, that turn values of a type into what PySpark carries in Arrow; none for most types.

    The same casts backwards, and then one to the type, give the values again.

    :raises PlanError: the text is not a type of Spark's.
    """
    parsed = parse_type(text)
    # By way of months: a cast of an INTERVAL YEAR to a number gives its years.
    steps = (_with_scalar(parsed, {"interval year to month": "interval month"}), _carried(parsed))
    return () if steps[1] == parsed else tuple(dict.fromkeys(_spark(one) for one in steps if one != parsed))


def _carried(parsed: DataType) -> DataType:
    return _with_scalar(parsed, {"interval year to month": "int", "interval": "string"})


def _with_scalar(parsed: DataType, names: Mapping[str, str]) -> DataType:
    """The type with other scalar types in the place of some."""
    match parsed:
        case ArrayType(element):
            return ArrayType(_with_scalar(element, names))
        case MapType(key, value):
            return MapType(_with_scalar(key, names), _with_scalar(value, names))
        case StructType(fields):
            return StructType(tuple(StructField(f.name, _with_scalar(f.type, names), f.nullable) for f in fields))
        case ScalarType(name) if name in names:
            return ScalarType(names[name])
    return parsed


def ddl(parsed: DataType) -> str:
    """A type tree as the DDL text that plans carry (``array<int>``)."""
    match parsed:
        case ArrayType(element):
            return f"array<{ddl(element)}>"
        case MapType(key, value):
            return f"map<{ddl(key)},{ddl(value)}>"
        case ScalarType(name, parameters):
            return name + (f"({','.join(str(number) for number in parameters)})" if parameters else "")
    fields = (f"{quote(field.name, 'spark')}:{ddl(field.type)}" for field in parsed.fields)
    return f"struct<{','.join(fields)}>"


def _spark(parsed: DataType) -> str:
    match parsed:
        case ArrayType(element):
            return f"ARRAY<{_spark(element)}>"
        case MapType(key, value):
            return f"MAP<{_spark(key)}, {_spark(value)}>"
        case ScalarType(name, parameters):
            return _spark_scalar(name, parameters)
    fields = (f"{quote(f.name, 'spark')}: {_spark(f.type)}{'' if f.nullable else ' NOT NULL'}" for f in parsed.fields)
    return f"STRUCT<{', '.join(fields)}>"


def _spark_scalar(name: str, parameters: tuple[int, ...]) -> str:
    if name in ("geometry", "geography"):
        return f"{name.upper()}({'ANY' if parameters == (-1,) else parameters[0]})"
    numbers = f"({', '.join(str(number) for number in parameters)})" if parameters else ""
    return {"timestamp": "TIMESTAMP_LTZ"}.get(name, name.upper()) + numbers
