"""Constants as Spark's and PostgreSQL's SQL text, exact in value and type.

Spark's string literals have backslash escapes (under the default ``spark.sql.parser.escapedStringLiterals=false``), and Spark replaces
``${…}`` in a query's text before parsing it; PostgreSQL's are written so that ``standard_conforming_strings`` does not matter.
"""

from __future__ import annotations

import re
from decimal import Decimal

from sqlglot import exp

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan.datatypes import ScalarType, parse_type
from airflow_lineage_provider.plan.expressions import Literal
from airflow_lineage_provider.plan.intervals import type_of, written
from airflow_lineage_provider.sql.problems import PortabilityProblem
from airflow_lineage_provider.sql.types import portable, postgres_type, spark_type

_SPARK_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "$": "\\u0024"}
_POSTGRES_ESCAPES = {"\\": "\\\\", "'": "''", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_SPECIAL = re.compile(r"[\\'\x00-\x1f\x7f]|\$(?=\{)")
_SPARK_SUFFIX = {"tinyint": "Y", "smallint": "S", "int": "", "bigint": "L", "float": "F", "double": "D"}
_INTEGER = re.compile(r"-?\d+")
_DECIMAL = re.compile(r"-?\d+\.\d+")
_FLOAT = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})*")
_DATE = re.compile(r"(?!0000)\d{4}-\d{2}-\d{2}")
_TIME = r"[ T]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?"
_TIMESTAMP_NTZ = re.compile(_DATE.pattern + _TIME)
# Without an offset the instant depends on the time zone, and the two engines read an hour that occurs twice differently.
_TIMESTAMP = re.compile(_DATE.pattern + _TIME + r"(?:Z|[+-]\d{2}:\d{2})")


def verbatim(text: str) -> exp.Expr:
    """A constant that is written exactly as the text says."""
    return exp.Literal(this=text, is_string=False)


def composed(text: str) -> exp.Expr:
    """An expression that is written exactly as the text says, and needs no parentheses around it."""
    return exp.Var(this=text)


def spark_string(value: str) -> str:
    """A string as Spark's parser reads it back."""
    return "'" + _SPECIAL.sub(lambda match: _SPARK_ESCAPES.get(match[0], f"\\u{ord(match[0]):04x}"), value) + "'"


def postgres_string(value: str) -> str:
    """A string as PostgreSQL's parser reads it back.

    :raises PortabilityProblem: it contains NUL, which no PostgreSQL text can.
    """
    if "\0" in value:
        raise PortabilityProblem(repr(value), "PostgreSQL's text cannot contain NUL")
    escaped = _SPECIAL.sub(lambda match: _POSTGRES_ESCAPES.get(match[0], match[0] if match[0] == "$" else f"\\x{ord(match[0]):02x}"), value)
    return f"E'{escaped}'" if "\\" in escaped else f"'{escaped}'"


def spark_literal(literal: Literal) -> exp.Expr:
    """A constant for Spark.

    :raises UnsupportedOperator: a value of a type that has no text (an array, say): it is a call of ``array`` in a plan.
    """
    value = literal.value
    if value is None:
        return exp.null() if literal.type == "void" else verbatim(f"CAST(NULL AS {spark_type(literal.type)})")
    if literal.type == "string":
        return verbatim(spark_string(value))
    if literal.type in _SPARK_SUFFIX or literal.type.startswith("decimal"):
        return verbatim(_spark_number(value, literal.type))
    if literal.type == "boolean" and value.lower() in ("true", "false"):
        return verbatim(value.upper())
    if literal.type == "binary" and _HEX.fullmatch(value):
        return verbatim(f"X'{value.upper()}'")
    if literal.type == "time(6)":
        return verbatim(f"TIME {spark_string(value)}")
    if literal.type in ("date", "timestamp", "timestamp_ntz"):
        return verbatim(f"{spark_type(literal.type)} {spark_string(value)}")
    if not isinstance(parse_type(literal.type), ScalarType):
        raise UnsupportedOperator(f"a constant of type {literal.type} has no SQL text; write it with array(), map() or named_struct()")
    return verbatim(f"CAST({spark_string(value)} AS {spark_type(literal.type)})")


def _spark_number(value: str, kind: str) -> str:
    # Spark takes the largest float's own text for too large a literal.
    if kind in ("float", "double") and _FLOAT.fullmatch(value) and not (kind == "float" and "e" in value.lower()):
        return value + _SPARK_SUFFIX[kind]
    if kind in _SPARK_SUFFIX and _INTEGER.fullmatch(value):
        return value + _SPARK_SUFFIX[kind]
    if _DECIMAL.fullmatch(value) and _decimal_type(value) == kind.replace(" ", ""):
        return value
    return f"CAST({spark_string(value)} AS {spark_type(kind)})"


def _decimal_type(value: str) -> str:
    """The type that Spark gives to a decimal literal: as many digits as are written, but leading zeros."""
    (_, digits, exponent) = Decimal(value).as_tuple()
    scale = -int(exponent)
    return f"decimal({max(len(digits), scale)},{scale})"


def postgres_literal(literal: Literal, *, compared: bool = False) -> exp.Expr:
    """A constant for PostgreSQL; ``compared`` with a value of its type, a number needs no cast.

    :raises PortabilityProblem: the constant has no text that surely is the same value.
    """
    value, what = literal.value, f"the constant {literal.value!r}"
    if value is None:
        return exp.null() if literal.type == "void" or compared else verbatim(f"CAST(NULL AS {postgres_type(literal.type, what)})")
    kind = portable(literal.type, what).name
    if kind.startswith("interval "):
        return verbatim(_postgres_interval(value, literal.type, what))
    if kind == "string":
        return verbatim(postgres_string(value))
    if kind == "boolean" and value.lower() in ("true", "false"):
        return verbatim(value.upper())
    if kind == "binary" and _HEX.fullmatch(value):
        return verbatim(f"DECODE('{value.upper()}', 'hex')")
    if kind in ("date", "timestamp", "timestamp_ntz") and plain_text(value, kind) is not None:
        return verbatim(f"{postgres_type(literal.type, what)} '{value}'")
    if kind in ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double"):
        return verbatim(_postgres_number(value, literal.type, compared))
    raise PortabilityProblem(what, f"it is not plainly a {literal.type}")


def _postgres_interval(value: str, type_text: str, what: str) -> str:
    """The months or microseconds that intervals are stored as."""
    found = written(value)
    if found is None or type_of(*found[1:]) != type_text:
        raise PortabilityProblem(what, f"it is not plainly a {type_text}")
    return f"CAST('{found[0]}' AS {postgres_type(type_text, what)})"


def _postgres_number(value: str, kind: str, compared: bool) -> str:
    number = _INTEGER if kind in ("tinyint", "smallint", "int", "bigint") else _DECIMAL
    if number.fullmatch(value) and kind != "float" and (compared or (kind == "int" and value != "-2147483648")):
        return value
    if not _FLOAT.fullmatch(value) and not (kind in ("float", "double") and value in ("NaN", "Infinity", "-Infinity")):
        raise PortabilityProblem(f"the constant {value!r}", f"it is not plainly a {kind}")
    return f"CAST('{value}' AS {postgres_type(kind, value)})"


_PLAIN = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), _INTEGER),
    **dict.fromkeys(("float", "double"), re.compile(f"{_FLOAT.pattern}|NaN|-?Infinity")),
    "decimal": re.compile(f"{_INTEGER.pattern}|{_DECIMAL.pattern}"),
    "boolean": re.compile("true|false", re.IGNORECASE),
    "binary": _HEX,
    "date": _DATE,
    "timestamp": _TIMESTAMP,
    "timestamp_ntz": _TIMESTAMP_NTZ,
}


def plain_text(value: str, kind: str) -> str | None:
    """The text of a constant, where every engine that reads it as a value of the type reads the same; None otherwise."""
    shape = _PLAIN.get(kind)
    return value if shape is not None and shape.fullmatch(value) else None
