"""A group-by as two maps: from a row to its bar, and from a bar to its rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers: TypeAlias = npt.NDArray[np.int64]
    Mask: TypeAlias = npt.NDArray[np.bool_]

# More of a table's rows than this are found faster by looking at every row's code than in the index of their bars.
_SCANNED = 0.25

MOST_BARS = 100_000
"""Of one view that is drawn, or whose bars are the rows of a run's result."""


@dataclass(frozen=True, eq=False)
class Bars:
    """The bars of one view. ``codes`` has the bar of each row (the forward map), of the smallest unsigned type; ``totals`` how many rows
    each bar has."""

    codes: npt.NDArray[Any]
    totals: Numbers

    @classmethod
    def of(cls, codes: npt.NDArray[Any], bars: int) -> Bars:
        """The bars of rows that have these codes, each from 0 to below ``bars``."""
        import numpy as np

        return cls(codes.astype(smallest(bars), copy=False), np.bincount(codes, minlength=bars).astype(np.int64))

    @property
    def number(self) -> int:
        """How many bars there are."""
        return len(self.totals)

    @property
    def nbytes(self) -> int:
        """How much memory these take, with the index of the bars' rows that a brush makes."""
        return self.codes.nbytes + 2 * self.totals.nbytes + len(self.codes) * int(smallest(len(self.codes)).itemsize)

    @cached_property
    def ends(self) -> Numbers:
        """Where the rows of each bar begin, and those of the last one end, in ``by_bar``."""
        import numpy as np

        return np.concatenate([[0], np.cumsum(self.totals)]).astype(np.int64)

    @cached_property
    def by_bar(self) -> npt.NDArray[Any]:
        """The rows in the order of their bars: with ``ends`` the backward map. Made when a brush first needs it."""
        import numpy as np

        # The sort of small unsigned numbers is a radix sort: one pass over the rows for each byte.
        return np.argsort(self.codes, kind="stable").astype(smallest(len(self.codes)))

    def count(self, chosen: Mask) -> int:
        """How many rows these bars have."""
        return int(self.totals[chosen].sum())

    def rows(self, chosen: Mask) -> npt.NDArray[Any]:
        """The rows of these bars, each once."""
        import numpy as np

        if self.count(chosen) > _SCANNED * len(self.codes):
            return np.flatnonzero(chosen[self.codes])
        edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]])))
        # Neighbours are one piece.
        pieces = [self.by_bar[self.ends[first] : self.ends[last]] for first, last in edges.reshape(-1, 2)]
        return np.concatenate(pieces) if pieces else self.by_bar[:0]

    def histogram(self, rows: npt.NDArray[Any]) -> Numbers:
        """How many of these rows are in each bar."""
        import numpy as np

        return np.bincount(self.codes[rows], minlength=self.number).astype(np.int64)


def smallest(values: int) -> Any:
    """The smallest unsigned type of numpy that has the numbers from 0 to below ``values``."""
    import numpy as np

    return np.min_scalar_type(max(values - 1, 0))
