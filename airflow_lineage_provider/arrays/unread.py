"""The columns of a relation in its bytes, read and checked one side after the other, when a question needs it.

A hop backward that meets no row needs the outputs only, and a path that leads nowhere none of the relations further on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from airflow_lineage_provider.arrays.boxes import Boxes, Shape
from airflow_lineage_provider.arrays.checks import check_inputs, check_outputs
from airflow_lineage_provider.arrays.columns import Column, Counted, Varied
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.in_order import InOrder
from airflow_lineage_provider.arrays.pairs import Pairs
from airflow_lineage_provider.arrays.pco import Paged
from airflow_lineage_provider.arrays.plain import Row
from airflow_lineage_provider.arrays.relation import INPUTS, OUTPUTS, Motion, Relation
from airflow_lineage_provider.arrays.sealed import damaged
from airflow_lineage_provider.arrays.unread_pairs import Lines
from airflow_lineage_provider.errors import InvalidRelation, RelationDamaged


@dataclass(eq=False)
class Unread:
    """Columns of so many rows, as `codec` has them. (Made for each relation of a path: a frozen one takes twice as long.)

    :ivar columns: of each output axis where boxes begin, and their lengths less one; of each input axis the offsets of where intervals
        begin, what the ends' are more than these, the moves of the beginnings, and what the ends' are more than these.
    :ivar of_outputs: how many are of outputs.
    :ivar where: tells of which relation messages speak; empty where that is not known.
    """

    rows: int
    columns: list[Column]
    of_outputs: int
    where: Callable[[], str]

    @property
    def outputs(self) -> list[Column]:
        """Those of the outputs."""
        return self.columns[: self.of_outputs]

    @property
    def inputs(self) -> list[Column]:
        """Those of the inputs."""
        return self.columns[self.of_outputs :]

    def few(self) -> tuple[Row, ...]:
        """The rows in plain numbers."""
        if self.rows == 1:
            return (self._row([one if isinstance(one, int) else one.listed()[0] for one in self.columns]),)
        columns = [one if isinstance(one, int) else one.listed() for one in self.columns]
        return tuple([self._row([one if isinstance(one, int) else one[at] for one in columns]) for at in range(self.rows)])

    def _row(self, numbers: list[int]) -> Row:
        of = self.of_outputs
        first, low, moves = numbers[:of:2], numbers[of::4], numbers[of + 2 :: 4]
        outputs, offsets = (first, [*map(add, first, numbers[1:of:2])]), (low, [*map(add, low, numbers[of + 1 :: 4])])
        return Row(outputs, offsets, (moves, [*map(add, moves, numbers[of + 3 :: 4])]))

    def side(self, relation: Relation, name: str) -> dict[str, Any]:
        """What a relation knows of the side that a column is of, by name: its columns, and what they had to be checked for.

        :raises RelationDamaged: they are no relation's, or not readable.
        """
        if relation.few:
            return _of_few(relation.few)
        try:
            return self._outputs(relation) if name in OUTPUTS else self._inputs(relation)
        except (InvalidRelation, RelationDamaged) as problem:
            raise damaged(problem, self.where()) from problem

    @property
    def are_lines(self) -> bool:
        """Whether it is known of them before they are read that each row is one input cell for each of its output cells (`Lines`)."""
        return bool(self.rows) and _all_nought(self.inputs[1::4]) and _all_nought(self.inputs[3::4])

    @property
    def are_apart(self) -> bool:
        """Whether bytes of them stand elsewhere."""
        return any(isinstance(one, Paged) and one.tail.is_apart for one in self.columns)

    def pairs(self, relation: Relation) -> tuple[Pairs, ...] | None:
        """All pairs of a relation in numbers of cells, where it is known of the columns before they are read that there are not many.

        :raises RelationDamaged: they are no relation's, or not readable.
        """
        if (rows := relation.in_order) is not None:
            return (Pairs(None, rows.inputs([0] * len(rows.out_shape), [side - 1 for side in rows.out_shape])),)
        lines = Lines.of(self.rows, self.outputs, self.inputs, (relation.out_shape, relation.in_shape))
        try:
            return lines.pairs(is_whole=vars(relation).get("is_whole", False))
        except (InvalidRelation, RelationDamaged) as problem:
            raise damaged(problem, self.where()) from problem

    def in_order(self, relation: Relation) -> InOrder | None:
        """Its rows, where it is known of the columns before they are read that they are all output cells in order, and move alike."""
        if not vars(relation).get("is_whole", False) or not self.are_lines:
            return None
        return InOrder.of(self.inputs[::4], self.inputs[2::4], (relation.out_shape, relation.in_shape), self.where)

    def known(self, shape: Shape) -> dict[str, Any]:
        """What can be told of a relation without reading it, by name.

        :param shape: of its output.
        """
        found: dict[str, Any] = {"motions": self._motions(), "is_whole": self._is_whole(shape) or None}
        return {name: one for name, one in found.items() if one is not None}

    def _motions(self) -> tuple[Motion, ...] | None:
        """How ends move, where that is the same in all rows."""
        found: list[Motion] = []
        for own, (of_lo, further) in enumerate(zip(self.inputs[2::4], self.inputs[3::4], strict=True)):
            if not isinstance(of_lo, int) or not isinstance(further, int):
                return None
            moves = ((True, of_lo), (False, of_lo + further))
            found += [Motion(own, is_lo, abs(move) - 1, move > 0, True) for is_lo, move in moves if move]
        return tuple(found)

    def _is_whole(self, shape: Shape) -> bool:
        """Whether each row is one cell of an output of this shape, all cells in C order, as far as it can be told without reading."""
        if self.rows != math.prod(shape) or not _all_nought(self.outputs[1::2]):
            return False
        counts = [Counted(self.rows, 0, math.prod(shape[axis + 1 :]), side) if side > 1 else 0 for axis, side in enumerate(shape)]
        return list(self.outputs[::2]) == counts

    def _outputs(self, relation: Relation) -> dict[str, Any]:
        lo = self._stacked(self.outputs[::2])
        hi = self._further(lo, self.outputs[1::2])
        check_outputs(Boxes(lo, hi), relation.out_shape)
        return {"out_lo": lo, "out_hi": hi}

    def _inputs(self, relation: Relation) -> dict[str, Any]:
        """These are checked against the outputs, where they move with these."""
        lo, lo_moves = self._stacked(self.inputs[::4]), self._moves(self.inputs[2::4])
        hi, hi_moves = self._further(lo, self.inputs[1::4]), lo_moves
        if not _all_nought(self.inputs[3::4]):
            hi_moves = lo_moves + self._moves(self.inputs[3::4])
        found = {"in_lo": lo, "in_hi": hi, "lo_moves": lo_moves, "hi_moves": hi_moves}
        outputs = {} if vars(relation).get("motions") == () else {name: getattr(relation, name) for name in OUTPUTS}
        whole = Relation.opened(self, **(vars(relation) | outputs | found))
        check_inputs(whole)
        return found | {name: vars(whole)[name] for name in _FOUND if name in vars(whole)}

    def _stacked(self, columns: Sequence[Column]) -> Ints:
        found = np.empty((len(columns), self.rows), dtype=np.int64)
        for column, into in zip(columns, found, strict=True):
            if isinstance(column, int):
                into[:] = column
            else:
                column.write(into)
        return found

    def _further(self, ends: Ints, lengths: Sequence[Column]) -> Ints:
        """Further ends; the same where there is nothing to add."""
        if _all_nought(lengths):
            return ends
        found = ends.copy()
        for column, into in zip(lengths, found, strict=True):
            into += column if isinstance(column, int) else column.numbers()
        return found

    def _moves(self, columns: Sequence[Column]) -> npt.NDArray[np.int8]:
        """Of the sizes that they can have: what is larger stays so, and is refused."""
        found = np.empty((len(columns), self.rows), dtype=np.int8)
        for column, into in zip(columns, found, strict=True):
            into[:] = max(-_MOST, min(column, _MOST)) if isinstance(column, int) else _clipped(column)
        return found


_MOST = 65
"""More than two moves can differ by, of an array of 32 axes at most."""

_FOUND = ("motions", "moving", "moving_rows", "of_moving", "in_boxes")
"""What a check finds out of a relation on its way."""


def _of_few(rows: Sequence[Row]) -> dict[str, Any]:
    """All columns of rows in plain numbers, which were looked at when they were opened."""
    ends = [*zip(*(row.outputs for row in rows), strict=True), *zip(*(row.offsets for row in rows), strict=True)]
    moves = ([[max(-_MOST, min(one, _MOST)) for one in row.moves[end]] for row in rows] for end in (0, 1))
    found = [np.array(one, dtype=np.int64).T for one in ends] + [np.array(one, dtype=np.int8).T for one in moves]
    return dict(zip((*OUTPUTS, *INPUTS), found, strict=True))


def _clipped(column: Varied) -> Ints:
    return column.numbers() if column.is_within(_MOST) else np.clip(column.numbers(), -_MOST, _MOST)


def _all_nought(columns: Sequence[Column]) -> bool:
    return all(isinstance(one, int) and not one for one in columns)
