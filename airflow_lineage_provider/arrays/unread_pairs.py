"""The pairs of a relation in numbers of cells, straight out of columns that have yet to be read (`pairs` has them of columns that are).

A hop through a sort needs nothing else of it: its boxes are not made, and not looked at for what they have to be. What makes cells of
another array of a column is refused here, too, by the least and the largest of what it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.columns import Column, Counted
from airflow_lineage_provider.arrays.given import MOST_AXES
from airflow_lineage_provider.arrays.grouping import Bools, Ints, ranges
from airflow_lineage_provider.arrays.pairs import MOST, Pairs, strides
from airflow_lineage_provider.errors import InvalidRelation

Positions = int | npt.NDArray[np.integer]
"""Along an axis: of each row, or one of all of them."""


@dataclass(frozen=True)
class Lines:
    """Rows that are one input cell for each output cell of a box, or one for all of them; the pairs are told where boxes are lines.

    :ivar outputs: of each output axis, where the rows begin. :ivar further: how many cells there are along it, but for the first.
    :ivar inputs: of each input axis, the offsets of the input cells. :ivar moves: and how they move, as of a `Relation`.
    """

    rows: int
    shapes: tuple[Shape, Shape]
    outputs: Sequence[Column]
    further: Sequence[Column]
    inputs: Sequence[Column]
    moves: Sequence[Column]

    @classmethod
    def of(cls, rows: int, outputs: Sequence[Column], inputs: Sequence[Column], shapes: tuple[Shape, Shape]) -> Lines:
        """Of columns as they are kept, if they are known to be such rows (`Unread.are_lines`)."""
        return cls(rows, shapes, outputs[::2], outputs[1::2], inputs[::4], inputs[2::4])

    def pairs(self, *, is_whole: bool) -> tuple[Pairs, ...] | None:
        """All pairs; None where there are more than a few for each row, or a row is no line.

        :param is_whole: it is known that the rows are all output cells in their order.
        :raises InvalidRelation: there are cells that the arrays have not.
        :raises RelationDamaged: a column is not readable.
        """
        in_order = is_whole and not any(self.moves)
        begin = [0 if in_order else _read(one) for one in self.outputs]
        # Of eight bytes each, as they are added to others.
        further = [one if isinstance(one, int) else one.numbers() for one in self.further]
        out_shape, in_shape = self.shapes
        for at, more, side in zip(begin, further, out_shape, strict=True):
            self._check(at, at + more if _are_some(more) else at, side, f"output, of shape {out_shape}")
        wide = [one for one in further if _are_some(one)]
        lengths = sum(wide) if wide else 0
        if float(np.mean(lengths)) > MOST - 1 or np.any(sum((one > 0).astype(np.int8) for one in map(np.asarray, wide)) > 1):
            return None
        inputs, steps = self._inputs(begin, further)
        first = Pairs(None if is_whole else self._numbers(begin, out_shape), self._numbers(inputs, in_shape))
        return (first, self._rest(first, further, lengths, steps)) if wide else (first,)

    def _inputs(self, begin: Sequence[Positions], further: Sequence[Positions]) -> tuple[list[Positions], Ints]:
        """The positions of the input cell of each row's first output cell, and how far its number goes with each further one."""
        found: list[Positions] = []
        steps = np.zeros(self.rows, dtype=np.int64)
        ends = zip(self.inputs, self.moves, self.shapes[1], strides(self.shapes[1]), strict=True)
        for offset, column, side, stride in ends:
            at = last = _read(offset)
            moves = _read(column)
            for one in _different(moves):
                axis, sign = abs(one) - 1, 1 if one > 0 else -1
                here = np.asarray(moves == one)
                if axis >= len(begin):
                    raise self._wrong(here, f"moves with an axis that an output of shape {self.shapes[0]} has not")
                # (Numbers times truth values: a quarter of what it takes to add where these are true.)
                at = at + sign * np.multiply(begin[axis], here, dtype=np.int64)
                last = last + sign * np.multiply(begin[axis] + further[axis], here, dtype=np.int64)
                if _are_some(further[axis]):
                    steps += sign * stride * (here & np.asarray(further[axis] > 0))
            self._check(at, last, side, f"input, of shape {self.shapes[1]}")
            found.append(at)
        return found, steps

    def _check(self, at: Positions, last: Positions, side: int, where: str) -> None:
        """Whether positions, from those to these in whichever direction, are of an axis with so many."""
        for one in (at,) if last is at else (at, last):
            least, most = (one, one) if isinstance(one, int) else (int(one.min()), int(one.max()))
            if least < 0 or most >= side:
                raise self._wrong((np.asarray(one) < 0) | (np.asarray(one) >= side), f"has cells beyond the {where}")

    def _wrong(self, which: Bools | bool, what: str) -> InvalidRelation:
        """What is wrong with some rows: the first is named."""
        row = int(np.flatnonzero(np.broadcast_to(which, self.rows))[0])
        return InvalidRelation(f"row {row} of {self.rows:,} of a compressed relation {what}")

    def _numbers(self, at: Sequence[Positions], shape: Shape) -> Ints:
        """Of cells, in C order."""
        found = np.zeros(self.rows, dtype=np.int64)
        for place, (position, side) in enumerate(zip(at, shape, strict=True)):
            if place:
                found *= side
            found += position
        return found

    def _rest(self, first: Pairs, further: Sequence[Positions], lengths: Positions, steps: Ints) -> Pairs:
        """Those of further output cells."""
        assert first.outputs is not None
        lengths = np.broadcast_to(lengths, self.rows)
        rows = np.flatnonzero(lengths)
        at, owner = ranges(np.ones(len(rows), dtype=np.int64), (lengths.take(rows) + 1).astype(np.int64, copy=False))
        along = np.zeros(len(rows), dtype=np.int64)
        for one, stride in zip(further, strides(self.shapes[0]), strict=True):
            along += stride * (np.broadcast_to(one, self.rows).take(rows) > 0)
        row = rows.take(owner)
        return Pairs(first.outputs.take(row) + at * along.take(owner), first.inputs.take(row) + at * steps.take(row))


def _read(column: Column) -> Positions:
    """A column, of as few bytes a number as it is kept in; where all are the same, that number."""
    return column if isinstance(column, int) else column.numbers() if isinstance(column, Counted) else column.narrow()


def _are_some(further: Positions) -> bool:
    """Whether there are further cells in any row, as far as a column tells that without a look at all rows."""
    return not isinstance(further, int) or further != 0


def _different(moves: Positions) -> list[int]:
    """The moves that there are but for standing still; of those that no array has only some."""
    if isinstance(moves, int):
        return [moves] if moves else []
    least, most = int(moves.min()), int(moves.max())
    if most - least > _MOST:
        return [least, most]
    return [least + int(at) for at in np.bincount(moves - least).nonzero()[0] if least + int(at)]


_MOST = 2 * MOST_AXES
"""Two moves cannot differ by more."""
