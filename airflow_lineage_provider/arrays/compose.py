"""Two relations after one another as one, in place: what a cell was made from, through the array between (DSLog, Sec. V, for all cells).

Exact, and again of rows whose ends move by no more than one. Composing and then asking is asking hop by hop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from airflow_lineage_provider.arrays.boxes import Boxes, joined, split
from airflow_lineage_provider.arrays.compress import concatenated, merge, standing
from airflow_lineage_provider.arrays.grouping import Bools, Ints, chosen
from airflow_lineage_provider.arrays.join import before, common, meeting
from airflow_lineage_provider.arrays.relation import Moves, Relation, extent, shared
from airflow_lineage_provider.errors import InvalidRelation, TooManyCells
from airflow_lineage_provider.settings import cell_limit


def compose(outer: Relation, inner: Relation, *, merged: bool = True) -> Relation:
    """The relation between the output of ``outer`` and the input of ``inner``, through the array that one reads and the other makes.

    :param merged: whether rows are merged that can be: of further relations that follow, once is enough.
    :raises InvalidRelation: it is not the same array: the shapes differ.
    :raises TooManyCells: it would have more rows than `settings.cell_limit`.

    >>> from airflow_lineage_provider.arrays import rules
    >>> column_sums, transposed = rules.reduction((3, 2), 0), rules.einsum("ij->ji", (2, 3))[0]
    >>> found = compose(column_sums, transposed)
    >>> found.in_shape, found.lo_moves.tolist(), found.in_hi.tolist()
    ((2, 3), [[1], [0]], [[0], [2]])
    """
    if outer.in_shape != inner.out_shape:
        raise InvalidRelation(f"relations over arrays of shapes {outer.in_shape} and {inner.out_shape} do not follow one another")
    if inner.is_identity:
        return merge(outer) if merged else outer
    inner = _apart(inner)
    parts, rows = [_none(outer, inner)], 0
    for outer_row, inner_row in meeting(inner.out_boxes, outer.in_side):
        one, other = outer.take(outer_row), inner.take(inner_row)
        where = before(one, other.out_boxes)
        full = np.flatnonzero((where.lo <= where.hi).all(axis=0))
        parts.append(_Joined.of(one.take(full), other.take(full), where.take(full)).relation())
        rows += len(parts[-1])
        if rows > cell_limit():
            raise TooManyCells(f"two relations as one have more than {cell_limit():,} rows (AIRFLOW_LINEAGE_CELL_LIMIT); ask hop by hop")
    found = concatenated(parts[1:] or parts)
    return merge(found) if merged else found


def restrict(relation: Relation, boxes: Boxes) -> Relation:
    """The pairs of a relation whose output cells are in one of the boxes, of which no two overlap."""
    parts = [relation.take(np.zeros(0, dtype=np.int64))]
    for row, asked in meeting(boxes, relation.out_side):
        here = relation.take(row)
        left = common(here.out_boxes, boxes.take(asked))
        parts.append(replace(here, out_lo=left.lo, out_hi=left.hi))
    return concatenated(parts)


def _apart(relation: Relation) -> Relation:
    """With an output axis on which two input axes hang cut into its positions: behind an interval of it they would be no box."""
    for axis in range(len(relation.out_shape)):
        together = shared(relation, axis)
        if together.any():
            pieces, owner = split(relation.out_boxes, axis, together)
            relation = standing(replace(relation.take(owner), out_lo=pieces.lo, out_hi=pieces.hi), axis)
    return relation


def _none(outer: Relation, inner: Relation) -> Relation:
    nothing, still = np.zeros((2, len(outer.out_shape), 0), dtype=np.int64), np.zeros((2, len(inner.in_shape), 0), dtype=np.int8)
    return Relation(outer.out_shape, inner.in_shape, *nothing, *still.astype(np.int64), *still)


@dataclass(frozen=True)
class _Ends:
    """One end of the intervals of positions in the array between: offsets and moves, (axes, rows), as of a `Relation`."""

    offset: Ints
    moves: Moves

    def take(self, rows: Ints) -> _Ends:
        return _Ends(*chosen((self.offset, self.moves), rows))


@dataclass(frozen=True)
class _Joined:
    """Pairs of a row of either relation, with the output cells and the cells between where they meet."""

    out_shape: tuple[int, ...]
    inner: Relation
    where: Boxes
    lo: _Ends
    hi: _Ends

    @classmethod
    def of(cls, outer: Relation, inner: Relation, where: Boxes) -> _Joined:
        """The intervals between are cut to the box of the inner row: where it cuts only for some outputs, the row is cut, too."""
        found = cls(outer.out_shape, inner, where, _Ends(outer.in_lo, outer.lo_moves), _Ends(outer.in_hi, outer.hi_moves))
        for axis in range(len(outer.in_shape)):
            found = found._cut(axis, of_lo=True)._cut(axis, of_lo=False)
        return found

    def _cut(self, axis: int, *, of_lo: bool) -> _Joined:
        """Two pieces: of outputs whose interval ends within the box its end moves on, of the others it stands at the box's."""
        ends, bound = (self.lo, self.inner.out_lo[axis]) if of_lo else (self.hi, self.inner.out_hi[axis])
        sign = 1 if of_lo else -1
        least, most = extent(ends.offset[[axis]], ends.moves[[axis]], self.where)
        if (sign * ((least if of_lo else most)[0] - bound) >= 0).all():
            return self
        if not ends.moves[axis].any():
            return self._clipped(axis, np.maximum if of_lo else np.minimum, of_lo=of_lo)
        within, beyond = (Boxes(self.where.lo.copy(), self.where.hi.copy()) for _ in range(2))
        still = ends.moves[axis] == 0
        inside = sign * (ends.offset[axis] - bound) >= 0
        for out in range(len(self.out_shape)):
            for direction in (1, -1):
                rows = np.flatnonzero(ends.moves[axis] == direction * (out + 1))
                # offset + direction · b is at the bound where b is at the edge.
                edge = direction * (bound[rows] - ends.offset[axis, rows])
                if direction == sign:
                    within.lo[out, rows] = np.maximum(within.lo[out, rows], edge)
                    beyond.hi[out, rows] = np.minimum(beyond.hi[out, rows], edge - 1)
                else:
                    within.hi[out, rows] = np.minimum(within.hi[out, rows], edge)
                    beyond.lo[out, rows] = np.maximum(beyond.lo[out, rows], edge + 1)
        moving = np.flatnonzero(_full(within) & (~still | inside))
        standing_still = np.flatnonzero(_full(beyond) & (~still | ~inside))
        return self._pieces(within, moving, beyond, standing_still, axis, of_lo=of_lo)

    def _clipped(self, axis: int, inner: np.ufunc, *, of_lo: bool) -> _Joined:
        """Where no end moves, none has to be cut."""
        ends, bound = (self.lo, self.inner.out_lo[axis]) if of_lo else (self.hi, self.inner.out_hi[axis])
        offset = ends.offset.copy()
        offset[axis] = inner(offset[axis], bound)
        clipped = _Ends(offset, ends.moves)
        return replace(self, lo=clipped) if of_lo else replace(self, hi=clipped)

    def _pieces(self, within: Boxes, moving: Ints, beyond: Boxes, standing_still: Ints, axis: int, *, of_lo: bool) -> _Joined:
        rows = np.concatenate([moving, standing_still])
        where = joined([within.take(moving), beyond.take(standing_still)])
        inner, first, last = self.inner.take(rows), self.lo.take(rows), self.hi.take(rows)
        ends, bound = (first, inner.out_lo) if of_lo else (last, inner.out_hi)
        ends.offset[axis, len(moving) :] = bound[axis, len(moving) :]
        ends.moves[axis, len(moving) :] = 0
        return _Joined(self.out_shape, inner, where, first, last)

    def relation(self) -> Relation:
        """The rows as a relation: an end that moves with a position between moves with what that one's end moves with."""
        lo = self._through(self.inner.in_lo, self.inner.lo_moves, ahead=self.lo, against=self.hi)
        hi = self._through(self.inner.in_hi, self.inner.hi_moves, ahead=self.hi, against=self.lo)
        return Relation(self.out_shape, self.inner.in_shape, self.where.lo, self.where.hi, lo.offset, hi.offset, lo.moves, hi.moves)

    def _through(self, offset: Ints, moves: Moves, *, ahead: _Ends, against: _Ends) -> _Ends:
        offset, found = offset.copy(), np.zeros_like(moves)
        for sign, ends in _signs(ahead, against):
            for axis in range(len(self.inner.out_shape)):
                here = moves == sign * (axis + 1)
                offset += here * sign * ends.offset[axis]
                found += (here * sign * ends.moves[axis]).astype(np.int8)
        return _Ends(offset, found)


def _signs(ahead: _Ends, against: _Ends) -> Iterator[tuple[int, _Ends]]:
    yield 1, ahead
    yield -1, against


def _full(boxes: Boxes) -> Bools:
    return np.asarray((boxes.lo <= boxes.hi).all(axis=0))
