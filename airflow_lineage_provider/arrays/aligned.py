"""Rows of a relation along which a bitmap goes as a whole: slices of it, turned, mirrored and spread, with no look at single cells.

Such a row has an interval along each input axis that stands still, or one position that moves with an output axis of its own: what
elementwise operations, slices, transposes, flips, rolls, copies and reductions are made of. Windows and running sums are not.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from airflow_lineage_provider.arrays.grouping import Bools
from airflow_lineage_provider.arrays.plain import Box

if TYPE_CHECKING:
    from airflow_lineage_provider.arrays.relation import Relation

MOST = 512
"""So many rows are gone through one by one."""


@dataclass(frozen=True)
class Aligned:
    """A row.

    :ivar outputs: where its output cells are, a slice for each axis.
    :ivar inputs: where its input cells are.
    :ivar pairs: (input axis, output axis) that run together, in the order of the former.
    :ivar mirrored: the places in ``pairs`` whose axes run against one another.
    """

    outputs: tuple[slice, ...]
    inputs: tuple[slice, ...]
    pairs: tuple[tuple[int, int], ...]
    mirrored: tuple[int, ...]

    def backward(self, mask: Bools, found: Bools) -> None:
        """Add the input cells behind the output cells of a bitmap."""
        together = _along(mask[self.outputs], [axis for _, axis in self.pairs])
        found[self.inputs] |= _across(np.flip(together, self.mirrored), [axis for axis, _ in self.pairs], found.ndim)

    def forward(self, mask: Bools, found: Bools) -> None:
        """Add the output cells that the input cells of a bitmap stand behind."""
        together = np.flip(_along(mask[self.inputs], [axis for axis, _ in self.pairs]), self.mirrored)
        found[self.outputs] |= _across(together, [axis for _, axis in self.pairs], found.ndim)


def _along(mask: Bools, axes: list[int]) -> Bools:
    """With these axes in this order, and a cell where there is any along the others."""
    others = tuple(axis for axis in range(mask.ndim) if axis not in axes)
    left = mask.any(axis=others) if others else mask
    return np.asarray(np.transpose(left, [sorted(axes).index(axis) for axis in axes]))


def _across(mask: Bools, axes: list[int], rank: int) -> Bools:
    """With its axes at these places among so many; the others are of one position."""
    ordered = np.transpose(mask, [axes.index(axis) for axis in sorted(axes)])
    return ordered.reshape([ordered.shape[sorted(axes).index(axis)] if axis in axes else 1 for axis in range(rank)])


def is_aligned(relation: Relation) -> bool:
    """Whether all rows are of this kind, and there are no more than `MOST`."""
    if relation.few is not None:
        return all(row.is_aligned for row in relation.few)
    if len(relation) > MOST or (relation.lo_moves != relation.hi_moves).any():
        return False
    moving = relation.lo_moves != 0
    if (moving & (relation.in_lo != relation.in_hi)).any():
        return False
    with_axes = np.abs(relation.lo_moves)
    pairs = itertools.combinations(range(len(with_axes)), 2)
    return not any((moving[one] & (with_axes[one] == with_axes[other])).any() for one, other in pairs)


def aligned(relation: Relation) -> tuple[Aligned, ...]:
    """All rows of such a relation."""
    if relation.few is not None:
        return tuple(_aligned(row.outputs, row.inputs(*row.outputs), row.moves[0]) for row in relation.few)
    outputs, inputs = ([*zip(one.lo.T.tolist(), one.hi.T.tolist(), strict=True)] for one in (relation.out_boxes, relation.in_boxes))
    return tuple(map(_aligned, outputs, inputs, relation.lo_moves.T.tolist()))


def _aligned(outputs: Box, inputs: Box, moves: list[int]) -> Aligned:
    pairs = [(axis, move) for axis, move in enumerate(moves) if move]
    mirrored = tuple(place for place, (_, move) in enumerate(pairs) if move < 0)
    return Aligned(_slices(outputs), _slices(inputs), tuple((axis, abs(move) - 1) for axis, move in pairs), mirrored)


def _slices(box: Box) -> tuple[slice, ...]:
    return tuple(slice(first, last + 1) for first, last in zip(*box, strict=True))
