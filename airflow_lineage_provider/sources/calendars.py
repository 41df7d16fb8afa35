"""The calendar of the dates and timestamps in a Parquet file, as Spark sees it.

Spark before 3.0 counted days in the calendar of its time: Julian before 15 October 1582, Gregorian since. Later releases count in the
Gregorian calendar throughout, and on reading move old values to the same date of that calendar (they *rebase* them). Which calendar a
file has is told by its footer, and where that says nothing, by a setting or a reader option.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pyarrow as pa

Calendar = Literal["gregorian", "legacy", "unknown"]

# In days since 1970-01-01: from 15 October 1582 on both calendars give the same.
FIRST_GREGORIAN_DAY = -141_427
# In microseconds: from here on both calendars, and the local mean times that stood for zones before, give the same in every zone.
SAME_IN_ALL_ZONES = -2_208_902_400_000_000  # 1900-01-02 00:00 UTC
# A leap day that the Gregorian calendar leaves out: 1 March of these years is one day more apart.
_LEAP_IN_JULIAN_ONLY = (100, 200, 300, 500, 600, 700, 900, 1000, 1100, 1300, 1400, 1500)


@dataclass(frozen=True, kw_only=True)
class Calendars:
    """A file's calendars: of dates and 64-bit timestamps, and of INT96 timestamps."""

    datetime: Calendar
    int96: Calendar


def calendars_of(footer: Mapping[bytes, bytes], settings: Mapping[str, str], options: Mapping[str, str] | None) -> Calendars:
    """The calendars of a file.

    ``footer`` is its key-value metadata, ``settings`` those of the run's session. ``options`` are the reader's own; None where they
    are not known (those of a catalog table).
    """
    return Calendars(
        datetime=_calendar(footer, "legacyDateTime", "3.0.0", _mode("datetimeRebaseMode", settings, options)),
        int96=_calendar(footer, "legacyINT96", "3.1.0", _mode("int96RebaseMode", settings, options)),
    )


def _calendar(footer: Mapping[bytes, bytes], mark: str, first: str, mode: str) -> Calendar:
    version = footer.get(b"org.apache.spark.version")
    if version is None:
        known: dict[str, Calendar] = {"CORRECTED": "gregorian", "LEGACY": "legacy"}
        return known.get(mode, "unknown")
    # Spark compares its versions as texts, too.
    old = version.decode("utf-8", "replace") < first
    return "legacy" if old or f"org.apache.spark.{mark}".encode() in footer else "gregorian"


def _mode(option: str, settings: Mapping[str, str], options: Mapping[str, str] | None) -> str:
    if options is None:
        return ""
    given = {key.lower(): value for key, value in options.items()}.get(option.lower())
    return (given or settings.get(f"spark.sql.parquet.{option}InRead", "")).upper()


def has_days_before(column: pa.ChunkedArray, first: int) -> bool:
    """Whether a date in the column, at any depth, is before a day since 1970-01-01."""
    import pyarrow as pa

    return any(_least(leaf.cast(pa.int32()), first) for leaf in _leaves(column) if pa.types.is_date32(leaf.type))


def has_moments_before(column: pa.ChunkedArray, first: int) -> bool:
    """Whether a timestamp with a time zone in the column, at any depth, is before a moment (microseconds since 1970-01-01)."""
    import pyarrow as pa

    zoned = (leaf for leaf in _leaves(column) if pa.types.is_timestamp(leaf.type) and leaf.type.tz)
    return any(_least(leaf.cast(pa.int64()), first) for leaf in zoned)


def _least(numbers: pa.Array, first: int) -> bool:
    import pyarrow.compute as pc

    least = pc.min(numbers).as_py()
    return least is not None and least < first


def _leaves(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    for chunk in column.chunks:
        yield from _inner(chunk)


def _inner(array: Any) -> Iterator[pa.Array]:
    import pyarrow as pa

    if pa.types.is_struct(array.type):
        for child in array.flatten():
            yield from _inner(child)
    elif pa.types.is_map(array.type):
        yield from _inner(array.keys)
        yield from _inner(array.items)
    elif pa.types.is_list(array.type):
        yield from _inner(array.flatten())
    else:
        yield array


def rebased_days(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dates of the legacy calendar as the same dates (year, month, day) of the Gregorian one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    days = column.cast(pa.int32())
    shift = pc.if_else(pc.less(days, FIRST_GREGORIAN_DAY), pa.scalar(2, pa.int32()), pa.scalar(0, pa.int32()))
    for year in _LEAP_IN_JULIAN_ONLY:
        passed = pc.and_(pc.greater_equal(days, _first_of_march(year)), pc.less(days, FIRST_GREGORIAN_DAY))
        shift = pc.subtract(shift, passed.cast(pa.int32()))
    return pc.add(days, shift).cast(pa.date32())


def _first_of_march(year: int) -> int:
    """1 March of a Julian year, in days since 1970-01-01."""
    return 365 * year + year // 4 - 719_470
