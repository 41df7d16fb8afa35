"""A hop over bitmaps, for scattered cells, of which a random sort in a path makes thousands of boxes. O(rows + cells).

Few rows go through as slices (`aligned`). Else rows that are one cell on either side are looked up; of others, prefix sums tell which are
met, and an array of differences collects what is behind them.
"""

from __future__ import annotations

import math

import numpy as np

from airflow_lineage_provider.arrays import join
from airflow_lineage_provider.arrays.boxes import Boxes, from_mask, prefix_sums, to_mask, within
from airflow_lineage_provider.arrays.grouping import Bools, Ints
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.side import Side


def backward(relation: Relation, mask: Bools) -> Bools:
    """The input cells behind the output cells of a bitmap."""
    return _hop(relation, mask, is_backward=True)


def forward(relation: Relation, mask: Bools) -> Bools:
    """The output cells that the input cells of a bitmap stand behind."""
    return _hop(relation, mask, is_backward=False)


def _hop(relation: Relation, mask: Bools, is_backward: bool) -> Bools:
    found = np.zeros(relation.in_shape if is_backward else relation.out_shape, dtype=np.bool_)
    if relation.is_aligned:
        for row in relation.aligned:
            (row.backward if is_backward else row.forward)(mask, found)
        return found
    if relation.pairs is not None:
        for part in relation.pairs:
            asked, behind = (part.outputs, part.inputs) if is_backward else (part.inputs, part.outputs)
            _look_up(asked, behind, mask, found)
        return found
    points, wide, moving = relation.parted
    if len(points):
        sides = _sides(points, is_backward)
        assert sides[0].cells is not None
        assert sides[1].cells is not None
        _look_up(sides[0].cells, sides[1].cells, mask, found)
    if len(wide):
        sides = _sides(wide, is_backward)
        found |= to_mask(sides[1].boxes.take(_met(sides[0].boxes, mask)), found.shape)
    if len(moving) and moving.is_aligned:
        found |= _hop(moving, mask, is_backward)
    elif len(moving):
        # Which cells their boxes are depends on which are asked about: a join of boxes.
        found |= to_mask((join.backward if is_backward else join.forward)(moving, from_mask(mask)), found.shape)
    return found


def _sides(relation: Relation, is_backward: bool) -> tuple[Side, Side]:
    """The side that is asked about, and the one that is found."""
    return (relation.out_side, relation.in_side) if is_backward else (relation.in_side, relation.out_side)


def cost(relation: Relation, is_backward: bool) -> float:
    """Nanoseconds of a hop, about; the weights are those of numpy's operations, measured."""
    cells = math.prod(relation.in_shape) + math.prod(relation.out_shape)
    least = _HOP + _CELL * cells
    if relation.is_aligned:
        return least + _SLICE * len(relation)
    if relation.pairs is not None:
        sides = ((len(part.inputs), part.outputs if is_backward else part.inputs) for part in relation.pairs)
        return least + sum((_POINT if asked is not None else _IN_ORDER) * count for count, asked in sides)
    points, wide, moving = relation.parted
    least += _POINT * len(points)
    if len(wide) or not moving.is_aligned:
        least += _BOXES + _SUMMED * cells + _ROW * len(wide)
    return least + (_ROW if not moving.is_aligned else _SLICE) * len(moving)


def making(relation: Relation) -> float:
    """Nanoseconds to find out by what bitmaps go through it, which is done once, spread over as many hops as would have had a use of it."""
    if relation.few is not None or not vars(relation).keys().isdisjoint(_WAYS):
        return 0.0
    if relation.has_told_pairs:
        return _TOLD + _MADE_ROW * len(relation)
    return (_MADE + _MADE_ROW * len(relation)) / (1 + relation.out_side.passed_by + relation.in_side.passed_by)


def least_cost(relation: Relation) -> float:
    """The same, at least, by a look at nothing but the shapes."""
    return _HOP + _CELL * (math.prod(relation.in_shape) + math.prod(relation.out_shape))


_HOP, _CELL, _SLICE, _POINT, _IN_ORDER, _BOXES, _SUMMED, _ROW, _MADE, _MADE_ROW = 20_000, 0.1, 8_000, 1, 0.1, 100_000, 20, 60, 150_000, 5
_TOLD = 50_000
_WAYS = ("aligned", "pairs", "parted")
"""Of a relation, where they are known."""


def _look_up(asked: Ints | None, found: Ints | None, mask: Bools, into: Bools) -> None:
    """Pairs of cells, by their numbers; of one side None where they are all cells in their order."""
    met = mask.reshape(-1) if asked is None else mask.reshape(-1).take(asked)
    if found is None:
        into.reshape(-1)[:] = met
    else:
        into.reshape(-1)[found.take(np.flatnonzero(met))] = True


def _met(boxes: Boxes, mask: Bools) -> Bools:
    """(n,) which boxes have any cell of the bitmap."""
    return np.asarray(within(boxes, prefix_sums(mask)) > 0)
