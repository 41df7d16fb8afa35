"""How an index is best written: told by its shape, and by trying."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from airflow_lineage_provider.capture.encodings import ENCODINGS
from airflow_lineage_provider.capture.encodings.arrays import RidIndex
from airflow_lineage_provider.capture.encodings.written import to_bytes

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Csr, Numbers
    from airflow_lineage_provider.capture.encodings.encoding import Encoding
    from airflow_lineage_provider.capture.shape import Shape

_SLOW = 0.001
"""Seconds that one row's answer may take, out of a part that is in memory."""
_ASKED = 5
_PAIRS = 100_000
"""So many pairs of a part are tried, or those of its first row."""
_ALIKE = 1.05
"""What is larger by no more than this is as good, and the simpler one is taken."""


class Choice(NamedTuple):
    """An encoding, and why it was taken."""

    encoding: Encoding
    because: str


def choose(parts: Sequence[Csr], others: int, shape: Shape) -> Choice:
    """The encoding that can hold all parts, and of those that answer in time is the smallest, as it is written, or all but so.

    Those that the shape speaks for are tried with the beginnings of the first, the middle and the last part. What is no array
    has to give one row's numbers within a millisecond, or twice the time of the rid index where that takes longer.
    """
    sample = [_beginning(parts[at]) for at in sorted({0, len(parts) // 2, len(parts) - 1})] if parts else []
    able = [one for one in ENCODINGS.values() if one.promises(shape) and all(one.holds(part, others) for part in parts)]
    tried = {one.name: [one.encode(part, others) for part in sample] for one in able}
    sizes = {name: sum(len(to_bytes(array)) for array in arrays) for name, arrays in tried.items()}
    slow: list[str] = []
    # From small to large; of those that are about as small as the smallest the first of `ENCODINGS`, which has the simplest first.
    least = _ALIKE * min(sizes.values())
    for one in sorted(able, key=lambda each: max(sizes[each.name], least)):
        if one.plain or _in_time(one, tried[one.name], tried[RidIndex.name], sample, others):
            return Choice(one, _because(one, sizes, slow))
        slow.append(one.name)
    raise AssertionError("a rid index holds everything")


def _beginning(part: Csr) -> Csr:
    import numpy as np

    return part.part(0, max(1, int(np.searchsorted(part.indptr, _PAIRS, side="right")) - 1))


def _because(one: Encoding, sizes: dict[str, int], slow: Sequence[str]) -> str:
    told, index = one.because, sizes[RidIndex.name]
    if one.name != RidIndex.name and index:
        told += f": {sizes[one.name] / index:.0%} of the size of a rid index"
    return told + "".join(f"; {name} would be smaller, and too slow" for name in slow)


def _in_time(one: Encoding, arrays: Sequence[pa.Array], plain: Sequence[pa.Array], sample: Sequence[Csr], others: int) -> bool:
    index = ENCODINGS[RidIndex.name]
    for array, as_index, part in zip(arrays, plain, sample, strict=True):
        rows = _some(part)
        most = max(_SLOW, 2 * _seconds(index, as_index, rows, others))
        if _seconds(one, array, rows, others) > most:
            return False
    return True


def _some(part: Csr) -> list[Numbers]:
    """The rows with the most numbers, and some others."""
    import numpy as np

    order = np.argsort(part.degrees, kind="stable")
    places = np.linspace(0, len(order) - 1, _ASKED).astype(np.int64) if len(order) else np.empty(0, np.int64)
    return [order[at : at + 1] for at in places]


def _seconds(one: Encoding, array: pa.Array, rows: Sequence[Numbers], others: int) -> float:
    """How long the slowest of some answers takes; the best of three, since a processor is shared."""
    return max((min(_once(one, array, row, others) for _ in range(3)) for row in rows), default=0.0)


def _once(one: Encoding, array: pa.Array, row: Numbers, others: int) -> float:
    started = time.perf_counter()
    one.of(array, row, others)
    return time.perf_counter() - started
