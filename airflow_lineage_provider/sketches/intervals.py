"""Fragments of a sketch as intervals of values: adjacent ones are one, and where there are too many the smallest gaps are closed.

A closed gap lets more fragments in, whole ones: that is a sketch, too, and what is safe is safe for every larger sketch.

>>> intervals_of(frozenset({1, 2, 5}), 10, most=16)
(Interval(first=1, last=2), Interval(first=5, last=5))
>>> intervals_of(frozenset({1, 2, 5, 9}), 10, most=2)
(Interval(first=1, last=5), Interval(first=9, last=9))
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from airflow_lineage_provider.sketches.composite import AnyPartition


@dataclass(frozen=True)
class Interval:
    """The fragments from ``first`` to ``last``, by their numbers."""

    first: int
    last: int


def intervals_of(fragments: frozenset[int], ranges: int, most: int) -> tuple[Interval, ...]:
    """At most ``most`` intervals that have at least these fragments of the ``ranges`` first ones (those of values, not of NULL and NaN)."""
    found = list(_merged(one for one in sorted(fragments) if one < ranges))
    if len(found) <= most:
        return tuple(found)
    gaps = sorted(range(1, len(found)), key=lambda at: (found[at - 1].last - found[at].first, at))
    starts = [0, *sorted(gaps[: most - 1])]
    ends = [*(at - 1 for at in starts[1:]), len(found) - 1]
    return tuple(Interval(found[start].first, found[end].last) for start, end in zip(starts, ends, strict=True))


def values_of(partition: AnyPartition, fragments: frozenset[int]) -> tuple[tuple[Any, Any], ...]:
    """The values (of several columns tuples of them) that are in fragments, in order: from the one up to, and without, the other; None is
    no bound.

    >>> from airflow_lineage_provider.sketches.partition import Partition
    >>> values_of(Partition(type="int", cuts=(3, 7, 9)), frozenset({0, 2, 3}))
    ((None, 3), (7, None))
    """
    cuts = partition.cuts
    found = intervals_of(fragments, len(cuts) + 1, len(cuts) + 1)
    return tuple(
        (cuts[one.first - 1] if one.first else None, cuts[one.last] if one.last < len(cuts) else None) for one in found
    )  # fmt: skip


def _merged(numbers: Iterable[int]) -> Iterable[Interval]:
    first = last = None
    for number in numbers:
        if first is not None and last is not None and number > last + 1:
            yield Interval(first, last)
            first = None
        first, last = number if first is None else first, number
    if first is not None and last is not None:
        yield Interval(first, last)
