"""Sets of cells as boxes: their union, what a bitmap has, their cells one by one.

A box of an array of d axes is d intervals of positions from 0, both ends inclusive.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from airflow_lineage_provider.arrays.grouping import Bools, Ints, chosen, ranges, runs_below, sorting
from airflow_lineage_provider.errors import TooManyCells

DENSE_CELLS = 2**26
"""The most cells of an array of which bitmaps are made, with their prefix sums (8 bytes a cell)."""

Shape = tuple[int, ...]

_FEW = 64
"""So few boxes are painted into a bitmap one by one."""
_ONE_BY_ONE = 8
"""Of an array with so many times as many cells as boxes have their cells are put into a bitmap one by one."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """k boxes: ``lo`` and ``hi`` are (d, k)."""

    lo: Ints
    hi: Ints

    def __len__(self) -> int:
        return int(self.lo.shape[1])

    @property
    def rank(self) -> int:
        """The number of axes, d."""
        return len(self.lo)

    def take(self, rows: Ints | Bools | slice) -> Boxes:
        """Some of them, in this order."""
        return Boxes(*chosen((self.lo, self.hi), rows))

    def volumes(self) -> Ints:
        """(k,) how many cells each has."""
        return np.asarray(np.prod(self.hi - self.lo + 1, axis=0, dtype=np.int64))


def nothing(rank: int) -> Boxes:
    """No cell of an array of this many axes."""
    return Boxes(np.zeros((rank, 0), dtype=np.int64), np.zeros((rank, 0), dtype=np.int64))


def boxes_of(plain: Sequence[tuple[list[int], list[int]]], rank: int) -> Boxes:
    """Boxes that are given by their first and last positions, in plain numbers."""
    lo, hi = (np.array(ends, dtype=np.int64).reshape(len(plain), rank).T for ends in zip(*plain, strict=True))
    return Boxes(np.ascontiguousarray(lo), np.ascontiguousarray(hi))


def joined(parts: list[Boxes]) -> Boxes:
    """All boxes of several; at least one part is given."""
    if len(parts) == 1:
        return parts[0]
    return Boxes(np.concatenate([one.lo for one in parts], axis=1), np.concatenate([one.hi for one in parts], axis=1))


def cells_of(lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
    """Every cell of k boxes, (d, cells), box by box and in each in C order; and of which box it is, (cells,)."""
    sides = hi - lo + 1
    within, owner = ranges(np.zeros(lo.shape[1], dtype=np.int64), np.prod(sides, axis=0, dtype=np.int64))
    cells = np.empty((len(lo), len(owner)), dtype=np.int64)
    for axis in reversed(range(len(lo))):
        within, here = np.divmod(within, sides[axis][owner])
        cells[axis] = lo[axis][owner] + here
    return cells, owner


def split(boxes: Boxes, axis: int, which: Bools) -> tuple[Boxes, Ints]:
    """Some boxes cut into their single positions along one axis; and of which box each is a piece."""
    first, last = boxes.lo[axis], boxes.hi[axis]
    at, owner = ranges(first, np.where(which, last, first) + 1)
    pieces = boxes.take(owner)
    pieces.lo[axis] = at
    pieces.hi[axis] = np.where(which[owner], at, pieces.hi[axis])
    return pieces, owner


def merged(boxes: Boxes, shape: Shape) -> Boxes:
    """Fewer boxes with the same cells: equal ones are one, and so are those that overlap or touch along one axis and agree in all others.

    Boxes that overlap otherwise stay as they are.

    :param shape: of the array that they are of.
    """
    for axis in reversed(range(boxes.rank)):
        boxes = _merged_along(boxes, axis, shape)
    return boxes if boxes.rank else boxes.take(slice(0, 1))


def _merged_along(boxes: Boxes, axis: int, shape: Shape) -> Boxes:
    if len(boxes) < 2:
        return boxes
    ends = (boxes.lo,) if boxes.lo is boxes.hi else (boxes.lo, boxes.hi)
    others = [(one[other], shape[other]) for other in range(boxes.rank) if other != axis for one in ends]
    found = runs_below(others, boxes.lo[axis], boxes.hi[axis], shape[axis])
    if len(found.starts) == len(boxes):
        return boxes
    kept = boxes.take(found.order[found.starts])
    kept.hi[axis] = found.tops
    return kept


def common(boxes: Boxes, others: Boxes) -> Boxes:
    """What each pair of boxes, one of either, has in common."""
    count = len(boxes) * len(others)
    lo = np.maximum(boxes.lo[:, :, None], others.lo[:, None, :]).reshape(boxes.rank, count)
    hi = np.minimum(boxes.hi[:, :, None], others.hi[:, None, :]).reshape(boxes.rank, count)
    full = (lo <= hi).all(axis=0)
    return Boxes(lo[:, full], hi[:, full])


def union(boxes: Boxes, shape: Shape) -> Boxes:
    """Boxes with the same cells of which no two overlap.

    :raises TooManyCells: so many boxes overlap, in so large an array, that neither cutting them up nor a bitmap is possible.
    """
    # Of single cells none is left that overlaps another when equal ones are one.
    is_told = boxes.rank < 2 or boxes.lo is boxes.hi or bool((boxes.lo == boxes.hi).all())
    boxes = merged(boxes, shape)
    if is_told or len(boxes) < 2 or any(_are_apart(boxes, axis) for axis in range(boxes.rank)):
        return boxes
    pieces = _pieces(boxes)
    if pieces <= max(16 * len(boxes), 4096) or (math.prod(shape) > DENSE_CELLS and pieces <= DENSE_CELLS):
        return merged(_cut(boxes), shape)
    if math.prod(shape) > DENSE_CELLS:
        raise TooManyCells(
            f"{len(boxes):,} boxes overlap in an array of shape {shape}, which makes {pieces:,} pieces; ask about fewer cells at once"
        )
    return from_mask(to_mask(boxes, shape))


def _are_apart(boxes: Boxes, axis: int) -> bool:
    """Whether no two have a position along an axis in common."""
    order = sorting(boxes.lo[axis])
    lo, hi = boxes.lo[axis].take(order), boxes.hi[axis].take(order)
    return bool((lo[1:] > np.maximum.accumulate(hi)[:-1]).all())


def _edges(boxes: Boxes, axis: int) -> Ints:
    """Where along an axis a box begins, or is over."""
    return np.unique(np.concatenate([boxes.lo[axis], boxes.hi[axis] + 1]))


def _pieces(boxes: Boxes) -> int:
    """Into how many `_cut` cuts them."""
    counts = np.ones(len(boxes))
    for axis in range(boxes.rank - 1):
        edges = _edges(boxes, axis)
        counts *= np.searchsorted(edges, boxes.hi[axis], side="right") - np.searchsorted(edges, boxes.lo[axis], side="right") + 1
    return int(counts.sum())


def _cut(boxes: Boxes) -> Boxes:
    """The same cells, cut along all axes but the last wherever any box begins or ends: there, two pieces are equal or apart."""
    for axis in range(boxes.rank - 1):
        edges = _edges(boxes, axis)
        first = np.searchsorted(edges, boxes.lo[axis], side="right") - 1
        at, owner = ranges(first, np.searchsorted(edges, boxes.hi[axis], side="right"))
        boxes = boxes.take(owner)
        boxes.lo[axis], boxes.hi[axis] = edges[at], edges[at + 1] - 1
    return boxes


def corners(boxes: Boxes) -> Iterator[tuple[Ints, int]]:
    """The 2ᵈ corners of the boxes, (d, k) each, with the sign of inclusion and exclusion; ends exclusive."""
    for bits in range(2**boxes.rank):
        low = [bits >> axis & 1 for axis in range(boxes.rank)]
        points = [boxes.lo[axis] if low[axis] else boxes.hi[axis] + 1 for axis in range(boxes.rank)]
        yield np.array(points, dtype=np.int64).reshape(boxes.rank, len(boxes)), (-1) ** (boxes.rank - sum(low))


def to_mask(boxes: Boxes, shape: Shape) -> Bools:
    """A bitmap of the cells: one by one where they are few, else through an array of differences: O(boxes + cells).

    >>> to_mask(Boxes(np.array([[0, 1]]), np.array([[1, 2]])), (5,))
    array([ True,  True,  True, False, False])
    """
    if len(boxes) <= _FEW:
        return _painted(boxes, shape)
    if bool((boxes.lo == boxes.hi).all()):
        return numbered(flat(boxes.lo, shape), shape)
    if bool((boxes.lo[:-1] == boxes.hi[:-1]).all()):
        return _of_runs(flat(boxes.lo, shape), flat(boxes.hi, shape) + 1, shape)
    if int(boxes.volumes().sum()) * _ONE_BY_ONE <= math.prod(shape):
        return numbered(flat(cells_of(boxes.lo, boxes.hi)[0], shape), shape)
    wide = tuple(side + 1 for side in shape)
    changes = np.zeros(math.prod(wide), dtype=np.int64)
    for points, sign in corners(boxes):
        changes += sign * np.bincount(flat(points, wide), minlength=len(changes))
    depth = changes.reshape(wide)
    for axis in range(len(shape)):
        depth = np.cumsum(depth, axis=axis)
    return np.asarray(depth[tuple(slice(0, side) for side in shape)] > 0)


def _of_runs(first: Ints, end: Ints, shape: Shape) -> Bools:
    """A bitmap of runs of cells, by their numbers."""
    cells = math.prod(shape)
    if int((end - first).sum()) * _ONE_BY_ONE <= cells:
        return numbered(ranges(first, end)[0], shape)
    changes = np.bincount(first, minlength=cells + 1)
    changes -= np.bincount(end, minlength=cells + 1)
    return np.asarray(np.cumsum(changes[:-1]) > 0).reshape(shape)


def _painted(boxes: Boxes, shape: Shape) -> Bools:
    found = np.zeros(shape, dtype=np.bool_)
    for lo, hi in zip(boxes.lo.T.tolist(), boxes.hi.T.tolist(), strict=True):
        found[tuple(slice(first, last + 1) for first, last in zip(lo, hi, strict=True))] = True
    return found


def numbered(cells: Ints, shape: Shape) -> Bools:
    """A bitmap of cells by their numbers in C order."""
    found = np.zeros(shape, dtype=np.bool_)
    found.reshape(-1)[cells] = True
    return found


def flat(points: Ints, shape: Shape) -> Ints:
    """(n,) the numbers, in C order, of cells at (d, n) positions; not to be written to, as they may be these."""
    if not shape:
        return np.zeros(points.shape[1], dtype=np.int64)
    found: Ints = points[0]
    for own, side in zip(points[1:], shape[1:], strict=True):
        found = found * side + own
    return found


def prefix_sums(mask: Bools) -> Ints:
    """How many cells of a bitmap lie before each corner, along all axes: one more along every axis than the bitmap has."""
    sums = np.zeros(tuple(side + 1 for side in mask.shape), dtype=np.int64)
    sums[tuple(slice(1, None) for _ in mask.shape)] = mask
    for axis in range(mask.ndim):
        np.cumsum(sums, axis=axis, out=sums)
    return sums


def within(boxes: Boxes, sums: Ints) -> Ints:
    """(k,) how many cells of a bitmap, of which these are the `prefix_sums`, each box has."""
    found = np.zeros(len(boxes), dtype=np.int64)
    for points, sign in corners(boxes):
        found += sign * sums.reshape(-1)[flat(points, sums.shape)]
    # Here the corner where a box ends counts, and there the one where it begins: a sign for each axis.
    return np.asarray(found * (-1) ** boxes.rank)


def run_count(mask: Bools) -> int:
    """How many runs of cells a bitmap has along its last axis."""
    if not mask.ndim:
        return int(mask)
    return int(np.count_nonzero(mask[..., 1:] & ~mask[..., :-1]) + np.count_nonzero(mask[..., :1]))


def from_mask(mask: Bools) -> Boxes:
    """The cells of a bitmap as boxes that do not overlap: runs along the last axis, merged along the others."""
    if not mask.ndim:
        return Boxes(np.zeros((0, int(mask)), dtype=np.int64), np.zeros((0, int(mask)), dtype=np.int64))
    if mask.all():
        sides = np.array(mask.shape, dtype=np.int64).reshape(-1, 1)
        return Boxes(np.zeros_like(sides), sides - 1) if mask.size else nothing(mask.ndim)
    padded = np.zeros((*mask.shape[:-1], mask.shape[-1] + 2), dtype=np.int8)
    padded[..., 1:-1] = mask
    steps = np.diff(padded, axis=-1)
    lo = np.array(np.nonzero(steps == 1), dtype=np.int64)
    hi = np.array(np.nonzero(steps == -1), dtype=np.int64)
    hi[-1] -= 1
    return merged(Boxes(lo, hi), mask.shape)
