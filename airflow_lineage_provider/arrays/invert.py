"""The other direction of a relation: input cells are boxes, and output cells move with them (DSLog, Sec. IV.C).

The paper stores a second table for forward queries. One table answers both (`join.forward`); this is for where the other direction has
fewer rows, as `numpy.diag` of a vector has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from airflow_lineage_provider.arrays.boxes import Boxes, split
from airflow_lineage_provider.arrays.compress import concatenated, merge, standing
from airflow_lineage_provider.arrays.grouping import Bools, Ints, chosen
from airflow_lineage_provider.arrays.relation import Moves, Relation, extent, shared


def invert(relation: Relation) -> Relation:
    """The same pairs the other way round: what was the input is the output.

    >>> from airflow_lineage_provider.arrays.compress import compress
    >>> column_sums = compress(np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]]), (2,), (2, 2))
    >>> found = invert(column_sums)
    >>> found.out_hi.tolist(), found.in_lo.tolist(), found.lo_moves.tolist()
    ([[1], [1]], [[0]], [[1]])
    """
    for axis in range(len(relation.out_shape)):
        pieces, owner = split(relation.out_boxes, axis, shared(relation, axis))
        relation = standing(replace(relation.take(owner), out_lo=pieces.lo, out_hi=pieces.hi), axis)
    turned = [_Turned.of(relation)]
    for axis in range(len(relation.in_shape)):
        turned = [piece for one in turned for piece in one.cut(axis)]
    return merge(concatenated([one.inverse() for one in turned]))


@dataclass(frozen=True)
class _Turned:
    """Rows of which no output axis is `shared`, with what is known of their inverse: which input cells are left, and the outputs' ends."""

    relation: Relation
    inputs: Boxes
    offsets: tuple[Ints, Ints]
    moves: tuple[Moves, Moves]

    @classmethod
    def of(cls, relation: Relation) -> _Turned:
        still = np.zeros(relation.out_lo.shape, dtype=np.int8)
        return cls(relation, relation.in_boxes, (relation.out_lo, relation.out_hi), (still, still))

    def cut(self, axis: int) -> list[_Turned]:
        """Up to three pieces along an input axis: up to the interval's last beginning its beginning says which outputs have the cell,
        from its first end on its end does, and where neither does every output has it."""
        relation, lo, hi = self.relation, self.inputs.lo[axis], self.inputs.hi[axis]
        _, last = extent(relation.in_lo, relation.lo_moves, relation.out_boxes)
        first, _ = extent(relation.in_hi, relation.hi_moves, relation.out_boxes)
        after, since = (
            np.where(relation.lo_moves[axis] != 0, last[axis] + 1, lo),
            np.where(relation.hi_moves[axis] != 0, first[axis], hi + 1),
        )
        one, other = np.minimum(after, since), np.maximum(after, since)
        found: list[_Turned] = []
        for begins, ends in ((lo, np.minimum(hi, one - 1)), (np.maximum(lo, one), np.minimum(hi, other - 1)), (np.maximum(lo, other), hi)):
            rows = np.flatnonzero(begins <= ends)
            if len(rows) or not found:
                piece = self._within(rows, axis, begins[rows], ends[rows])
                found.append(piece._bounded(axis, ends[rows] < after[rows], begins[rows] >= since[rows]))
        return found

    def _within(self, rows: Ints, axis: int, lo: Ints, hi: Ints) -> _Turned:
        inputs = self.inputs.take(rows)
        inputs.lo[axis], inputs.hi[axis] = lo, hi
        offsets, moves = (tuple(chosen(both, rows)) for both in (self.offsets, self.moves))
        return _Turned(self.relation.take(rows), inputs, offsets, moves)  # type: ignore[arg-type]

    def _bounded(self, axis: int, by_lo: Bools, by_hi: Bools) -> _Turned:
        """With the outputs' ends where the interval's ends bound them: beginning(b) ≤ a, and a ≤ end(b)."""
        relation = self.relation
        for own, offset, by, sign in (
            (relation.lo_moves[axis], relation.in_lo[axis], by_lo, 1), (relation.hi_moves[axis], relation.in_hi[axis], by_hi, -1),
        ):  # fmt: skip
            for out in range(len(relation.out_shape)):
                for direction in (1, -1):
                    rows = by & (own == direction * (out + 1))
                    # direction · b + offset ≤ a bounds b from above where it moves ahead, else from below; with ≥ the other way round.
                    end = int(direction == sign)
                    self.offsets[end][out, rows] = -direction * offset[rows]
                    self.moves[end][out, rows] = direction * (axis + 1)
        return self

    def inverse(self) -> Relation:
        """The rows the other way round."""
        (lo, hi), (lo_moves, hi_moves) = self.offsets, self.moves
        relation = self.relation
        return Relation(relation.in_shape, relation.out_shape, self.inputs.lo, self.inputs.hi, lo, hi, lo_moves, hi_moves)
