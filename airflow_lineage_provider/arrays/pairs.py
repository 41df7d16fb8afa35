"""A relation pair by pair, in numbers of cells: what a hop looks up where rows are hardly more than single cells, as behind a sort."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from airflow_lineage_provider.arrays.boxes import Boxes, Shape, flat
from airflow_lineage_provider.arrays.grouping import Integers, Ints, ranges

if TYPE_CHECKING:
    from airflow_lineage_provider.arrays.relation import Relation

MOST = 4
"""So many pairs for each row, at most."""


class Pairs(NamedTuple):
    """Pairs of cells by their numbers in C order, (n,) each.

    :ivar outputs: None where they are all cells of the output in this order.
    """

    outputs: Ints | None
    inputs: Ints


def pairs_of(relation: Relation) -> tuple[Pairs, ...] | None:
    """All pairs, in one or two parts; None where a row is more than a line: a cell of the input for each output cell along one axis, or one
    for all of them."""
    if not _are_one(relation.lo_moves, relation.hi_moves) or not _are_one(relation.in_lo, relation.in_hi):
        return None
    if relation.is_whole and not len(relation.moving_rows):
        return (Pairs(None, flat(relation.in_lo, relation.in_shape)),)
    rows = _lines(relation)
    lines = relation.of_moving if len(rows) == len(relation.moving_rows) else relation.take(rows)
    lengths = lines.out_boxes.volumes()
    if ((lines.out_lo != lines.out_hi).sum(axis=0) > 1).any() or float(lengths.sum()) > MOST * len(relation):
        return None
    outputs, inputs = flat(relation.out_lo, relation.out_shape), flat(relation.in_lo, relation.in_shape)
    if not len(rows):
        return (Pairs(outputs, inputs),)
    # Of one axis, the numbers are the relation's own column.
    inputs = inputs.copy() if len(relation.in_shape) == 1 else inputs
    inputs[rows] = flat(lines.inputs(Boxes(lines.out_lo, lines.out_lo)).lo, relation.in_shape)
    further, owner = ranges(np.ones(len(rows), dtype=np.int64), lengths)
    ends = zip((outputs, inputs), _steps(lines), strict=True)
    return Pairs(outputs, inputs), Pairs(*(cells[rows][owner] + further * step[owner] for cells, step in ends))


def _are_one(ends: npt.NDArray[Integers], others: npt.NDArray[Integers]) -> bool:
    """Whether the two ends are the same everywhere."""
    return ends is others or bool((ends == others).all())


def _lines(relation: Relation) -> Ints:
    """The rows that are not one pair with no end that moves."""
    more = np.zeros(len(relation), dtype=np.bool_)
    more[relation.moving_rows] = True
    if relation.out_lo is not relation.out_hi:
        more |= (relation.out_lo != relation.out_hi).any(axis=0)
    return np.flatnonzero(more)


def _steps(lines: Relation) -> tuple[Ints, Ints]:
    """(n,) how far the number of the output cell goes with each position along a line, and that of the input cell."""
    along, own = np.zeros(len(lines), dtype=np.int64), np.zeros(len(lines), dtype=np.int64)
    for axis, stride in enumerate(strides(lines.out_shape)):
        wide = lines.out_lo[axis] != lines.out_hi[axis]
        along[wide] = stride
        for moves, other in zip(lines.lo_moves, strides(lines.in_shape), strict=True):
            own += other * ((moves == axis + 1) & wide) - other * ((moves == -axis - 1) & wide)
    return along, own


def strides(shape: Shape) -> list[int]:
    """How far the number of a cell in C order goes with each position along the axes."""
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
