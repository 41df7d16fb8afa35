"""Constants: Catalyst's text of a literal to the text that Spark casts back to the same value."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from airflow_lineage_provider.plan.expressions import Literal

_DAY_UNITS = ("day", "hour", "minute", "second")
_MICROS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
_INTERVAL = re.compile(r"interval (\w+)(?: to (\w+))?")
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
    units = _INTERVAL.fullmatch(type_text)
    if units is None:
        return None
    start, end = units[1], units[2] or units[1]
    return _year_month(int(value), start, end) if start in ("year", "month") else _day_time(int(value), start, end)


def instant(micros: int, zone: str = "") -> str | None:
    """Microseconds since 1970 as a timestamp's text; None outside the years 1 to 9999."""
    try:
        moment = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None
    return f"{moment.isoformat(sep=' ', timespec='microseconds')}{zone}"


def _year_month(months: int, start: str, end: str) -> str:
    sign, size = ("-" if months < 0 else ""), abs(months)
    years, rest = divmod(size, 12)
    number = f"{years}-{rest}" if start != end else str(years if start == "year" else size)
    return f"INTERVAL '{sign}{number}' {start.upper()}" + ("" if start == end else f" TO {end.upper()}")


def _day_time(micros: int, start: str, end: str) -> str:
    sign, rest = ("-" if micros < 0 else ""), abs(micros)
    units = _DAY_UNITS[_DAY_UNITS.index(start) : _DAY_UNITS.index(end) + 1]
    parts: list[str] = []
    for unit in units:
        whole, rest = divmod(rest, _MICROS[unit])
        # Only the first unit may be larger than its place in a clock; the others have two digits.
        parts.append(str(whole) if unit == start else f"{whole:02d}")
    text = parts[0] if len(parts) == 1 else (f"{parts[0]} " if start == "day" else f"{parts[0]}:") + ":".join(parts[1:])
    if end == "second":
        text += f".{rest:06d}"
    return f"INTERVAL '{sign}{text}' {start.upper()}" + ("" if start == end else f" TO {end.upper()}")
