"""A hop over bitmaps, for scattered cells, of which a random sort in a path makes thousands of boxes. O(rows + cells).

Few rows go through as slices (`aligned`). Else rows that are one cell on either side are looked up; of others, prefix sums tell which are
met, and an array of differences collects what is behind them.
"""

from __future__ import annotations

import math

import numpy as np

from airflow_lineage_provider.arrays import join
from airflow_lineage_provider.arrays.boxes import Boxes, from_mask, prefix_sums, to_mask, within
from airflow_lineage_provider.arrays.grouping import Bools
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.side import Side


def backward(relation: Relation, mask: Bools) -> Bools:
    """The input cells behind the output cells of a bitmap."""
    found = np.zeros(relation.in_shape, dtype=np.bool_)
    if relation.aligned is not None:
        for row in relation.aligned:
            row.backward(mask, found)
        return found
    points, wide, moving = relation.parted
    if len(points):
        _look_up(points.out_side, points.in_side, mask, found)
    if len(wide):
        found |= to_mask(wide.in_boxes.take(_met(wide.out_boxes, mask)), relation.in_shape)
    if len(moving):
        found |= backward(moving, mask) if moving.aligned else to_mask(join.backward(moving, from_mask(mask)), relation.in_shape)
    return found


def forward(relation: Relation, mask: Bools) -> Bools:
    """The output cells that the input cells of a bitmap stand behind."""
    found = np.zeros(relation.out_shape, dtype=np.bool_)
    if relation.aligned is not None:
        for row in relation.aligned:
            row.forward(mask, found)
        return found
    points, wide, moving = relation.parted
    if len(points):
        _look_up(points.in_side, points.out_side, mask, found)
    if len(wide):
        found |= to_mask(wide.out_boxes.take(_met(wide.in_boxes, mask)), relation.out_shape)
    if len(moving):
        # Of their boxes, which cells they are depends on which are asked about: a join of boxes, if they are no slices.
        found |= forward(moving, mask) if moving.aligned else to_mask(join.forward(moving, from_mask(mask)), relation.out_shape)
    return found


def cost(relation: Relation) -> float:
    """Nanoseconds of a hop, about; the weights are those of numpy's operations, measured."""
    cells = math.prod(relation.in_shape) + math.prod(relation.out_shape)
    least = _HOP + _CELL * cells
    if relation.aligned is not None:
        return least + _SLICE * len(relation)
    points, wide, moving = relation.parted
    least += _POINT * len(points)
    if len(wide) or moving.aligned is None:
        least += _BOXES + _SUMMED * cells + _ROW * len(wide)
    return least + (_ROW if moving.aligned is None else _SLICE) * len(moving)


def least_cost(relation: Relation) -> float:
    """The same, at least, by a look at nothing but the shapes."""
    return _HOP + _CELL * (math.prod(relation.in_shape) + math.prod(relation.out_shape))


_HOP, _CELL, _SLICE, _POINT, _BOXES, _SUMMED, _ROW = 20_000, 0.5, 8_000, 6, 100_000, 20, 60


def _look_up(asked: Side, found: Side, mask: Bools, into: Bools) -> None:
    """Rows that are one cell on either side."""
    assert asked.cells is not None
    assert found.cells is not None
    into.reshape(-1)[found.cells[mask.reshape(-1)[asked.cells]]] = True


def _met(boxes: Boxes, mask: Bools) -> Bools:
    """(n,) which boxes have any cell of the bitmap."""
    return np.asarray(within(boxes, prefix_sums(mask)) > 0)
