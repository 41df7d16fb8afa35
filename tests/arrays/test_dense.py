"""Hops by bitmaps over relations whose rows are of every kind, against their pairs; and when bitmaps are taken."""

from __future__ import annotations

import math

import numpy as np
import pytest

from airflow_lineage_provider.arrays import Relation, compress, dense, encode, expand, opened, rules
from airflow_lineage_provider.arrays.boxes import Boxes, from_mask, to_mask
from airflow_lineage_provider.arrays.compress import concatenated
from airflow_lineage_provider.arrays.path import Step, follow, is_dense
from airflow_lineage_provider.arrays.region import Region

SIDE = 40


def shuffled(side: int, seed: int) -> Relation:
    """Cells in another order."""
    order = np.random.default_rng(seed).permutation(side * side)
    at = np.indices((side, side)).reshape(2, -1)
    return compress(np.concatenate([at, at[:, order]]).T, (side, side), (side, side))


def through(relation: Relation, mask: np.ndarray, backward: bool) -> np.ndarray:
    """By its pairs."""
    rank = len(relation.out_shape)
    pairs = expand(relation)
    starts, ends = (pairs[:, :rank], pairs[:, rank:]) if backward else (pairs[:, rank:], pairs[:, :rank])
    found = np.zeros(relation.in_shape if backward else relation.out_shape, dtype=bool)
    found[tuple(ends[mask[tuple(starts.T)]].T)] = True
    return found


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.6])
def test_rows_of_every_kind_are_gone_through(backward: bool, share: float) -> None:
    one = shuffled(SIDE, 4)
    box = rules.all_to_all((SIDE, SIDE), (SIDE, SIDE))
    narrow = Relation(
        box.out_shape, box.in_shape, box.out_lo + 3, box.out_hi - 30, box.in_lo + 30, box.in_hi - 2, box.lo_moves, box.hi_moves
    )
    relation = concatenated([one, narrow, rules.windows((SIDE, SIDE), (3, 1), "same")])
    assert [len(part) > 0 for part in relation.parted] == [True] * 3
    mask = np.random.default_rng(1).random((SIDE, SIDE)) < share
    way = dense.backward if backward else dense.forward
    assert np.array_equal(way(relation, mask), through(relation, mask, backward))


def runs_of(relation: Relation) -> Relation:
    """A sort's, some of whose rows are runs of cells, forth and back."""
    side = math.prod(relation.out_shape)
    order = np.arange(side)
    order[10:14], order[20:23] = np.arange(30, 34), np.arange(42, 39, -1)
    rest = np.setdiff1d(np.arange(side), np.concatenate([order[10:14], order[20:23]]))
    order[[*range(10), *range(14, 20), *range(23, side)]] = np.random.default_rng(6).permutation(rest)
    at = np.indices(relation.out_shape).reshape(2, -1)
    return compress(np.concatenate([at, at[:, order]]).T, relation.out_shape, relation.in_shape)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("is_read", [False, True])
def test_single_cells_and_runs_are_looked_up_pair_by_pair(backward: bool, share: float, is_read: bool) -> None:
    """All cells in order, some of them, and runs of them: as they were compressed, and as they are read."""
    at = np.indices((SIDE, SIDE)).reshape(2, -1)
    every = compress(np.concatenate([at, at[:, np.arange(SIDE**2) * 437 % SIDE**2]]).T, (SIDE, SIDE), (SIDE, SIDE))
    kinds = {"all": every, "some": every.take(np.arange(0, len(every), 3)), "runs": runs_of(every)}
    found = {name: opened(encode(one)) if is_read else one for name, one in kinds.items()}
    parts = {name: one.pairs for name, one in found.items()}
    assert {name: None if one is None else [part.outputs is None for part in one] for name, one in parts.items()} == {
        "all": [True], "some": [False], "runs": [False, False]
    }  # fmt: skip
    mask = np.random.default_rng(1).random((SIDE, SIDE)) < share
    way = dense.backward if backward else dense.forward
    for name, one in found.items():
        assert np.array_equal(way(one, mask), through(kinds[name], mask, backward)), name


def test_looking_up_pairs_leaves_the_relation_as_it_is() -> None:
    """Also where the input has one axis, whose positions are its cells' numbers."""
    order = np.random.default_rng(7).permutation(2000)
    order[100:104], order[200:203] = np.arange(5, 9), np.arange(30, 27, -1)
    relation = compress(np.stack([np.arange(2000), order], axis=1), (2000,), (2000,))
    columns = [one.copy() for one in (relation.out_lo, relation.out_hi, relation.in_lo, relation.in_hi)]
    assert len(relation.moving_rows)
    mask = np.random.default_rng(1).random(2000) < 0.3
    for backward in (True, False):
        way = dense.backward if backward else dense.forward
        assert np.array_equal(way(relation, mask), through(relation, mask, backward))
    for one, other in zip(columns, (relation.out_lo, relation.out_hi, relation.in_lo, relation.in_hi), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("relation", "rows"),
    [
        (rules.elementwise((5, 6))[0], 1),
        (rules.elementwise((4, 5, 6), (5, 1))[1], 1),
        (rules.einsum("ijk->kij", (3, 4, 5))[0], 1),
        (rules.sliced((7, 8), [slice(5, 1, -1), slice(2, 8)]), 1),
        (rules.reduction((3, 4, 5), 1), 1),
        (rules.matmul((3, 4), (4, 5))[1], 1),
        (rules.reshape((4, 6), (24,)), 4),
        (rules.all_to_all((2, 3), ()), 1),
    ],
)  # fmt: skip
def test_slices_are_what_pairs_say(relation: Relation, rows: int) -> None:
    assert relation.is_aligned
    assert len(relation.aligned) == rows
    for backward, shape in ((True, relation.out_shape), (False, relation.in_shape)):
        for share in (0.1, 0.5, 1.0):
            mask = np.asarray(np.random.default_rng(2).random(shape) < share)
            way = dense.backward if backward else dense.forward
            assert np.array_equal(way(relation, mask), through(relation, mask, backward))


def test_what_no_slice_is_goes_otherwise() -> None:
    diagonal = rules.einsum("ii->i", (4, 4))[0]
    assert not diagonal.is_aligned
    assert not rules.windows((6,), (3,)).is_aligned
    assert not rules.scan((6,), 0).is_aligned
    assert not shuffled(SIDE, 1).is_aligned


def test_bitmaps_are_taken_for_scattered_cells_and_boxes_for_few() -> None:
    step = Step(shuffled(700, 2), False)  # back, and in smaller arrays, bitmaps cost less even for one box
    assert step.side.index  # sorted, which a first question would not be worth
    few, many = np.zeros((700, 700), dtype=bool), np.random.default_rng(3).random((700, 700)) < 0.1
    few[7, 8:20] = True
    for mask, wanted in ((few, False), (many, True)):
        region = Region(mask.shape, parts=from_mask(mask))
        assert is_dense(step, region) == wanted
        found, (hop,) = follow([step], ("a", "b"), region)
        assert hop.execution == ("dense" if wanted else "boxes")
        assert np.array_equal(found.mask, through(step.relation, mask, False))


def test_the_cost_is_never_beneath_the_least() -> None:
    for relation in (shuffled(SIDE, 1), rules.windows((SIDE, SIDE), (3, 3), "same"), rules.elementwise((SIDE,))[0]):
        assert min(dense.cost(relation, backward) for backward in (True, False)) >= dense.least_cost(relation)


@pytest.mark.parametrize("shape", [(3000,), (60, 50), (10, 12, 25)])
@pytest.mark.parametrize("longest", [1, 2, 9])
@pytest.mark.parametrize("count", [3, 70, 900])
@pytest.mark.parametrize("are_runs", [False, True])
def test_a_bitmap_of_boxes_however_many_and_long_they_are(shape: tuple[int, ...], longest: int, count: int, are_runs: bool) -> None:
    """Painted, one by one, as runs, or by differences; they overlap, and touch the ends."""
    draw = np.random.default_rng(9)
    lo = np.stack([draw.integers(0, side, count) for side in shape])
    lengths = draw.integers(0, longest, lo.shape)
    if are_runs:
        lengths[:-1] = 0
    hi = np.minimum(lo + lengths, np.array(shape)[:, None] - 1)
    wanted = np.zeros(shape, dtype=bool)
    for first, last in zip(lo.T, hi.T, strict=True):
        wanted[tuple(slice(start, end + 1) for start, end in zip(first, last, strict=True))] = True
    assert np.array_equal(to_mask(Boxes(lo, hi), shape), wanted)


def test_crowded_boxes_are_counted_and_told_apart_by_a_bitmap() -> None:
    cells = np.argwhere(np.random.default_rng(5).random((60, 60)) < 0.2).T
    twice = np.concatenate([cells, cells], axis=1)
    region = Region((60, 60), parts=Boxes(twice, twice))
    assert region.count == cells.shape[1]
    assert int(region.boxes.volumes().sum()) == cells.shape[1]
    assert np.array_equal(to_mask(region.boxes, (60, 60)), region.mask)
