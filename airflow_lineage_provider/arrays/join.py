"""The θ-join of boxes with a compressed relation, in place (DSLog, Sec. V.B): a range join, then absolute positions again.

One table answers both directions, exactly. Backward, an output axis on which two input axes hang is split first: `rel_back` as printed is
wrong there. Forward, every end of every interval bounds one output axis (`rel_for` as it must be: the largest of what begins, the least of
what ends).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from airflow_lineage_provider.arrays.boxes import Boxes, joined, nothing, split
from airflow_lineage_provider.arrays.grouping import IntervalIndex, Ints, ranges
from airflow_lineage_provider.arrays.relation import Relation, extent, shared

_AT_ONCE = 2**21
"""How many candidates are looked at together."""


def backward(relation: Relation, boxes: Boxes) -> Boxes:
    """The input cells behind output cells; the boxes may overlap."""
    parts = []
    for row, asked in meeting(boxes, relation.out_boxes, relation.out_index):
        here = relation.take(row)
        parts.append(_behind(here, common(here.out_boxes, boxes.take(asked))))
    return joined([nothing(len(relation.in_shape)), *parts])


def _behind(relation: Relation, where: Boxes) -> Boxes:
    """The input cells of rows whose output boxes are cut down to ``where``.

    Ends that move by no more than one a step leave no gap, so an axis by itself is an interval.
    """
    for axis in range(where.rank):
        together = shared(relation, axis)
        if together.any():
            where, owner = split(where, axis, together)
            relation = relation.take(owner)
    least, _ = extent(relation.in_lo, relation.lo_moves, where)
    _, most = extent(relation.in_hi, relation.hi_moves, where)
    return Boxes(least, most)


def forward(relation: Relation, boxes: Boxes) -> Boxes:
    """The output cells that input cells stand behind; the boxes may overlap."""
    parts = []
    for row, asked in meeting(boxes, relation.in_boxes, relation.in_index):
        found = before(relation.take(row), boxes.take(asked))
        parts.append(found.take(np.flatnonzero((found.lo <= found.hi).all(axis=0))))
    return joined([nothing(len(relation.out_shape)), *parts])


def before(relation: Relation, asked: Boxes) -> Boxes:
    """Of each row, the box of outputs whose intervals meet the box that is asked about; it may be empty."""
    found = Boxes(relation.out_lo.copy(), relation.out_hi.copy())
    for own in range(asked.rank):
        ends = (relation.lo_moves, relation.in_lo, asked.hi, 1), (relation.hi_moves, relation.in_hi, asked.lo, -1)
        for moves, offset, bound, sign in ends:
            for axis in range(found.rank):
                for direction in (1, -1):
                    rows = np.flatnonzero(moves[own] == direction * (axis + 1))
                    # direction · b + offset ≤ bound, or ≥ where the interval's end is concerned (sign −1).
                    edge = direction * (bound[own, rows] - offset[own, rows])
                    if direction == sign:
                        found.hi[axis, rows] = np.minimum(found.hi[axis, rows], edge)
                    else:
                        found.lo[axis, rows] = np.maximum(found.lo[axis, rows], edge)
    return found


def common(one: Boxes, other: Boxes) -> Boxes:
    """Of each two, the cells that both have; empty where there is none."""
    return Boxes(np.maximum(one.lo, other.lo), np.minimum(one.hi, other.hi))


def candidates(boxes: Boxes, index: tuple[IntervalIndex, ...], rows: int) -> tuple[int, int]:
    """How many (row, box) have to be looked at along the axis where they are fewest; and that axis, −1 where there is none."""
    counts = []
    for axis, one in enumerate(index):
        first, end = one.between(boxes.lo[axis], boxes.hi[axis])
        counts.append((int((end - first).sum()), axis))
    return min(counts, default=(rows * len(boxes), -1))


def meeting(boxes: Boxes, rows: Boxes, index: tuple[IntervalIndex, ...]) -> Iterator[tuple[Ints, Ints]]:
    """Which rows meet which boxes: positions of rows, and of boxes, part by part (the range join)."""
    _, axis = candidates(boxes, index, len(rows))
    if axis < 0:
        yield ranges(np.zeros(len(boxes), dtype=np.int64), np.full(len(boxes), len(rows)))
        return
    first, end = index[axis].between(boxes.lo[axis], boxes.hi[axis])
    for part in _parts(end - first):
        at, owner = ranges(first[part], end[part])
        row, asked = index[axis].order[at], owner + part.start
        meets = np.ones(len(row), dtype=np.bool_)
        for other in range(boxes.rank):
            meets &= (rows.lo[other][row] <= boxes.hi[other][asked]) & (rows.hi[other][row] >= boxes.lo[other][asked])
        yield row[meets], asked[meets]


def _parts(counts: Ints) -> Iterator[slice]:
    """Consecutive boxes with about `_AT_ONCE` candidates together."""
    edges = np.searchsorted(np.cumsum(counts), np.arange(0, int(counts.sum()) + 1, _AT_ONCE), side="left")
    bounds = np.unique(np.concatenate([[0], edges, [len(counts)]]))
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield slice(begin, end)
