"""How an index is best written: told by its shape, and by trying."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from airflow_lineage_provider.capture.csr import Csr
from airflow_lineage_provider.capture.encodings import ENCODINGS
from airflow_lineage_provider.capture.encodings.arrays import RidIndex
from airflow_lineage_provider.capture.encodings.written import to_bytes

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.capture.encodings.encoding import Encoding
    from airflow_lineage_provider.capture.shape import Shape

SLOW = 0.001
"""Seconds that one row's answer may take, out of a part that is in memory."""
_LONG = 0.1
_ASKED = 5
_ALL = 500_000
"""A map of no more rows and pairs is written in every way that is able to hold it, and its sizes are known."""
_SAMPLE = (16, 96, 8_000)
"""Of a larger one rows of so many parts are, from so many places all over them, about so many rows and pairs from each place."""
_SHARED_SAMPLE = (3, 3, 200_000)
"""The same, where sets are written once that rows have in common: of few rows they have little."""
_ALIKE, _SAMPLED_ALIKE = 1.05, 1.02
"""What is larger by no more than this is as good, and the simpler one is taken; by less where sizes are estimated."""
_MOST_COUNTED = 1 << 24


class Choice(NamedTuple):
    """An encoding, and why it was taken."""

    encoding: Encoding
    because: str


def choose(parts: Sequence[Csr], others: int, shape: Shape) -> Choice:
    """The encoding that can hold all parts, and of those that answer in time is the smallest, as it is written, or all but so.

    Those that the shape speaks for are tried, with all parts of a small map, and with rows at places of a large one that are as far from
    each other in rows and pairs: where a few rows have most of the pairs, most places are theirs. What is no array has to give one row's
    numbers within a millisecond, or twice the time of the rid index where that takes longer.
    """
    met = _met_by_pairs(parts, others, shape)
    able = [one for one in ENCODINGS.values() if one.promises(met) and all(one.holds(part, others) for part in parts)]
    is_small = sum(len(part.rids) + part.rows for part in parts) <= _ALL
    sizes = _sizes(able, parts, others) if is_small else _estimated(able, parts, others)
    slow: list[str] = []
    # From small to large; of those that are about as small as the smallest the first of `ENCODINGS`, which has the simplest first.
    least = (_ALIKE if is_small else _SAMPLED_ALIKE) * min(sizes.values())
    for one in sorted(able, key=lambda each: max(sizes[each.name], least)):
        if one.plain or _in_time(one, parts, others):
            return Choice(one, _because(one, sizes, slow))
        slow.append(one.name)
    raise AssertionError("a rid index holds everything")


def _met_by_pairs(parts: Sequence[Csr], others: int, shape: Shape) -> Shape:
    """The shape as a pair meets it, in the mean: where few rows have most of the pairs, they decide how these are best written."""
    import numpy as np

    pairs = sum(len(part.rids) for part in parts)
    if not pairs:
        return shape
    size = sum(float(np.square(part.degrees, dtype=np.float64).sum()) for part in parts) / pairs
    if size <= shape.size * _ALIKE or others > _MOST_COUNTED:
        return replace(shape, size=size)
    counts = np.zeros(others, np.int64)
    for part in parts:
        counts += np.bincount(part.rids, minlength=others)
    return replace(shape, size=size, replication=float(np.square(counts, dtype=np.float64).sum()) / pairs)


def _sizes(able: Sequence[Encoding], parts: Sequence[Csr], others: int) -> dict[str, float]:
    """How many bytes the parts have in each way."""
    return {one.name: float(sum(len(to_bytes(one.encode(part, others))) for part in parts)) for one in able}


def _estimated(able: Sequence[Encoding], parts: Sequence[Csr], others: int) -> dict[str, float]:
    """How many bytes a sample has in each way, without what is written of each part however little is in it."""
    sizes = _net([one for one in able if not one.shares], sampled(parts, *_SAMPLE), others)
    for one in (each for each in able if each.shares):
        compared = _net([one, ENCODINGS[RidIndex.name]], sampled(parts, *_SHARED_SAMPLE), others)
        sizes[one.name] = sizes[RidIndex.name] * compared[one.name] / compared[RidIndex.name]
    return sizes


def _net(able: Sequence[Encoding], some: Sequence[Csr], others: int) -> dict[str, float]:
    import numpy as np

    nothing = _sizes(able, [Csr(np.zeros(1, np.int64), np.empty(0, np.int64))], others)
    return {name: max(size - len(some) * nothing[name], 1.0) for name, size in _sizes(able, some, others).items()}


def sampled(parts: Sequence[Csr], most: int, count: int, size: int) -> list[Csr]:
    """Rows of at most so many parts, from so many places that are as far from each other in rows and pairs: what is around each place has
    about so many. What is of one part is together, as its rows are written together.

    >>> import numpy as np
    >>> part = Csr(np.array([0, 1, 2, 8]), np.array([5, 4, 0, 1, 2, 3, 4, 5]))
    >>> [(one.indptr.tolist(), one.rids.tolist()) for one in sampled([part], 1, 3, 2)]
    [([0, 1, 4], [5, 0, 1, 2])]
    """
    import numpy as np

    if len(parts) > most:
        parts = [parts[number] for number, _ in _even([len(one.rids) + one.rows for one in parts], most)]
    wanted: dict[int, list[int]] = {}
    for number, place in _even([len(one.rids) + one.rows for one in parts], count):
        wanted.setdefault(number, []).append(place)
    return [_rows_at(parts[number], np.array(found), size) for number, found in wanted.items()]


def _even(lengths: Sequence[int], count: int) -> list[tuple[int, int]]:
    """So many places as far from each other in what is so long: each with the number of what it is in, and how far in it."""
    import numpy as np

    ends = np.cumsum(lengths)
    places = (2 * np.arange(count) + 1) * int(ends[-1]) // (2 * count)
    numbers = np.searchsorted(ends, places, side="right")
    return [(int(one), int(place - ends[one] + lengths[one])) for one, place in zip(numbers, places, strict=True)]


def _rows_at(part: Csr, places: Numbers, size: int) -> Csr:
    """The rows that begin in the same stretches of a part as the rows at these places, the last of each as far as the stretches go."""
    import numpy as np

    begins = part.indptr[:-1] + np.arange(part.rows)
    at = begins[np.searchsorted(begins, places, side="right") - 1] // size
    rows, kept = [], []
    for stretch, times in zip(*np.unique(at, return_counts=True), strict=True):
        first, stop = np.searchsorted(begins, [stretch * size, (stretch + 1) * size], side="left").tolist()
        left = times * size - (begins[first:stop] - begins[first]) - 1
        rows.append(np.arange(first, stop))
        kept.append(np.clip(part.degrees[first:stop], 0, np.maximum(left, 0)))
    chosen, degrees = np.concatenate(rows), np.concatenate(kept)
    indptr = np.concatenate([[0], np.cumsum(degrees)])
    return Csr(indptr, part.rids[np.repeat(part.indptr[chosen] - indptr[:-1], degrees) + np.arange(indptr[-1])])


def _because(one: Encoding, sizes: dict[str, float], slow: Sequence[str]) -> str:
    told, index = one.because, sizes[RidIndex.name]
    if one.name != RidIndex.name and index:
        told += f": {sizes[one.name] / index:.0%} of the size of a rid index"
    return told + "".join(f"; {name} would be smaller, and too slow" for name in slow)


def _in_time(one: Encoding, parts: Sequence[Csr], others: int) -> bool:
    """Whether rows of the part that has the one with the most numbers are read as quickly as they must be."""
    part, index = max(parts, key=lambda each: int(each.degrees.max(initial=0))), ENCODINGS[RidIndex.name]
    rows = _some(part)
    most = max(SLOW, 2 * seconds(index, index.encode(part, others), rows, others))
    return seconds(one, one.encode(part, others), rows, others) <= most


def _some(part: Csr) -> list[Numbers]:
    """The rows with the most numbers, and some others."""
    import numpy as np

    order = np.argsort(part.degrees, kind="stable")
    places = np.linspace(0, len(order) - 1, _ASKED).astype(np.int64) if len(order) else np.empty(0, np.int64)
    return [order[at : at + 1] for at in places]


def seconds(one: Encoding, array: pa.Array, rows: Sequence[Numbers], others: int) -> float:
    """How long the slowest of some answers takes."""
    return max((best(partial(one.of, array, row, others)) for row in rows), default=0.0)


def best(answer: Callable[[], object]) -> float:
    """The seconds that an answer takes; the best of three, since a processor is shared, unless it takes very long."""
    first = _once(answer)
    return first if first > _LONG else min(first, _once(answer), _once(answer))


def _once(answer: Callable[[], object]) -> float:
    started = time.perf_counter()
    answer()
    return time.perf_counter() - started
