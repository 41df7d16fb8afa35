"""Values that a person gives for a target: exactly a value of the column's type, or refused by name."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal as D
from typing import Any

import numpy as np
import pandas as pd
import pytest

from airflow_lineage_provider.deriving.target_rows import positions_of, same
from airflow_lineage_provider.deriving.values import MISSING, Column
from airflow_lineage_provider.errors import InvalidTarget
from airflow_lineage_provider.plan.datatypes import parse_type
from airflow_lineage_provider.shown import shown

UTC = dt.UTC
NOON = dt.datetime(2025, 7, 1, 12, tzinfo=UTC)


def name(given: Any) -> str:
    return "object" if type(given) is object else shown(given)[:30]


def typed(kind: str, value: Any, zone: str = "Europe/Berlin") -> Any:
    return Column("c", kind, zone).typed(value)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("int", 3, 3),
        ("int", 3.0, 3),
        ("int", D("3.00"), 3),
        ("int", "3", 3),
        ("int", np.int64(3), 3),
        ("tinyint", -128, -128),
        ("bigint", 2**63 - 1, 2**63 - 1),
        ("int", None, None),
        ("int", pd.NA, None),
        ("int", MISSING, None),
        ("double", 1, 1.0),
        ("double", "1e3", 1000.0),
        ("double", "Infinity", math.inf),
        ("double", D("0.1"), 0.1),
        ("double", 2**60, 2.0**60),
        ("float", 0.1, float(np.float32(0.1))),
        ("float", np.float32(0.1), float(np.float32(0.1))),
        ("decimal(5,2)", "1.5", D("1.50")),
        ("decimal(5,2)", 1.25, D("1.25")),
        ("decimal(38,0)", 10**37, D(10**37)),
        ("decimal(5,2)", 7, D("7.00")),
        ("boolean", True, True),
        ("boolean", "FALSE", False),
        ("boolean", np.bool_(True), True),
        ("string", "a\x00b", "a\x00b"),
        ("string", 7, "7"),
        ("binary", bytearray(b"\x00"), b"\x00"),
        ("date", "2025-12-31", dt.date(2025, 12, 31)),
        ("date", pd.Timestamp("2025-12-31"), dt.date(2025, 12, 31)),
        ("date", np.datetime64("2025-12-31"), dt.date(2025, 12, 31)),
        ("timestamp", NOON, NOON),
        ("timestamp", "2025-07-01 14:00:00", NOON),
        ("timestamp", "2025-07-01T12:00:00Z", NOON),
        ("timestamp", dt.datetime(2025, 7, 1, 14), NOON),
        ("timestamp", pd.Timestamp("2025-07-01 12:00Z"), NOON),
        ("timestamp", dt.date(2025, 7, 2), dt.datetime(2025, 7, 1, 22, tzinfo=UTC)),
        ("timestamp_ntz", "2025-07-01 14:00:00.5", dt.datetime(2025, 7, 1, 14, 0, 0, 500_000)),
        ("timestamp_ntz", pd.NaT, None),
        ("timestamp_ntz", np.datetime64("2025-07-01T14:00:00.5"), dt.datetime(2025, 7, 1, 14, 0, 0, 500_000)),
        ("interval day to second", dt.timedelta(days=1), dt.timedelta(days=1)),
        ("interval day", pd.Timedelta(days=1), dt.timedelta(days=1)),
        ("interval hour to second", "INTERVAL '26:03:04.5' HOUR TO SECOND", dt.timedelta(hours=26, minutes=3, seconds=4.5)),
        ("interval day to second", np.timedelta64(90, "s"), dt.timedelta(seconds=90)),
        ("interval year to month", 14, 14),
        ("interval year to month", np.int32(-1), -1),
        ("interval year to month", "INTERVAL '1-2' YEAR TO MONTH", 14),
        ("interval month", "interval '-1' year", -12),
        ("interval", "1 years 2 days ", "1 years 2 days"),
        ("array<int>", (1, None, "2"), [1, None, 2]),
        ("array<double>", np.array([1.0, 2.0]), [1.0, 2.0]),
        ("map<string,int>", {"a": 1}, [("a", 1)]),
        ("map<string,int>", [["a", 1.0]], [("a", 1)]),
        ("struct<a:int,b:array<string>>", {"a": 1, "b": ["x"]}, {"a": 1, "b": ["x"]}),
        ("struct<a:int,b:int>", (1, 2), {"a": 1, "b": 2}),
    ],
    ids=name,
)
def test_values_of_every_type(kind: str, value: Any, expected: Any) -> None:
    found = typed(kind, value)
    assert found == expected
    assert type(found) is type(expected)


def test_a_missing_value_of_pandas_is_nan_only_where_there_are_floats() -> None:
    assert math.isnan(typed("double", MISSING))
    assert math.isnan(typed("float", "NaN"))
    assert typed("string", MISSING) is None


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 3.7),
        ("int", "abc"),
        ("int", 2**31),
        ("int", True),
        ("int", math.nan),
        ("int", math.inf),
        ("int", "9" * 1_000_000),
        ("int", D("NaN")),
        ("int", D("1e1000000")),
        ("bigint", 2.0**60),
        ("bigint", D("sNaN")),
        ("int", [3]),
        ("int", {}),
        ("int", object()),
        ("double", "abc"),
        ("double", True),
        ("double", 2**60 + 1),
        ("double", 10**400),
        ("double", b"1"),
        ("float", 1e300),
        ("double", "1.5D"),
        ("double", D("sNaN")),
        ("decimal(5,2)", "1.234"),
        ("decimal(5,2)", 12345),
        ("decimal(5,2)", D("NaN")),
        ("decimal(5,2)", math.inf),
        ("decimal(5,2)", "1e999999999"),
        ("decimal(5,2)", "9" * 1_000_000),
        ("decimal(5,2)", 10**5000),
        ("decimal(5,2)", D("1e999999")),
        ("decimal(5,2)", True),
        ("boolean", 1),
        ("boolean", "yes"),
        ("string", 1.5),
        ("string", "\ud800"),
        ("string", b"a"),
        ("binary", "00"),
        ("binary", 7),
        ("date", "2025-02-30"),
        ("date", "31.12.2025"),
        ("date", dt.datetime(2025, 1, 1, 1)),
        ("date", NOON),
        ("date", "٢٠٢٥-12-31"),
        ("timestamp", "noon"),
        ("timestamp", 0),
        ("timestamp", pd.Timestamp("2025-07-01 12:00:00.000000001Z")),
        ("timestamp", np.datetime64("2025-07-01T12:00:00.000000001")),
        ("timestamp_ntz", NOON),
        ("timestamp_ntz", "2025-07-01 12:00:00Z"),
        ("timestamp", dt.datetime.min),
        ("timestamp", dt.datetime.max.replace(tzinfo=dt.timezone(dt.timedelta(hours=-23)))),
        ("interval day to second", 5),
        ("interval day to second", "1 day"),
        ("interval day to second", "INTERVAL '1' MONTH"),
        ("interval year to month", "1-2"),
        ("interval year to month", "INTERVAL '1' DAY"),
        ("interval year to month", 2**31),
        ("interval year to month", dt.timedelta(days=30)),
        ("interval", (1, 2, 3)),
        ("array<int>", "123"),
        ("array<int>", {"a": 1}),
        ("array<int>", [1.5]),
        ("map<string,int>", [1]),
        ("map<string,int>", [("a",)]),
        ("struct<a:int>", {"b": 1}),
        ("struct<a:int>", (1, 2)),
        ("struct<a:int>", 1),
        ("struct<a:int,a:int>", {"a": 1}),
        ("variant", {"a": 1}),
        ("geometry(any)", b""),
        ("no such type", 1),
    ],
    ids=name,
)
def test_what_is_no_such_value_is_refused_by_name(kind: str, value: Any) -> None:
    with pytest.raises(InvalidTarget) as found:
        typed(kind, value)
    assert len(str(found.value)) < 500


def test_a_session_in_an_offset_and_one_that_is_unknown() -> None:
    assert typed("timestamp", "2025-07-01 14:00:00", "+02:00") == typed("timestamp", "2025-07-01 14:00:00", "GMT+2") == NOON
    with pytest.raises(InvalidTarget, match="give one with its offset"):
        typed("timestamp", "2025-07-01 14:00:00", "Nowhere/Land")
    assert typed("timestamp", "2025-07-01 14:00:00+02:00", "Nowhere/Land") == NOON


@pytest.mark.parametrize(
    ("at", "expected"), [(3, [3]), ([3, 0, 3], [0, 3]), (np.array([1, 2]), [1, 2]), ("0,3", [0, 3]), ("7", [7]), (range(2), [0, 1])]
)
def test_positions(at: Any, expected: list[int]) -> None:
    assert positions_of(at) == expected


@pytest.mark.parametrize(
    "at",
    [-1, True, 1.5, None, [], "", "a", "1,", "-1", "٣", "9" * 1_000_000, [None], ["0"], 2**80, b"\x01", [[0]], {"a": 1}, object()],
    ids=name,
)
def test_what_is_no_position_is_refused_by_name(at: Any) -> None:
    with pytest.raises(InvalidTarget) as found:
        positions_of(at)
    assert len(str(found.value)) < 300


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("array<double>", [math.nan, -0.0], [float("nan"), 0.0]),
        ("map<string,array<int>>", [("a", [1]), ("b", [2])], [("b", [2]), ("a", [1])]),
        ("struct<a:double,b:int>", {"a": math.nan, "b": None}, {"a": math.nan, "b": None}),
        ("array<struct<a:int>>", [{"a": 1}, None], [{"a": 1}, None]),
    ],
)
def test_values_that_are_the_same(kind: str, one: Any, other: Any) -> None:
    assert same(parse_type(kind), one) == same(parse_type(kind), other)
    assert same(parse_type(kind), one) != same(parse_type(kind), None)
