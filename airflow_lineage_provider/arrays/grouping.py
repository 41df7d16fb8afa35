"""Rows of integer columns: a key for those that are equal, runs of intervals within a key, and the intervals that meet another.

Everything here is linear but for sorting, and enumerates no cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

Integers = TypeVar("Integers", bound=np.signedinteger)

_MOST = 2**62
"""The number of different keys that an int64 has room for, with a bit to spare."""


def chosen(columns: Iterable[npt.NDArray[Integers]], rows: Ints | Bools | slice) -> list[npt.NDArray[Integers]]:
    """Some rows of columns of shape (axes, rows), in this order. (``column[:, rows]`` takes eight times as long.)"""
    if isinstance(rows, slice):
        return [one[:, rows] for one in columns]
    places = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
    return [one.take(places, axis=1) for one in columns]


def keys(columns: Sequence[npt.NDArray[np.signedinteger]], rows: int) -> Ints:
    """One integer for each row, in the order of the rows and equal where all columns are.

    :param columns: of ``rows`` integers each, the most significant first.
    """
    key, size = np.zeros(rows, dtype=np.int64), 1
    for column in columns if rows else ():
        least, width = _span(column)
        if width == 1:
            continue
        if width > _MOST // size:
            key, size = _dense(key)
        if width > _MOST // size:
            column, width = _dense(column.astype(np.int64))
            least = 0
        key = key * width + (column - least)
        size *= width
    return key


def _span(column: npt.NDArray[np.signedinteger]) -> tuple[int, int]:
    """The least value of a column, and how many values there are from it to the largest."""
    least = int(column.min())
    return least, int(column.max()) - least + 1


def _dense(key: Ints) -> tuple[Ints, int]:
    """The same order in as few numbers as there are different ones."""
    values, places = np.unique(key, return_inverse=True)
    return places.reshape(-1).astype(np.int64), len(values)


def sorting(key: Ints) -> Ints:
    """The positions that sort a key."""
    if bool((key[1:] >= key[:-1]).all()):
        return np.arange(len(key), dtype=np.int64)
    return np.argsort(key).astype(np.int64, copy=False)


@dataclass(frozen=True)
class Runs:
    """Rows in the order of their key and interval, cut into runs whose intervals overlap or are adjacent.

    :ivar order: (n,) the positions of the rows.
    :ivar starts: (r,) where in ``order`` a run begins.
    :ivar tops: (r,) the last integer of each run; its first is that of its first row.
    """

    order: Ints
    starts: Ints
    tops: Ints

    @property
    def sizes(self) -> Ints:
        """(r,) how many rows each run has."""
        return np.diff(self.starts, append=len(self.order))


def runs(key: Ints, lo: Ints, hi: Ints) -> Runs:
    """The runs of intervals with the same key (Sec. IV.A, "contiguous"), whatever the order in which the rows come.

    The paper looks at neighbours in one sorting only, and so misses runs that interleave; and it forgets the row that ends a run.

    >>> lo = np.array([1, 2, 3, 4, 9, 12, 13, 14, 15])
    >>> found = runs(np.zeros_like(lo), lo, lo)
    >>> list(zip(lo[found.order[found.starts]].tolist(), found.tops.tolist()))
    [(1, 4), (9, 9), (12, 15)]
    """
    if not len(key):
        return Runs(key, key, hi)
    together = keys([key, lo], len(key))
    order = sorting(together)
    if (order[1:] < order[:-1]).any():
        key, lo, hi = key[order], lo[order], hi[order]
    fresh = np.append(True, key[1:] != key[:-1])
    top = hi if bool((lo == hi).all()) else _tops(fresh, hi)
    fresh[1:] |= lo[1:] > top[:-1] + 1
    starts = np.flatnonzero(fresh)
    return Runs(order, starts, top[np.append(starts[1:], len(order)) - 1])


def runs_below(columns: Sequence[tuple[Ints, int]], lo: Ints, hi: Ints, most: int) -> Runs:
    """The same of intervals of integers from 0 to below ``most``; the key is columns, each with what its integers, from 0 on, are below.

    Nobody looks for the least and the largest, and intervals of other keys are so far away that the key itself need not be compared.
    """
    apart = most + 2
    if not len(lo) or math.prod(size for _, size in columns) * apart > _MOST:
        return runs(keys([column for column, _ in columns], len(lo)), lo, hi)
    begin, end = (_placed(columns, one, apart) for one in (lo, hi))
    order = sorting(begin)
    if (begin[1:] < begin[:-1]).any():
        begin, end = begin[order], end[order]
    tops = np.maximum.accumulate(end)
    fresh = begin[1:] > tops[:-1] + 1
    if fresh.all():
        return Runs(order, np.arange(len(order), dtype=np.int64), tops % apart)
    starts = np.append(0, np.flatnonzero(fresh) + 1)
    return Runs(order, starts, tops[np.append(starts[1:], len(order)) - 1] % apart)


def _placed(columns: Sequence[tuple[Ints, int]], ends: Ints, apart: int) -> Ints:
    """The ends on a line on which each key has a stretch of its own, so long."""
    if not columns:
        return ends
    key: Ints = columns[0][0]
    for column, size in columns[1:]:
        key = key * size + column
    return key * apart + ends


def _tops(fresh: Bools, hi: Ints) -> Ints:
    """The largest end so far, within the key: keys are put apart by more than all intervals are wide."""
    least, width = _span(hi)
    apart = (np.cumsum(fresh) - 1) * width
    return np.asarray(np.maximum.accumulate(hi - least + apart) - apart + least)


def about_adjacent(key: Ints, lo: Ints, hi: Ints) -> int:
    """About how many intervals have one of the same key right behind them, without sorting: by a hash, less what chance adds."""
    bits = max(10, (32 * len(key)).bit_length())
    seen = np.zeros(2**bits, dtype=np.bool_)
    seen[_hashed(key, lo, bits)] = True
    found = int(np.count_nonzero(seen[_hashed(key, hi + 1, bits)]))
    return found - int(np.count_nonzero(seen)) * len(key) // len(seen)


def _hashed(key: Ints, at: Ints, bits: int) -> npt.NDArray[np.uint64]:
    """Both in so many bits (Fibonacci hashing)."""
    mixed = key.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + at.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(29)
    return mixed * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(64 - bits)


@dataclass(frozen=True)
class IntervalIndex:
    """Intervals in the order of their beginning, with the largest end so far: those that meet another are between two positions.

    :ivar order: (n,) the positions of the intervals.
    :ivar lo: (n,) their sorted beginnings.
    :ivar reach: (n,) the largest end of an interval up to here.
    """

    order: Ints
    lo: Ints
    reach: Ints

    @classmethod
    def of(cls, lo: Ints, hi: Ints) -> IntervalIndex:
        """Of n intervals, both ends inclusive."""
        order = sorting(lo)
        return cls(order, lo[order], np.maximum.accumulate(hi[order]))

    def between(self, lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
        """For each of k intervals, the part of ``order`` beyond which nothing meets it."""
        first = np.searchsorted(self.reach, lo, side="left")
        return first, np.maximum(np.searchsorted(self.lo, hi, side="right"), first)


def ranges(first: Ints, end: Ints) -> tuple[Ints, Ints]:
    """The integers of k half-open ranges, one after the other, and of which range each is.

    >>> ranges(np.array([3, 7, 7]), np.array([5, 7, 8]))
    (array([3, 4, 7]), array([0, 0, 2]))
    """
    lengths = end - first
    owner = np.repeat(np.arange(len(first)), lengths)
    offset = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return first[owner] + offset, owner
