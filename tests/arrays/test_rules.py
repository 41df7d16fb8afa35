"""The lineage of numpy's operations without pairs is what numpy itself tells: it is run on one cell after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from airflow_lineage_provider.arrays import Log, Relation, compress, encode, expand, moved, rules
from airflow_lineage_provider.arrays.checks import check_relation
from airflow_lineage_provider.errors import CaptureFailed, InvalidArray, InvalidOption, InvalidRelation

Shapes = Sequence[tuple[int, ...]]


def told(function: Callable[..., Any], shapes: Shapes, operand: int) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The shape of the result, and the pairs: an increasing function's results change where a cell that it is computed from grows."""
    ones = [np.ones(shape) for shape in shapes]
    before, pairs = np.asarray(function(*ones)), []
    for at in np.ndindex(*shapes[operand]):
        given = [one.copy() for one in ones]
        given[operand][at] = 3.0
        changed = np.argwhere(np.asarray(function(*given)) != before)
        pairs += [(*map(int, output), *at) for output in changed]
    return before.shape, sorted(pairs)


def check(function: Callable[..., Any], shapes: Shapes, found: Sequence[Relation]) -> None:
    assert len(found) == len(shapes)
    for operand, relation in enumerate(found):
        check_relation(relation)
        output, pairs = told(function, shapes, operand)
        assert (relation.out_shape, relation.in_shape) == (output, shapes[operand])
        assert [tuple(pair) for pair in expand(relation).tolist()] == pairs


@pytest.mark.parametrize(
    "shapes",
    [
        [(3,)],
        [()],
        [(2, 3), (3,)],
        [(2, 1), (1, 3)],
        [(), (2, 2)],
        [(4, 1, 2), (3, 1), (2,)],
        [(0, 2), (1, 2)],
        [(1, 1), (1,)],
        [(1,), (0,)],
    ],
    ids=str,
)
def test_elementwise(shapes: Shapes) -> None:
    check(lambda *all_: math.prod(all_, start=np.float64(1)), shapes, rules.elementwise(*shapes))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((3, 4), 0),
        ((3, 4), 1),
        ((3, 4), -1),
        ((3, 4), None),
        ((2, 3, 4), (0, 2)),
        ((2, 3, 4), (1,)),
        ((), None),
        ((0, 3), 0),
        ((0, 3), 1),
        ((1, 3), 0),
    ],
    ids=str,
)
def test_reduction(shape: tuple[int, ...], axis: Any, keepdims: bool) -> None:
    check(lambda a: np.sum(a, axis=axis, keepdims=keepdims), [shape], [rules.reduction(shape, axis, keepdims=keepdims)])


@pytest.mark.parametrize(("shape", "axis"), [((5,), 0), ((3, 4), 0), ((3, 4), -1), ((1, 4), 0), ((3, 0), 1)], ids=str)
def test_scan(shape: tuple[int, ...], axis: int) -> None:
    check(lambda a: np.cumsum(a, axis=axis), [shape], [rules.scan(shape, axis)])


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ba", [(2, 3)]),
        ("ii", [(3, 3)]),
        ("ii->i", [(3, 3)]),
        ("iij->j", [(2, 2, 3)]),
        ("i,i->", [(4,), (4,)]),
        ("i,j->ji", [(2,), (3,)]),
        ("bij,bjk->bik", [(2, 2, 3), (1, 3, 2)]),
        ("ij,jk->ik", [(2, 0), (0, 3)]),
        ("ij->", [(0, 2)]),
        (" i j -> i ", [(2, 3)]),
        (",i->i", [(), (3,)]),
        ("ii,i->i", [(1, 1), (3,)]),
    ],
    ids=str,
)
def test_einsum(subscripts: str, shapes: Shapes) -> None:
    check(lambda *all_: np.einsum(subscripts, *all_), shapes, rules.einsum(subscripts, *shapes))


@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 3), (3, 4)], [(3,), (3, 4)], [(2, 3), (3,)], [(3,), (3,)], [(2, 2, 3), (3, 2)], [(2, 3), (2, 3, 2)], [(2, 1, 2, 3), (3, 3, 2)],
        [(3,), (2, 3, 2)], [(2, 2, 3), (3,)], [(0, 3), (3, 2)],
    ],
    ids=str,
)  # fmt: skip
def test_matmul(shapes: Shapes) -> None:
    check(np.matmul, shapes, rules.matmul(*shapes))


@pytest.mark.parametrize("mode", ["valid", "same", "full"])
@pytest.mark.parametrize(("side", "size"), [(7, 3), (7, 1), (4, 2), (5, 4), (3, 3)])
def test_windows_of_one_axis(side: int, size: int, mode: Any) -> None:
    check(lambda a: np.convolve(a, np.ones(size), mode), [(side,)], [rules.windows((side,), (size,), mode)])


@pytest.mark.parametrize(
    "index",
    [
        (slice(1, None), slice(None, None, -1)), (2, slice(None)), (None, slice(None), -1), (slice(3, 1), slice(None)),
        (slice(-2, None), slice(3, 0, -1)), (slice(None), None, slice(1, 2)),
    ],
    ids=str,
)  # fmt: skip
def test_slices(index: Any) -> None:
    check(lambda a: a[index], [(3, 4)], [rules.sliced((3, 4), index)])


@pytest.mark.parametrize(
    ("shape", "output"),
    [
        ((4, 6), (2, 2, 3, 2)), ((4, 6), (24,)), ((24,), (4, 6)), ((4, 6), (6, 4)), ((4, 6), (8, 3)), ((2, 3, 4), (2, 12)),
        ((3, 4), (3, 4)), ((3, 1, 4), (1, 3, 4, 1)), ((), (1, 1)), ((1,), ()), ((0, 3), (3, 0, 2)), ((2, 3, 5), (3, 2, 5)), ((1, 1), (1,)),
        ((5, 4), (5, 2, 1, 2)),
    ],
    ids=str,
)  # fmt: skip
def test_reshape(shape: tuple[int, ...], output: tuple[int, ...]) -> None:
    check(lambda a: a.reshape(output), [shape], [rules.reshape(shape, output)])


def test_a_reshaped_array_has_a_row_for_each_run_that_stays_together() -> None:
    assert len(rules.reshape((480, 640, 3), (480 * 640, 3))) == 480
    assert len(rules.reshape((480, 640, 3), (1, 480, 1, 640, 3))) == 1
    assert len(rules.reshape((8, 640), (2, 4, 640))) == 2


def test_across_axes_and_from_all() -> None:
    check(lambda a: np.broadcast_to(a.sum(axis=1, keepdims=True), (3, 2)), [(3, 4)], [rules.across((3, 4), (3, 2), 1)])
    check(lambda a: np.full((3, 4), a.sum()), [(3, 4)], [rules.across((3, 4), (3, 4), (0, 1))])
    check(lambda a: np.full((2,), a.sum()), [(3, 4)], [rules.all_to_all((3, 4), (2,))])
    check(lambda a: np.full((2, 2), a.sum()), [()], [rules.all_to_all((), (2, 2))])


@pytest.mark.parametrize("shapes", [[(2,), (3,)], [(2, 2), (3,)], [(), (3,)], [(0,), (3,)]], ids=str)
def test_outer(shapes: Shapes) -> None:
    check(np.multiply.outer, shapes, rules.outer(*shapes))


def test_stacks() -> None:
    check(np.vecdot, [(2, 3), (3,)], rules.stacked((2, 3), (3,), ("i", "i", "")))
    check(np.matvec, [(2, 4, 3), (1, 3)], rules.stacked((2, 4, 3), (1, 3), ("ij", "j", "i")))


def test_windows_of_two_axes() -> None:
    def summed(a: Any) -> Any:
        return np.lib.stride_tricks.sliding_window_view(a, (3, 2)).sum(axis=(2, 3))

    check(summed, [(5, 4)], [rules.windows((5, 4), (3, 2))])
    assert len(rules.windows((5, 4), (3, 2))) == 1
    check(lambda a: summed(np.pad(a, ((1, 1), (1, 0)))), [(5, 4)], [rules.windows((5, 4), (3, 2), "same")])
    assert len(rules.windows((50, 40), (3, 3), "same")) == 9
    assert len(expand(rules.windows((2, 2), (5, 5), "same"))) == 16


def test_as_many_axes_as_there_can_be() -> None:
    one, other = rules.matmul((1,) * 32, (1,) * 32)
    assert (one.out_shape, len(expand(one)), len(expand(other))) == ((1,) * 32, 1, 1)


def test_a_rule_is_small_whatever_the_shape() -> None:
    side = 10**6
    log = Log()
    for name in ("A", "B", "C"):
        log.array(name, (side, side))
    for name, relation in zip("AB", rules.matmul((side, side), (side, side)), strict=True):
        log.lineage(name, "C", relation)
        assert len(encode(relation)) < 100
    assert log.prov_query(["C", "A"], (3, 4)).boxes.tolist() == [[[3, 4], [0, side]]]
    assert log.prov_query(["B", "C"], (3, 4)).count == side


@pytest.mark.parametrize(
    "ask",
    [
        lambda: rules.elementwise((2,), (3,)),
        lambda: rules.reduction((2, 3), 2),
        lambda: rules.reduction((2, 3), (0, -3)),
        lambda: rules.scan((), 0),
        lambda: rules.einsum("ij", (2,)),
        lambda: rules.einsum("i,i", (2,)),
        lambda: rules.einsum("ij,jk->ik", (2, 3), (4, 5)),
        lambda: rules.einsum("...i->i", (2, 3)),
        lambda: rules.einsum("i->ii", (2,)),
        lambda: rules.einsum("i->j", (2,)),
        lambda: rules.matmul((), (2,)),
        lambda: rules.matmul((2, 3), (2, 3)),
        lambda: rules.reshape((2, 3), (7,)),
        lambda: rules.across((2, 3), (3, 3), 1),
        lambda: rules.across((2, 3), (2, 3), 2),
        lambda: rules.sliced((2, 3), [slice(None)]),
        lambda: rules.sliced((4,), [slice(None, None, 2)]),
        lambda: rules.sliced((4,), [4]),
        lambda: rules.windows((3,), (4,)),
        lambda: rules.windows((3,), (0,), "same"),
        lambda: rules.windows((3, 3), (2,)),
    ],
)
def test_what_numpy_would_not_do_is_refused(ask: Callable[[], Any]) -> None:
    with pytest.raises(InvalidRelation):
        ask()


def test_what_is_no_shape_and_no_mode_is_refused() -> None:
    with pytest.raises(InvalidArray):
        rules.elementwise((-1,))
    wrong: Any = "wrap"
    with pytest.raises(InvalidOption, match="it can be valid, same, full"):
        rules.windows((3,), (2,), wrong)


# --- what only moves cells ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda a: a[1:, ::2], [(4, 5)]),
        (lambda a: a[::-1].T.reshape(2, -1), [(3, 4)]),
        (lambda a: np.pad(a, 1), [(2, 3)]),
        (lambda a: np.pad(a, 1, mode="reflect"), [(3, 3)]),
        (lambda a, b: np.concatenate([b, a], axis=1), [(2, 3), (2, 1)]),
        (lambda a: np.take(a, [2, 0, 0], axis=0), [(3, 2)]),
        (lambda a: np.repeat(a, 2), [(3,)]),
        (lambda a: np.delete(a, 1), [(4,)]),
        (lambda a: a[()], [()]),
        (lambda a: a[:0], [(3, 2)]),
        (lambda a: np.diagflat(a, 1), [(3,)]),
        (lambda a, b: np.stack([a, b]), [(0,), (0,)]),
    ],
)
def test_what_moves_cells_tells_itself(function: Callable[..., Any], shapes: Shapes) -> None:
    check(function, shapes, moved(function, *shapes))


def test_what_is_filled_in_has_no_lineage() -> None:
    (found,) = moved(lambda a: np.pad(a, 2, constant_values=7), (3,))
    assert (found.out_shape, expand(found).tolist()) == ((7,), [[2, 0], [3, 1], [4, 2]])


@pytest.mark.parametrize(
    "function",
    [
        np.sort, np.cumsum, np.negative, np.abs, np.unique, np.median, lambda a: np.clip(a, 0, 255), lambda a: a[a > 5],
        lambda a: np.where(a > 5, a, 0), lambda a: np.maximum(a, 0), lambda a: np.partition(a, 1), lambda a: a > 5,
        lambda a: a.astype(np.uint8), lambda a: a + 1, lambda a: np.sort(a)[1:2], lambda a: "text", lambda a: 1 / 0, lambda a: a[7],
        lambda a: None,
    ],
)  # fmt: skip
@pytest.mark.parametrize("cells", [3, 6])
def test_what_does_more_than_move_cells_is_refused(function: Callable[..., Any], cells: int) -> None:
    with pytest.raises(CaptureFailed):
        moved(function, (cells,))


def test_what_moves_is_as_small_as_it_can_be() -> None:
    (found,) = moved(np.rot90, (40, 30))
    assert len(found) == 1
    assert len(compress(expand(found), found.out_shape, found.in_shape)) == 1
