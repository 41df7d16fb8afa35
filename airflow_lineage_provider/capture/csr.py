"""Edges between two sets of numbered rows, as arrays: for each row of the one the rows of the other (compressed sparse rows).

It is the *rid index* of the paper on lineage indexes (Smoke, Sec. 3.1), built by one sort when all edges are known, so that no array has to
grow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from airflow_lineage_provider.tracing.numbers import in_order_of_both

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers: TypeAlias = npt.NDArray[np.int64]


class Edges(NamedTuple):
    """Pairs: the place of a row among those that were asked about, and the number of a row on the other side."""

    asked: Numbers
    rid: Numbers


@dataclass(frozen=True, eq=False)
class Csr:
    """The rows behind row i are ``rids[indptr[i]:indptr[i + 1]]``, ascending and each once."""

    indptr: Numbers
    rids: Numbers

    @property
    def rows(self) -> int:
        """How many rows may be asked about."""
        return len(self.indptr) - 1

    @property
    def degrees(self) -> Numbers:
        """How many rows stand behind each."""
        import numpy as np

        return np.diff(self.indptr)

    def of(self, asked: Numbers) -> Edges:
        """The edges of these rows, in their order."""
        import numpy as np

        starts, counts = self.indptr[asked], self.indptr[asked + 1] - self.indptr[asked]
        place = np.repeat(np.arange(len(asked)), counts)
        within = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
        return Edges(place, self.rids[starts[place] + within].astype(np.int64))

    def part(self, first: int, rows: int) -> Csr:
        """Some of the rows, counted from 0."""
        indptr = self.indptr[first : first + rows + 1]
        return Csr(indptr - indptr[0], self.rids[indptr[0] : indptr[-1]])

    def inverse(self, rows: int) -> Csr:
        """The same edges from the other side, which has so many rows."""
        import numpy as np

        return csr(Edges(self.rids, np.repeat(np.arange(self.rows), self.degrees)), rows, self.rows)


def composed(first: Csr, second: Csr) -> Csr:
    """The rows behind the rows that are behind each, each once.

    >>> import numpy as np
    >>> made = composed(Csr(np.array([0, 2, 2]), np.array([0, 1])), Csr(np.array([0, 2, 3]), np.array([4, 5, 5])))
    >>> made.indptr.tolist(), made.rids.tolist()
    ([0, 2, 2], [4, 5])
    """
    import numpy as np

    further = second.of(first.rids)
    rows = np.repeat(np.arange(first.rows), first.degrees)
    return csr(Edges(rows[further.asked], further.rid), first.rows, int(second.rids.max(initial=-1)) + 1)


def csr(edges: Edges, rows: int, others: int) -> Csr:
    """Edges in any order, some perhaps several times, from ``rows`` rows to ``others`` rows.

    >>> import numpy as np
    >>> made = csr(Edges(np.array([2, 0, 2, 2]), np.array([5, 1, 3, 5])), 3, 6)
    >>> made.indptr.tolist(), made.rids.tolist()
    ([0, 1, 1, 3], [1, 3, 5])
    """
    import numpy as np

    if rows * max(others, 1) < 1 << 63:
        # One number for each edge: sorted much faster than pairs are.
        both = np.sort(edges.asked * others + edges.rid)
        both = both[np.concatenate([[True], both[1:] != both[:-1]])] if len(both) else both
        asked, rids = np.divmod(both, max(others, 1))
    else:
        order = in_order_of_both(edges.asked, edges.rid)
        asked, rids = edges.asked[order], edges.rid[order]
        new = np.ones(len(asked), bool)
        new[1:] = (asked[1:] != asked[:-1]) | (rids[1:] != rids[:-1])
        asked, rids = asked[new], rids[new]
    counts = np.bincount(asked, minlength=rows) if len(asked) else np.zeros(rows, np.int64)
    return Csr(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), rids.astype(np.int64))
