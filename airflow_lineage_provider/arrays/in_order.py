"""Rows that are all output cells in their order, each with one input cell, as behind a sort: of a box of cells only its own rows are read.

Along each axis of the input, positions stand in a column, or go with an axis of the output: then a box of input cells says which output
cells are worth a look, and nothing is worked out row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from airflow_lineage_provider.arrays.boxes import Boxes, Shape
from airflow_lineage_provider.arrays.columns import Column, Counted, Varied
from airflow_lineage_provider.arrays.grouping import Bools, Ints
from airflow_lineage_provider.arrays.pairs import strides
from airflow_lineage_provider.arrays.pco import Paged
from airflow_lineage_provider.arrays.plain import FEW_TO_TELL_APART, Box
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.sealed import damaged
from airflow_lineage_provider.arrays.tail import Part
from airflow_lineage_provider.errors import InvalidRelation, RelationDamaged

Positions = npt.NDArray[np.integer[Any]]


class Axis(NamedTuple):
    """Of an input: the position behind an output cell at b is what the column has in this cell's row, and ``sign`` · b[``along``].

    :ivar sign: 0 where it does not go with the output.
    :ivar side: how many positions there are. :ivar stride: how far numbers of cells go with each.
    """

    column: Column
    along: int
    sign: int
    side: int
    stride: int


@dataclass(frozen=True)
class InOrder:
    """A relation with a row for each output cell in C order, and one input cell in each.

    Whatever of it is asked raises `RelationDamaged` where a column is not readable, or leads to cells that the input has not.

    :ivar axes: of the input. :ivar where: tells of which relation messages speak.
    """

    out_shape: Shape
    in_shape: Shape
    axes: tuple[Axis, ...]
    where: Callable[[], str]

    @classmethod
    def of(
        cls, offsets: Sequence[Column], moves: Sequence[Column], shapes: tuple[Shape, Shape], where: Callable[[], str]
    ) -> InOrder | None:
        """By the columns of each input axis, as a `Relation` has them. None where rows move in several ways, or where there are cells that
        the input has not, as far as that is known without reading one."""
        axes = []
        for offset, move, side, stride in zip(offsets, moves, shapes[1], strides(shapes[1]), strict=True):
            axis = _axis(offset, move, shapes[0], (side, stride))
            if axis is None:
                return None
            axes.append(axis)
        return cls(*shapes, tuple(axes), where)

    def positions(self, cells: Ints) -> Ints:
        """(m, n) the input cell behind each of n output cells, by their numbers, (n,)."""
        found = np.empty((len(self.axes), len(cells)), dtype=np.int64)
        at = np.unravel_index(cells, self.out_shape)
        self._have(lambda column: column.parts_at(cells))
        for axis, into in zip(self.axes, found, strict=True):
            into[:] = axis.column if isinstance(axis.column, int) else self._read(axis.column, lambda column: column.at(cells))
            if axis.sign:
                into += axis.sign * at[axis.along]
            self._check(into, axis, cells)
        return found

    def inputs(self, first: Sequence[int], last: Sequence[int]) -> Ints:
        """(n,) the number of the input cell behind each cell of a box of the output, in C order."""
        sides = [end - begin + 1 for begin, end in zip(first, last, strict=True)]
        numbers: Ints | None = None
        steps, base = [0] * len(sides), 0
        self._have_within(first, last)
        for axis in self.axes:
            if isinstance(axis.column, int):
                base += axis.stride * (axis.column + axis.sign * first[axis.along])
                steps[axis.along] += axis.stride * axis.sign
            else:
                here = np.multiply(self._within(axis, axis.column, first, last), axis.stride, dtype=np.int64)
                numbers = here if numbers is None else np.add(numbers, here, out=numbers)
        found = np.zeros(sides, dtype=np.int64) if numbers is None else numbers
        for along, step in enumerate(steps):
            if step:
                found += _along(np.arange(sides[along], dtype=np.int64) * step, along, len(sides))
        if base:
            found += base
        return found.reshape(-1)

    def before(self, first: Sequence[int], last: Sequence[int]) -> tuple[Box, Bools] | None:
        """The output cells that a box of input cells stands behind: all are in a box, of which a bitmap says them. None where there are
        none."""
        begin, end = [0] * len(self.out_shape), [side - 1 for side in self.out_shape]
        for axis, lo, hi in zip(self.axes, first, last, strict=True):
            if isinstance(axis.column, int):
                if not axis.sign and not lo <= axis.column <= hi:
                    return None
                if axis.sign:
                    ends = sorted((axis.sign * (lo - axis.column), axis.sign * (hi - axis.column)))
                    begin[axis.along], end[axis.along] = max(begin[axis.along], ends[0]), min(end[axis.along], ends[1])
        if any(one > other for one, other in zip(begin, end, strict=True)):
            return None
        self._have_within(begin, end)
        met = np.ones([other - one + 1 for one, other in zip(begin, end, strict=True)], dtype=np.bool_)
        for axis, lo, hi in zip(self.axes, first, last, strict=True):
            if not isinstance(axis.column, int):
                at = self._within(axis, axis.column, begin, end)
                if lo > 0:
                    met &= at >= lo
                if hi < axis.side - 1:
                    met &= at <= hi
        return (begin, end), met

    def reached(self, boxes: Sequence[Box], *, is_backward: bool) -> Region:
        """What is behind boxes of output cells, or before boxes of input cells: a bitmap, but for a few cells."""
        found = np.zeros(self.in_shape if is_backward else self.out_shape, dtype=np.bool_)
        if is_backward:
            for first, last in boxes:
                found.reshape(-1)[self.inputs(first, last)] = True
            return Region(self.in_shape, bits=found)
        parts = [one for first, last in boxes if (one := self.before(first, last)) is not None]
        if sum(int(np.count_nonzero(met)) for _, met in parts) <= FEW_TO_TELL_APART:
            # (`argwhere` takes ten times as long.)
            found_at = [np.array(np.unravel_index(np.flatnonzero(met), met.shape)) + np.array(box[0])[:, None] for box, met in parts]
            points = np.concatenate([np.zeros((found.ndim, 0), dtype=np.int64), *found_at], axis=1)
            return Region(self.out_shape, parts=Boxes(points, points))
        for box, met in parts:
            found[tuple(slice(begin, end + 1) for begin, end in zip(*box, strict=True))] |= met
        return Region(self.out_shape, bits=found)

    def _within(self, axis: Axis, column: Varied, first: Sequence[int], last: Sequence[int]) -> Positions:
        """The positions along an axis behind a box of output cells, of its sides; rows are read of whole positions along the first axis."""
        further = self.out_shape[1:]
        begin, end = self._rows(first, last)
        read = self._read(column, lambda one: one.between(begin, end)).reshape(last[0] - first[0] + 1, *further)
        found = read[(slice(None), *(slice(one, other + 1) for one, other in zip(first[1:], last[1:], strict=True)))]
        if axis.sign:
            ahead = axis.sign * np.arange(first[axis.along], last[axis.along] + 1, dtype=np.int64)
            found = found + _along(ahead, axis.along, len(self.out_shape))
        self._check(found, axis, (first, last))
        return found

    def _rows(self, first: Sequence[int], last: Sequence[int]) -> tuple[int, int]:
        """Between which rows a box of output cells is."""
        plane = strides(self.out_shape)[0]
        return first[0] * plane, (last[0] + 1) * plane

    def _have_within(self, first: Sequence[int], last: Sequence[int]) -> None:
        begin, end = self._rows(first, last)
        self._have(lambda column: column.parts_between(begin, end))

    def _have(self, parts: Callable[[Paged], list[Part]]) -> None:
        """What is read of columns whose pages stand elsewhere is read of all in one go."""
        paged = [axis.column for axis in self.axes if isinstance(axis.column, Paged)]
        if paged and paged[0].tail.is_apart:
            try:
                paged[0].tail.have(part for column in paged for part in parts(column))
            except RelationDamaged as problem:
                raise damaged(problem, self.where()) from problem

    def _read(self, column: Varied, ask: Callable[[Varied], Positions]) -> Positions:
        try:
            return ask(column)
        except RelationDamaged as problem:
            raise damaged(problem, self.where()) from problem

    def _check(self, at: Positions, axis: Axis, cells: Ints | tuple[Sequence[int], Sequence[int]]) -> None:
        """Whether these are positions along an axis, behind output cells by their numbers or in a box."""
        if not at.size or (int(at.min()) >= 0 and int(at.max()) < axis.side):
            return
        wrong = np.argwhere((at < 0) | (at >= axis.side))[0]
        if isinstance(cells, tuple):
            row = sum((int(one) + begin) * stride for one, begin, stride in zip(wrong, cells[0], strides(self.out_shape), strict=True))
        else:
            row = int(cells[wrong[0]])
        rows = strides(self.out_shape)[0] * self.out_shape[0]
        what = f"row {row} of {rows:,} of a compressed relation has cells beyond the input, of shape {self.in_shape}"
        raise damaged(InvalidRelation(what), self.where())


def _axis(offset: Column, move: Column, out_shape: Shape, own: tuple[int, int]) -> Axis | None:
    """An axis of the input by its columns, its side and its stride; see `InOrder.of`."""
    if not isinstance(move, int) or abs(move) > len(out_shape):
        return None
    axis = Axis(offset, max(abs(move) - 1, 0), (move > 0) - (move < 0), *own)
    if isinstance(offset, Counted) and not move:
        of = enumerate(zip(out_shape, strides(out_shape), strict=True))
        along = next((at for at, (side, stride) in of if side == offset.side > 1 and stride == offset.repeat), None)
        if along is not None:
            axis = Axis(offset.first, along, 1, *own)
    if isinstance(axis.column, int):
        ends = (axis.column, axis.column + axis.sign * (out_shape[axis.along] - 1))
        if min(ends) < 0 or max(ends) >= axis.side:
            return None
    return axis


def _along(numbers: Ints, axis: int, rank: int) -> Ints:
    """Numbers along one of so many axes, to be added to all cells of an array."""
    return numbers.reshape(-1, *(1,) * (rank - axis - 1))
