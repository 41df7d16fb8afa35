"""Intervals as text and as numbers."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_lineage_provider.plan.intervals import amount, micros_of, text_of, type_of, units_of, written

_DAY = ("day", "hour", "minute", "second")
_SIZES = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1, "year": 12, "month": 1}
_UNITS = [(a, b) for i, a in enumerate(_DAY) for b in _DAY[i:]] + [("year", "year"), ("year", "month"), ("month", "month")]


@pytest.mark.parametrize(("start", "end"), _UNITS)
@given(data=st.data())
def test_what_is_written_is_read(start: str, end: str, data: st.DataObject) -> None:
    size, most = _SIZES[end], 1 << (31 if start in ("year", "month") else 63)
    value = data.draw(st.integers(-(most // size), (most - 1) // size)) * size
    assert written(text_of(value, start, end)) == (value, start, end)
    assert units_of(type_of(start, end)) == (start, end)


@pytest.mark.parametrize(
    ("body", "start", "end", "expected"),
    [
        ("1 02:03:04.5", "day", "second", 93_784_500_000),
        ("-1 02:03:04.000001", "day", "second", -93_784_000_001),
        ("+26", "hour", "hour", 26 * 3_600_000_000),
        ("90:01", "minute", "second", 5_401_000_000),
        ("1 2", "day", "hour", 26 * 3_600_000_000),
        ("-106751991 04:00:54.775808", "day", "second", -(2**63)),
        ("106751991 04:00:54.775808", "day", "second", None),
        ("1-2", "year", "month", 14),
        ("-178956970-8", "year", "month", -(2**31)),
        ("178956970-8", "year", "month", None),
        ("1 24:00:00", "day", "second", None),
        ("1:60", "hour", "minute", None),
        ("1", "second", "day", None),
        ("1", "day", "month", None),
        ("1-12", "year", "month", None),
        ("1.5", "hour", "hour", None),
        ("٣", "day", "day", None),
        ("", "day", "day", None),
    ],
)
def test_amounts(body: str, start: str, end: str, expected: int | None) -> None:
    assert amount(body, start, end) == expected


def test_other_types_and_texts_are_none() -> None:
    assert units_of("interval") is None
    assert units_of("array<interval day>") is None
    assert written("1 years 2 months") is None
    assert micros_of(dt.timedelta(days=-1, microseconds=1)) == -86_399_999_999
