"""Pairs that are had straight out of a relation's bytes: the same as of its columns, and refused where these are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from airflow_lineage_provider.arrays import Relation, compress, encode, expand, opened, rules
from airflow_lineage_provider.arrays.boxes import Boxes, Shape, flat
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.path import Step, follow
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.relation import INPUTS
from airflow_lineage_provider.arrays.unread import Unread
from airflow_lineage_provider.arrays.unread_pairs import Lines
from airflow_lineage_provider.errors import RelationDamaged

SHAPE = (40, 50)
CELLS = 2000


def permuted(order: Ints, shape: Shape = SHAPE) -> Relation:
    """Each cell in C order from the one with a number; but for rows that are boxes of more than a line."""
    at = np.indices(shape).reshape(len(shape), -1)
    found = compress(np.concatenate([at, at[:, order]]).T, shape, shape)
    return found.take(((found.out_lo != found.out_hi).sum(axis=0) <= 1).nonzero()[0])


def with_ties(seed: int, backwards: bool) -> Ints:
    """A permutation with stretches that stay together, in their order or against it: rows that are lines."""
    draw = np.random.default_rng(seed)
    parts = np.split(np.arange(CELLS), np.sort(draw.choice(np.arange(1, CELLS), CELLS // 2, replace=False)))
    return np.concatenate([parts[at][::-1] if backwards and at % 3 else parts[at] for at in draw.permutation(len(parts))])


def sorted_along(axis: int, shape: Shape = SHAPE, *, flipped: int | None = None, beyond: int = 0) -> Relation:
    """Sorted along an axis, a row for each cell; flipped along another one. As it stands further on in an array of more positions."""
    order = np.random.default_rng(axis).permuted(np.indices(shape)[axis], axis=axis)
    at = np.indices(shape).reshape(len(shape), -1)
    low, moves = np.zeros_like(at) + beyond, np.zeros(at.shape, dtype=np.int8)
    for one in range(len(shape)):
        if one == flipped:
            low[one], moves[one] = shape[one] - 1 + beyond, -one - 1
        else:
            low[one] += order.reshape(-1) if one == axis else at[one]
    return Relation(shape, tuple(side + beyond for side in shape), at, at.copy(), low, low.copy(), moves, moves.copy())


def shuffled() -> Relation:
    """Each cell from another one, a row for each."""
    at = np.indices(SHAPE).reshape(2, -1)
    low, still = at[:, np.random.default_rng(8).permutation(CELLS)], np.zeros((2, CELLS), dtype=np.int8)
    return Relation(SHAPE, SHAPE, at, at.copy(), low, low.copy(), still, still.copy())


RELATIONS = {
    "shuffled": shuffled(),
    "sorted along the first axis": sorted_along(0),
    "sorted along the last axis": sorted_along(1),
    "sorted and flipped": sorted_along(1, (7, 20, 9), flipped=2),
    "sorted of a part": sorted_along(2, (7, 9, 20), flipped=0, beyond=3),
    "each cell by itself": permuted(np.random.default_rng(1).permutation(CELLS)),
    "lines": permuted(with_ties(2, False)),
    "lines that run back": permuted(with_ties(3, True)),
    "of one axis": permuted(with_ties(4, True), (CELLS,)),
    "some cells": permuted(with_ties(5, True)).take(np.arange(0, 600, 2)),
    "repeated": compress(np.stack([np.arange(600), np.arange(600) // 3 * 7 % 211], axis=1), (600,), (211,)),
    "a diagonal": compress(np.array([(at, at * 7 % 99, at * 7 % 99) for at in range(99)]), (99,), (99, 99)),
}


def numbers(relation: Relation) -> set[tuple[int, int]]:
    """All pairs in numbers of cells, one by one (the oracle)."""
    pairs = expand(relation).T
    rank = len(relation.out_shape)
    ends = flat(pairs[:rank], relation.out_shape), flat(pairs[rank:], relation.in_shape)
    return set(zip(*(one.tolist() for one in ends), strict=True))


@pytest.mark.parametrize("name", RELATIONS)
def test_they_are_those_of_the_relation_and_no_column_is_read(name: str) -> None:
    relation = RELATIONS[name]
    found = opened(encode(relation))
    if found.few is None:
        assert found.has_told_pairs
    parts = found.pairs
    assert parts is not None
    some = [(np.arange(len(one.inputs)) if one.outputs is None else one.outputs, one.inputs) for one in parts]
    assert sum(len(one) for one, _ in some) == len(numbers(relation)), "each once"
    assert {pair for ends in some for pair in zip(*(one.tolist() for one in ends), strict=True)} == numbers(relation)
    if found.few is None:
        assert not vars(found).keys() & set(INPUTS)


def test_rows_that_move_alike_are_numbers_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is worked out row by row where rows are all cells in their order, and one column says where each is from."""
    sorts = [name for name in RELATIONS if name.startswith("sorted")]
    founds = [opened(encode(RELATIONS[name])) for name in sorts]
    assert all(vars(one)["is_whole"] for one in founds)
    with monkeypatch.context() as otherwise:
        otherwise.setattr(Unread, "in_order", lambda self, relation: None)
        row_by_row = [opened(encode(RELATIONS[name])).pairs for name in sorts]
    monkeypatch.setattr(Lines, "pairs", None)
    for found, slow in zip(founds, row_by_row, strict=True):
        assert found.pairs is not None
        assert slow is not None
        assert found.pairs[0].outputs is None
        assert np.array_equal(found.pairs[0].inputs, slow[0].inputs)


def in_order(draw: np.random.Generator) -> tuple[Relation, Ints]:
    """A relation with a row for each output cell in C order, of some axes; and (m, n) the input cell behind each (the oracle)."""
    shape = ((1300,), (36, 37), (7, 20, 9), (1, 1200))[draw.integers(4)]
    at, sides, offsets, moves = np.indices(shape).reshape(len(shape), -1), [], [], []
    for _ in range(draw.integers(1, 4)):
        along = int(draw.integers(len(shape)))
        here = at[along] if draw.random() < 0.3 else draw.integers(0, draw.choice([1, 3, 60]), at.shape[1])
        move = int(draw.choice([0, 0, along + 1, -along - 1]))
        here = here + int(draw.integers(0, 3)) + (shape[along] if move < 0 else 0)
        offsets.append(here if draw.random() < 0.7 else np.full_like(here, here.max()))
        moves.append(np.full(at.shape[1], move, dtype=np.int8))
        sides.append(int((offsets[-1] + np.sign(move) * at[along]).max()) + int(draw.integers(1, 3)))
    low, move_ = np.stack(offsets), np.stack(moves)
    if math.prod(sides) > 10**5:
        return in_order(draw)
    relation = Relation(shape, tuple(sides), at, at.copy(), low, low.copy(), move_, move_.copy())
    steps = np.stack([np.sign(one[0]) * at[max(abs(int(one[0])) - 1, 0)] for one in moves])
    return relation, low + steps


@pytest.mark.parametrize("seed", range(3))
def test_rows_in_order_are_asked_for_by_cells_and_by_boxes(seed: int) -> None:
    """Which they are is worked out by numpy; asked are cells one by one, boxes of either side, and several boxes along a path."""
    draw = np.random.default_rng(seed)
    for _ in range(20):
        relation, behind = in_order(draw)
        found = opened(encode(relation)).in_order
        assert found is not None
        cells = draw.integers(0, len(relation), 9)
        assert np.array_equal(found.positions(cells), behind[:, cells])
        for backward, shape in ((True, relation.out_shape), (False, relation.in_shape)):
            ends = np.sort(draw.integers(0, shape, (2, 3, len(shape))), axis=0)
            region = Region(shape, parts=Boxes(ends[0].T, ends[1].T))
            first, last = (one[0].tolist() for one in ends)
            cut, own = tuple(slice(one, other + 1) for one, other in zip(first, last, strict=True)), np.arange(len(relation))
            numbered = flat(behind, relation.in_shape)
            if backward:
                assert np.array_equal(found.inputs(first, last), numbered.reshape(shape)[cut].reshape(-1))
                wanted = np.isin(np.arange(math.prod(relation.in_shape)), numbered[region.mask.reshape(-1)])
            else:
                met = np.zeros(relation.out_shape, dtype=np.bool_)
                if (told := found.before(first, last)) is not None:
                    met[tuple(slice(one, other + 1) for one, other in zip(*told[0], strict=True))] = told[1]
                assert set(own[met.reshape(-1)]) == {
                    row for row in own if all(a <= x <= b for a, x, b in zip(first, behind[:, row], last, strict=True))
                }
                wanted = region.mask.reshape(-1)[numbered]
            asked, _ = follow([Step(opened(encode(relation)), backward)], ("", ""), region)
            assert np.array_equal(asked.mask.reshape(-1), wanted)


@pytest.mark.parametrize("name", RELATIONS)
@pytest.mark.parametrize("backward", [True, False])
@pytest.mark.parametrize("asked", [1, 7, 300])
def test_what_is_asked_of_bytes_is_what_the_pairs_say(name: str, backward: bool, asked: int) -> None:
    relation = RELATIONS[name]
    shape = relation.out_shape if backward else relation.in_shape
    first = np.random.default_rng(9).integers(0, np.array(shape))
    last = np.minimum(first + max(0, round(asked ** (1 / len(shape))) - 1), np.array(shape) - 1)
    region = Region(shape, parts=Boxes(first[:, None], last[:, None]))
    found, _ = follow([Step(opened(encode(relation)), backward)], ("", ""), region)
    cells = set(np.flatnonzero(region.mask).tolist())
    wanted = {pair[backward] for pair in numbers(relation) if pair[not backward] in cells}
    assert set(np.flatnonzero(found.mask).tolist()) == wanted
    assert found.count == len(wanted)


def shifted(relation: Relation, name: str, by: int, output: Shape, source: Shape) -> Relation:
    """The same with another column, between arrays of other shapes, without a look at whether it fits."""
    columns = {one: getattr(relation, one).copy() for one in ("out_lo", "out_hi", "in_lo", "in_hi", "lo_moves", "hi_moves")}
    for one in {"in": ("in_lo", "in_hi"), "out": ("out_lo", "out_hi"), "moves": ("lo_moves", "hi_moves")}[name]:
        columns[one][-1, len(relation) // 2] += by
    return Relation(output, source, **columns)


@pytest.mark.parametrize(
    ("name", "kind", "by", "said"),
    [
        ("each cell by itself", "in", 50, "beyond the input"),
        ("each cell by itself", "in", -60, "beyond the input"),
        ("lines", "in", 900, "beyond the input"),
        ("sorted along the last axis", "in", 50, "beyond the input"),
        ("sorted along the first axis", "in", -1, "beyond the input"),
        ("sorted along the first axis", "moves", 20, "moves with an axis"),
        ("lines", "out", 60, "beyond the output"),
        ("lines", "moves", 20, "moves with an axis"),
        ("lines that run back", "moves", -120, "moves with an axis"),
    ],
)
def test_cells_that_the_arrays_have_not_are_refused_each_time(name: str, kind: str, by: int, said: str) -> None:
    relation = RELATIONS[name]
    found = opened(encode(shifted(relation, kind, by, relation.out_shape, relation.in_shape)), "lineage from a to b")
    for _ in range(2):
        with pytest.raises(RelationDamaged, match=f"^lineage from a to b cannot be read: .*{said}"):
            _ = found.pairs


@pytest.mark.parametrize("by", [50, -60])
def test_a_cell_that_the_array_has_not_is_refused_where_it_is_read(by: int) -> None:
    """By its row; a question that does not lead to it is answered as ever."""
    relation = RELATIONS["shuffled"]
    wrong = CELLS // 2
    data = encode(shifted(relation, "in", by, SHAPE, SHAPE))
    at = np.array(np.unravel_index([wrong], SHAPE))
    questions = [(Boxes(at, at), True), (Boxes(at * 0, np.array([[39], [49]])), True), (Boxes(at * 0, at * 0 + 5), False)]
    for boxes, backward in questions:
        region = Region(SHAPE, parts=boxes)
        with pytest.raises(RelationDamaged, match=f"^lineage from a to b cannot be read: .*row {wrong} of 2,000 of .*beyond the input"):
            follow([Step(opened(data, "lineage from a to b"), backward)], ("", ""), region)
    other = Region(SHAPE, parts=Boxes(at + 1, at + 1))
    found, _ = follow([Step(opened(data), True)], ("", ""), other)
    assert np.array_equal(found.mask, follow([Step(relation, True)], ("", ""), other)[0].mask)


def test_a_row_for_all_axes_of_one_position_is_looked_at_too() -> None:
    """Of an elementwise operation nothing but its numbers is looked at: those along an axis of one position are among them."""
    fine = rules.elementwise((1, 5))[0]
    assert opened(encode(fine)).is_identity
    wrong = Relation(
        fine.out_shape, fine.in_shape, fine.out_lo, fine.out_hi, fine.in_lo + np.array([[3], [0]]), fine.in_hi + np.array([[3], [0]]),
        fine.lo_moves, fine.hi_moves,
    )  # fmt: skip
    with pytest.raises(RelationDamaged, match="beyond the input"):
        opened(encode(wrong))
