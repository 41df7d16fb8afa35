"""The units that Spark cuts dates and moments by (`trunc`, `date_trunc`), under all of their names."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

DATE_UNITS: Mapping[str, str] = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    "quarter": "quarter",
    **dict.fromkeys(("month", "mon", "mm"), "month"),
    "week": "week",
}
"""Those of dates, by what they are called in small letters."""
MOMENT_UNITS: Mapping[str, str] = {
    **DATE_UNITS,
    **dict.fromkeys(("day", "dd"), "day"),
    **{one: one for one in ("hour", "minute", "second", "millisecond", "microsecond")},
}
"""Those of moments."""


def first_day(day: date, unit: str) -> date:
    """The first day of the day's year, quarter, month or week, which begins on Monday.

    >>> first_day(date(2024, 5, 17), "quarter"), first_day(date(2024, 5, 17), "week")
    (datetime.date(2024, 4, 1), datetime.date(2024, 5, 13))

    :raises OverflowError: it is before the year 1. :raises ValueError: there is no such unit of dates.
    """
    match unit:
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "month":
            return day.replace(day=1)
        case "week":
            return day - timedelta(days=day.weekday())
    raise ValueError(f"there is no unit {unit!r} of dates")
