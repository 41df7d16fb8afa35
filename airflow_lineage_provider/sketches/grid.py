"""Buckets of equal width, which spare most values a search. Over a sketch's intervals, a bit for each that meets one: most rows that are in
no interval are told by looking at a bit. Over the cuts of a partition, where in their order each bucket begins: most rows are told by it
and the one cut that may be in their bucket.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from airflow_lineage_provider.sketches.constants import MOST_BIGINT

_A_BOUND = 64
"""So many buckets there are for each bound, so that few of them hold both what is inside and what is not."""
_MOST = 1 << 16
"""Bits at most: 8 KB, which stay near the processor."""
_A_CUT = 2
"""So many buckets there are for each cut."""
_WORD = 64
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Over the places from ``first`` to before ``last``, in buckets of ``2 ** shift``.

    :ivar words: bits of the buckets, 64 to a signed word, the lowest first. One that is not set tells that nothing of its bucket is inside.
    :ivar before, after: whether what is below ``first``, and from ``last`` on, is inside.
    """

    first: int
    last: int
    shift: int
    words: tuple[int, ...]
    before: bool
    after: bool

    def may_be_inside(self, place: int) -> bool:
        """What Spark is asked to find, of one place.

        >>> found = grid((10, 20, 4_000), before=False)
        >>> [found.may_be_inside(place) for place in (9, 10, 19, 2_000, 4_000)]
        [False, True, True, False, True]
        """
        if not self.first <= place < self.last:
            return self.before if place < self.first else self.after
        bucket = place - self.first >> self.shift
        return bool(self.words[bucket // _WORD] >> bucket % _WORD & 1)


def grid(bounds: Sequence[int], *, before: bool) -> Grid | None:
    """Of intervals that the ``bounds``, ascending, open and close in turn; the first closes one if what is ``before`` it is inside. None
    where a number of Spark's does not hold the distance from the first to the last, or there is none."""
    shift = _shift(bounds, _A_BOUND)
    if shift is None:
        return None
    first, last = bounds[0], bounds[-1]
    words = [0] * ((last - first - 1 >> shift) // _WORD + 1)
    opened = bounds[1 if before else 0 :]
    for low, high in zip(opened[::2], opened[1::2], strict=False):
        for bucket in range(low - first >> shift, (high - 1 - first >> shift) + 1):
            words[bucket // _WORD] |= 1 << bucket % _WORD
    signed = tuple(one - (1 << _WORD) if one >> _WORD - 1 else one for one in words)
    return Grid(first=first, last=last, shift=shift, words=signed, before=before, after=before == (len(bounds) % 2 == 0))


@dataclass(frozen=True, kw_only=True)
class Starts:
    """Over the places from the ``first`` of ``count`` cuts to before the ``last``, in buckets of ``2 ** shift``.

    :ivar sums: of each bucket, what gives, with a place's distance from the bucket's first place added, so many times
        ``2 ** (shift + 1)`` as cuts are not above the place, and a remainder; -1 where more than one cut is in the bucket behind its first
        place: there a search is needed.
    """

    first: int
    last: int
    count: int
    shift: int
    sums: tuple[int, ...]

    def before(self, place: int) -> int | None:
        """How many cuts are not above a place, as Spark is asked to find it; None where it has to search.

        >>> found = starts((0, 100, 205, 206, 300))
        >>> [found.before(place) for place in (-1, 0, 99, 100, 206, 299, 300)]
        [0, 1, 1, 2, None, 4, 5]
        """
        if not self.first <= place < self.last:
            return 0 if place < self.first else self.count
        distance = place - self.first
        found = self.sums[distance >> self.shift]
        return None if found < 0 else found + (distance & self.inside) >> self.shift + 1

    @property
    def inside(self) -> int:
        """The bits of a distance that tell a place in its bucket."""
        return (1 << self.shift) - 1


def starts(cuts: Sequence[int]) -> Starts | None:
    """Of cuts, ascending; None where a number of Spark's does not hold what is computed, or there is at most one."""
    shift = _shift(cuts, _A_CUT)
    if shift is None or len(cuts) >> 62 - shift:
        return None
    width, behind, found = 1 << shift, 0, []
    for first in range(cuts[0], cuts[-1], width):
        at = bisect_right(cuts, first, behind)
        behind = bisect_left(cuts, first + width, at)
        carries = 2 * width - (cuts[at] - first) if behind > at else 0
        found.append(-1 if behind - at > 1 else at * 2 * width + carries)
    return Starts(first=cuts[0], last=cuts[-1], count=len(cuts), shift=shift, sums=tuple(found))


def _shift(places: Sequence[int], each: int) -> int | None:
    """The logarithm of the width of buckets, of which there are about ``each`` for every place, or fewer."""
    if len(places) < 2 or places[-1] - places[0] > MOST_BIGINT or abs(places[0]) > MOST_BIGINT or abs(places[-1]) > MOST_BIGINT:
        return None
    return max(0, ((places[-1] - places[0] - 1) // min(_MOST, each * len(places))).bit_length())


def places(texts: Sequence[str], type_: str) -> list[int] | None:
    """Where constants of a type stand among whole numbers: integers as they are, dates by their day, instants by their microsecond since
    1970. None of other types."""
    match type_:
        case "bigint":
            return [int(text) for text in texts]
        case "date":
            return [(date.fromisoformat(text) - _EPOCH.date()).days for text in texts]
        case "timestamp":
            return [(datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1) for text in texts]
    return None
