"""Lineage of a function that only moves cells: run on numbers in place of the cells, it tells itself where each cell went."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.compress import compress
from airflow_lineage_provider.arrays.given import check_shape
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.errors import CaptureFailed
from airflow_lineage_provider.shown import shown

_FIRST = 1_000_003
"""The number of the first cell, beyond what functions fill in."""
_FEW = 4
"""Of so few cells all orders are tried."""


def moved(function: Callable[..., Any], *shapes: Sequence[int]) -> tuple[Relation, ...]:
    """Of each argument, which of its cells each cell of the result is: indexing, reshape, concatenate, pad, take, repeat, roll, …

    The function is called several times with arrays of whole numbers, each cell's own, in other orders and negative, too. What is the same
    in all results was filled in, and has no lineage. What is not the same cell in all of them was computed, or chosen by its value, and is
    refused: sorting, filtering, `numpy.clip`. A function must not look for certain values.

    :param function: takes arrays of these shapes, and gives one array.
    :raises CaptureFailed: the function raised, gave no array of whole numbers, or does more than move cells.

    >>> [one.out_lo.tolist() for one in moved(lambda a, b: np.concatenate([a, b]), (2,), (3,))]
    [[[0]], [[2]]]
    """
    sides = [check_shape("of an argument", one) for one in shapes]
    cells = sum(map(math.prod, sides))
    first, *others = [(numbers, _called(function, numbers, sides)) for numbers in _numberings(cells)]
    number = first[1].reshape(-1) - _FIRST
    is_cell = (number >= 0) & (number < cells)
    for numbers, result in others:
        if result.shape != first[1].shape:
            raise CaptureFailed(f"{_name(function)} gives arrays of another shape for other values: it does more than move cells")
        wanted = np.where(is_cell, numbers[np.where(is_cell, number, 0)], first[1].reshape(-1)) if cells else first[1].reshape(-1)
        if (result.reshape(-1) != wanted).any():
            raise CaptureFailed(f"{_name(function)} computes cells, or chooses them by their values: it does more than move them")
    return _relations(np.where(is_cell, number, -1), first[1].shape, sides)


def _numberings(cells: int) -> Iterator[Ints]:
    """The numbers of all cells: rising, then falling and negative; then in other orders, all of them where there are few."""
    rising = np.arange(cells)
    yield _FIRST + rising
    yield -_FIRST - rising
    random = np.random.default_rng(cells)
    orders = itertools.permutations(rising) if cells <= _FEW else (random.permutation(cells) for _ in range(2))
    for at, order in enumerate(orders):
        yield (_FIRST + np.array(order, dtype=np.int64)) * (-1) ** at


def _called(function: Callable[..., Any], numbers: Ints, shapes: Sequence[Shape]) -> Ints:
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    arguments = [part.reshape(shape) for part, shape in zip(np.split(numbers.copy(), ends[:-1]), shapes, strict=True)]
    try:
        found = np.asarray(function(*arguments))
    except Exception as error:
        raise CaptureFailed(f"{_name(function)} raised {type(error).__name__}, given whole numbers: {error}") from error
    if found.dtype.kind not in "iu" and found.size:
        raise CaptureFailed(f"{_name(function)} gave an array of {found.dtype}, given whole numbers: it does more than move cells")
    return found.astype(np.int64)


def _relations(number: Ints, output: Shape, shapes: Sequence[Shape]) -> tuple[Relation, ...]:
    """One for each argument; −1 is no cell of any."""
    positions = np.indices(output).reshape(len(output), math.prod(output))
    found, first = [], 0
    for shape in shapes:
        own = np.flatnonzero((number >= first) & (number < first + math.prod(shape)))
        inputs = np.indices(shape).reshape(len(shape), math.prod(shape))[:, number[own] - first]
        found.append(compress(np.concatenate([positions[:, own], inputs]).T, output, shape))
        first += math.prod(shape)
    return tuple(found)


def _name(function: Callable[..., Any]) -> str:
    return shown(getattr(function, "__name__", function))
