"""Rows that go to the server together: so many as are a statement of some size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def in_portions(rows: Iterable[T], size: Callable[[T], int], most: int, most_rows: int | None = None) -> Iterator[list[T]]:
    """The rows, in their order, by as many as are no larger than ``most`` together (a larger row is alone), and no more than so many.

    >>> list(in_portions(["a", "bb", "c", "dddd", "e"], len, most=3))
    [['a', 'bb'], ['c'], ['dddd'], ['e']]
    >>> list(in_portions("abc", len, most=3, most_rows=2))
    [['a', 'b'], ['c']]
    """
    some: list[T] = []
    together = 0
    for row in rows:
        own = size(row)
        if some and (together + own > most or len(some) == most_rows):
            yield some
            some, together = [], 0
        some.append(row)
        together += own
    if some:
        yield some
