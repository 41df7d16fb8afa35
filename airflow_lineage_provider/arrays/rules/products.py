"""Sums of products by index letters, products of matrices and of stacks of them."""

from __future__ import annotations

import itertools
import string
from collections.abc import Sequence

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.rules.spans import Span, moving_with, of_rows, shape_of
from airflow_lineage_provider.errors import InvalidRelation
from airflow_lineage_provider.shown import shown


def einsum(subscripts: str, *shapes: Sequence[int]) -> tuple[Relation, ...]:
    """Of each operand of a sum of products by index letters, such as ``outer``, ``tensordot``, ``trace`` and ``diagonal``.

    :param subscripts: as numpy's, without ``...``; without ``->`` the letters that stand once, in their order.
    :raises InvalidRelation: the letters do not fit the shapes.

    >>> [(one.out_shape, one.lo_moves.tolist()) for one in einsum("ij,jk->ik", (2, 3), (3, 4))]
    [((2, 4), [[1], [0]]), ((2, 4), [[0], [2]])]
    """
    sides = [shape_of(one) for one in shapes]
    operands, output = _letters(subscripts, sides)
    lengths = _lengths(subscripts, operands, sides)
    return tuple(_operand(letters, shape, output, lengths) for letters, shape in zip(operands, sides, strict=True))


def matmul(one: Sequence[int], other: Sequence[int]) -> tuple[Relation, Relation]:
    """Of both operands of ``one @ other``; stacks of matrices are broadcast.

    :raises InvalidRelation: the shapes do not fit.
    """
    left, right = shape_of(one), shape_of(other)
    if not left or not right:
        raise InvalidRelation(f"matmul needs axes on both sides; the shapes are {left} and {right}")
    letters = "ij"[-len(left) :], "jk" if len(right) > 1 else "j"
    return stacked(left, right, (*letters, "i" * (len(left) > 1) + "k" * (len(right) > 1)))


def stacked(one: Sequence[int], other: Sequence[int], letters: tuple[str, str, str]) -> tuple[Relation, Relation]:
    """Of both operands of a product of stacks, which are broadcast: of matrices and vectors, say.

    :param letters: of the last axes of both operands and of the result, as of `einsum`.
    :raises InvalidRelation: the shapes do not fit.
    """
    left, right = shape_of(one), shape_of(other)
    stack = (string.ascii_uppercase + string.ascii_lowercase[:8])[: max(len(left) - len(letters[0]), len(right) - len(letters[1]), 0)]
    operands = [stack[len(stack) - (len(shape) - len(own)) :] + own for shape, own in zip((left, right), letters, strict=False)]
    first, second = einsum(f"{operands[0]},{operands[1]}->{stack}{letters[2]}", left, right)
    return first, second


def outer(one: Sequence[int], other: Sequence[int]) -> tuple[Relation, Relation]:
    """Of both operands where each cell of the one meets each of the other: the result has the axes of both."""
    left, right = shape_of(one), shape_of(other)
    letters = string.ascii_letters[: len(left) + len(right)]
    first, second = einsum(f"{letters[: len(left)]},{letters[len(left) :]}->{letters}", left, right)
    return first, second


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
        rows.append([_span(one, side, output, at.get(one)) for one, side in zip(letters, shape, strict=True)])
    return of_rows(result, shape, [] if 0 in lengths.values() else [([(0, side - 1) for side in result], spans) for spans in rows])


def _span(letter: str, side: int, output: str, at: int | None) -> Span:
    """Along one axis of an operand: with the result's, at one position, or all of it."""
    if side == 1 or letter in output:
        return moving_with(output.index(letter), side) if side != 1 else Span(0, 0)
    return Span(0, side - 1) if at is None else Span(at, at)
