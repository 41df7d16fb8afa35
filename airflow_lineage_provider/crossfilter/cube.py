"""How many rows each pair of bars of two views has: what a large brush on one view is counted by, in place of its rows.

Made when a brush first has so many rows that looking at them takes long, beside what is asked meanwhile: nothing waits for it, and views
that nobody brushes so have none (the decomposition of a cube in pairs is that of imMens; Smoke, Sec. 6.5.1).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.crossfilter.bars import Bars, smallest

if TYPE_CHECKING:
    import numpy.typing as npt

    from airflow_lineage_provider.crossfilter.bars import Mask, Numbers

LARGE = 2_000_000
"""Rows: looking at fewer takes a few milliseconds."""
MOST_CELLS = 1 << 24
"""Pairs of bars, of all views: from the views with the fewest on; a brush on a view of which some are not counted looks at rows."""
_BLOCK = 1 << 18
"""Rows that are counted at once, while nobody else's Python runs."""


class PairCounts:
    """The counts of pairs of bars, for each pair of views that has not too many; ``views`` by name, as of `Brushing`."""

    def __init__(self, views: Mapping[str, Bars]) -> None:
        self._views = views
        self._pairs = _of_few(views)
        self._made: dict[tuple[str, str], npt.NDArray[Any]] = {}
        self._begun = threading.Lock()

    @property
    def nbytes(self) -> int:
        """How much memory it takes, where it is made."""
        rows = len(next(iter(self._views.values())).codes) if self._views else 0
        return sum(self._pairs.values()) * int(smallest(rows + 1).itemsize) if rows > LARGE else 0

    def begin(self) -> None:
        """Have it made in a thread of its own, once."""
        if self._begun.acquire(blocking=False):
            threading.Thread(target=self.make, name="pairs of bars", daemon=True).start()

    def make(self) -> None:
        """Make it now."""
        for pair in self._pairs:
            self._made[pair] = _counted(*(self._views[name] for name in pair))

    def cost(self, name: str, chosen: Mask) -> float:
        """How many counts are looked at for a brush on one view; infinite where some are not there."""
        others = [other for other in self._views if other != name]
        if not others or not all(self._has(name, other) for other in others):
            return float("inf")
        bars = int(chosen.sum())
        return min(bars, len(chosen) - bars) * sum(self._views[other].number for other in others)

    def _has(self, name: str, other: str) -> bool:
        return (name, other) in self._made or (other, name) in self._made

    def under(self, name: str, chosen: Mask) -> dict[str, Numbers]:
        """The counts of the other views under a brush on one; few bars are added up, of many those that are left out are taken away."""
        is_most = 2 * int(chosen.sum()) > len(chosen)
        found = {}
        for other, view in self._views.items():
            if other != name:
                summed = self._sums(name, other, ~chosen if is_most else chosen)
                found[other] = view.totals - summed if is_most else summed
        return found

    def _sums(self, name: str, other: str, bars: Mask) -> Numbers:
        import numpy as np

        if (name, other) in self._made:
            return np.asarray(self._made[name, other][bars].sum(axis=0, dtype=np.int64))
        return np.asarray(self._made[other, name][:, bars].sum(axis=1, dtype=np.int64))


def _of_few(views: Mapping[str, Bars]) -> dict[tuple[str, str], int]:
    """The pairs of views that are counted, each with the number of its pairs of bars, the fewest first."""
    cells = {pair: views[pair[0]].number * views[pair[1]].number for pair in combinations(views, 2)}
    found, left = {}, MOST_CELLS
    for pair in sorted(cells, key=lambda one: cells[one]):
        left -= cells[pair]
        if left < 0:
            break
        found[pair] = cells[pair]
    return found


def _counted(one: Bars, other: Bars) -> npt.NDArray[Any]:
    """The rows of each pair of bars. (No block has fewer rows than there are pairs: adding the pairs up would take longer than the
    rows.)"""
    import numpy as np

    cells = one.number * other.number
    found, block = np.zeros(cells, smallest(len(one.codes) + 1)), max(_BLOCK, cells)
    for first in range(0, len(one.codes), block):
        at = one.codes[first : first + block].astype(np.int64) * other.number + other.codes[first : first + block]
        found += np.bincount(at, minlength=cells).astype(found.dtype)
    return found.reshape(one.number, other.number)
