"""Pairs that are had straight out of a relation's bytes: the same as of its columns, and refused where these are."""

from __future__ import annotations

import numpy as np
import pytest

from airflow_lineage_provider.arrays import Relation, compress, encode, expand, opened, rules
from airflow_lineage_provider.arrays.boxes import Boxes, Shape, flat
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.path import Step, follow
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.relation import INPUTS
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


RELATIONS = {
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
        otherwise.setattr(Lines, "_in_order", lambda self: None)
        row_by_row = [opened(encode(RELATIONS[name])).pairs for name in sorts]
    monkeypatch.setattr(Lines, "_inputs", None)
    for found, slow in zip(founds, row_by_row, strict=True):
        assert found.pairs is not None
        assert slow is not None
        assert found.pairs[0].outputs is None
        assert np.array_equal(found.pairs[0].inputs, slow[0].inputs)


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
