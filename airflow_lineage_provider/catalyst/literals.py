"""Constants: Catalyst's text of a literal to the text that Spark casts back to the same value."""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow_lineage_provider.plan import intervals
from airflow_lineage_provider.plan.expressions import Literal

_EPOCH = datetime(1970, 1, 1)
_AS_WRITTEN = ("void", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "interval")


def literal(value: str | None, type_text: str) -> Literal | None:
    """The constant; None when Catalyst's text does not hold its value (arrays, maps, structs, unread binaries …)."""
    if value is None:
        return Literal(value=None, type=type_text)
    text = _text(value, type_text)
    return None if text is None else Literal(value=text, type=type_text)


def _text(value: str, type_text: str) -> str | None:
    if type_text == "timestamp_ntz":
        return instant(int(value))
    if type_text in _AS_WRITTEN or type_text.startswith(("string", "decimal", "time(")):
        return value
    if type_text == "timestamp":
        return value
    if type_text == "binary":
        return None if value.startswith("[B@") else value
    units = intervals.units_of(type_text)
    return None if units is None else intervals.text_of(int(value), *units)


def instant(micros: int, zone: str = "") -> str | None:
    """Microseconds since 1970 as a timestamp's text; None outside the years 1 to 9999."""
    try:
        moment = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None
    return f"{moment.isoformat(sep=' ', timespec='microseconds')}{zone}"
