"""The digest of a row, as runs store it: an MD5 of the row as Spark's ``to_json`` writes it (`spark.identity.row_digest`)."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_lineage_provider.plan.datatypes import ScalarType, parse_type
from airflow_lineage_provider.sources.duckdb_connection import name
from airflow_lineage_provider.sources.files import CannotReadHere

_PLAIN = frozenset({"boolean", "tinyint", "smallint", "int", "bigint", "float", "double"})
"""Written without quotes. Real numbers between 0.001 and 10,000,000 are written alike by Java and DuckDB."""
_QUOTED = {
    "date": "strftime({}, '%Y-%m-%d')",
    "timestamp_ntz": "strftime({}, '%Y-%m-%dT%H:%M:%S.%f')",
    # In UTC, as whoever reads them here has seen to.
    "timestamp": "strftime({}, '%Y-%m-%dT%H:%M:%S.%fZ')",
}


def row_digest(columns: Mapping[str, str]) -> str:
    """SQL of DuckDB for the digest of a row of columns (types by name).

    Texts have no control characters but tabs and ends of lines.

    :raises CannotReadHere: it is not certain how Spark writes values of a type.
    """
    parts = [f"'\"c{at}\":' || {_value(column, kind)}" for at, (column, kind) in enumerate(columns.items())]
    return "md5('{' || " + " || ',' || ".join(parts) + " || '}')"


def _value(column: str, kind: str) -> str:
    found, spelled = parse_type(kind), name(column)
    if not isinstance(found, ScalarType):
        raise CannotReadHere(f"how values of type {kind} are written is left to Spark")
    if found.name == "decimal":
        return f"coalesce(CAST({_with_zero(spelled, *found.parameters)} AS VARCHAR), 'null')"
    if found.name in _PLAIN:
        return f"coalesce(CAST({spelled} AS VARCHAR), 'null')"
    if kind == "string":
        return f"coalesce('\"' || {_escaped(spelled)} || '\"', 'null')"
    if found.name in _QUOTED:
        return f"coalesce('\"' || {_QUOTED[found.name].format(spelled)} || '\"', 'null')"
    raise CannotReadHere(f"how values of type {kind} are written is left to Spark")


def _with_zero(number: str, precision: int, scale: int) -> str:
    """A decimal that is written with a digit before the point: DuckDB leaves it out where the type has none."""
    if precision > scale:
        return number
    if precision == 38:
        raise CannotReadHere("how decimals of 38 digits after the point are written is left to Spark")
    return f"CAST({number} AS DECIMAL({precision + 1}, {scale}))"


def _escaped(text: str) -> str:
    """A text between quotes of JSON."""
    escaped = f"replace(replace({text}, '\\', '\\\\'), '\"', '\\\"')"
    for letter, code in (("t", 9), ("n", 10), ("r", 13)):
        escaped = f"replace({escaped}, chr({code}), '\\{letter}')"
    return f"CASE WHEN regexp_matches({text}, '[\"\\\\\\t\\n\\r]') THEN {escaped} ELSE {text} END"
