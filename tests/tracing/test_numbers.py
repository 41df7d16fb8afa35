"""Numbers are in the order in which NumPy puts them, however many there are and however wide they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_lineage_provider.tracing import numbers
from airflow_lineage_provider.tracing.numbers import different, each_once, in_order, in_order_of_both

WIDE = st.sampled_from([3, 1 << 16, (1 << 16) + 1, 1 << 33, 1 << 62]).flatmap(lambda most: st.lists(st.integers(0, most - 1), max_size=40))
TYPES: Any = st.sampled_from([np.int64, np.uint64])


@pytest.fixture(autouse=True, params=["by two bytes", "merged"])
def _few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "_FEW", 1 if request.param == "by two bytes" else 1_000)


@settings(max_examples=60)
@given(WIDE, TYPES)
def test_one_number(values: list[int], kind: Any) -> None:
    given_numbers = np.array(values, kind)
    assert in_order(given_numbers).tolist() == sorted(range(len(values)), key=values.__getitem__)
    assert different(given_numbers).tolist() == sorted({*values})


@settings(max_examples=60)
@given(WIDE, WIDE)
def test_two_numbers(left: list[int], right: list[int]) -> None:
    pairs = [*zip(left, right, strict=False)]
    first, second = (np.array([pair[at] for pair in pairs], np.int64) for at in (0, 1))
    assert in_order_of_both(first, second).tolist() == sorted(range(len(pairs)), key=pairs.__getitem__)
    assert [*zip(*(one.tolist() for one in each_once(first, second)), strict=True)] == sorted({*pairs})


def test_numbers_below_nought_and_small_types() -> None:
    assert in_order(np.array([5, -1, 70_000, -1], np.int64)).tolist() == [1, 3, 0, 2]
    assert in_order(np.array([200, 1, 200], np.uint8)).tolist() == [1, 0, 2]
