"""A compressed relation between the cells of two arrays (DSLog, Sec. IV), as columns.

A row is a box of output cells and, for each axis of the input, an interval whose ends stand still or move with the output: an end is
``offset``, ``offset + b`` or ``offset - b``, where b is the position along one axis of the output. The paper has intervals both of whose
ends move by +1 with the same axis (``a_i b_j = a_i − b_j``); with each end for itself, flips, rotations and running sums are one row, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from airflow_lineage_provider.arrays.aligned import Aligned, aligned, is_aligned
from airflow_lineage_provider.arrays.boxes import Boxes, Shape, cells_of, flat
from airflow_lineage_provider.arrays.grouping import Bools, Ints, chosen, keys, sorting
from airflow_lineage_provider.arrays.pairs import Pairs, pairs_of
from airflow_lineage_provider.arrays.plain import Row, rows_of
from airflow_lineage_provider.arrays.side import Side
from airflow_lineage_provider.errors import TooManyCells
from airflow_lineage_provider.settings import cell_limit

if TYPE_CHECKING:
    from airflow_lineage_provider.arrays.in_order import InOrder

Moves = npt.NDArray[np.int8]

Pattern = tuple[int, ...]
"""For each end of each input interval (all beginnings, then all ends): how it moves with one output axis, −1, 0 or 1."""


class Motion(NamedTuple):
    """One way in which ends of intervals move.

    :ivar own: the input axis that the intervals are of.
    :ivar of_lo: whether it is their beginnings, or their ends.
    :ivar axis: the output axis that they move with.
    :ivar grows: or against.
    :ivar everywhere: in all rows.
    """

    own: int
    of_lo: bool
    axis: int
    grows: bool
    everywhere: bool


_FEW, _MANY = 1024, 4
"""So few rows are looked at together, and so many rows for each that is meant."""

OUTPUTS, INPUTS = ("out_lo", "out_hi"), ("in_lo", "in_hi", "lo_moves", "hi_moves")
"""The columns of either side."""


class Columns(Protocol):
    """Where the columns of a relation are that have yet to be read."""

    @property
    def rows(self) -> int:
        """How many there are."""

    @property
    def are_lines(self) -> bool:
        """Whether it is known of the columns before they are read that each row is one input cell for each of its output cells."""

    @property
    def are_apart(self) -> bool:
        """Whether bytes of them stand elsewhere, and are read when they are needed."""

    def side(self, relation: Relation, name: str) -> dict[str, Any]:
        """What a relation knows of the side that a column is of, by name."""

    def pairs(self, relation: Relation) -> tuple[Pairs, ...] | None:
        """All pairs in numbers of cells, where the columns tell before they are read that there are not many."""

    def in_order(self, relation: Relation) -> InOrder | None:
        """The rows, where the columns tell before they are read that they are all output cells in their order."""


@dataclass(frozen=True, eq=False)
class Relation:
    """n rows between an output of l axes and an input of m axes; positions count from 0, and ends are inclusive.

    :ivar out_shape: the output's shape.
    :ivar in_shape: the input's.
    :ivar out_lo: (l, n) where the boxes of output cells begin; ``out_hi`` is where they end.
    :ivar in_lo: (m, n) the offsets of where the intervals of input positions begin; ``in_hi`` those of where they end.
    :ivar lo_moves: (m, n) 0 where the beginning stands still, j + 1 where it moves with output axis j, −(j + 1) where it moves against
        it; ``hi_moves`` is the same of the end.
    """

    out_shape: Shape
    in_shape: Shape
    out_lo: Ints
    out_hi: Ints
    in_lo: Ints
    in_hi: Ints
    lo_moves: Moves
    hi_moves: Moves

    @classmethod
    def opened(cls, columns: Columns, **known: Any) -> Relation:
        """One whose columns are read when they are asked for.

        :param known: its shapes, and what is known of it without its columns, by name.
        """
        found = object.__new__(cls)
        vars(found).update(known, unread=columns, rows=columns.rows)
        return found

    def __getattr__(self, name: str) -> Any:
        """A column that has yet to be read."""
        columns: Columns | None = vars(self).get("unread")
        if columns is None or name not in (*OUTPUTS, *INPUTS):
            raise AttributeError(f"a compressed relation has no {name}")
        vars(self).update(columns.side(self, name))
        return vars(self)[name]

    def __len__(self) -> int:
        return self.rows

    @property
    def is_apart(self) -> bool:
        """Whether bytes of it stand elsewhere: nobody may have it for longer than they are there."""
        columns: Columns | None = vars(self).get("unread")
        return columns is not None and columns.are_apart

    @cached_property
    def rows(self) -> int:
        """How many it has."""
        return int(self.out_lo.shape[1])

    def take(self, rows: Ints | Bools | slice) -> Relation:
        """Some of its rows, in this order."""
        columns = (self.out_lo, self.out_hi, self.in_lo, self.in_hi, self.lo_moves, self.hi_moves)
        found = Relation(self.out_shape, self.in_shape, *chosen(columns, rows))
        if "motions" in vars(self):
            # Some of the rows move in no other ways than all of them.
            vars(found)["motions"] = self.motions
        return found

    @property
    def out_boxes(self) -> Boxes:
        """Of each row, its output cells."""
        return Boxes(self.out_lo, self.out_hi)

    @cached_property
    def in_boxes(self) -> Boxes:
        """Of each row, the least box that has all its input cells."""
        if not len(self.moving_rows):
            return Boxes(self.in_lo, self.in_hi)
        if self.is_moving:
            return self.inputs(self.out_boxes)
        found = Boxes(self.in_lo.copy(), self.in_hi.copy())
        moving = self.of_moving.in_boxes
        for own in range(found.rank):
            found.lo[own][self.moving_rows], found.hi[own][self.moving_rows] = moving.lo[own], moving.hi[own]
        return found

    def inputs(self, where: Boxes) -> Boxes:
        """The same, of rows whose output boxes are cut down to ``where``."""
        if not self.motions:
            return Boxes(self.in_lo, self.in_hi)
        found = Boxes(self.in_lo.copy(), self.in_hi.copy())
        for one in self.motions:
            # A beginning that moves ahead is least where the output begins, one that moves against it where that ends.
            at = (where.lo if one.grows == one.of_lo else where.hi)[one.axis]
            end = (found.lo if one.of_lo else found.hi)[one.own]
            moved = np.add if one.grows else np.subtract
            if one.everywhere:
                moved(end, at, out=end)
            else:
                moved(end, at, out=end, where=self.rows_of(one))
        return found

    @cached_property
    def out_side(self) -> Side:
        """The boxes of output cells."""
        return Side(len(self), self.out_shape, lambda: self.out_boxes)

    @cached_property
    def in_side(self) -> Side:
        """The boxes of input cells."""
        return Side(len(self), self.in_shape, lambda: self.in_boxes)

    @cached_property
    def motions(self) -> tuple[Motion, ...]:
        """How ends move, in any row."""
        found = []
        for own in range(len(self.in_shape)):
            of_lo = list(self._moving(own, True))
            of_hi = [one._replace(of_lo=False) for one in of_lo] if self.hi_moves is self.lo_moves else self._moving(own, False)
            found += [*of_lo, *of_hi]
        return tuple(found)

    def _moving(self, own: int, of_lo: bool) -> Iterator[Motion]:
        """How the ends along an input axis move."""
        moves, rank = (self.lo_moves if of_lo else self.hi_moves)[own], len(self.out_shape)
        if len(moves) <= _FEW:
            found = sorted({one - 256 if one > 127 else one for one in set(moves.tobytes())})
        elif (moves == moves[0]).all():
            found = [int(moves[0])]
        else:
            found = (np.bincount(moves.astype(np.int64) + rank).nonzero()[0] - rank).tolist()
        for one in found:
            if one:
                yield Motion(own, of_lo, abs(one) - 1, one > 0, len(found) == 1)

    def rows_of(self, motion: Motion) -> Bools:
        """(n,) which rows have an end that moves so."""
        moves = self.lo_moves if motion.of_lo else self.hi_moves
        return np.asarray(moves[motion.own] == (motion.axis + 1 if motion.grows else -motion.axis - 1))

    @cached_property
    def shared_axes(self) -> tuple[int, ...]:
        """The output axes on which two input axes may hang, if in different rows."""
        owners = {(one.axis, one.own) for one in self.motions}
        return tuple(axis for axis in range(len(self.out_shape)) if sum(pair[0] == axis for pair in owners) > 1)

    @cached_property
    def is_whole(self) -> bool:
        """Whether each row is one output cell, and they are all cells in C order."""
        if len(self) != math.prod(self.out_shape) or (self.out_lo is not self.out_hi and (self.out_lo != self.out_hi).any()):
            return False
        return bool((flat(self.out_lo, self.out_shape) == np.arange(len(self))).all())

    @cached_property
    def pairs(self) -> tuple[Pairs, ...] | None:
        """All its pairs in numbers of cells, where its rows are hardly more than cells."""
        told = self.unread.pairs(self) if self.has_told_pairs else None
        return pairs_of(self) if told is None else told

    @property
    def has_told_pairs(self) -> bool:
        """Whether they are had sooner out of columns that have yet to be read than these are."""
        columns: Columns | None = vars(self).get("unread")
        return columns is not None and columns.are_lines and not any(name in vars(self) for name in INPUTS)

    @cached_property
    def in_order(self) -> InOrder | None:
        """Its rows, where the columns have yet to be read, and tell that these are all output cells in their order."""
        return self.unread.in_order(self) if self.has_told_pairs else None

    @cached_property
    def has_shared(self) -> bool:
        """Whether in any row two input axes hang on one output axis: behind a box of outputs there may be no box."""
        if self.few is not None:
            return any(row.is_shared for row in self.few)
        return any(shared(self, axis).any() for axis in self.shared_axes)

    @cached_property
    def parted(self) -> tuple[Relation, Relation, Relation]:
        """The rows that are one cell on either side, others of which no end moves, and those of which one does."""
        moving = np.zeros(len(self), dtype=np.bool_)
        moving[self.moving_rows] = True
        points = ~moving & (self.out_lo == self.out_hi).all(axis=0) & (self.in_lo == self.in_hi).all(axis=0)
        if points.all():
            return self, self.take(slice(0, 0)), self.take(slice(0, 0))
        return self.take(points), self.take(~points & ~moving), self.take(moving)

    @cached_property
    def few(self) -> tuple[Row, ...] | None:
        """Its rows in plain numbers, where they are few."""
        return rows_of(self)

    @cached_property
    def is_identity(self) -> bool:
        """Whether each cell is behind itself, as of an elementwise operation, in one row."""
        if len(self) != 1 or self.out_shape != self.in_shape or self.few is None:
            return False
        return self.few[0].is_identity(self.out_shape)

    @cached_property
    def is_aligned(self) -> bool:
        """Whether it has few rows, and bitmaps go through each as a whole."""
        return is_aligned(self)

    @cached_property
    def aligned(self) -> tuple[Aligned, ...]:
        """Its rows, where it `is_aligned`."""
        return aligned(self)

    @cached_property
    def moving(self) -> Bools:
        """(n,) whether any end of the row moves."""
        of_lo = np.asarray((self.lo_moves != 0).any(axis=0))
        return of_lo if self.hi_moves is self.lo_moves else np.asarray(of_lo | (self.hi_moves != 0).any(axis=0))

    @cached_property
    def moving_rows(self) -> Ints:
        """Those."""
        return np.flatnonzero(self.moving) if self.motions else np.zeros(0, dtype=np.int64)

    @property
    def is_moving(self) -> bool:
        """Whether ends move in so many rows that all are looked at as quickly as these."""
        return len(self) <= max(_FEW, _MANY * len(self.moving_rows))

    @cached_property
    def of_moving(self) -> Relation:
        """A relation of those."""
        return self if len(self.moving_rows) == len(self) else self.take(self.moving_rows)

    @property
    def nbytes(self) -> int:
        """How many bytes its columns take in memory."""
        return sum(one.nbytes for one in (self.out_lo, self.out_hi, self.in_lo, self.in_hi, self.lo_moves, self.hi_moves))


def extent(offset: Ints, moves: Moves, where: Boxes) -> tuple[Ints, Ints]:
    """The least and the largest value of ends, (m, n), while the output runs through the n boxes of ``where``; not to be written to."""
    if not moves.any():
        return offset, offset
    least, most = offset.copy(), offset.copy()
    for axis in range(where.rank):
        lo, hi = where.lo[axis], where.hi[axis]
        ahead, against = moves == axis + 1, moves == -(axis + 1)
        if ahead.any():
            least += ahead * lo
            most += ahead * hi
        if against.any():
            least -= against * hi
            most -= against * lo
    return least, most


def shared(relation: Relation, axis: int) -> Bools:
    """(n,) whether two input axes hang on one output axis: together they are no box while it moves.

    The diagonal of a matrix is the example: `rel_back` as printed gives four cells for two positions of it.
    """
    moves = axis + 1
    return np.asarray(((np.abs(relation.lo_moves) == moves) | (np.abs(relation.hi_moves) == moves)).sum(axis=0) > 1)


def expand(relation: Relation) -> Ints:
    """Every pair of cells, (pairs, l + m), sorted, each once: what the relation was compressed from.

    :raises TooManyCells: there are more than `settings.cell_limit`.
    """
    _check_count(int(relation.out_boxes.volumes().astype(float).sum()))
    outputs, row = cells_of(relation.out_lo, relation.out_hi)
    at = Boxes(outputs, outputs)
    here = relation.take(row)
    lo, _ = extent(here.in_lo, here.lo_moves, at)
    hi, _ = extent(here.in_hi, here.hi_moves, at)
    _check_count(int(Boxes(lo, hi).volumes().astype(float).sum()))
    inputs, owner = cells_of(lo, hi)
    return sorted_pairs(np.concatenate([outputs.take(owner, axis=1), inputs]))


def sorted_pairs(columns: Ints) -> Ints:
    """Columns of pairs, (l + m, n), as rows in their order, each once."""
    return np.ascontiguousarray(in_order(columns).T)


def in_order(columns: Ints) -> Ints:
    """Columns of pairs in their order, each once."""
    key = keys(list(columns), columns.shape[1])
    if bool((key[1:] > key[:-1]).all()):
        return columns
    order = sorting(key)
    fresh = np.append(True, np.diff(key[order]) != 0)[: len(order)]
    return columns[:, order[fresh]]


def _check_count(count: int) -> None:
    if count > cell_limit():
        raise TooManyCells(
            f"the relation has at least {count:,} pairs of cells, and {cell_limit():,} may be enumerated (AIRFLOW_LINEAGE_CELL_LIMIT); "
            "ask it instead: answers need no pairs"
        )
