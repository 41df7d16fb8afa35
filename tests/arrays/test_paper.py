"""The paper's own data, counted from 1 as it is printed, and what its text leaves wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from airflow_lineage_provider.arrays import Log, Relation, compress, expand, invert
from airflow_lineage_provider.arrays.boxes import Boxes
from airflow_lineage_provider.arrays.compress import merge_inputs
from airflow_lineage_provider.arrays.grouping import Ints, runs
from airflow_lineage_provider.arrays.join import backward, forward
from airflow_lineage_provider.arrays.relation import extent
from airflow_lineage_provider.errors import CaptureNeeded
from tests.arrays.operations import listed, moved, multiplied, padded_diagonal, scanned, windows

Ends = list[tuple[int, int]]


def ranges(values: list[int]) -> Ends:
    column = np.array(values)
    found = runs(np.zeros_like(column), column, column)
    return list(zip(column[found.order[found.starts]].tolist(), found.tops.tolist(), strict=True))


def still(outputs: list[Ends], inputs: list[Ends], out_shape: tuple[int, ...], in_shape: tuple[int, ...]) -> Relation:
    """A relation whose ends stand still, its rows one after the other."""
    (out_lo, out_hi), (in_lo, in_hi) = (np.array(one, dtype=np.int64).transpose(2, 1, 0) for one in (outputs, inputs))
    return Relation(out_shape, in_shape, out_lo, out_hi, in_lo, in_hi, np.zeros_like(in_lo, np.int8), np.zeros_like(in_lo, np.int8))


def moving(outputs: Ends, offsets: Ends, out_side: int, in_side: int) -> Relation:
    """A relation between two vectors whose intervals move with the output."""
    found = still([[one] for one in outputs], [[one] for one in offsets], (out_side,), (in_side,))
    ahead = np.ones_like(found.lo_moves)
    return Relation(found.out_shape, found.in_shape, found.out_lo, found.out_hi, found.in_lo, found.in_hi, ahead, ahead)


def asked(*ends: tuple[int, int]) -> Boxes:
    """One box."""
    lo, hi = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    return Boxes(lo.reshape(-1, 1), hi.reshape(-1, 1))


def told(boxes: Boxes) -> list[Ends]:
    return [list(zip(lo, hi, strict=True)) for lo, hi in zip(boxes.lo.T.tolist(), boxes.hi.T.tolist(), strict=True)]


SUM = np.array([(1, 1, 1), (1, 1, 2), (2, 2, 1), (2, 2, 2), (3, 3, 1), (3, 3, 2)])
"""Fig. 1 B: B = numpy.sum(A, axis = 1) over A of 3 × 2, columns b₁, a₁, a₂. (Sides are one more here: positions count from 1.)"""


def test_range_encoding() -> None:
    assert ranges([1, 2, 3, 4, 9, 12, 13, 14, 15]) == [(1, 4), (9, 9), (12, 15)]


def test_the_row_that_ends_a_run_begins_the_next() -> None:
    """The else-branch as printed starts the next set as empty: 4 would be lost."""
    assert ranges([1, 2, 4, 5]) == [(1, 2), (4, 5)]


def test_table_1() -> None:
    outputs, inputs = SUM[:, :1].T, SUM[:, 1:].T
    zeros = np.zeros_like(inputs, np.int8)
    found = merge_inputs(Relation((4,), (4, 3), outputs, outputs, inputs, inputs, zeros, zeros), 1)
    rows = [(b, a1, (lo, hi)) for b, a1, lo, hi in zip(found.out_lo[0], found.in_lo[0], found.in_lo[1], found.in_hi[1], strict=True)]
    assert rows == [(1, 1, (1, 2)), (2, 2, (1, 2)), (3, 3, (1, 2))]


def test_relative_is_input_minus_output() -> None:
    """As in table II; the text's b − a would be [−3, −2], and go the other way."""
    shifted = compress(np.array([(b, b + step) for b in (1, 2, 3) for step in (2, 3)]), (4,), (7,))
    assert (shifted.in_lo.tolist(), shifted.in_hi.tolist()) == ([[2]], [[3]])
    assert (shifted.lo_moves.tolist(), shifted.hi_moves.tolist()) == ([[1]], [[1]])
    assert told(backward(shifted, asked((1, 1)))) == [[(3, 4)]]


def test_table_2() -> None:
    found = compress(SUM, (4,), (4, 3))
    assert told(found.out_boxes) == [[(1, 3)]]
    assert (found.lo_moves.tolist(), found.hi_moves.tolist()) == ([[1], [0]], [[1], [0]])
    assert (found.in_lo.tolist(), found.in_hi.tolist()) == ([[0], [1]], [[0], [2]])


def test_table_3() -> None:
    found = invert(compress(SUM, (4,), (4, 3)))
    assert told(found.out_boxes) == [[(1, 3), (1, 2)]]
    assert (found.lo_moves.tolist(), found.hi_moves.tolist(), found.in_lo.tolist(), found.in_hi.tolist()) == ([[1]], [[1]], [[0]], [[0]])


def test_tables_4_to_6() -> None:
    assert told(backward(compress(SUM, (4,), (4, 3)), asked((1, 2)))) == [[(1, 2), (1, 2)]]


def test_figure_2_all_to_one_is_one_row() -> None:
    output, pairs = listed((1, 1), (4, 4), lambda _: np.ndindex(4, 4))
    assert len(compress(pairs, output, (4, 4))) == 1


def test_figure_3_one_to_one() -> None:
    found = compress(np.array([(1, 1), (2, 2)]), (3,), (3,))
    assert (told(found.out_boxes), found.in_lo.tolist(), found.in_hi.tolist()) == ([[(1, 2)]], [[0]], [[0]])


def test_figure_4() -> None:
    assert told(backward(still([[(1, 3)]], [[(1, 2)]], (4,), (3,)), asked((1, 2)))) == [[(1, 2)]]


def test_figure_5() -> None:
    assert told(backward(moving([(1, 3)], [(0, 1)], 4, 6), asked((1, 2)))) == [[(1, 3)]]


@pytest.mark.parametrize("side", [2, 4])
def test_figure_6_the_end_is_that_of_the_array(side: int) -> None:
    found = compress(np.array([(1, a) for a in range(1, side + 1)]), (2,), (side + 1,))
    assert (found.in_lo.tolist(), found.in_hi.tolist()) == ([[1]], [[side]])


def test_figure_6_what_is_known_of_some_lengths_is_known_of_others() -> None:
    """Of a[1, 4], a[1, 6] and a[1, 7] it is a[1, D₁]; an array of two is a kind of its own."""
    log = Log()
    operation: Any = {"args": {"axis": 0}}
    for length in (4, 6, 7, 11, 2):
        log.array(f"a{length}", (length,))
        log.array(f"sum {length}", ())
    for length in (4, 6, 7):
        assert not log.register_operation("sum", [f"a{length}"], [f"sum {length}"], capture=[(at,) for at in range(length)], **operation)
    assert log.register_operation("sum", ["a11"], ["sum 11"], **operation)
    assert log.prov_query(["sum 11", "a11"], ()).boxes.tolist() == [[[0, 11]]]
    with pytest.raises(CaptureNeeded):
        log.register_operation("sum", ["a2"], ["sum 2"], **operation)


def test_union_of_products() -> None:
    found = compress(np.array([(ord("a"), 1), (ord("a"), 2), (ord("b"), 3)]), (200,), (4,))
    assert told(found.out_boxes) == [[(97, 97)], [(98, 98)]]
    assert told(found.in_boxes) == [[(1, 2)], [(3, 3)]]


# --- what the text leaves wrong ----------------------------------------------------------------------------------------------


def test_rel_for() -> None:
    """As printed, [max(t₁ − δ₂, r₁ − δ₂), min(t₂ − δ₁, r₁ − δ₂)] gives [1, −1]: nothing."""
    assert told(forward(moving([(1, 3)], [(0, 2)], 4, 6), asked((3, 3)))) == [[(1, 3)]]


def test_rel_back_where_two_inputs_hang_on_one_output() -> None:
    """As printed it gives [1, 2] × [1, 2], four cells."""
    output, pairs = moved(np.diagonal, (4, 4))
    diagonal = compress(pairs, output, (4, 4))
    assert len(diagonal) == 1
    assert sorted(told(backward(diagonal, asked((1, 2))))) == [[(1, 1), (1, 1)], [(2, 2), (2, 2)]]
    assert told(forward(diagonal, asked((1, 2), (2, 3)))) == [[(2, 2)]]


def test_runs_that_interleave() -> None:
    output, pairs = listed((10,), (15,), lambda at: [at, (at[0] + 5,)])
    assert len(compress(pairs, output, (15,))) == 2


def test_columns_with_a_stride() -> None:
    """Of three output rows with the same columns behind them."""
    output, pairs = listed((3,), (3, 9), lambda at: [(at[0], column) for column in (0, 3, 6)])
    assert len(compress(pairs, output, (3, 9))) == 3


@pytest.mark.parametrize(
    ("rows", "source", "made"),
    [
        (1, (5, 4), lambda s: moved(np.positive, s)),
        (1, (5, 4), lambda s: moved(np.transpose, s)),
        (6, (5, 4), lambda s: moved(np.tile, s, (2, 3))),
        (1, (5, 4), lambda s: multiplied(s, 6, left=True)),
        (1, (5, 4), lambda s: multiplied(s, 6, left=False)),
        (1, (7, 8), lambda s: windows(s, 3, 0)),
        (9, (7, 8), lambda s: windows(s, 3, 1)),
        (1, (5, 5), lambda s: moved(np.diagonal, s)),
        (1, (5, 4), lambda s: moved(np.flip, s)),
        (1, (5, 4), lambda s: moved(np.rot90, s)),
        (1, (5, 4), lambda s: scanned(s, 0)),
    ],
    ids=["elementwise", "transpose", "tile", "matmul left", "matmul right", "conv valid", "conv padded", "diag", "flip", "rot90", "cumsum"],
)
def test_how_many_rows(rows: int, source: tuple[int, ...], made: Callable[..., Any]) -> None:
    output, pairs = made(source)
    relation = compress(pairs, output, source)
    assert len(relation) == rows
    assert np.array_equal(expand(relation), np.unique(pairs, axis=0))


@pytest.mark.parametrize("made", [np.flip, np.rot90, np.transpose, np.positive])
def test_what_is_one_row_is_one_row_the_other_way_round(made: Callable[..., Any]) -> None:
    output, pairs = moved(made, (5, 4))
    assert len(invert(compress(pairs, output, (5, 4)))) == 1


def test_a_vector_on_the_diagonal_is_one_row_the_other_way_round() -> None:
    output, pairs = moved(padded_diagonal, (20,))
    assert (len(compress(pairs, output, (20,))), len(invert(compress(pairs, output, (20,))))) == (20, 1)


def test_an_end_that_moves_is_told_by_its_extremes() -> None:
    offsets, moves = np.array([[3, 3, 3]]), np.array([[0, 1, -1]], dtype=np.int8)
    where = Boxes(np.array([[1, 1, 1]]), np.array([[4, 4, 4]]))
    assert [one.tolist() for one in extent(offsets, moves, where)] == [[[3, 4, -1]], [[3, 7, 2]]]


def test_a_product_of_matrices_is_small_whatever_its_size() -> None:
    source: Ints = np.array(np.unravel_index(np.arange(50**3), (50, 50, 50))).T
    left = compress(source[:, [0, 1, 0, 2]], (50, 50), (50, 50))
    assert len(left) == 1
