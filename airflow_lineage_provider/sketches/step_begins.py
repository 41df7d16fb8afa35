"""Where a step of a function that goes up in steps (`steps`) begins: the least value for which it gives what it gives for a value."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any

from airflow_lineage_provider.sql.local_times import NEAR, place_of
from airflow_lineage_provider.sql.time_units import DATE_UNITS, first_day

_NAMED = re.compile(
    r"(?P<unit>[a-z]+)(?: at (?P<zone>\S+))?|div (?P<div>\d+)|floor / (?P<part>\d+)"
    r"|first (?P<letters>\d+) letters|window of (?P<size>\d+) µs from (?P<first>-?\d+)"
)  # fmt: skip
_EXACT = 1 << 53
"""Up to here a ``double`` has all whole numbers, and the whole part of each quotient of two."""
_TOLD = 1970
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
    if unit == "day":
        return day
    return first_day(day, unit) if unit in DATE_UNITS else None


def _begin_of_moment(moment: datetime, named: re.Match[str]) -> datetime | None:
    """By the clock of the place that the step is of, where it is of one: instants are compared, and not what clocks show. Of what begins
    near to where clocks are changed nothing is said: what they show comes twice, or not at all."""
    place = place_of(named["zone"] or "UTC")
    if place is None:
        return None
    there = moment if moment.tzinfo is None else moment.astimezone(place)
    unit = named["unit"]
    if unit == "millisecond":
        begins: datetime | None = there.replace(microsecond=there.microsecond // 1000 * 1000)
    elif unit in _LESS:
        begins = there.replace(**_LESS[unit])  # type: ignore[arg-type]
    else:
        first = _begin_of_day(there.date(), unit)
        begins = None if first is None else datetime(first.year, first.month, first.day, tzinfo=there.tzinfo)
    if begins is None or moment.tzinfo is None:
        return begins
    return begins.astimezone(moment.tzinfo) if isinstance(place, timezone) or _is_even_near(begins.astimezone(UTC), place) else None


def _is_even_near(moment: datetime, place: tzinfo) -> bool:
    """Whether no clock was changed near an instant. What was before 1970 is told in several ways."""
    return moment.year >= _TOLD and len({(moment + away).astimezone(place).utcoffset() for away in NEAR}) == 1


def _begin_of_window(moment: datetime, size: int, first: int) -> datetime:
    passed = (moment - _EPOCH) // _MICRO
    return moment - ((passed - first) % size) * _MICRO


def _begin_of_quotient(value: int, size: int) -> int:
    """Numbers are cut towards 0, around which the step is longer."""
    if value >= size:
        return value // size * size
    return -(size - 1) if value > -size else -(-value // size * size + size - 1)
