"""Functions that go up in steps: from one value to the next they stay, or go up (``trunc(day, 'month')``, ``year(day)``, ``n div 10``).

Grouped by such a function of a column, the rows of a group are in one fragment of the column if each cut is where a step begins: the value
right before the cut is of another step. (The paper has groups by the column itself.) What holds of a column for such cuts alone is told by
the names of the functions; whether cuts are such is computed, value by value.

>>> from datetime import date
>>> aligned((date(2024, 2, 1), date(2024, 5, 1)), ("month",)), aligned((date(2024, 2, 2),), ("month",))
((datetime.date(2024, 2, 1), datetime.date(2024, 5, 1)), ())
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.sketches.kinds import is_whole

_UNITS = {
    "year": "year", "yyyy": "year", "yy": "year", "quarter": "quarter", "month": "month", "mon": "month", "mm": "month", "week": "week",
}  # fmt: skip
_DIV = re.compile(r"div (\d+)")


def step_of(expression: e.Expression, zone: str | None) -> tuple[e.Attribute, str] | None:
    """The column, a date or a whole number, and the name of its steps; None where an expression is no such function. ``zone`` is the
    session's: by it Spark makes a moment of a day."""
    match expression:
        case e.Call(function="trunc", arguments=(e.Attribute(type="date") as day, e.Literal(value=str(unit)))):
            return _named(day, unit)
        case e.Call(function="year", arguments=(e.Attribute(type="date") as day,)):
            return day, "year"
        case e.Call(
            function="date_trunc", arguments=(e.Literal(value=str(unit)), e.Cast(child=e.Attribute(type="date") as day, type=kind))
        ):
            found = _named(day, unit)
            is_sure = kind == "timestamp_ntz" or (kind == "timestamp" and zone is not None and has_last_days(zone))
            return found if day.type == "date" and is_sure and found is not None and found[1] != "week" else None
        case e.Call(function="div", arguments=(one, e.Literal(value=str(size), type=kind))) if is_whole(kind) and int(size) > 0:
            number = one.child if isinstance(one, e.Cast) and is_whole(one.type) else one
            return (number, f"div {int(size)}") if isinstance(number, e.Attribute) and is_whole(number.type) else None
    return None


def _named(day: e.Attribute, unit: str) -> tuple[e.Attribute, str] | None:
    found = _UNITS.get(unit.lower())
    return None if found is None else (day, found)


def aligned(cuts: Sequence[Any], steps: Sequence[str]) -> tuple[Any, ...]:
    """Those of the cuts at which a step of each of the functions begins."""
    return tuple(cut for cut in cuts if all(_begins(cut, step) for step in steps))


def _begins(cut: Any, step: str) -> bool:
    try:
        return bool(_value(cut, step) != _value(_before(cut), step))
    except OverflowError:  # there is no day before the first
        return False


def _before(cut: Any) -> Any:
    """The value right before."""
    return cut - timedelta(days=1) if isinstance(cut, date) else cut - 1


def _value(value: Any, step: str) -> Any:
    """The step that a value is on."""
    if isinstance(value, date) and not isinstance(value, datetime):
        match step:
            case "year":
                return value.year
            case "quarter":
                return value.year, (value.month - 1) // 3
            case "month":
                return value.year, value.month
            case "week":
                return value.isocalendar()[:2]
    size = _DIV.fullmatch(step)
    if size is not None and isinstance(value, int):
        quotient = abs(value) // int(size[1])
        return quotient if value >= 0 else -quotient
    raise ValueError(f"{value!r} is no value that has steps of {step!r}")


@lru_cache(maxsize=64)
def has_last_days(zone: str) -> bool:
    """Whether a zone has the last day of every month. (Some went over the date line, and left one out: Spark takes the midnight of that day
    for the next one's.) Of what is no name of a zone that is not known."""
    try:
        there = ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        return False
    last_days = (date(year, month, 1) - timedelta(days=1) for year in range(1800, 2100) for month in range(1, 13))
    return all(datetime.fromtimestamp(datetime(*day.timetuple()[:3], tzinfo=there).timestamp(), there).date() == day for day in last_days)
