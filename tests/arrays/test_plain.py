"""Relations of few rows asked in plain numbers, against the same asked by the machinery for many rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from airflow_lineage_provider import arrays
from airflow_lineage_provider.arrays import join
from airflow_lineage_provider.arrays.boxes import Boxes, Shape, boxes_of, joined, to_mask
from airflow_lineage_provider.arrays.checks import check_relation
from airflow_lineage_provider.arrays.compress import concatenated
from airflow_lineage_provider.arrays.path import Step, follow, is_dense
from airflow_lineage_provider.arrays.plain import FEW, apart
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.errors import InvalidRelation
from tests.arrays.drawing import LONG
from tests.in_turn import few

ROUNDS = 20_000 if LONG else few(2_000)


def drawn(random: np.random.Generator, shapes: tuple[Shape, Shape] | None = None) -> Relation:
    """A row whose ends move in any way, also such that it is none."""
    output, source = shapes or (tuple(random.integers(1, 6, int(random.integers(0, 4))).tolist()) for _ in range(2))
    sides = np.array(output, dtype=np.int64).reshape(-1, 1)
    first = random.integers(0, sides) if output else sides
    last = random.integers(first, sides) if output else sides
    moves = random.integers(-len(output), len(output) + 1, (2, len(source), 1)).astype(np.int8)
    moves *= random.random(moves.shape) < 0.6
    offsets = np.sort(random.integers(-4, 8, (2, len(source), 1)), axis=0)
    return Relation(output, source, first, last, offsets[0], offsets[1], moves[0], moves[1])


def box(shape: tuple[int, ...], random: np.random.Generator) -> Boxes:
    ends = np.array([np.sort(random.integers(0, side, 2)) for side in shape], dtype=np.int64).reshape(len(shape), 2)
    return Boxes(ends[:, :1], ends[:, 1:])


def is_valid(relation: Relation) -> bool:
    """By the pairs: of each output cell, every interval."""
    for at in np.ndindex(*(relation.out_hi - relation.out_lo + 1)[:, 0].tolist()):
        cell = np.array(at, dtype=np.int64) + relation.out_lo[:, 0]
        for own, side in enumerate(relation.in_shape):
            lo, hi = (
                int(offset[own, 0]) + (0 if not move[own, 0] else int(np.sign(move[own, 0])) * int(cell[abs(move[own, 0]) - 1]))
                for offset, move in ((relation.in_lo, relation.lo_moves), (relation.in_hi, relation.hi_moves))
            )
            if not 0 <= lo <= hi < side:
                return False
    return True


def test_a_row_is_checked_and_asked_as_rows_are() -> None:
    random = np.random.default_rng(5)
    valid = 0
    for _ in range(ROUNDS):
        relation = drawn(random)
        assert relation.few is not None
        fits = relation.few[0].fits(relation.out_shape, relation.in_shape)
        assert fits == is_valid(relation)
        if not fits:
            with pytest.raises(InvalidRelation):
                check_relation(relation)
            continue
        valid += 1
        for backward in (True, False):
            check_step(relation, backward, box(relation.out_shape if backward else relation.in_shape, random))
    assert valid > ROUNDS / 20


def check_step(relation: Relation, backward: bool, asked: Boxes) -> None:
    """Few rows and boxes are gone through one by one; more of them, or such as have to be cut, in small arrays by bitmaps."""
    shape = relation.in_shape if backward else relation.out_shape
    wanted = to_mask((join.backward if backward else join.forward)(relation, asked), shape)
    start = Region(relation.out_shape if backward else relation.in_shape, parts=asked)
    found, hops = follow([Step(relation, backward)], ("", ""), start)
    assert (found.mask == wanted).all()
    assert found.count == found.boxes.volumes().sum() == np.count_nonzero(wanted)
    are_few = start.plain is not None and len(relation) * len(start.plain) <= FEW and not (backward and relation.has_shared)
    assert hops[0].execution == "boxes" or not are_few


def test_no_cells_lead_to_none() -> None:
    relation = arrays.rules.windows((6, 6), (3, 3))
    nothing = Region((4, 4), parts=Boxes(np.zeros((2, 0), np.int64), np.zeros((2, 0), np.int64)))
    assert follow([Step(relation, True)], ("", ""), nothing)[0].count == 0


def test_few_rows_are_all_asked() -> None:
    """Of several rows with the same arrays, with several boxes, as far as they are few."""
    random, checked = np.random.default_rng(8), 0
    for _ in range(ROUNDS // 50):
        some = [one for one in (drawn(random, ((3, 4), (6, 5))) for _ in range(100)) if is_valid(one)]
        if not some:
            continue
        relation = concatenated(some[: int(random.integers(1, 7))])
        checked += len(relation) > 1
        assert relation.few is not None
        assert len(relation.few) == len(relation)
        for backward in (True, False):
            shape = relation.out_shape if backward else relation.in_shape
            check_step(relation, backward, joined([box(shape, random) for _ in range(int(random.integers(1, 9)))]))
    assert checked > ROUNDS / 200


def test_many_rows_are_not_few() -> None:
    relation = arrays.compress(shuffled(40), (40,), (40,))
    assert len(relation) > FEW
    assert relation.few is None
    assert arrays.rules.elementwise((0, 3))[0].few == ()
    assert arrays.rules.windows((6, 6), (3, 3), "same").few is not None


def test_boxes_apart_have_the_same_cells() -> None:
    random, cut = np.random.default_rng(9), 0
    for _ in range(ROUNDS):
        boxes = joined([box((5, 6), random) for _ in range(int(random.integers(1, 7)))])
        found = apart(zip(boxes.lo.T.tolist(), boxes.hi.T.tolist(), strict=True))
        if found is None:
            cut += 1
            continue
        alone = boxes_of(found, 2)
        assert (to_mask(alone, (5, 6)) == to_mask(boxes, (5, 6))).all()
        assert alone.volumes().sum() == np.count_nonzero(to_mask(boxes, (5, 6)))
    assert ROUNDS / 20 < cut < ROUNDS


@pytest.mark.parametrize("cells", [1, 40])
def test_rows_are_sorted_once_that_has_cost_as_much_in_vain(cells: int) -> None:
    """The first questions go by bitmaps, without an index; later ones have it, and answer the same."""
    relation, random = arrays.compress(shuffled(SIDE), (SIDE,), (SIDE,)), np.random.default_rng(cells)
    step, went, other = Step(relation, False), [], arrays.decode(arrays.encode(relation))
    for _ in range(150):
        region = Region((SIDE,), parts=at(np.sort(random.choice(SIDE, cells, replace=False))))
        went.append(is_dense(step, region))
        found, _ = follow([step], ("", ""), region, choose=lambda *_, last=went[-1]: last)
        assert (found.mask == to_mask(join.forward(other, region.boxes), (SIDE,))).all()
    assert went[0]
    assert not went[-1]
    assert went == sorted(went, reverse=True)


SIDE = 400_000


def shuffled(size: int) -> Any:
    return np.stack([np.arange(size), np.random.default_rng(0).permutation(size)], axis=1)


def at(places: Any) -> Boxes:
    return Boxes(places[None].astype(np.int64), places[None].astype(np.int64))
