"""The shape of lineage: what tells how it is best written (forward lineage, Sec. 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_lineage_provider.capture.csr import Csr

_NEAR = 3


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
    there[edges.rids] = True
    near = np.zeros(pairs + 1, bool)
    near[1:-1] = np.diff(edges.rids) < _NEAR
    near[edges.indptr[(edges.indptr > 0) & (edges.indptr < pairs)]] = False  # another row's numbers begin there
    return Shape(
        rows=edges.rows,
        size=pairs / edges.rows,
        replication=pairs / int(there.sum()),
        clustering=float((near[:-1] | near[1:]).mean()),
    )
