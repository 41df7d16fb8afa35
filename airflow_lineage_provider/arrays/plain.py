"""A few rows and a few boxes in plain numbers: what most operations have, where the machinery for many costs more than the answer.

The same rules as of `join`, `relation.inputs` and `checks.check_relation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import le, lt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_lineage_provider.arrays.relation import Relation

Box = tuple[list[int], list[int]]
"""First and last position along each axis."""

FEW = 32
"""So many rows, and boxes for all rows together, are gone through one by one."""
FEW_TO_TELL_APART = 8
"""So many boxes are held against each other one by one."""


@dataclass
class Row:
    """A row of a `Relation`. (Made for each relation of a path: a frozen one takes twice as long.)

    :ivar outputs: its box of output cells.
    :ivar offsets: of where the intervals of input positions begin, and of where they end.
    :ivar moves: of the beginnings, and of the ends.
    """

    outputs: Box
    offsets: Box
    moves: tuple[list[int], list[int]]

    @cached_property
    def is_shared(self) -> bool:
        """Whether two input axes hang on one output axis: behind a box of outputs they may be no box."""
        owners = {(abs(move), own) for moves in self.moves for own, move in enumerate(moves) if move}
        return len({axis for axis, _ in owners}) < len(owners)

    @cached_property
    def keeps_apart(self) -> tuple[bool, bool]:
        """Whether what is behind two boxes of outputs that do not overlap does not either; and the other way round."""
        (first, last), (low, high), (lo_moves, hi_moves) = self.outputs, self.offsets, self.moves
        points = [move == other and begin == end for move, other, begin, end in zip(lo_moves, hi_moves, low, high, strict=True)]
        told = {abs(move) - 1 for move, is_point in zip(lo_moves, points, strict=True) if move and is_point}
        backward = all(axis in told for axis, ends in enumerate(zip(first, last, strict=True)) if ends[0] != ends[1])
        return backward, all(points)

    @property
    def is_aligned(self) -> bool:
        """Whether each input axis has an interval that stands still, or one position that moves with an output axis of its own."""
        lo_moves, hi_moves = self.moves
        own = [abs(move) for move in lo_moves if move]
        points = all(low == high for move, low, high in zip(lo_moves, *self.offsets, strict=True) if move)
        return lo_moves == hi_moves and points and len(set(own)) == len(own)

    def is_identity(self, shape: Sequence[int]) -> bool:
        """Whether it leads from each cell of an array to the same one: it fits two of this shape."""
        if any(self.outputs[0]) or [last + 1 for last in self.outputs[1]] != list(shape) or 0 in shape:
            return False
        if any(self.offsets[0]) or any(self.offsets[1]):
            return False
        ahead = range(1, len(shape) + 1)
        return all(
            move == own or (not move and side == 1) for moves in self.moves for move, own, side in zip(moves, ahead, shape, strict=True)
        )

    def backward(self, first: Sequence[int], last: Sequence[int]) -> Box | None:
        """The input cells behind a box of output cells; None where there are none.

        They are a box where it is not `is_shared`.
        """
        first, last = [*map(max, first, self.outputs[0])], [*map(min, last, self.outputs[1])]
        return self.inputs(first, last) if all(map(le, first, last)) else None

    def forward(self, first: Sequence[int], last: Sequence[int]) -> Box | None:
        """The output cells that a box of input cells stands behind; None where there are none."""
        (low, high), (begin, end) = self.offsets, (self.outputs[0].copy(), self.outputs[1].copy())
        for own, (of_lo, of_hi) in enumerate(zip(*self.moves, strict=True)):
            # ±b + offset ≤ last, or ≥ first where the interval's end is concerned.
            if (not of_lo and low[own] > last[own]) or (not of_hi and high[own] < first[own]):
                return None
            if of_lo > 0:
                end[of_lo - 1] = min(end[of_lo - 1], last[own] - low[own])
            elif of_lo:
                begin[-of_lo - 1] = max(begin[-of_lo - 1], low[own] - last[own])
            if of_hi > 0:
                begin[of_hi - 1] = max(begin[of_hi - 1], first[own] - high[own])
            elif of_hi:
                end[-of_hi - 1] = min(end[-of_hi - 1], high[own] - first[own])
        return (begin, end) if all(map(le, begin, end)) else None

    def fits(self, output: Sequence[int], source: Sequence[int]) -> bool:
        """Whether it has output cells of the output, and behind each of them input cells of the input."""
        rank, moves = len(output), [*self.moves[0], *self.moves[1]]
        if moves and (max(moves) > rank or min(moves) < -rank):
            return False
        return _within(self.outputs, output) and _within(self.inputs(*self.outputs), source) and self._has_no_gap()

    def inputs(self, first: Sequence[int], last: Sequence[int]) -> Box:
        """The least box that has all input cells behind a box of its output cells."""
        low, high = self.offsets[0].copy(), self.offsets[1].copy()
        for own, (of_lo, of_hi) in enumerate(zip(*self.moves, strict=True)):
            if of_lo:
                low[own] += first[of_lo - 1] if of_lo > 0 else -last[-of_lo - 1]
            if of_hi:
                high[own] += last[of_hi - 1] if of_hi > 0 else -first[-of_hi - 1]
        return low, high

    def _has_no_gap(self) -> bool:
        """Whether no interval is empty anywhere: its ends come nearest at a corner of the box."""
        if self.moves[0] == self.moves[1]:
            return all(map(le, *self.offsets))
        first, last = self.outputs
        for low, high, of_lo, of_hi in zip(*self.offsets, *self.moves, strict=True):
            corners = [(_at(of_lo, first, last), _at(of_hi, last, first))]
            if of_lo and abs(of_lo) == abs(of_hi):
                corners = [(_at(of_lo, ends, ends), _at(of_hi, ends, ends)) for ends in self.outputs]
            if any(low + begin > high + end for begin, end in corners):
                return False
        return True


def rows_of(relation: Relation) -> tuple[Row, ...] | None:
    """All of them; None where they are not few."""
    if len(relation) > FEW:
        return None
    columns = (relation.out_lo, relation.out_hi, relation.in_lo, relation.in_hi, relation.lo_moves, relation.hi_moves)
    ends = zip(*(one.T.tolist() for one in columns), strict=True)
    return tuple(Row((first, last), (low, high), (lo_moves, hi_moves)) for first, last, low, high, lo_moves, hi_moves in ends)


def apart(boxes: Iterable[Box]) -> tuple[Box, ...] | None:
    """Boxes with the same cells, of which no two overlap, or touch and are one; None where some would have to be cut.

    >>> apart([([0], [1]), ([4], [5]), ([2], [3])]), apart([([0, 0], [1, 1]), ([1, 1], [2, 2])])
    ((([0], [5]),), None)
    """
    found: list[Box] = []
    for box in boxes:
        at = 0
        while at < len(found):
            together, do_meet = _together(found[at], box)
            if together is not None:
                del found[at]
                box, at = together, 0
            elif do_meet:
                return None
            else:
                at += 1
        found.append(box)
    return tuple(found)


def _together(one: Box, other: Box) -> tuple[Box | None, bool]:
    """The box that has the cells of both, where there is one; and whether they have any in common."""
    axes = [(first, last, begin, end) for first, last, begin, end in zip(*one, *other, strict=True)]
    differ = [axis for axis in axes if axis[:2] != axis[2:]]
    meet = all(begin <= last and first <= end for first, last, begin, end in differ)
    if len(differ) <= 1:
        touch = all(begin <= last + 1 and first <= end + 1 for first, last, begin, end in differ)
        return (([*map(min, one[0], other[0])], [*map(max, one[1], other[1])]) if touch else None), meet
    if meet and all(first <= begin and end <= last for first, last, begin, end in differ):
        return one, True
    if meet and all(begin <= first and last <= end for first, last, begin, end in differ):
        return other, True
    return None, meet


def _at(move: int, against: Sequence[int], ahead: Sequence[int]) -> int:
    """How far an end has moved at the farther side of a box."""
    return 0 if not move else ahead[move - 1] if move > 0 else -against[-move - 1]


def _within(box: Box, shape: Sequence[int]) -> bool:
    first, last = box
    return min(first, default=0) >= 0 and all(map(le, first, last)) and all(map(lt, last, shape))
