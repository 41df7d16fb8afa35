"""Edges as a shared, reduced, ordered binary decision diagram over the bits of the row numbers (forward lineage, Sec. 4.2).

A set of numbers is a function of their bits, the most significant first. A node asks for one bit and leads to what remains of the set where
it is 0 and where it is 1; a node that does not depend on its bit is left out, and equal nodes are one, also between sets: what sets have in
common is written once. The diagram is canonical, so that it is built from below, level by level, for all sets at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from airflow_lineage_provider.capture.csr import Edges
from airflow_lineage_provider.capture.encodings.encoding import lists, number_type, turned

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Csr, Numbers
    from airflow_lineage_provider.capture.shape import Shape

_LARGE, _SHARED = 256, 4
"""Smaller sets, and sets that have few rows in common, share too little: a node takes some ten bytes."""
_EVALUATED = 32
"""So many numbers at most are asked of all sets one by one; for more the sets are written out."""


class SharedRoBdd:
    """One diagram for all rows of a part: ``root`` is the node of a row's set, ``nodes`` stand with the first row.

    Node 0 is the empty set, 1 the set that is all; node i stands at ``nodes[i - 2]``, after the nodes that it leads to.
    """

    name: ClassVar[str] = "shared roBDD"
    because: ClassVar[str] = "sets of rows are nested, or share most of their rows"
    plain: ClassVar[bool] = False
    shares: ClassVar[bool] = True

    def holds(self, edges: Csr, others: int) -> bool:
        return others <= 1 << 62

    def promises(self, shape: Shape) -> bool:
        return shape.size >= _LARGE and shape.replication >= _SHARED

    def encode(self, edges: Csr, others: int) -> pa.Array:
        import numpy as np
        import pyarrow as pa

        bits, roots, levels = bits_of(others), *_built(edges, bits_of(others))
        low, high = (np.concatenate([np.empty(0, np.int64), *(one[side] for one in levels)]) for side in (0, 1))
        level = np.repeat(np.arange(bits), [len(one[0]) for one in levels]).astype(np.uint8)
        kind = number_type(len(low) + 2)
        nodes = pa.StructArray.from_arrays(
            [pa.array(level), pa.array(low.astype(kind)), pa.array(high.astype(kind))], ["bit", "low", "high"]
        )
        ends = np.full(edges.rows + 1, len(low))
        ends[0] = 0
        return pa.StructArray.from_arrays([pa.array(roots.astype(kind)), lists(ends if edges.rows else ends[:1], nodes)], ["root", "nodes"])

    def of(self, array: pa.Array, asked: Numbers, others: int) -> Edges:
        import numpy as np

        bit, low, high = _nodes(array)
        node = array.field("root").to_numpy()[asked].astype(np.int64)
        place, prefix = np.arange(len(asked)), np.zeros(len(asked), np.int64)
        for level in range(bits_of(others) - 1, -1, -1):
            place, prefix, node = place[node > 0], prefix[node > 0], node[node > 0]
            own = (node > 1) & (bit[node] == level)
            below = np.stack([np.where(own, low[node], node), np.where(own, high[node], node)], axis=1)
            node, place = below.reshape(-1), np.repeat(place, 2)
            prefix = np.repeat(prefix << 1, 2)
            prefix[1::2] |= 1
        return Edges(place[node > 0], prefix[node > 0])

    def having(self, array: pa.Array, wanted: Numbers, others: int) -> Edges:
        import numpy as np

        if len(wanted) > _EVALUATED:
            return turned(self.of(array, np.arange(len(array)), others), wanted)
        bit, low, high = _nodes(array)
        roots = array.field("root").to_numpy()
        rows = [np.flatnonzero(_evaluated(bit, low, high, int(one), others)[roots]) for one in wanted]
        return Edges(np.repeat(np.arange(len(wanted)), [len(one) for one in rows]), np.concatenate([np.empty(0, np.int64), *rows]))


def bits_of(others: int) -> int:
    """How many bits the numbers of so many rows have.

    >>> [bits_of(rows) for rows in (0, 1, 2, 16, 17)]
    [0, 0, 1, 4, 5]
    """
    return max(others - 1, 0).bit_length()


def _built(edges: Csr, bits: int) -> tuple[Numbers, list[tuple[Numbers, Numbers]]]:
    """The node of each row's set, and by level, from the least significant bit on, the nodes that each node leads to."""
    import numpy as np

    # What is known of sets: for each prefix of numbers that occurs in a set, the node of what remains; in the order of sets and prefixes.
    owner, prefix = np.repeat(np.arange(edges.rows), edges.degrees), edges.rids.astype(np.int64)
    node, known, levels = np.ones(len(prefix), np.int64), 2, []
    for _ in range(bits):
        side, prefix = prefix & 1, prefix >> 1
        new = np.ones(len(prefix), bool)
        new[1:] = (owner[1:] != owner[:-1]) | (prefix[1:] != prefix[:-1])
        group = np.cumsum(new) - 1
        below = np.zeros((2, int(new.sum())), np.int64)
        below[side, group] = node
        owner, prefix = owner[new], prefix[new]
        node, differ = below[0].copy(), below[0] != below[1]
        both, found = np.unique(below[0][differ] << 31 | below[1][differ], return_inverse=True)
        node[differ] = known + found
        known += len(both)
        levels.append((both >> 31, both & ((1 << 31) - 1)))
    roots = np.zeros(edges.rows, np.int64)
    roots[owner] = node
    return roots, levels


def _nodes(array: pa.Array) -> tuple[Numbers, Numbers, Numbers]:
    """Bit, low and high of each node by its number; the first two are ends."""
    import numpy as np

    nodes = array.field("nodes").values
    bit, low, high = (np.concatenate([[0, 0], nodes.field(name).to_numpy().astype(np.int64)]) for name in ("bit", "low", "high"))
    return bit, low, high


def _evaluated(bit: Numbers, low: Numbers, high: Numbers, number: int, others: int) -> Numbers:
    """For each node whether the number, of which it knows the more significant bits to fit, is in it."""
    import numpy as np

    true = np.zeros(len(bit), bool)
    if not 0 <= number < others:
        return true
    true[1] = True
    ends = np.searchsorted(bit[2:], np.arange(bits_of(others) + 1)) + 2
    for level in range(bits_of(others)):
        own = slice(ends[level], ends[level + 1])
        true[own] = true[(high if number >> level & 1 else low)[own]]
    return true
