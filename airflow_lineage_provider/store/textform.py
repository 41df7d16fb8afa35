"""Scalar values as the text that PostgreSQL reads, and back: for COPY in CSV, and for columns packed into one array of texts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_DAY = 86_400_000_000
# What Arrow writes and reads itself: the years 1 to 9999.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
_DATE = re.compile(r"^(\d+)-(\d\d)-(\d\d)(.*?)( BC)?$")


def to_text(array: pa.Array) -> pa.Array:
    """A string array; null stays null. The types are those of `types.StorageType.arrow`, arrays of texts excepted."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_binary(array.type):
        return pa.array([None if value is None else "\\x" + value.hex() for value in array.to_pylist()], pa.string())
    if types.is_date(array.type):
        return _days_to_text(array.cast(pa.int32()))
    if types.is_timestamp(array.type):
        return _micros_to_text(array)
    return array.cast(pa.string())


def from_text(array: pa.Array, arrow: pa.DataType) -> pa.Array:
    """The inverse of `to_text`."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_binary(arrow):
        return pa.array([None if value is None else bytes.fromhex(value[2:]) for value in array.to_pylist()], arrow)
    if types.is_date(arrow):
        days = [None if text is None else _parse_date(text)[0] for text in array.to_pylist()]
        return pa.array(days, pa.int32()).cast(arrow)
    if types.is_timestamp(arrow):
        micros = [None if text is None else _parse_timestamp(text) for text in array.to_pylist()]
        return pa.array(micros, pa.int64()).cast(arrow)
    if types.is_time(arrow):
        return pa.array([None if text is None else _parse_time(text) for text in array.to_pylist()], pa.int64()).cast(arrow)
    return array.cast(arrow)


def _days_to_text(days: pa.Array) -> pa.Array:
    import pyarrow as pa

    if _within(days, _FIRST_DAY, _LAST_DAY):
        return days.cast(pa.date32()).cast(pa.string())
    return pa.array([None if day is None else _date_text(day, "") for day in days.to_pylist()], pa.string())


def _micros_to_text(array: pa.Array) -> pa.Array:
    import pyarrow as pa

    micros = array.cast(pa.int64())
    if _within(micros, _FIRST_DAY * _DAY, _LAST_DAY * _DAY):
        return array.cast(pa.string())
    zone = "Z" if array.type.tz else ""
    return pa.array([None if value is None else _timestamp_text(value, zone) for value in micros.to_pylist()], pa.string())


def _within(numbers: pa.Array, first: int, last: int) -> bool:
    import pyarrow.compute as pc

    least, greatest = pc.min_max(numbers).as_py().values()
    return least is None or (least >= first and greatest <= last)


def _timestamp_text(micros: int, zone: str) -> str:
    day, rest = divmod(micros, _DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    return _date_text(day, f" {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}{zone}")


def _date_text(day: int, time: str) -> str:
    """A date in the proleptic Gregorian calendar; PostgreSQL knows no year 0 and calls it 1 BC."""
    year, month, dom = _civil(day)
    return f"{year:04}-{month:02}-{dom:02}{time}" if year > 0 else f"{1 - year:04}-{month:02}-{dom:02}{time} BC"


def _civil(day: int) -> tuple[int, int, int]:
    """Days since 1970-01-01 to year, month and day: years begin in March, so that the leap day is the last one."""
    era, day_of_era = divmod(day + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    march_month = (5 * day_of_year + 2) // 153
    month = march_month + 3 if march_month < 10 else march_month - 9
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * march_month + 2) // 5 + 1


def _days(year: int, month: int, day: int) -> int:
    """The inverse of `_civil`."""
    march_year = year - (month <= 2)
    era, year_of_era = divmod(march_year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def _parse_date(text: str) -> tuple[int, str]:
    match = _DATE.match(text)
    if match is None:
        raise ValueError(f"not a stored date: {text!r}")
    year = 1 - int(match[1]) if match[5] else int(match[1])
    return _days(year, int(match[2]), int(match[3])), match[4]


def _parse_timestamp(text: str) -> int:
    day, time = _parse_date(text)
    return day * _DAY + _parse_time(time.strip().rstrip("Z"))


def _parse_time(text: str) -> int:
    hours, minutes, seconds = text.split(":")
    whole, _, fraction = seconds.partition(".")
    return (int(hours) * 3600 + int(minutes) * 60 + int(whole)) * 1_000_000 + int((fraction + "000000")[:6])
