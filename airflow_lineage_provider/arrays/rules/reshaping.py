"""Arrays of the same cells in the same order (C) and another shape."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from airflow_lineage_provider.arrays.boxes import Boxes, Shape
from airflow_lineage_provider.arrays.compress import merge
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.relation import Moves, Relation
from airflow_lineage_provider.arrays.rules.spans import of_rows, shape_of
from airflow_lineage_provider.errors import InvalidRelation


def reshape(shape: Sequence[int], output: Sequence[int]) -> Relation:
    """Of an array that is reshaped, flattened, or given axes of one position.

    Axes that are split or joined have a row for each run of cells that stays together: of a picture cut into blocks one for each line of
    each block; others have one.

    :raises InvalidRelation: the shapes have not as many cells.
    """
    return reshape_within(shape, output, None)


def reshape_within(shape: Sequence[int], output: Sequence[int], boxes: Boxes | None) -> Relation:
    """The same, of the runs that may meet some boxes of the output; of all where these are None."""
    source, result = shape_of(shape), shape_of(output)
    if math.prod(source) != math.prod(result):
        raise InvalidRelation(f"an array of shape {source} has not as many cells as one of shape {result}")
    if 0 in source or (boxes is not None and not len(boxes)):
        return of_rows(result, source, [])
    bounds = None if boxes is None else (boxes.lo.min(axis=1), boxes.hi.max(axis=1))
    columns = [_of_block(source, result, *block, bounds) for block in _blocks(source, result)]
    sides = [len(one[0]) for one in columns]
    rows = math.prod(sides)
    grid = np.indices(sides).reshape(len(columns), rows)
    first, last = np.zeros((2, len(result), rows), dtype=np.int64)
    offset, moves = np.zeros((len(source), rows), dtype=np.int64), np.zeros((len(source), rows), dtype=np.int8)
    for (starts, length, block), at in zip(columns, grid, strict=True):
        _fill(source, result, block, starts[at], length, (first, last, offset, moves))
    found = Relation(result, source, first, last, offset, offset.copy(), moves, moves.copy())
    # A run of several cells that is a whole line on either side goes on nowhere.
    is_least = all(1 < length == min(source[own[-1]], result[made[-1]]) for _, length, (own, made) in columns)
    return found if is_least else merge(found)


Block = tuple[range, range]
"""Axes of the source, and axes of the result with as many cells, which none of the axes before or behind take part in."""


def _blocks(source: Shape, result: Shape) -> Iterator[Block]:
    """The finest such blocks, those of one cell left out."""
    ends = [{math.prod(shape[:at]): at for at in range(len(shape), -1, -1)} for shape in (source, result)]
    cuts = sorted(set(ends[0]) & set(ends[1]))
    lasts = [{math.prod(shape[:at]): at for at in range(len(shape) + 1)} for shape in (source, result)]
    for before, after in itertools.pairwise(cuts):
        yield range(lasts[0][before], ends[0][after]), range(lasts[1][before], ends[1][after])


def _of_block(source: Shape, result: Shape, own: range, made: range, bounds: tuple[Ints, Ints] | None) -> tuple[Ints, int, Block]:
    """Where the runs of cells begin that stay together, and how long they are.

    :param bounds: those that lie between these positions of the result, along the axes of the block.
    """
    sides = [[shape[axis] for axis in axes] for shape, axes in ((source, own), (result, made))]
    length = math.gcd(sides[0][-1], sides[1][-1])
    starts = np.arange(0, math.prod(sides[0]), length)
    if bounds is None:
        return starts, length, (own, made)
    first = np.array(np.unravel_index(starts, sides[1]))
    last = first.copy()
    last[-1] += length - 1
    axes = list(made)
    met = (last >= bounds[0][axes, None]).all(axis=0) & (first <= bounds[1][axes, None]).all(axis=0)
    return starts[met], length, (own, made)


def _fill(
    source: Shape, result: Shape, block: Block, starts: Ints, length: int, columns: tuple[Ints, Ints, Ints, Moves]
) -> None:  # fmt: skip
    """The columns of a block's axes, of runs that begin there: all axes stand still but the last, which move together."""
    first, last, offset, moves = columns
    own, made = block
    at = np.unravel_index(starts, [source[axis] for axis in own])
    into = np.unravel_index(starts, [result[axis] for axis in made])
    for axis, position in zip(made, into, strict=True):
        first[axis] = last[axis] = position
    last[made[-1]] += length - 1
    for axis, position in zip(own, at, strict=True):
        offset[axis] = position
    offset[own[-1]] -= into[-1]
    moves[own[-1]] = made[-1] + 1
