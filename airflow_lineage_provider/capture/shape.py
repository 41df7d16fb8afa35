"""The shape of lineage: what tells how it is best written (forward lineage, Sec. 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_lineage_provider.capture.csr import Csr

_NEAR = 3
_BLOCK = 1 << 20
"""So many pairs are looked at at once: an array of all of them would be as large as they are."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The shape of one index.

    :ivar rows: how many rows may be asked about (the paper: cardinality). :ivar size: how many rows stand behind one, in the mean.
    :ivar replication: how many rows one row on the other side stands behind, in the mean, of those that stand behind any.
    :ivar clustering: the share of the pairs whose row has a neighbour behind the same row, at most two numbers away.
    """

    rows: int
    size: float
    replication: float
    clustering: float


def shape_of(edges: Csr, others: int) -> Shape:
    """The shape of edges to so many ``others``.

    >>> import numpy as np
    >>> from airflow_lineage_provider.capture.csr import Csr
    >>> shape_of(Csr(np.array([0, 3, 4]), np.array([5, 6, 20, 6])), 21)
    Shape(rows=2, size=2.0, replication=1.3333333333333333, clustering=0.5)
    """
    import numpy as np

    pairs = len(edges.rids)
    if not pairs:
        return Shape(rows=edges.rows, size=0.0, replication=0.0, clustering=0.0)
    there = np.zeros(others, bool)  # marking is much faster than looking for the different ones
    near = 0
    for first in range(0, pairs, _BLOCK):
        stop = min(first + _BLOCK, pairs)
        there[edges.rids[first:stop]] = True
        near += _near(edges, first, stop)
    return Shape(rows=edges.rows, size=pairs / edges.rows, replication=pairs / int(there.sum()), clustering=near / pairs)


def _near(edges: Csr, first: int, stop: int) -> int:
    """Of how many pairs at these places the number is near the one before it, or after it, of the same row."""
    import numpy as np

    begin, end = max(first - 1, 0), min(stop + 1, len(edges.rids))
    near = np.zeros(end - begin + 1, bool)  # at each place whether the number there is near the one before
    near[1:-1] = np.diff(edges.rids[begin:end]) < _NEAR
    starts = edges.indptr[np.searchsorted(edges.indptr, begin, "right") : np.searchsorted(edges.indptr, end, "left")]
    near[starts - begin] = False  # another row's numbers begin there
    own = near[first - begin : stop - begin + 1]
    return int((own[:-1] | own[1:]).sum())
