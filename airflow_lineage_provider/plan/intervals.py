"""Intervals: months (year-month) or microseconds (day-time) to Spark's text of them, and back.

A type says its first and last unit (``interval hour to second``, ``interval month``); the text has just these.
"""

from __future__ import annotations

import re
from datetime import timedelta

_DAY_UNITS = ("day", "hour", "minute", "second")
_MICROS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
_IN_A_CLOCK = {"hour": 24, "minute": 60, "second": 60}
_TYPE = re.compile(r"\s*interval\s+(year|month|day|hour|minute|second)(?:\s+to\s+(year|month|day|hour|minute|second))?\s*", re.IGNORECASE)
_WRITTEN = re.compile(r"\s*interval\s*'([^']*)'\s*(\w+)(?:\s+to\s+(\w+))?\s*", re.IGNORECASE)
_MOST_MONTHS, _MOST_MICROS = 1 << 31, 1 << 63


def units_of(type_text: str) -> tuple[str, str] | None:
    """The first and the last unit of an interval type; None for every other type, the old ``interval`` among them."""
    found = _TYPE.fullmatch(type_text)
    return None if found is None else (found[1].lower(), (found[2] or found[1]).lower())


def type_of(start: str, end: str) -> str:
    """The interval type with these units."""
    return f"interval {start}" + ("" if start == end else f" to {end}")


def is_year_month(start: str) -> bool:
    """Whether intervals that begin with this unit are counted in months."""
    return start in ("year", "month")


def text_of(amount: int, start: str, end: str) -> str:
    """Months or microseconds as Spark writes them: ``INTERVAL '1-2' YEAR TO MONTH``."""
    body = _year_month(amount, start, end) if is_year_month(start) else _day_time(amount, start, end)
    return f"INTERVAL '{body}' {start.upper()}" + ("" if start == end else f" TO {end.upper()}")


def shown(amount: int, start: str, end: str) -> str:
    """Months or microseconds as Spark shows them: two digits at least but for days, and seconds without zeros at their end."""
    text = text_of(amount, start, end)
    if start in _IN_A_CLOCK:
        text = re.sub(r"^(INTERVAL '-?)(\d[:.'])", r"\g<1>0\2", text)
    return re.sub(r"(\.\d*?)0+'", lambda found: "'" if found[1] == "." else f"{found[1]}'", text)


def _year_month(months: int, start: str, end: str) -> str:
    sign, size = ("-" if months < 0 else ""), abs(months)
    years, rest = divmod(size, 12)
    return f"{sign}{years}-{rest}" if start != end else f"{sign}{years if start == 'year' else size}"


def _day_time(micros: int, start: str, end: str) -> str:
    sign, rest = ("-" if micros < 0 else ""), abs(micros)
    parts: list[str] = []
    for unit in _units(start, end):
        whole, rest = divmod(rest, _MICROS[unit])
        # Only the first unit may be larger than its place in a clock; the others have two digits.
        parts.append(str(whole) if unit == start else f"{whole:02d}")
    text = parts[0] if len(parts) == 1 else (f"{parts[0]} " if start == "day" else f"{parts[0]}:") + ":".join(parts[1:])
    return f"{sign}{text}" + (f".{rest:06d}" if end == "second" else "")


def written(text: str) -> tuple[int, str, str] | None:
    """Months or microseconds of an interval as Spark writes it, and its first and last unit; None where the text is none."""
    found = _WRITTEN.fullmatch(text)
    if found is None:
        return None
    start, end = found[2].lower(), (found[3] or found[2]).lower()
    size = amount(found[1], start, end)
    return None if size is None else (size, start, end)


def amount(body: str, start: str, end: str) -> int | None:
    """Months or microseconds of what stands between the quotes; None where it has not these units, or is beyond Spark's range."""
    if start == end == "month":
        found = _whole(body)
    elif start == end == "year":
        years = _whole(body)
        found = None if years is None else years * 12
    elif (start, end) == ("year", "month"):
        found = _years_and_months(body)
    elif start in _DAY_UNITS and end in _DAY_UNITS[_DAY_UNITS.index(start) :]:
        found = _clock(body, start, end)
    else:
        return None
    most = _MOST_MONTHS if is_year_month(start) else _MOST_MICROS
    return found if found is not None and -most <= found < most else None


def _whole(body: str) -> int | None:
    return int(body) if re.fullmatch(r"\s*[+-]?[0-9]{1,19}\s*", body) else None


def _years_and_months(body: str) -> int | None:
    found = re.fullmatch(r"\s*([+-]?)([0-9]{1,10})-([0-9]{1,2})\s*", body)
    if found is None or int(found[3]) > 11:
        return None
    months = int(found[2]) * 12 + int(found[3])
    return -months if found[1] == "-" else months


def _clock(body: str, start: str, end: str) -> int | None:
    first, *others = _units(start, end)
    parts = "".join(f"{' ' if before == 'day' else ':'}([0-9]{{1,2}})" for before in (first, *others[:-1])) if others else ""
    fraction = r"(?:\.([0-9]{1,6}))?" if end == "second" else ""
    found = re.fullmatch(rf"\s*([+-]?)([0-9]{{1,19}}){parts}{fraction}\s*", body)
    if found is None:
        return None
    numbers = [int(one) for one in found.groups()[1 : 2 + len(others)]]
    if any(number >= _IN_A_CLOCK[unit] for unit, number in zip(others, numbers[1:], strict=True)):
        return None
    micros = sum(number * _MICROS[unit] for unit, number in zip((first, *others), numbers, strict=True))
    micros += int((found.groups()[-1] or "0").ljust(6, "0")) if fraction else 0
    return -micros if found[1] == "-" else micros


def _units(start: str, end: str) -> tuple[str, ...]:
    return _DAY_UNITS[_DAY_UNITS.index(start) : _DAY_UNITS.index(end) + 1]


def micros_of(value: timedelta) -> int:
    """The microseconds of a duration, exactly."""
    return (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
