"""Relations between the cells of tables: those of their rows crossed with those of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from airflow_lineage_provider.arrays.compress import compress, concatenated, merge
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.rules import all_to_all

if TYPE_CHECKING:
    from airflow_lineage_provider.arrays.grouping import Ints


def taken(places: Ints | Sequence[int], side: int) -> Relation:
    """Of each row (or column) the one that it is, of ``side`` many; −1 is none.

    >>> found = taken([2, 3, 4, -1], 6)
    >>> found.out_lo.tolist(), found.out_hi.tolist(), found.in_lo.tolist(), found.lo_moves.tolist()
    ([[0]], [[2]], [[2]], [[1]])
    """
    wanted = np.asarray(places, dtype=np.int64)
    kept = np.flatnonzero(wanted >= 0)
    return compress(np.stack([kept, wanted[kept]], axis=1), (len(wanted),), (side,))


def grouped(groups: Ints, count: int) -> Relation:
    """Of each of ``count`` groups the rows that have its number; −1 is no group's."""
    kept = np.flatnonzero(groups >= 0)
    return compress(np.stack([groups[kept], kept], axis=1), (count,), (len(groups),))


def crossed(rows: Relation, columns: Relation) -> Relation:
    """Of each cell the cells in a row behind its row, and in a column behind its column."""
    one = rows.take(np.repeat(np.arange(len(rows)), len(columns)))
    other = columns.take(np.tile(np.arange(len(columns)), len(rows)))
    moves = ((one.lo_moves, _further(other.lo_moves)), (one.hi_moves, _further(other.hi_moves)))
    ends = [(getattr(one, name), getattr(other, name)) for name in ("out_lo", "out_hi", "in_lo", "in_hi")]
    shapes = rows.out_shape + columns.out_shape, rows.in_shape + columns.in_shape
    return Relation(*shapes, *(np.concatenate(pair) for pair in (*ends, *moves)))


def _further(moves: Any) -> Any:
    """With the output's second axis in place of the first."""
    return (moves + np.sign(moves)).astype(np.int8)


def one_of(at: int, side: int) -> Relation:
    """Between one array of no axes and a position of one axis."""
    return replace(taken([at], side), out_shape=(), out_lo=np.zeros((0, 1), np.int64), out_hi=np.zeros((0, 1), np.int64))


def column_of(rows: Relation, at: int, columns: int) -> Relation:
    """Of each cell of an array of one axis that in a column of a table, in the row behind it."""
    return crossed(rows, one_of(at, columns))


def into_column(rows: Relation, at: int, columns: int) -> Relation:
    """Of each cell of a column of a table that of an array of one axis, in the row behind it; other columns have none."""
    here = np.full((1, len(rows)), at, dtype=np.int64)
    outputs = np.concatenate([rows.out_lo, here]), np.concatenate([rows.out_hi, here])
    return replace(rows, out_shape=(*rows.out_shape, columns), out_lo=outputs[0], out_hi=outputs[1])


def of_columns(output: tuple[int, int], source: tuple[int, int], columns: Sequence[int]) -> Relation:
    """Of each cell all cells in some columns."""
    pairs = [(to, of) for to in range(output[1]) for of in columns]
    behind = compress(np.array(pairs, dtype=np.int64).reshape(-1, 2), (output[1],), (source[1],))
    return crossed(all_to_all((source[0],), (output[0],)), behind)


def together(parts: Sequence[Relation]) -> Relation:
    """The pairs of all of them, which are between the same tables."""
    return merge(concatenated(list(parts)))
