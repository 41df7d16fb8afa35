"""Whether a compressed relation is one between two arrays: side by side, by the least and the largest of what its rows have.

Only where something is wrong all rows are looked at, to name the first.
"""

from __future__ import annotations

import numpy as np

from airflow_lineage_provider.arrays.boxes import Boxes, Shape
from airflow_lineage_provider.arrays.grouping import Bools
from airflow_lineage_provider.arrays.relation import Relation, extent
from airflow_lineage_provider.errors import InvalidRelation


def check_relation(relation: Relation) -> None:
    """Whether every row has output cells of the output, and behind each of them input cells of the input.

    :raises InvalidRelation: naming the row.
    """
    rows = relation.out_lo.shape[-1]
    for name, axes, kind in _COLUMNS:
        column = getattr(relation, name)
        wanted = (len(getattr(relation, axes)), rows)
        if not isinstance(column, np.ndarray) or column.shape != wanted or column.dtype != kind:
            raise InvalidRelation(f"{name} of a compressed relation is an array of {np.dtype(kind)} and shape {wanted}, (axes, rows)")
    if relation.few is not None and all(row.fits(relation.out_shape, relation.in_shape) for row in relation.few):
        return
    check_outputs(relation.out_boxes, relation.out_shape)
    check_inputs(relation)


def check_outputs(boxes: Boxes, shape: Shape) -> None:
    """Whether all are boxes of cells of an output of this shape.

    :raises InvalidRelation: naming the row.
    """
    if not _are_within(boxes, shape):
        wrong = (boxes.lo > boxes.hi) | _outside(boxes, shape)
        _refuse_rows(wrong, f"has no box of cells of the output, of shape {shape}")


def check_inputs(relation: Relation) -> None:
    """Whether behind each cell of the outputs, which are right, there are cells of the input.

    :raises InvalidRelation: naming the row.
    """
    rank = len(relation.out_shape)
    for moves in (relation.lo_moves, relation.hi_moves) if relation.lo_moves is not relation.hi_moves else (relation.lo_moves,):
        if moves.size and not -rank <= moves.min() <= moves.max() <= rank:
            _refuse_rows((moves > rank) | (moves < -rank), f"moves with an axis that an output of shape {relation.out_shape} has not")
    if not _inputs_are_within(relation):
        _refuse_rows(_outside(relation.in_boxes, relation.in_shape), f"has cells beyond the input, of shape {relation.in_shape}")
        _refuse_rows(_gaps(relation), "has nothing behind a cell of its output box: the interval ends before it begins")
        raise InvalidRelation(f"a compressed relation has a row that does not fit the input, of shape {relation.in_shape}")


_COLUMNS = (
    ("out_lo", "out_shape", np.int64), ("out_hi", "out_shape", np.int64), ("in_lo", "in_shape", np.int64), ("in_hi", "in_shape", np.int64),
    ("lo_moves", "in_shape", np.int8), ("hi_moves", "in_shape", np.int8),
)  # fmt: skip


def _are_within(boxes: Boxes, shape: Shape) -> bool:
    """Whether none is empty, or beyond an array of this shape: by the least and the largest of their ends."""
    if not len(boxes):
        return True
    for lo, hi, side in zip(boxes.lo, boxes.hi, shape, strict=True):
        if lo.min() < 0 or hi.max() >= side:
            return False
    return boxes.lo is boxes.hi or bool((boxes.lo <= boxes.hi).all())


def _inputs_are_within(relation: Relation) -> bool:
    """The same of the intervals of inputs, none of which is empty for any output cell: of those that move, and of the others."""
    if not len(relation.moving_rows):
        return _are_within(Boxes(relation.in_lo, relation.in_hi), relation.in_shape)
    if relation.is_moving:
        return _are_within(relation.in_boxes, relation.in_shape) and not _gaps(relation).any()
    moving = relation.of_moving
    if not _are_within(moving.in_boxes, moving.in_shape) or _gaps(moving).any():
        return False
    if _are_within(Boxes(relation.in_lo, relation.in_hi), relation.in_shape):
        return True
    # The offsets of those that move may be anywhere.
    beyond = np.zeros(len(relation), dtype=np.bool_)
    for lo, hi, side in zip(relation.in_lo, relation.in_hi, relation.in_shape, strict=True):
        beyond |= (lo < 0) | (hi >= side)
        if relation.in_lo is not relation.in_hi:
            beyond |= lo > hi
    beyond[relation.moving_rows] = False
    return not beyond.any()


def _outside(boxes: Boxes, shape: Shape) -> Bools:
    sides = np.array(shape, dtype=np.int64).reshape(-1, 1)
    return np.asarray((np.minimum(boxes.lo, boxes.hi) < 0) | (np.maximum(boxes.lo, boxes.hi) >= sides))


def _gaps(relation: Relation) -> Bools:
    """Where an interval is empty for some output cell: its ends come nearest at a corner of the box."""
    if relation.in_lo is relation.in_hi and relation.lo_moves is relation.hi_moves:
        return np.zeros(relation.in_lo.shape, dtype=np.bool_)
    gap = np.asarray(relation.in_lo > relation.in_hi)
    if relation.motions:
        # Ends that move alike are as far apart everywhere.
        apart = np.flatnonzero((relation.lo_moves != relation.hi_moves).any(axis=0))
        if len(apart):
            gap[:, apart] = _moving_gaps(relation.take(apart))
    return gap


def _moving_gaps(relation: Relation) -> Bools:
    _, largest_lo = extent(relation.in_lo, relation.lo_moves, relation.out_boxes)
    least_hi, _ = extent(relation.in_hi, relation.hi_moves, relation.out_boxes)
    together = (np.abs(relation.lo_moves) == np.abs(relation.hi_moves)) & (relation.lo_moves != 0)
    gap = ~together & (largest_lo > least_hi)
    for ends in (relation.out_lo, relation.out_hi):
        lo, _ = extent(relation.in_lo, relation.lo_moves, Boxes(ends, ends))
        hi, _ = extent(relation.in_hi, relation.hi_moves, Boxes(ends, ends))
        gap |= together & (lo > hi)
    return np.asarray(gap)


def _refuse_rows(wrong: Bools, what: str) -> None:
    if wrong.any():
        row = int(np.flatnonzero(wrong.any(axis=0))[0])
        raise InvalidRelation(f"row {row} of {wrong.shape[1]:,} of a compressed relation {what}")
