"""Lineage from end to end, kept beside the indexes that it is composed of where composing them takes too long (Smoke, Sec. 3.3).

What stands behind rows of the result is looked up by way of sets of rows, and of other segments that are stored. A row that goes back to
very many of their rows is slow to answer so, though few source rows may stand behind it, or though one index could say it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from airflow_lineage_provider.capture.choosing import SLOW, best, choose, seconds
from airflow_lineage_provider.capture.csr import Csr, Edges, composed, csr
from airflow_lineage_provider.capture.looking_up import LookedUpLineage, place
from airflow_lineage_provider.capture.shape import shape_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.capture.sets import Pair
    from airflow_lineage_provider.capture.writing import RowSetKey

_FEW = 4_096
"""Looking up a row that so few pairs lead on from is never slow."""
_TIMES = 4
"""From end to end there may be so many times the pairs that there are by the way."""
_QUICKER = 2
"""What is so many times as quick is kept beside what says the same."""
_MOST = 8_000_000
"""So many pairs are put together in memory, at most."""
_RESULT: RowSetKey = ("segment", 0)


class Reach(NamedTuple):
    """For each row of a row set how many pairs lead on from it down to a source leaf: the last of them (``ends``: source rows, each once
    for each way), and all (``way``), which are ``pairs`` in all. They are no whole numbers: of many segments they may be too large for
    these."""

    ends: npt.NDArray[np.float64]
    way: npt.NDArray[np.float64]
    pairs: int

    def further(self, edges: Csr, below: Reach | None) -> Reach:
        """With edges to rows that reach as far as ``below``; None: to the leaf's."""
        if below is None:
            return Reach(self.ends + edges.degrees, self.way + edges.degrees, self.pairs + len(edges.rids))
        if not below.pairs:
            return self
        way = self.way + edges.degrees + _summed(edges, below.way)
        return Reach(self.ends + _summed(edges, below.ends), way, self.pairs + len(edges.rids) + below.pairs)


class SlowLeaf(NamedTuple):
    """A source leaf behind the result, the edges to its rows from end to end, and why these are kept."""

    leaf: int
    edges: Csr
    because: str


@dataclass
class Ends:
    """The edges between row sets, and what they are from end to end. ``rows``: how many a row set has.

    A control leads nowhere: what is on its right side stands behind rows on request alone.
    """

    pairs: Collection[Pair]
    edges_of: Callable[[RowSetKey, RowSetKey], Csr]
    rows: Callable[[RowSetKey], int]

    def between(self, node: RowSetKey, leaf: int) -> Csr:
        """The edges from a row set's rows to the rows of a source leaf behind them, through other segments and sets, too."""
        import numpy as np

        rows, rids = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for to in self._leading(node, leaf):
            edges = self.edges_of(node, to)
            edges = edges if to[0] == "source" else composed(edges, self.between(to, leaf))
            rows.append(np.repeat(np.arange(edges.rows), edges.degrees))
            rids.append(edges.rids)
        return csr(Edges(np.concatenate(rows), np.concatenate(rids)), self.rows(node), self.rows(("source", leaf)))

    def slow(self, lineage: LookedUpLineage, leaves: Collection[int], most: int) -> Iterator[SlowLeaf]:
        """Of these leaves those whose rows behind the result are found more than twice as quickly from end to end, where the row from which
        the most pairs lead on takes more than a millisecond by the ``lineage`` that is written. No leaf has more than ``most`` pairs."""
        import numpy as np

        for leaf, reach in self._reach([one for one in leaves if self._on_the_way(one)]).items():
            longest, many = float(reach.way.max(initial=0.0)), float(reach.ends.sum())
            if not _FEW <= longest <= _MOST or many > min(_TIMES * reach.pairs, most, _MOST):
                continue
            slowest = np.array([reach.way.argmax()], np.int64)
            by_way = best(partial(lineage.rids_behind, slowest, leaf))
            if by_way <= SLOW:
                continue
            edges = self.between(_RESULT, leaf)
            at_once = self._at_once(edges, slowest, leaf)
            if at_once * _QUICKER < by_way:
                others = ", ".join(f"{'sets of ' if of == 'set' else ''}segment {number}" for of, number in self._on_the_way(leaf))
                yield SlowLeaf(leaf, edges, f"from end to end: {by_way * 1000:.2f} ms by way of {others}, {at_once * 1000:.2f} ms so")

    def _at_once(self, edges: Csr, row: Numbers, leaf: int) -> float:
        """Seconds that a row takes as it would be written."""
        import numpy as np

        others = self.rows(("source", leaf))
        part = csr(edges.of(row), 1, others)
        encoding = choose([part], others, shape_of(part, others)).encoding
        return seconds(encoding, encoding.encode(part, others), [np.zeros(1, np.int64)], others)

    def _leading(self, node: RowSetKey, leaf: int) -> list[RowSetKey]:
        """The row sets behind a row set's rows that the leaf's stand behind, or the leaf."""
        found = [to for of, to in self.pairs if of == node and to[0] != "control"]
        return [to for to in found if to == ("source", leaf) or (to[0] != "source" and self._leading(to, leaf))]

    def _on_the_way(self, leaf: int, node: RowSetKey = _RESULT) -> list[RowSetKey]:
        """The row sets between the result and a leaf, each once."""
        own = [to for to in self._leading(node, leaf) if to[0] != "source"]
        return list(dict.fromkeys([*own, *(below for to in own for below in self._on_the_way(leaf, to))]))

    def _reach(self, leaves: Collection[int]) -> dict[int, Reach]:
        """How far the result reaches to each of the leaves. The edges of two row sets are looked at once for all of these."""
        import numpy as np

        known: dict[tuple[RowSetKey, int], Reach] = {}
        nodes = {_RESULT, *(node for leaf in leaves for node in self._on_the_way(leaf))} if leaves else set()
        # What stands behind a row set is known before it.
        for node in sorted(nodes, key=place, reverse=True):
            nothing = Reach(np.zeros(self.rows(node)), np.zeros(self.rows(node)), 0)
            known |= {(node, leaf): nothing for leaf in leaves}
            for to in dict.fromkeys(to for leaf in leaves for to in self._leading(node, leaf)):
                edges = self.edges_of(node, to)
                for leaf in leaves:
                    if to == ("source", leaf):
                        known[node, leaf] = known[node, leaf].further(edges, None)
                    elif (to, leaf) in known:
                        known[node, leaf] = known[node, leaf].further(edges, known[to, leaf])
        return {leaf: known[_RESULT, leaf] for leaf in leaves}


def _summed(edges: Csr, of: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """For each row the sum over the rows behind it.

    >>> import numpy as np
    >>> _summed(Csr(np.array([0, 2, 2, 3]), np.array([0, 2, 1])), np.array([5.0, 7.0, 1.0])).tolist()
    [6.0, 0.0, 7.0]
    """
    import numpy as np

    ends = np.concatenate([[0.0], np.cumsum(of[edges.rids])])
    summed: npt.NDArray[np.float64] = np.diff(ends[edges.indptr])
    return summed
