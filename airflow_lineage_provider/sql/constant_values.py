"""Values said by arithmetic of constants, as conditions often have them: ``DATE'1998-12-01' - INTERVAL '90' DAY`` or ``.06 - .01``.

Spark computes them once. What they are is certain without it: no other engine needs the same functions of dates, or types of decimals.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, timedelta
from decimal import Context, Decimal, Inexact, Rounded

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.sql.time_units import DATE_UNITS, first_day
from airflow_lineage_provider.sql.types import scalar

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_DAYS = re.compile(r"INTERVAL '(-?\d+)' DAY")
_MONTHS = re.compile(r"INTERVAL '(-?)(?:(\d+)-)?(\d+)' (YEAR|MONTH|YEAR TO MONTH)")
_PATTERNS = {"yyyyMMdd": "%Y%m%d", "yyyy-MM-dd": "%Y-%m-%d", "yyyyMM": "%Y%m", "yyyy-MM": "%Y-%m", "yyyy": "%Y"}
_FOUR_DIGITS = 1000
_NO_ZONE_SKIPS = date(2012, 1, 1)
"""Before this some zone left a day out, whose midnight is the next one's there."""
_WHOLE = frozenset({"tinyint", "smallint", "int"})
_EXACT = Context(prec=38, traps=[Inexact, Rounded])
_TERMS = {"+": _EXACT.add, "-": _EXACT.subtract, "*": _EXACT.multiply}


def constant_value(expression: e.Expression) -> e.Literal | None:
    """The constant that a date, a text or a decimal over constants is; None where that is not certain.

    Months are added as Spark does since 3.0: a day that the month has not is its last. Decimals are added, subtracted and multiplied, where
    the type that Spark gives has room for every digit.

    >>> interval = e.Literal(value="INTERVAL '1' MONTH", type="interval month")
    >>> constant_value(e.Call(function="+", arguments=(e.Literal(value="2024-01-31", type="date"), interval), type="date")).value
    '2024-02-29'
    """
    try:
        if expression.type == "date":
            day = _date(expression)
            return None if day is None else e.Literal(value=day.isoformat(), type="date")
        if expression.type == "string":
            text = _text(expression)
            return None if text is None else e.Literal(value=text, type="string")
        return _decimal_literal(expression) if isinstance(expression, e.Call) else None
    except (ArithmeticError, ValueError):  # no such date, or none of the years 1 to 9999; more digits than a decimal has
        return None


def _decimal_literal(expression: e.Call) -> e.Literal | None:
    kind = scalar(expression.type)
    if kind is None or kind.name != "decimal":
        return None
    precision, scale = kind.parameters
    value = _decimal(expression)
    if value is None:
        return None
    # Of a scale that the type has, and of as many digits: else it would be rounded, or too large.
    told = _EXACT.quantize(value or Decimal(0), Decimal(1).scaleb(-scale))
    return e.Literal(value=f"{told:f}", type=expression.type) if len(told.as_tuple().digits) <= precision else None


def _decimal(expression: e.Expression) -> Decimal | None:
    match expression:
        case e.Literal(value=str(text), type=kind) if kind.startswith("decimal("):
            return Decimal(text)
        case e.Cast(child=e.Literal(value=str(text), type=kind), type=wider) if kind in _WHOLE and wider.startswith("decimal("):
            made = scalar(wider)
            has_room = made is not None and abs(int(text)) < 10 ** (made.parameters[0] - made.parameters[1])
            return Decimal(text) if has_room else None
        case e.Call(function=function, arguments=(left, right)) if function in _TERMS:
            one, other = _part(left), _part(right)
            return None if one is None or other is None else _TERMS[function](one, other)
    return None


def _part(expression: e.Expression) -> Decimal | None:
    """A part, as its own type has it."""
    if isinstance(expression, e.Call):
        found = _decimal_literal(expression)
        return None if found is None else Decimal(str(found.value))
    return _decimal(expression)


def _date(expression: e.Expression) -> date | None:
    match expression:
        case e.Literal(value=str(text), type="date"):
            return _written(text)
        case e.Cast(child=e.Literal(value=str(text), type="string"), type="date"):
            return _written(text)
        case e.Call(function=function, arguments=(e.Literal(value=str(text), type="string"),)) if function.lower() == "to_date":
            return _written(text)
        case e.Call(function="last_day", arguments=(inner,)):
            day = _date(inner)
            return None if day is None else day.replace(day=monthrange(day.year, day.month)[1])
        case e.Call(function="make_date", arguments=(year, month, number)):
            parts = [constant_whole(one) for one in (year, month, number)]
            return None if None in parts else date(*(one for one in parts if one is not None))
        case e.Call(function="trunc", arguments=(inner, e.Literal(value=str(unit)))):
            day, known = _date(inner), DATE_UNITS.get(unit.lower())
            return None if day is None or known is None else first_day(day, known)
        case e.Call(function=function, arguments=(left, right)):
            return _moved(function.lower(), left, right)
    return None


def _text(expression: e.Expression) -> str | None:
    match expression:
        case e.Literal(value=str(text), type="string"):
            return text
        case e.Cast(child=inner, type="string") if inner.type == "date":
            day = _date(inner)
            return None if day is None or day.year < _FOUR_DIGITS else day.isoformat()
        case e.Call(function="concat", arguments=parts) if parts and all(one.type == "string" for one in parts):
            texts = [_text(one) for one in parts]
            return None if None in texts else "".join(one for one in texts if one is not None)
        case e.Call(function="date_format", arguments=(e.Cast(child=inner, type="timestamp"), e.Literal(value=str(pattern)))):
            day = _date(inner) if inner.type == "date" else None
            is_sure = day is not None and day >= _NO_ZONE_SKIPS and pattern in _PATTERNS
            return day.strftime(_PATTERNS[pattern]) if is_sure and day is not None else None
    return None


def _written(text: str) -> date | None:
    """Spark reads others, too: years alone, with a time behind it."""
    return date.fromisoformat(text) if _DAY.fullmatch(text) else None


def _moved(function: str, left: e.Expression, right: e.Expression) -> date | None:
    day = _date(left)
    sign = -1 if function in ("date_sub", "-") else 1
    if day is None:
        return None
    if function in ("date_add", "date_sub"):
        days = constant_whole(right)
        return None if days is None else day + timedelta(days=sign * days)
    if function in ("+", "-", "add_months"):
        months = constant_whole(right) if function == "add_months" else constant_months(right)
        return None if months is None else _months_later(day, sign * months)
    return None


def constant_whole(expression: e.Expression) -> int | None:
    """The whole number that a constant is, or the days of an interval."""
    match expression:
        case e.Literal(value=str(text), type=kind) if kind in _WHOLE:
            return int(text)
        case e.Call(function="negative", arguments=(inner,)):
            found = constant_whole(inner)
            return None if found is None else -found
        case e.Call(function="date_part", arguments=(e.Literal(value="DAY"), e.Literal(value=str(text), type="interval day"))):
            days = _DAYS.fullmatch(text)
            return None if days is None else int(days[1])
    return None


def constant_months(expression: e.Expression) -> int | None:
    """The months of a constant interval."""
    match expression:
        case e.Call(function="negative", arguments=(inner,)):
            found = constant_months(inner)
            return None if found is None else -found
        case e.Literal(value=str(text)):
            told = _MONTHS.fullmatch(text)
            if told is None or (told[2] is not None) != (told[4] == "YEAR TO MONTH"):
                return None
            number = int(told[3]) if told[4] != "YEAR" else 12 * int(told[3])
            months = 12 * int(told[2] or 0) + number
            return -months if told[1] else months
    return None


def _months_later(day: date, months: int) -> date:
    year, month = divmod(12 * day.year + day.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
