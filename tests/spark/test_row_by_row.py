"""Whether a table function hands something from row to row: when in doubt, it does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from airflow_lineage_provider.spark.capturing.table_functions import is_row_by_row

SEEN: list[int] = []


class Plain:
    factor = 2

    def __init__(self) -> None:
        self.model = [1, 2]

    def eval(self, x: int) -> Iterator[tuple[int]]:
        made = []
        made.append(x * self.factor)
        for one in made:
            yield (one + self.model[0],)


class Sets:
    def eval(self, x: int) -> Iterator[tuple[int]]:
        self.last = x
        yield (x,)


class Appends:
    def __init__(self) -> None:
        self.rows: list[int] = []

    def eval(self, x: int) -> Iterator[tuple[int]]:
        self.rows.append(x)
        yield (len(self.rows),)


class Counts:
    def __init__(self) -> None:
        self.known: dict[int, int] = {}

    def eval(self, x: int) -> Iterator[tuple[int]]:
        self.known[x] = 1
        yield (len(self.known),)


class Outside:
    def eval(self, x: int) -> Iterator[tuple[int]]:
        SEEN.append(x)
        yield (len(SEEN),)


class Inside:
    def eval(self, x: int) -> Iterator[tuple[int]]:
        def note() -> None:
            self.last = x

        note()
        yield (x,)


class AtTheEnd:
    def eval(self, x: int) -> None:
        pass

    def terminate(self) -> Iterator[tuple[int]]:
        yield (1,)


class Inherits(Sets):
    pass


def test_a_function_of_the_row_alone() -> None:
    assert is_row_by_row(Plain)


@pytest.mark.parametrize("handler", [Sets, Appends, Counts, Outside, Inside, AtTheEnd, Inherits])
def test_a_function_that_keeps_something(handler: Any) -> None:
    assert not is_row_by_row(handler)
