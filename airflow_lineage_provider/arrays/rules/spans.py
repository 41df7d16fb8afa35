"""The rows of a rule: boxes of output cells, and spans of the input along each of its axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.given import check_shape
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.errors import InvalidRelation
from airflow_lineage_provider.shown import shown


@dataclass(frozen=True)
class Span:
    """An interval of positions along one axis of the input, for output positions of one piece of it.

    :ivar lo: its first position, or what is added to that of the output where it ``moves``.
    :ivar hi: its last, likewise.
    :ivar lo_moves: 0, or 1 + the output axis with which the beginning moves, negative where it moves against it.
    """

    lo: int
    hi: int
    lo_moves: int = 0
    hi_moves: int = 0


def shape_of(given: Sequence[int]) -> Shape:
    """A shape that was given to a rule.

    :raises InvalidArray: it is none.
    """
    return check_shape("of a rule", given)


def axis_of(axis: int, shape: Shape) -> int:
    """The place of an axis, counted from the first.

    :raises InvalidRelation: there is no such axis.
    """
    if not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
        raise InvalidRelation(f"an array of shape {shape} has no axis {shown(axis)}")
    return axis % len(shape)


def moving_with(axis: int, side: int) -> Span:
    """The same position as along an output axis; an input of one position is broadcast."""
    return Span(0, 0) if side == 1 else Span(0, 0, axis + 1, axis + 1)


def one_row(output: Shape, source: Shape, spans: Sequence[Span]) -> Relation:
    """One row over the whole output; none where there is no cell."""
    return of_rows(output, source, [([(0, side - 1) for side in output], spans)])


def of_rows(output: Shape, source: Shape, rows: Sequence[tuple[Sequence[tuple[int, int]], Sequence[Span]]]) -> Relation:
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
