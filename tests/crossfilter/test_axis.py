"""Bars of numbers and of points in time stand as far from each other as their values; ticks are at round ones."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.crossfilter.axis import axis_of

UTC = pa.timestamp("us", "UTC")


@pytest.mark.parametrize(("values", "kind"), [
    ([0, 1, 2, 10], pa.int64()), ([-2.5, 0.0, 0.5, 7.0], pa.float64()),
    ([Decimal("1.50"), Decimal("2.00"), Decimal("5.00")], pa.decimal128(9, 2)),
    ([dt.date(2013, 1, 1), dt.date(2013, 1, 2), dt.date(2013, 1, 9)], pa.date32()),
    ([dt.datetime(2013, 1, 1, hour, tzinfo=dt.UTC) for hour in (1, 2, 5)], UTC),
])  # fmt: skip
@pytest.mark.parametrize("apart", [0, 1])
def test_gaps_are_as_wide_as_what_is_missing(values: list[Any], kind: pa.DataType, apart: int) -> None:
    axis = axis_of(pa.array([*values, *[None] * apart], kind))
    assert axis is not None
    steps = [(other - one) / (values[1] - values[0]) for one, other in pairwise(values)]
    drawn = [(other - one) / (axis.left[1] - axis.left[0]) for one, other in pairwise(axis.left[: len(values)])]
    assert drawn == pytest.approx([float(one) for one in steps], rel=1e-4)
    assert axis.left[0] == 0
    end = axis.left[len(values) - 1] + axis.wide
    assert end == pytest.approx(0.94 if apart else 1.0, abs=1e-5)
    assert [end < one < 1 for one in axis.left[len(values) :]] == [True] * apart


@pytest.mark.parametrize(("values", "kind"), [
    (["a", "b"], pa.string()), ([True, False], pa.bool_()), ([3], pa.int64()), ([None], pa.int64()), ([], pa.int64()),
    ([1.0, float("inf")], pa.float64()), ([2**60, 2**60 + 1], pa.int64()), ([dt.time(1), dt.time(2)], pa.time64("us")),
])  # fmt: skip
def test_what_has_no_axis(values: list[Any], kind: pa.DataType) -> None:
    assert axis_of(pa.array(values, kind)) is None


def test_nan_stands_apart() -> None:
    axis = axis_of(pa.array([1.0, 2.0, float("nan"), None]))
    assert axis is not None
    assert axis.left[2] > axis.left[1] + axis.wide - 1e-6
    assert 0.94 < axis.left[2] < axis.left[3] < 1


@pytest.mark.parametrize(("first", "last", "ticks"), [
    (dt.date(1990, 5, 1), dt.date(2013, 12, 31), "1995 2000 2005 2010"),
    (dt.date(2013, 1, 1), dt.date(2013, 1, 5), "2013-01-01 2013-01-02 2013-01-03 2013-01-04 2013-01-05"),
    (dt.date(2013, 1, 1), dt.date(2013, 2, 5), "2013-01-07 2013-01-14 2013-01-21 2013-01-28 2013-02-04"),
    (dt.date(1, 1, 1), dt.date(9999, 12, 31), "2000 4000 6000 8000"),
    (dt.datetime(2013, 1, 1), dt.datetime(2013, 1, 1, 0, 0, 20), "00:00:00 00:00:05 00:00:10 00:00:15 00:00:20"),
])  # fmt: skip
def test_ticks_of_time(first: Any, last: Any, ticks: str) -> None:
    axis = axis_of(pa.array([first, last]))
    assert axis is not None
    assert " ".join(text for _, text in axis.ticks) == ticks


def test_ticks_are_few_within_the_axis_and_where_they_say() -> None:
    chance = random.Random(5)
    for _ in range(400):
        size = 10.0 ** chance.randrange(-3, 9)
        values = sorted({round(chance.uniform(-size, size), 4) for _ in range(chance.randrange(2, 40))})
        axis = axis_of(pa.array([*values, None]))
        if axis is None:
            assert len(values) < 2
            continue
        assert 1 <= len(axis.ticks) <= 6
        slack = 2e-5 * (values[-1] - values[0]) + 1e-9
        for place, text in axis.ticks:
            value = values[0] + (place - axis.wide / 2) / 0.94 * (values[-1] - values[0] + min(b - a for a, b in pairwise(values)))
            assert value == pytest.approx(float(text.replace(",", "")), abs=slack)
            assert values[0] - slack <= value <= values[-1] + slack
