"""Functions that go up in steps: from one value to the next they stay, or go up (``trunc(day, 'month')``, ``year(day)``, ``n div 10``).

Grouped by such a function of a column, the rows of a group are in one fragment of the column if each cut is where a step begins: no lesser
value is on the cut's step. (The paper has groups by the column itself.) What holds of a column for such cuts alone is told by the names of
the functions; where steps begin is computed, value by value (`step_begins`).

>>> from datetime import date
>>> aligned((date(2024, 2, 1), date(2024, 5, 1)), ("month",)), aligned((date(2024, 2, 2),), ("month",))
((datetime.date(2024, 2, 1), datetime.date(2024, 5, 1)), ())
>>> begun((date(2024, 2, 2), date(2024, 2, 20), date(2024, 5, 3)), ("month",))
(datetime.date(2024, 2, 1), datetime.date(2024, 5, 1))
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.sketches.kinds import is_whole, keeps_value
from airflow_lineage_provider.sketches.step_begins import begin_of
from airflow_lineage_provider.sql.local_times import fixed_offset, place_of
from airflow_lineage_provider.sql.time_units import DATE_UNITS, MOMENT_UNITS

_OF_MOMENTS = {name: unit for name, unit in MOMENT_UNITS.items() if unit != "microsecond"}
_MOST_TURNS = 8
_MOST_DIVISOR = 1 << 31

_PARTS = {
    "quarter": "quarter of a year", "month": "month of a year", "day": "day of a month", "dayofmonth": "day of a month",
    "dayofyear": "day of a year", "hour": "hour of a day", "minute": "minute of an hour", "second": "second of a minute",
}  # fmt: skip
_TOGETHER = (
    ("year", "quarter of a year", "quarter"), ("year", "month of a year", "month"), ("month", "day of a month", "day"),
    ("year", "day of a year", "day"), ("day", "hour of a day", "hour"), ("hour", "minute of an hour", "minute"),
    ("minute", "second of a minute", "second"),
)  # fmt: skip
"""A step, and what tells which part of it a value is on: together they are a step of that. The larger ones first."""

_BY_LENGTH = ("millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year")

Step = tuple[e.Attribute, str]
Steps = Mapping[int, tuple[tuple[tuple[e.Expression, ...], str], ...]]
"""By column expressions of which all together say on which step a value is, with the name of the steps."""


def steps_in(parts: Iterable[e.Part], zone: str | None) -> Steps:
    """The functions, and sets of functions, among expressions that go up in steps (``year(day)``, and with ``month(day)`` the month)."""
    found: dict[e.Attribute, dict[tuple[e.Expression, ...], str]] = {}
    pieces: dict[e.Attribute, dict[str, e.Expression]] = {}
    for part in parts:
        if isinstance(part, e.Call | e.Cast) and (step := step_of(part, zone)) is not None:
            found.setdefault(step[0], {})[part,] = step[1]
        elif isinstance(part, e.Call) and (told := _piece_of(part, zone)) is not None:
            pieces.setdefault(told[0], {})[told[1]] = part
    for column, some in pieces.items():
        for of, piece, made in _TOGETHER:
            for whole, name in [*found.get(column, {}).items()]:
                unit, at, place = name.partition(" at ")
                other = some.get(piece + at + place)
                if unit == of and other is not None:
                    found[column][*whole, other] = made + at + place
    return {column.id: tuple(sorted(steps.items(), key=lambda one: _length(one[1]))) for column, steps in found.items()}


def _length(step: str) -> int:
    """In which order steps are tried: the shortest first, where most cuts begin."""
    number = re.search(r"\d+", step.partition(" at ")[0])
    if number is None:
        return _BY_LENGTH.index(step.partition(" at ")[0])
    return -int(number[0]) if step.endswith("letters") else int(number[0])


def _piece_of(call: e.Call, zone: str | None) -> Step | None:
    """A function that says which part of a larger step a moment or a day is on."""
    if len(call.arguments) != 1:
        return None
    (one,) = call.arguments
    is_clock = isinstance(one, e.Attribute) and one.type != "date"
    return _named(_moment(one, zone) if is_clock else _day(one, zone), _PARTS.get(call.function))  # type: ignore[arg-type]


def step_of(expression: e.Expression, zone: str | None) -> Step | None:
    """The column (a date, a timestamp, a whole number or a text) and the name of its steps; None where an expression is no such function.
    ``zone`` is the session's: by it Spark makes a moment of a day, and a day of a moment."""
    match expression:
        case e.Call(function="trunc", arguments=(day, e.Literal(value=str(unit)))):
            return _named(_day(day, zone), DATE_UNITS.get(unit.lower()))
        case e.Call(function="year", arguments=(day,)):
            return _named(_day(day, zone), "year")
        case e.Call(function="date_trunc", arguments=(e.Literal(value=str(unit)), moment)):
            return _truncated(moment, unit.lower(), zone)
        case e.Cast(type="date") | e.Call(function="to_date", arguments=(_,)):
            return _named(_day(expression, zone), "day")
        case e.Call(function="div", arguments=(one, by)):
            return _of_number(one, "div", _divisor(by))
        case e.Call(function="floor", arguments=(e.Call(function="/", type="double", arguments=(e.Cast(child=one, type="double"), by)),)):
            return _of_number(one, "floor /", _divisor(by))
        case e.Call(function="timestamp_micros", arguments=(e.Call(function="-", arguments=(start, e.Literal(value="0"))),)):
            return _of_window(start)
        case e.Call(function="substring" | "substr", arguments=(e.Attribute(type="string") as text, e.Literal(value="1"), length)):
            return _of_text(text, length)
        case e.Call(function="left", arguments=(e.Attribute(type="string") as text, length)):
            return _of_text(text, length)
    return None


def _named(found: tuple[e.Attribute, str] | None, unit: str | None) -> Step | None:
    return None if found is None or unit is None else (found[0], unit + found[1])


def _day(expression: e.Expression, zone: str | None) -> tuple[e.Attribute, str] | None:
    """A date, or the timestamp that it is the day of, and what is said of the place where it is that day."""
    match expression:
        case e.Attribute(type="date"):
            return expression, ""
        case e.Cast(child=e.Attribute() as moment, type="date") | e.Call(function="to_date", arguments=(e.Attribute() as moment,)):
            return _moment(moment, zone)
    return None


def _moment(attribute: e.Attribute, zone: str | None) -> tuple[e.Attribute, str] | None:
    """A timestamp. (Where clocks are changed some days end twice: near to that no step begins, `step_begins`.)"""
    if attribute.type == "timestamp_ntz":
        return attribute, ""
    if attribute.type != "timestamp" or zone is None or place_of(zone) is None:
        return None
    return attribute, "" if fixed_offset(zone) == timedelta() else f" at {zone}"


def _truncated(moment: e.Expression, unit: str, zone: str | None) -> Step | None:
    match moment:
        case e.Attribute():
            return _named(_moment(moment, zone), _OF_MOMENTS.get(unit))
        case e.Cast(child=e.Attribute(type="timestamp_ntz") as clock, type="timestamp") if (
            zone is not None and fixed_offset(zone) is not None
        ):
            return _named((clock, ""), _OF_MOMENTS.get(unit))
        case e.Cast(child=e.Attribute(type="date") as day, type=kind):
            is_sure = kind == "timestamp_ntz" or (kind == "timestamp" and zone is not None and has_last_days(zone))
            found = DATE_UNITS.get(unit)
            return (day, found) if is_sure and found is not None and found != "week" else None
    return None


def _of_number(one: e.Expression, function: str, divisor: int | None) -> Step | None:
    # A cast to a type without room for all numbers gives NULL, or begins anew at the other end.
    number = one.child if isinstance(one, e.Cast) and keeps_value(one.child.type, one.type) else one
    is_number = isinstance(number, e.Attribute) and is_whole(number.type)
    return (number, f"{function} {divisor}") if is_number and divisor is not None else None  # type: ignore[return-value]


def _divisor(by: e.Expression) -> int | None:
    """The whole number above 0 that a constant is, and that a ``double`` has exactly, too; None for all else."""
    literal = by.child if isinstance(by, e.Cast) and (is_whole(by.type) or by.type == "double") else by
    if not isinstance(literal, e.Literal) or literal.value is None or not (is_whole(literal.type) or literal.type == "double"):
        return None
    try:
        number = float(literal.value)
    except ValueError:
        return None
    return int(number) if number.is_integer() and 0 < number <= _MOST_DIVISOR else None


def _of_window(start: e.Expression) -> Step | None:
    """Where a tumbling window begins, as Spark writes it: ``t - mod``, where ``mod`` is ``(t - first) % size``, or that and ``size`` where
    it is below 0, and ``t`` is ``unix_micros(at)``."""
    match start:
        case e.Call(
            function="-",
            arguments=(
                e.Call(function="unix_micros", arguments=(e.Attribute(type="timestamp") as at,)) as micros,
                e.Call(
                    function="when",
                    arguments=(e.Call(function="<", arguments=(mod, zero)), e.Call(function="+", arguments=(below, added)), rest),
                ),
            ),
        ) if mod == below == rest and _number(zero) == 0:
            match mod:
                case e.Call(function="%", arguments=(e.Call(function="-", arguments=(from_here, first)), size)) if (
                    from_here == micros and size == added and _number(first) is not None and (_number(size) or 0) > 0
                ):
                    return at, f"window of {_number(size)} µs from {_number(first)}"
    return None


def _number(constant: e.Expression) -> int | None:
    literal = constant.child if isinstance(constant, e.Cast) and is_whole(constant.type) else constant
    return int(literal.value) if isinstance(literal, e.Literal) and literal.value is not None and is_whole(literal.type) else None


def _of_text(text: e.Attribute, length: e.Expression) -> Step | None:
    is_told = isinstance(length, e.Literal) and length.value is not None and length.value.isdecimal() and int(length.value) > 0
    return (text, f"first {int(length.value)} letters") if is_told else None  # type: ignore[union-attr, arg-type]


def aligned(cuts: Sequence[Any], steps: Sequence[str]) -> tuple[Any, ...]:
    """Those of the cuts at which a step of each of the functions begins."""
    return tuple(cut for cut in cuts if all(begin_of(cut, step) == cut for step in steps))


def why_not_aligned(cuts: Sequence[Any], steps: Sequence[str]) -> str:
    """Why a sketch with such cuts is not safe, if it is for cuts at which a step of each of the functions begins; empty where it is."""
    if not steps or len(aligned(cuts, steps)) == len(cuts):
        return ""
    return f"it is safe only where each cut begins a step of {' and of '.join(steps)}"


def begun(cuts: Sequence[Any], steps: Sequence[str]) -> tuple[Any, ...]:
    """The cuts, which go up, each moved down to where a step of each of the functions begins; without those for which nobody can tell."""
    found = (_begun(cut, steps) for cut in cuts)
    return tuple(dict.fromkeys(one for one in found if one is not None))


def _begun(cut: Any, steps: Sequence[str]) -> Any:
    for _ in range(_MOST_TURNS):
        moved = cut
        for step in steps:
            moved = None if moved is None else begin_of(moved, step)
        if moved is None or moved == cut:
            return moved
        cut = moved
    return None


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
