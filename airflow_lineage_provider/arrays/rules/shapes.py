"""Operations that work along axes: elementwise, reductions, scans, transforms across axes, slices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.rules.spans import Span, axis_of, moving_with, one_row, shape_of
from airflow_lineage_provider.errors import InvalidRelation
from airflow_lineage_provider.shown import shown


def elementwise(*shapes: Sequence[int]) -> tuple[Relation, ...]:
    """Of each operand of a universal function, with broadcasting.

    :raises InvalidRelation: the shapes cannot be broadcast together.

    >>> [one.lo_moves.tolist() for one in elementwise((3, 4), (4,), (3, 1))]
    [[[1], [2]], [[2]], [[1], [0]]]
    """
    sides = [shape_of(one) for one in shapes]
    try:
        output = np.broadcast_shapes(*sides)
    except ValueError as error:
        raise InvalidRelation(f"shapes {shown(sides)} cannot be broadcast together: {error}") from error
    return tuple(one_row(output, one, [moving_with(axis + len(output) - len(one), side) for axis, side in enumerate(one)]) for one in sides)


def reduction(shape: Sequence[int], axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Relation:
    """Of a sum, mean, product, maximum, … along some axes, or all.

    :raises InvalidRelation: the array has no such axis.
    """
    sides = shape_of(shape)
    gone = set(range(len(sides))) if axis is None else {axis_of(one, sides) for one in ([axis] if isinstance(axis, int) else axis)}
    kept = list(range(len(sides))) if keepdims else [one for one in range(len(sides)) if one not in gone]
    output = tuple(1 if one in gone else sides[one] for one in kept)
    spans = [Span(0, side - 1) if one in gone else moving_with(kept.index(one), side) for one, side in enumerate(sides)]
    return one_row(output, sides, spans)


def scan(shape: Sequence[int], axis: int) -> Relation:
    """Of a running sum, product, maximum, … along an axis: each cell from all up to its own.

    :raises InvalidRelation: the array has no such axis.
    """
    sides = shape_of(shape)
    along = axis_of(axis, sides)
    return one_row(sides, sides, [Span(0, 0, 0, one + 1) if one == along else moving_with(one, side) for one, side in enumerate(sides)])


def all_to_all(shape: Sequence[int], output: Sequence[int]) -> Relation:
    """Each cell of an output from all cells of the input."""
    sides, result = shape_of(shape), shape_of(output)
    return one_row(result, sides, [Span(0, side - 1) for side in sides])


def across(shape: Sequence[int], output: Sequence[int], axes: int | Sequence[int]) -> Relation:
    """Each cell from all cells along some axes, and from its own position along the others: transforms, inverses of matrices, sorting.

    :param output: of as many axes, and as long along the others.
    :raises InvalidRelation: the array has no such axis, or the shapes do not fit.
    """
    sides, result = shape_of(shape), shape_of(output)
    mixed = {axis_of(one, sides) for one in ([axes] if isinstance(axes, int) else axes)}
    if len(sides) != len(result) or any(sides[one] != result[one] for one in range(len(sides)) if one not in mixed):
        raise InvalidRelation(f"an array of shape {sides} does not become one of shape {result} across axes {sorted(mixed)}")
    return one_row(result, sides, [Span(0, side - 1) if one in mixed else moving_with(one, side) for one, side in enumerate(sides)])


def sliced(shape: Sequence[int], index: Sequence[slice | int | None]) -> Relation:
    """Of an array indexed by whole numbers and slices whose steps are 1 or −1, one for each axis, and None for a new one.

    :raises InvalidRelation: a position beyond the array, another step, or not one for each axis.
    """
    sides = shape_of(shape)
    if sum(one is not None for one in index) != len(sides):
        raise InvalidRelation(f"an array of shape {sides} has not one axis for each of {shown(list(index))}")
    output: list[int] = []
    spans: list[Span] = []
    for one in index:
        if one is None:
            output.append(1)
        elif isinstance(one, slice):
            start, stop, step = one.indices(sides[len(spans)])
            if step not in (1, -1):
                raise InvalidRelation(f"{shown(one)} steps over cells; that is a movement (moved)")
            output.append(len(range(start, stop, step)))
            spans.append(Span(start, start, step * len(output), step * len(output)))
        else:
            at = _position(one, sides[len(spans)])
            spans.append(Span(at, at))
    return one_row(tuple(output), sides, spans)


def _position(at: int, side: int) -> int:
    if not -side <= at < side:
        raise InvalidRelation(f"position {at} is beyond an axis of {side}")
    return at % side
