"""Where a step of a function that goes up in steps (`steps`) begins: the least value for which it gives what it gives for a value."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

_NAMED = re.compile(
    r"(?P<unit>[a-z]+)(?: at (?P<sign>[+-])(?P<hours>\d\d):(?P<minutes>\d\d))?|div (?P<div>\d+)|floor / (?P<part>\d+)"
    r"|first (?P<letters>\d+) letters|window of (?P<size>\d+) µs from (?P<first>-?\d+)"
)  # fmt: skip
_EXACT = 1 << 53
"""Up to here a ``double`` has all whole numbers, and the whole part of each quotient of two."""
_EPOCH, _MICRO = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_LESS = {
    "second": {"microsecond": 0},
    "minute": {"second": 0, "microsecond": 0},
    "hour": {"minute": 0, "second": 0, "microsecond": 0},
    "day": {"hour": 0, "minute": 0, "second": 0, "microsecond": 0},
}  # fmt: skip


def begin_of(value: Any, step: str) -> Any:
    """The least value on the step that a value is on; None where nobody can tell it.

    >>> begin_of(date(2024, 5, 17), "quarter"), begin_of(-7, "div 5"), begin_of(-7, "floor / 5"), begin_of("4711", "first 2 letters")
    (datetime.date(2024, 4, 1), -9, -10, '47')

    :raises ValueError: there are no such steps.
    """
    found = _NAMED.fullmatch(step)
    if found is None:
        raise ValueError(f"there are no steps of {step!r}")
    try:
        return _begin(value, found)
    except OverflowError:  # Python has no such day
        return None


def _begin(value: Any, named: re.Match[str]) -> Any:
    match value:
        case datetime() if named["size"]:
            return _begin_of_window(value, int(named["size"]), int(named["first"])) if value.tzinfo is not None else None
        case datetime() if named["unit"]:
            return _begin_of_moment(value, named)
        case date() if named["unit"]:
            return _begin_of_day(value, named["unit"])
        case bool():
            return None
        case int() if named["div"]:
            return _begin_of_quotient(value, int(named["div"]))
        case int() if named["part"] and abs(value) < _EXACT:
            return value // int(named["part"]) * int(named["part"])
        case str() if named["letters"]:
            return value[: int(named["letters"])]
    return None


def _begin_of_day(day: date, unit: str) -> date | None:
    match unit:
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "month":
            return day.replace(day=1)
        case "week":
            return day - timedelta(days=day.weekday())
        case "day":
            return day
    return None


def _begin_of_moment(moment: datetime, named: re.Match[str]) -> datetime | None:
    """By the clock of the place that the step is of, where it is of one: an instant is compared, and not what clocks show."""
    offset = timedelta(hours=int(named["hours"] or 0), minutes=int(named["minutes"] or 0)) * (-1 if named["sign"] == "-" else 1)
    there = moment if moment.tzinfo is None else moment.astimezone(timezone(offset))
    unit = named["unit"]
    if unit == "millisecond":
        begins: datetime | None = there.replace(microsecond=there.microsecond // 1000 * 1000)
    elif unit in _LESS:
        begins = there.replace(**_LESS[unit])  # type: ignore[arg-type]
    else:
        first = _begin_of_day(there.date(), unit)
        begins = None if first is None else datetime(first.year, first.month, first.day, tzinfo=there.tzinfo)
    return begins if begins is None or moment.tzinfo is None else begins.astimezone(moment.tzinfo)


def _begin_of_window(moment: datetime, size: int, first: int) -> datetime:
    passed = (moment - _EPOCH) // _MICRO
    return moment - ((passed - first) % size) * _MICRO


def _begin_of_quotient(value: int, size: int) -> int:
    """Numbers are cut towards 0, around which the step is longer."""
    if value >= size:
        return value // size * size
    return -(size - 1) if value > -size else -(-value // size * size + size - 1)
