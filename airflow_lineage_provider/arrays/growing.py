"""A lineage at shapes that were not captured, by how it grew from one capture to another (DSLog, Sec. VI).

Each end of each interval is an affine function of the dimensions, and of those of the output that are no such function of the inputs'.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.checks import check_relation
from airflow_lineage_provider.arrays.compress import merge
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.errors import InvalidRelation

_LEAST_ROWS = 3
"""Of fewer rows a step from one to the next says nothing."""
_TURNS = (1, 2, 3)
"""Of how many kinds rows are that come in turn."""
_ENDS = ("out_lo", "out_hi", "in_lo", "in_hi")
_MOVES = ("lo_moves", "hi_moves")


def sides_of(shapes: tuple[Shape, ...]) -> tuple[int, ...]:
    return tuple(itertools.chain.from_iterable(shapes))


def is_determined(rows: Ints, spare: int) -> bool:
    """Whether the calls determine an affine function of their variables, also without any ``spare`` of them."""
    left = len(rows) - spare
    if left < rows.shape[1]:
        return False
    return all(np.linalg.matrix_rank(rows[list(kept)]) == rows.shape[1] for kept in itertools.combinations(range(len(rows)), left))


def variables(seen: Ints, wanted: Ints) -> Ints | None:
    """(calls + 1, 1 + variables): a 1, and each dimension that varies, once where several always are equal; the last row is the new call.

    None where the new call has other dimensions equal, or another one where all calls had the same: nothing is known of that.
    """
    fixed = (seen == seen[0]).all(axis=0)
    if (wanted[fixed] != seen[0][fixed]).any():
        return None
    columns: list[int] = []
    for at in np.flatnonzero(~fixed).tolist():
        twin = next((one for one in columns if (seen[:, one] == seen[:, at]).all()), None)
        if twin is None:
            columns.append(at)
        elif wanted[twin] != wanted[at]:
            return None
    both = np.concatenate([seen, wanted[None]])[:, columns]
    return np.concatenate([np.ones((len(both), 1), dtype=np.int64), both], axis=1)


def with_outputs(rows: Ints, made: Ints) -> Ints | None:
    """The same with those of the outputs' dimensions that are no affine function of the inputs', as the length of a flattened array.

    None where one is such a function, but for the new call.
    """
    for column in made.T:
        told = _affine(column[:-1], rows)
        if told is None:
            rows = np.concatenate([rows, column[:, None]], axis=1)
        elif told != column[-1]:
            return None
    return rows


def grown(calls: list[Relation], rows: Ints, output: Shape, source: Shape) -> Relation | None:
    """The relation of the new call; None where the calls' have not one form, or an end is no whole affine function."""
    shape = _affine(np.array([one.out_shape for one in calls], dtype=np.int64), rows)
    if shape is None or tuple(shape.tolist()) != output:
        return None
    found = _of_rows_alike(calls, rows) if len({len(one) for one in calls}) == 1 else _of_more_rows(calls, rows)
    if found is None:
        return None
    told = Relation(output, source, *found)
    try:
        check_relation(told)
    except InvalidRelation:
        return None
    return merge(told)


def _of_rows_alike(calls: list[Relation], rows: Ints) -> list[Any] | None:
    """Where all have as many rows: the columns of the new call's."""
    first = calls[0]
    if any((getattr(one, name) != getattr(first, name)).any() for one in calls for name in _MOVES):
        return None
    ends = [_affine(np.stack([getattr(one, name) for one in calls]), rows) for name in _ENDS]
    return None if any(one is None for one in ends) else [*ends, first.lo_moves, first.hi_moves]


def _of_more_rows(calls: list[Relation], rows: Ints) -> list[Any] | None:
    """Where their number grows, as of a flattened array, or a repeated one: each end goes on by the same step from row to row, or from each
    second row to the one after the next, …, as rows within the lines of a table and between them take turns.

    The number, the first row and the steps are affine functions of the dimensions.
    """
    count = _affine(np.array([len(one) for one in calls], dtype=np.int64), rows)
    if count is None:
        return None
    for turns in _TURNS:
        found = _taking_turns(calls, rows, int(count), turns)
        if found is not None:
            return found
    return None


def _taking_turns(calls: list[Relation], rows: Ints, count: int, turns: int) -> list[Any] | None:
    if min(count, *map(len, calls)) < _LEAST_ROWS * turns:
        return None
    found: list[list[Any]] = []
    for at in range(turns):
        turn = _of_one_step([one.take(slice(at, None, turns)) for one in calls], rows, len(range(at, count, turns)))
        if turn is None:
            return None
        found.append(turn)
    columns = [np.empty((len(one), count), dtype=one.dtype) for one in found[0]]
    for at, turn in enumerate(found):
        for column, part in zip(columns, turn, strict=True):
            column[:, at::turns] = part
    return columns


def _of_one_step(calls: list[Relation], rows: Ints, count: int) -> list[Any] | None:
    """So many rows, each from the one before by the same step."""
    moves = [getattr(calls[0], name)[:, :1] for name in _MOVES]
    if not all((getattr(one, name) == move).all() for one in calls for name, move in zip(_MOVES, moves, strict=True)):
        return None
    ends = []
    for name in _ENDS:
        columns = [getattr(one, name) for one in calls]
        steps = [np.diff(one, axis=1) for one in columns]
        if any((one != one[:, :1]).any() for one in steps):
            return None
        found = _affine(np.stack([np.stack([one[:, 0], step[:, 0]]) for one, step in zip(columns, steps, strict=True)]), rows)
        if found is None:
            return None
        ends.append(found[0][:, None] + found[1][:, None] * np.arange(count))
    return [*ends, *(np.repeat(one, count, axis=1) for one in moves)]


def _affine(values: Ints, rows: Ints) -> Ints | None:
    """The value of the last row where those of the others, (calls, …), are a whole affine function of the variables."""
    flat = values.reshape(len(values), values[0].size)
    slopes = np.rint(np.linalg.lstsq(rows[:-1].astype(float), flat.astype(float), rcond=None)[0]).astype(np.int64)
    if (rows[:-1] @ slopes != flat).any():
        return None
    return np.asarray((rows[-1] @ slopes).reshape(values.shape[1:]))
