"""Values as Spark computes with them: NULL, exact decimals, dates, LIKE."""

from __future__ import annotations

import calendar
import datetime as dt
import decimal
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

_EXACT = decimal.Context(prec=60, rounding=decimal.ROUND_HALF_UP)
_AVERAGE_DIGITS = 4
"""The average of a decimal has four digits more than the decimal."""

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "EQ": operator.eq,
    "NEQ": operator.ne,
    "LT": operator.lt,
    "LTE": operator.le,
    "GT": operator.gt,
    "GTE": operator.ge,
}
ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": _EXACT.add,
    "Sub": _EXACT.subtract,
    "Mul": _EXACT.multiply,
    "Div": _EXACT.divide,
}


def compare(name: str, left: Any, right: Any) -> bool | None:
    """A comparison; NULL where a side is."""
    return None if left is None or right is None else COMPARISONS[name](left, right)


def calculate(name: str, left: Any, right: Any) -> Any:
    """Arithmetic; NULL where a side is, or where it divides by zero."""
    if left is None or right is None or (name == "Div" and right == 0):
        return None
    if name == "Div" and isinstance(left, int) and isinstance(right, int):
        raise NotImplementedError("Spark divides integers as doubles")
    return ARITHMETIC[name](left, right)


def shifted(date: dt.date | None, amount: int, unit: str) -> dt.date | None:
    """A date and an interval; a month that is too short gives its last day."""
    if date is None:
        return None
    if unit == "DAY":
        return date + dt.timedelta(days=amount)
    months = date.year * 12 + date.month - 1 + amount * {"MONTH": 1, "YEAR": 12}[unit]
    year, month = divmod(months, 12)
    return dt.date(year, month + 1, min(date.day, calendar.monthrange(year, month + 1)[1]))


def both(left: bool | None, right: bool | None) -> bool | None:
    """AND of three truth values."""
    return False if left is False or right is False else None if left is None or right is None else True


def either(left: bool | None, right: bool | None) -> bool | None:
    """OR of three truth values."""
    return True if left is True or right is True else None if left is None or right is None else False


def negated(value: bool | None) -> bool | None:
    """NOT of three truth values."""
    return None if value is None else not value


def like(text: str | None, pattern: str) -> bool | None:
    """LIKE without escapes."""
    return None if text is None else _pattern(pattern).fullmatch(text) is not None


@lru_cache
def _pattern(pattern: str) -> re.Pattern[str]:
    wild = {"%": ".*", "_": "."}
    return re.compile("".join(wild.get(letter) or re.escape(letter) for letter in pattern), re.DOTALL)


def aggregate(name: str, values: list[Any], *, distinct: bool = False) -> Any:
    """An aggregate function over the values of a group, NULLs left out."""
    known: list[Any] = [value for value in values if value is not None]
    if distinct:
        known = list(dict.fromkeys(known))
    match name:
        case "Count":
            return len(known)
        case "Sum":
            return _total(known) if known else None
        case "Avg":
            return _average(known) if known else None
        case "Min" | "Max":
            return (min if name == "Min" else max)(known, default=None)
    raise NotImplementedError(name)


def _total(values: list[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = _EXACT.add(total, value) if isinstance(value, Decimal) else total + value
    return total


def _average(values: list[Any]) -> Decimal:
    if not all(isinstance(value, Decimal) for value in values):
        raise NotImplementedError("the average of anything but decimals")
    digits = max(-value.as_tuple().exponent for value in values) + _AVERAGE_DIGITS
    mean = _EXACT.divide(_total(values), Decimal(len(values)))
    return mean.quantize(Decimal(1).scaleb(-digits), context=_EXACT)
