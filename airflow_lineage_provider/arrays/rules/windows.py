"""Windows that slide over an array by one cell a step."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.rules.spans import Span, of_rows, shape_of
from airflow_lineage_provider.errors import InvalidRelation
from airflow_lineage_provider.words import WindowMode, check_word


def windows(shape: Sequence[int], size: Sequence[int], mode: WindowMode = "valid") -> Relation:
    """Of a filter, convolution or pooling of stride 1: of each cell, the window of the input that it is made from.

    :param size: of the window along each axis.
    :param mode: ``valid``, no window reaches beyond the array; ``same``, there is one around each of its cells; ``full``, all that touch
        it.
    :raises InvalidRelation: the window has other axes, no side, or, with ``valid``, is larger than the array.
    """
    check_word("mode", mode, WindowMode)
    sides, steps = shape_of(shape), shape_of(size)
    if len(sides) != len(steps) or 0 in steps or (mode == "valid" and any(w > n for n, w in zip(sides, steps, strict=True))):
        raise InvalidRelation(f"a window of shape {steps} does not fit into an array of shape {sides}")
    before = [{"valid": 0, "same": w // 2, "full": w - 1}[mode] for w in steps]
    output = tuple(n + {"valid": 1 - w, "same": 0, "full": w - 1}[mode] for n, w in zip(sides, steps, strict=True))
    pieces = [list(_clipped(axis, output[axis], side, before[axis], steps[axis] - 1 - before[axis])) for axis, side in enumerate(sides)]
    rows = [([piece[:2] for piece in row], [piece[2] for piece in row]) for row in itertools.product(*pieces)]
    return of_rows(output, sides, rows)


Piece = tuple[int, int, Span]
"""The first and the last position along an output axis, and the span of the same input axis behind them."""


def _clipped(axis: int, output: int, side: int, before: int, after: int) -> Iterator[Piece]:
    """A window from ``before`` positions before the cell to ``after`` behind it, cut where it would reach beyond the array."""
    edges = sorted({0, output, *(one for one in (before, side - after) if 0 < one < output)})
    for first, end in itertools.pairwise(edges):
        lo = Span(0, 0) if first < before else Span(-before, 0, axis + 1)
        hi = Span(0, side - 1) if first >= side - after else Span(0, after, 0, axis + 1)
        yield first, end - 1, Span(lo.lo, hi.hi, lo.lo_moves, hi.hi_moves)
