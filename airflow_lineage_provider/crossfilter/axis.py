"""Where bars stand whose values are numbers or points in time: as far from each other as their values are, with ticks between.

Days on which nothing happened, and numbers that nobody has, are gaps.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

_TICKS = 6
"""So many at most have room on a telephone."""
_APART = 0.06
"""The share of the width at its end that bars without a place on the axis have: NULL, and NaN."""
_DIGITS = 6
Point: TypeAlias = "dt.date | dt.datetime"


@dataclass(frozen=True)
class Axis:
    """Shares of the width, from 0 to 1: ``left`` is where each bar begins, in the order of the values, and ``wide`` how wide it is; bars
    without a place on the axis are the last. ``ticks`` are places, and what is written there, from left to right."""

    left: tuple[float, ...]
    wide: float
    ticks: tuple[tuple[float, str], ...]


def axis_of(values: pa.Array) -> Axis | None:
    """That of bars with these values, ascending, NULL last; None where they are of another type, or fewer than two are on an axis."""
    import pyarrow as pa

    kind = values.type
    known = values.drop_null().to_pylist()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        at = [float(one) for one in known]
        while at and math.isnan(at[-1]):
            at.pop()
        ticks: Iterator[tuple[float, str]] = _numbers(at[0], at[-1]) if _are_ascending(at) else iter(())
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        at = [_seconds(one) for one in known]
        ticks = ((_seconds(one), text) for one, text in _times(known[0], known[-1])) if _are_ascending(at) else iter(())
    else:
        return None
    return _axis(at, len(values) - len(at), [*ticks]) if _are_ascending(at) else None


def _are_ascending(at: Sequence[float]) -> bool:
    """Whether there are several that can be told apart, and none is without end."""
    return len(at) > 1 and all(map(math.isfinite, at)) and all(one < other for one, other in pairwise(at))


def _axis(at: Sequence[float], apart: int, ticks: Sequence[tuple[float, str]]) -> Axis:
    step = min(other - one for one, other in pairwise(at))
    share = (1 - _APART if apart else 1.0) / (at[-1] - at[0] + step)
    gap = _APART / (2 * apart + 1) if apart else 0.0
    left = [(one - at[0]) * share for one in at] + [1 - _APART + (1 + 2 * which) * gap for which in range(apart)]
    middle = step / 2  # a bar's value is in its middle
    shown = [(round((place - at[0] + middle) * share, _DIGITS), text) for place, text in ticks]
    return Axis(tuple(round(one, _DIGITS) for one in left), round(step * share, _DIGITS), tuple(shown))


def _numbers(least: float, most: float) -> Iterator[tuple[float, str]]:
    """Multiples of 1, 2 or 5 times a power of ten.

    >>> for least, most in ((-3.0, 118.0), (0.0, 1e6), (0.1, 0.3)):
    ...     print(" ".join(text for _, text in _numbers(least, most)))
    0 20 40 60 80 100
    0 200,000 400,000 600,000 800,000 1,000,000
    0.10 0.15 0.20 0.25 0.30
    """
    power = 10.0 ** math.floor(math.log10((most - least) / _TICKS))
    step = next(one for one in (power, 2 * power, 5 * power, 10 * power, 20 * power) if _multiples(least, most, one) <= _TICKS)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    first = math.ceil(round(least / step, 9))
    for number in range(first, first + _multiples(least, most, step)):
        yield number * step, f"{number * step:,.{digits}f}"


def _multiples(least: float, most: float, step: float) -> int:
    return math.floor(round(most / step, 9)) - math.ceil(round(least / step, 9)) + 1


# --- points in time -----------------------------------------------------------------------------------------------------

_MONTHS = (1, 3, 6, *(12 * years for decade in range(4) for years in (10**decade, 2 * 10**decade, 5 * 10**decade)))
_SECONDS = (1, 5, 15, 30, 60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 1_209_600)
_DAY = 86_400


def _seconds(one: Point) -> float:
    """Since 1970, by the clock on the wall: a day of summer time is as long as others."""
    wall = dt.datetime(one.year, one.month, one.day) if not isinstance(one, dt.datetime) else one.replace(tzinfo=None)
    return (wall - dt.datetime(1970, 1, 1)) / dt.timedelta(seconds=1)


def _times(first: Point, last: Point) -> Iterator[tuple[Point, str]]:
    """Beginnings of years, months, days, hours, minutes or seconds; weeks begin on Mondays.

    >>> [text for _, text in _times(dt.date(2013, 1, 1), dt.date(2013, 12, 31))]
    ['2013-01', '2013-04', '2013-07', '2013-10']
    >>> [text for _, text in _times(dt.datetime(2013, 1, 1, 22, 30), dt.datetime(2013, 1, 2, 4))]
    ['01-01 23:00', '01-02 00:00', '01-02 01:00', '01-02 02:00', '01-02 03:00', '01-02 04:00']
    """
    begin, end = _seconds(first), _seconds(last)
    least = _DAY if not isinstance(first, dt.datetime) else 1
    for step in (one for one in _SECONDS if one >= least):
        from_monday = 4 * _DAY if step >= 7 * _DAY else 0  # 1970 began on a Thursday
        number = math.ceil((begin - from_monday) / step)
        many = math.floor((end - from_monday) / step) - number + 1
        if many <= _TICKS:
            form = "%Y-%m-%d" if step >= _DAY else "%m-%d %H:%M" if step >= 60 else "%H:%M:%S"
            for which in range(number, number + many):
                at = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=which * step + from_monday)
                yield at, at.strftime(form)
            return
    yield from _months(first, last)


def _months(first: Point, last: Point) -> Iterator[tuple[Point, str]]:
    begin = 12 * first.year + first.month - 1 + ((first.day, _seconds(first) % _DAY) > (1, 0))
    end = 12 * last.year + last.month - 1
    step = next((one for one in _MONTHS if end // one - -(-begin // one) + 1 <= _TICKS), _MONTHS[-1])
    for month in range(-(-begin // step) * step, end + 1, step):
        if month >= 12:
            at = dt.date(month // 12, month % 12 + 1, 1)
            yield at, f"{at.year:04}" if step % 12 == 0 else f"{at.year:04}-{at.month:02}"
