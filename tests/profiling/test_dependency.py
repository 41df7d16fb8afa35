"""Functional dependencies as people write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.profiling.dependency import Dependency, dependencies

COLUMNS = ("zip", "City", "street, no", "a->b", "x`y", " pad ", "state")


@pytest.mark.parametrize(
    ("text", "determinant", "dependent"),
    [
        ("zip -> City", ("zip",), ("City",)),
        ("ZIP→city,state", ("zip",), ("City", "state")),
        ("`street, no`, zip -> `a->b`", ("street, no", "zip"), ("a->b",)),
        ("`x``y`->` pad `", ("x`y",), (" pad ",)),
        ("zip, zip -> zip", ("zip",), ("zip",)),
    ],
)
def test_read(text: str, determinant: tuple[str, ...], dependent: tuple[str, ...]) -> None:
    assert dependencies([text], COLUMNS) == (Dependency(determinant, dependent),)


def test_each_once() -> None:
    assert len(dependencies(["zip -> City", "ZIP->city", "City -> zip"], COLUMNS)) == 2


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=4, unique_by=str.casefold), st.data())
def test_what_is_written_is_read_again(columns: list[str], data: st.DataObject) -> None:
    sides = st.lists(st.sampled_from(columns), min_size=1, max_size=3, unique=True).map(tuple)
    one = Dependency(data.draw(sides), data.draw(sides))
    assert dependencies([str(one)], columns) == (one,)


@pytest.mark.parametrize(
    ("fds", "said"),
    [
        ("zip -> City", "is no list of functional dependencies"),
        (7, "is no list of functional dependencies"),
        ([], "has no functional dependency"),
        ([7], "is no functional dependency"),
        (["zip"], "is no functional dependency"),
        (["zip -> "], "is no functional dependency"),
        (["zip -> City -> state"], "is no functional dependency"),
        (["`zip -> City"], "is no functional dependency"),
        (["zip -> town"], "the table has zip, City"),
    ],
)
def test_what_is_none_is_refused(fds: Any, said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        dependencies(fds, COLUMNS)


def test_a_name_that_two_columns_may_have() -> None:
    with pytest.raises(InvalidOption, match="any of 2 columns: Zip, zIp"):
        dependencies(["zip -> a"], ["Zip", "zIp", "a"])
    assert dependencies(["Zip -> a"], ["Zip", "zIp", "a"])[0].determinant == ("Zip",)
