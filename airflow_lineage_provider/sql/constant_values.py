"""Values said by arithmetic of constants, as conditions often have them: ``DATE'1998-12-01' - INTERVAL '90' DAY`` or ``.06 - .01``.

Spark computes them once. What they are is certain without it: no other engine needs the same functions of dates, or types of decimals.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, timedelta
from decimal import Context, Decimal, Inexact, Rounded

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.sql.types import scalar

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_DAYS = re.compile(r"INTERVAL '(-?\d+)' DAY")
_MONTHS = re.compile(r"INTERVAL '(-?)(?:(\d+)-)?(\d+)' (YEAR|MONTH|YEAR TO MONTH)")
_WHOLE = frozenset({"tinyint", "smallint", "int"})
_EXACT = Context(prec=38, traps=[Inexact, Rounded])
_TERMS = {"+": _EXACT.add, "-": _EXACT.subtract, "*": _EXACT.multiply}


def constant_value(expression: e.Expression) -> e.Literal | None:
    """The constant that a date or a decimal over constants is; None where that is not certain.

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
            return Decimal(text)
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
        case e.Call(function=function, arguments=(left, right)):
            return _moved(function.lower(), left, right)
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
        days = _whole(right)
        return None if days is None else day + timedelta(days=sign * days)
    if function in ("+", "-", "add_months"):
        months = _whole(right) if function == "add_months" else _months(right)
        return None if months is None else _months_later(day, sign * months)
    return None


def _whole(expression: e.Expression) -> int | None:
    match expression:
        case e.Literal(value=str(text), type=kind) if kind in _WHOLE:
            return int(text)
        case e.Call(function="negative", arguments=(inner,)):
            found = _whole(inner)
            return None if found is None else -found
        case e.Call(function="date_part", arguments=(e.Literal(value="DAY"), e.Literal(value=str(text), type="interval day"))):
            days = _DAYS.fullmatch(text)
            return None if days is None else int(days[1])
    return None


def _months(expression: e.Expression) -> int | None:
    match expression:
        case e.Call(function="negative", arguments=(inner,)):
            found = _months(inner)
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
