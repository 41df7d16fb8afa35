"""Lineage of numpy's operations from the shapes alone: relations of one row, or a few, and no pair of cells is ever made.

A rule gives a relation for each operand, in their order; its ``out_shape`` is the shape of the result. It has what an operation is
*computed from*: of a sum, a product or a maximum all cells of its range. What only moves cells needs no rule: `moved.moved`.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.given import check_shape
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.errors import InvalidRelation
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.words import WindowMode, check_word


@dataclass(frozen=True)
class Span:
    """An interval of positions along one axis of the input, for output positions of one piece of it.

    :ivar lo: its first position, or what is added to that of the output where it ``moves``.
    :ivar hi: its last, likewise.
    :ivar lo_moves: 0, or 1 + the output axis with which the beginning moves.
    """

    lo: int
    hi: int
    lo_moves: int = 0
    hi_moves: int = 0


def elementwise(*shapes: Sequence[int]) -> tuple[Relation, ...]:
    """Of each operand of a universal function, with broadcasting.

    :raises InvalidRelation: the shapes cannot be broadcast together.

    >>> [one.lo_moves.tolist() for one in elementwise((3, 4), (4,), (3, 1))]
    [[[1], [2]], [[2]], [[1], [0]]]
    """
    sides = [_shape(one) for one in shapes]
    try:
        output = np.broadcast_shapes(*sides)
    except ValueError as error:
        raise InvalidRelation(f"shapes {shown(sides)} cannot be broadcast together: {error}") from error
    return tuple(_rows(output, one, [_with(axis + len(output) - len(one), side) for axis, side in enumerate(one)]) for one in sides)


def reduction(shape: Sequence[int], axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Relation:
    """Of a sum, mean, product, maximum, … along some axes, or all.

    :raises InvalidRelation: the array has no such axis.
    """
    sides = _shape(shape)
    gone = set(range(len(sides))) if axis is None else {_axis(one, sides) for one in ([axis] if isinstance(axis, int) else axis)}
    kept = list(range(len(sides))) if keepdims else [one for one in range(len(sides)) if one not in gone]
    output = tuple(1 if one in gone else sides[one] for one in kept)
    return _rows(output, sides, [Span(0, side - 1) if one in gone else _with(kept.index(one), side) for one, side in enumerate(sides)])


def scan(shape: Sequence[int], axis: int) -> Relation:
    """Of a running sum, product, maximum, … along an axis: each cell from all up to its own.

    :raises InvalidRelation: the array has no such axis.
    """
    sides = _shape(shape)
    along = _axis(axis, sides)
    return _rows(sides, sides, [Span(0, 0, 0, one + 1) if one == along else _with(one, side) for one, side in enumerate(sides)])


def einsum(subscripts: str, *shapes: Sequence[int]) -> tuple[Relation, ...]:
    """Of each operand of a sum of products by index letters, such as ``outer``, ``tensordot``, ``trace`` and ``diagonal``.

    :param subscripts: as numpy's, without ``...``; without ``->`` the letters that stand once, in their order.
    :raises InvalidRelation: the letters do not fit the shapes.

    >>> [(one.out_shape, one.lo_moves.tolist()) for one in einsum("ij,jk->ik", (2, 3), (3, 4))]
    [((2, 4), [[1], [0]]), ((2, 4), [[0], [2]])]
    """
    sides = [_shape(one) for one in shapes]
    operands, output = _letters(subscripts, sides)
    lengths = _lengths(subscripts, operands, sides)
    return tuple(_operand(letters, shape, output, lengths) for letters, shape in zip(operands, sides, strict=True))


def matmul(one: Sequence[int], other: Sequence[int]) -> tuple[Relation, Relation]:
    """Of both operands of ``one @ other``; stacks of matrices are broadcast.

    :raises InvalidRelation: the shapes do not fit.
    """
    left, right = _shape(one), _shape(other)
    if not left or not right:
        raise InvalidRelation(f"matmul needs axes on both sides; the shapes are {left} and {right}")
    stack = (string.ascii_uppercase + string.ascii_lowercase[:8])[: max(len(left), len(right), 2) - 2]
    letters = [stack[len(stack) - len(shape[:-2]) :] + ends[-len(shape) :] for shape, ends in ((left, "ij"), (right, "jk"))]
    if len(right) == 1:
        letters[1] = "j"
    result = stack + "i" * (len(left) > 1) + "k" * (len(right) > 1)
    first, second = einsum(f"{letters[0]},{letters[1]}->{result}", left, right)
    return first, second


def windows(shape: Sequence[int], size: Sequence[int], mode: WindowMode = "valid") -> Relation:
    """Of a filter, convolution or pooling of stride 1: of each cell, the window of the input that it is made from.

    :param size: of the window along each axis.
    :param mode: ``valid``, no window reaches beyond the array; ``same``, there is one around each of its cells; ``full``, all that touch
        it.
    :raises InvalidRelation: the window has other axes, no side, or, with ``valid``, is larger than the array.
    """
    check_word("mode", mode, WindowMode)
    sides, steps = _shape(shape), _shape(size)
    if len(sides) != len(steps) or 0 in steps or (mode == "valid" and any(w > n for n, w in zip(sides, steps, strict=True))):
        raise InvalidRelation(f"a window of shape {steps} does not fit into an array of shape {sides}")
    before = [{"valid": 0, "same": w // 2, "full": w - 1}[mode] for w in steps]
    output = tuple(n + {"valid": 1 - w, "same": 0, "full": w - 1}[mode] for n, w in zip(sides, steps, strict=True))
    pieces = [list(_clipped(axis, output[axis], side, before[axis], steps[axis] - 1 - before[axis])) for axis, side in enumerate(sides)]
    rows = [([piece[:2] for piece in row], [piece[2] for piece in row]) for row in itertools.product(*pieces)]
    return _of(output, sides, rows)


Piece = tuple[int, int, Span]
"""The first and the last position along an output axis, and the span of the same input axis behind them."""


def _clipped(axis: int, output: int, side: int, before: int, after: int) -> Iterator[Piece]:
    """A window from ``before`` positions before the cell to ``after`` behind it, cut where it would reach beyond the array."""
    edges = sorted({0, output, *(one for one in (before, side - after) if 0 < one < output)})
    for first, end in itertools.pairwise(edges):
        lo = Span(0, 0) if first < before else Span(-before, 0, axis + 1)
        hi = Span(0, side - 1) if first >= side - after else Span(0, after, 0, axis + 1)
        yield first, end - 1, Span(lo.lo, hi.hi, lo.lo_moves, hi.hi_moves)


def _letters(subscripts: str, shapes: Sequence[Shape]) -> tuple[list[str], str]:
    """Of each operand and of the result."""
    inputs, arrow, output = str(subscripts).replace(" ", "").partition("->")
    operands = inputs.split(",")
    if not arrow:
        output = "".join(sorted(one for one in set(inputs) - {","} if inputs.count(one) == 1))
    letters = set(string.ascii_letters)
    fits = len(operands) == len(shapes) and all(len(one) == len(shape) for one, shape in zip(operands, shapes, strict=True))
    if not fits or not set("".join(operands)) <= letters or not set(output) <= set(inputs) & letters or len(set(output)) < len(output):
        raise InvalidRelation(
            f"subscripts {shown(subscripts)} do not fit shapes {shown(list(shapes))}: a letter for each axis, those of the result once"
        )
    return operands, output


def _lengths(subscripts: str, operands: Sequence[str], shapes: Sequence[Shape]) -> dict[str, int]:
    """How long the axes of each letter are; those of one position stand for any length."""
    found: dict[str, int] = {}
    for letter, side in (one for letters, shape in zip(operands, shapes, strict=True) for one in zip(letters, shape, strict=True)):
        known = found.setdefault(letter, side)
        if known != side and 1 not in (known, side):
            raise InvalidRelation(f"subscripts {shown(subscripts)}: axis {letter} is {known} and {side} positions long")
        found[letter] = side if known == 1 else known
    return found


def _operand(letters: str, shape: Shape, output: str, lengths: dict[str, int]) -> Relation:
    """One row; where a letter that is summed over stands twice, a row for each of its positions."""
    result = tuple(lengths[one] for one in output)
    twice = sorted({one for one in letters if letters.count(one) > 1 and one not in output})
    rows = []
    for point in itertools.product(*(range(lengths[one]) for one in twice)):
        at = dict(zip(twice, point, strict=True))
        spans = [
            Span(0, 0) if side == 1 else _with(output.index(one), side) if one in output else Span(at.get(one, 0), at.get(one, side - 1))
            for one, side in zip(letters, shape, strict=True)
        ]
        rows.append(spans)
    return _of(result, shape, [] if 0 in lengths.values() else [([(0, side - 1) for side in result], spans) for spans in rows])


def _shape(given: Sequence[int]) -> Shape:
    return check_shape("of a rule", given)


def _axis(axis: int, shape: Shape) -> int:
    if not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
        raise InvalidRelation(f"an array of shape {shape} has no axis {shown(axis)}")
    return axis % len(shape)


def _with(axis: int, side: int) -> Span:
    """The same position as along an output axis; an input of one position is broadcast."""
    return Span(0, 0) if side == 1 else Span(0, 0, axis + 1, axis + 1)


def _rows(output: Shape, source: Shape, spans: Sequence[Span]) -> Relation:
    """One row over the whole output; none where there is no cell."""
    return _of(output, source, [([(0, side - 1) for side in output], spans)])


def _of(output: Shape, source: Shape, rows: Sequence[tuple[Sequence[tuple[int, int]], Sequence[Span]]]) -> Relation:
    """A relation of rows: their output boxes, and the spans along the input's axes."""
    if 0 in output + source:
        rows = []

    def column(rank: int, values: list[list[int]], kind: type[np.signedinteger[Any]]) -> npt.NDArray[Any]:
        return np.array(values, dtype=kind).reshape(len(rows), rank).T

    out_lo, out_hi = (column(len(output), [[ends[which] for ends in box] for box, _ in rows], np.int64) for which in (0, 1))
    in_lo, in_hi = (column(len(source), [[getattr(one, name) for one in spans] for _, spans in rows], np.int64) for name in ("lo", "hi"))
    moves = (
        column(len(source), [[getattr(one, name) for one in spans] for _, spans in rows], np.int8) for name in ("lo_moves", "hi_moves")
    )
    return Relation(output, source, out_lo, out_hi, in_lo, in_hi, *moves)
