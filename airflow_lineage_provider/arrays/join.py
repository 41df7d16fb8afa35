"""The θ-join of boxes with a compressed relation, in place (DSLog, Sec. V.B): a range join, then absolute positions again.

One table answers both directions, exactly. Backward, an output axis on which two input axes hang is split first: `rel_back` as printed is
wrong there. Forward, every end of every interval bounds one output axis (`rel_for` as it must be: the largest of what begins, the least of
what ends).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from airflow_lineage_provider.arrays.boxes import Boxes, cells_of, flat, joined, nothing, split
from airflow_lineage_provider.arrays.grouping import Ints, ranges
from airflow_lineage_provider.arrays.relation import Relation, shared
from airflow_lineage_provider.arrays.side import Side

_AT_ONCE = 2**21
"""How many candidates are looked at together."""
NUMBERED = 1024
"""So few cells are looked up one by one."""
_FEW, _SCANNED = 64, 2**14
"""So few candidates are looked at without an index, where there is one and where there is none."""


def backward(relation: Relation, boxes: Boxes) -> Boxes:
    """The input cells behind output cells; the boxes may overlap."""
    if are_numbered(relation, int(boxes.volumes().sum())):
        return _looked_up(relation, boxes)
    parts = []
    for row, asked in meeting(boxes, relation.out_side):
        if not len(row):
            continue
        here = relation.take(row)
        parts.append(_behind(here, common(here.out_boxes, boxes.take(asked))))
    return joined(parts or [nothing(len(relation.in_shape))])


def are_numbered(relation: Relation, cells: int) -> bool:
    """Whether so few output cells are asked about, of a relation that is known to have a row for each in their order, that their numbers
    are those of the rows: then nobody looks for these."""
    if not vars(relation).get("is_whole", False) or cells > NUMBERED or len(relation) <= NUMBERED:
        return False
    return are_in_order(relation) or (relation.pairs is not None and relation.pairs[0].outputs is None)


def are_in_order(relation: Relation) -> bool:
    """Whether it has many rows that have yet to be read, and only those of the cells that are asked about need be."""
    return len(relation) > NUMBERED and "pairs" not in vars(relation) and relation.in_order is not None


def _looked_up(relation: Relation, boxes: Boxes) -> Boxes:
    cells = flat(cells_of(boxes.lo, boxes.hi)[0], relation.out_shape)
    if are_in_order(relation):
        assert relation.in_order is not None
        found = relation.in_order.positions(cells)
    else:
        assert relation.pairs is not None
        behind = relation.pairs[0].inputs.take(cells)
        found = np.array(np.unravel_index(behind, relation.in_shape), dtype=np.int64).reshape(len(relation.in_shape), len(cells))
    return Boxes(found, found)


def _behind(relation: Relation, where: Boxes) -> Boxes:
    """The input cells of rows whose output boxes are cut down to ``where``.

    Ends that move by no more than one a step leave no gap, so an axis by itself is an interval.
    """
    for axis in relation.shared_axes:
        together = shared(relation, axis)
        if together.any():
            where, owner = split(where, axis, together)
            relation = relation.take(owner)
    return relation.inputs(where)


def forward(relation: Relation, boxes: Boxes) -> Boxes:
    """The output cells that input cells stand behind; the boxes may overlap."""
    parts = []
    for row, asked in meeting(boxes, relation.in_side):
        if not len(row):
            continue
        found = before(relation.take(row), boxes.take(asked))
        full = np.asarray((found.lo <= found.hi).all(axis=0))
        parts.append(found if full.all() else found.take(full))
    return joined(parts or [nothing(len(relation.out_shape))])


def before(relation: Relation, asked: Boxes) -> Boxes:
    """Of each row, the box of outputs whose intervals meet the box that is asked about; it may be empty."""
    found = Boxes(relation.out_lo.copy(), relation.out_hi.copy())
    for one in relation.motions:
        # ±b + offset ≤ bound, or ≥ where the interval's end is concerned.
        offset, bound = (relation.in_lo, asked.hi) if one.of_lo else (relation.in_hi, asked.lo)
        rows = slice(None) if one.everywhere else np.flatnonzero(relation.rows_of(one))
        edge = bound[one.own, rows] - offset[one.own, rows]
        if one.grows == one.of_lo:
            found.hi[one.axis, rows] = np.minimum(found.hi[one.axis, rows], edge if one.grows else -edge)
        else:
            found.lo[one.axis, rows] = np.maximum(found.lo[one.axis, rows], edge if one.grows else -edge)
    return found


def common(one: Boxes, other: Boxes) -> Boxes:
    """Of each two, the cells that both have; empty where there is none."""
    return Boxes(np.maximum(one.lo, other.lo), np.minimum(one.hi, other.hi))


def is_scanned(boxes: int, side: Side) -> bool:
    """Whether so many boxes are held against all rows, as that costs less than an index that is not there yet."""
    return boxes * len(side) <= (_SCANNED if side.index_rows else _FEW)


def candidates(boxes: Boxes, side: Side) -> tuple[int, int]:
    """How many (row, box) have to be looked at, along the axis where they are fewest; and that axis, −1 where there is none."""
    if is_scanned(len(boxes), side):
        return len(_scanned(boxes, side)[0]), -1
    counts = []
    for axis, one in enumerate(side.index):
        first, end = one.between(boxes.lo[axis], boxes.hi[axis])
        counts.append((int((end - first).sum()), axis))
    return min(counts, default=(len(side) * len(boxes), -1))


def meeting(boxes: Boxes, side: Side) -> Iterator[tuple[Ints, Ints]]:
    """Which rows, by one of their sides, meet which boxes: positions of rows, and of boxes, part by part (the range join)."""
    axis = -1 if is_scanned(len(boxes), side) else candidates(boxes, side)[1]
    if axis < 0:
        yield _scanned(boxes, side)
        return
    index = side.index[axis]
    first, end = index.between(boxes.lo[axis], boxes.hi[axis])
    for part in _parts(end - first):
        at, owner = ranges(first[part], end[part])
        yield _those_that_meet(boxes, side, index.order[at], owner + part.start)


def _scanned(boxes: Boxes, side: Side) -> tuple[Ints, Ints]:
    """The rows and the boxes that meet, all held against all: whoever looks what that costs does it with these boxes then."""
    if side.held_against is not None and side.held_against[0] is boxes:
        return side.held_against[1:]
    meets = np.ones((len(boxes), len(side)), dtype=np.bool_)
    for lo, hi, own_lo, own_hi in zip(boxes.lo, boxes.hi, side.boxes.lo, side.boxes.hi, strict=True):
        meets &= own_lo <= hi[:, None]
        meets &= own_hi >= lo[:, None]
    asked, row = np.nonzero(meets)
    side.held_against = boxes, row, asked
    return row, asked


def _those_that_meet(boxes: Boxes, side: Side, row: Ints, asked: Ints) -> tuple[Ints, Ints]:
    meets = np.ones(len(row), dtype=np.bool_)
    for lo, hi, own_lo, own_hi in zip(boxes.lo, boxes.hi, side.boxes.lo, side.boxes.hi, strict=True):
        meets &= own_lo[row] <= hi[asked]
        meets &= own_hi[row] >= lo[asked]
    return (row, asked) if meets.all() else (row[meets], asked[meets])


def _parts(counts: Ints) -> Iterator[slice]:
    """Consecutive boxes with about `_AT_ONCE` candidates together."""
    edges = np.searchsorted(np.cumsum(counts), np.arange(0, int(counts.sum()) + 1, _AT_ONCE), side="left")
    bounds = np.unique(np.concatenate([[0], edges, [len(counts)]]))
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield slice(begin, end)
