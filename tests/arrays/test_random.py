"""Random relations are what they were after compression, and answers are those of a naive join of pairs."""

from __future__ import annotations

from collections import defaultdict
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import strategies as st

from airflow_lineage_provider.arrays import Relation, aligned, compose, compress, expand, invert
from airflow_lineage_provider.arrays.boxes import Boxes, from_mask, to_mask, union
from airflow_lineage_provider.arrays.checks import check_relation
from airflow_lineage_provider.arrays.compose import restrict
from airflow_lineage_provider.arrays.grouping import Bools, Ints
from airflow_lineage_provider.arrays.link import link
from airflow_lineage_provider.arrays.path import follow
from airflow_lineage_provider.arrays.region import Region
from tests.arrays.drawing import Given, drawn, paths, relations

pytestmark = pytest.mark.timeout(0)


def once(pairs: Ints) -> list[tuple[int, ...]]:
    """The pairs in their order, each once."""
    return sorted(set(map(tuple, pairs.tolist())))


def listed(relation: Relation) -> list[tuple[int, ...]]:
    check_relation(relation)
    return [tuple(pair) for pair in expand(relation).tolist()]


@drawn(30, given_=relations())
def test_what_is_compressed_is_what_was_given(given_: Given) -> None:
    rank = len(given_.output)
    relation = compress(given_.pairs, given_.output, given_.source)
    assert listed(relation) == once(given_.pairs)
    assert len(relation) <= len(once(given_.pairs))
    assert listed(invert(relation)) == once(np.concatenate([given_.pairs[:, rank:], given_.pairs[:, :rank]], axis=1))
    assert listed(link(given_.pairs, given_.output, given_.source, "exact").by_output()) == once(given_.pairs)


@drawn(20, path=paths(), seed_=st.integers(0, 2**32 - 1))
def test_relations_after_one_another_are_one(path: list[Given], seed_: int) -> None:
    found, pairs = compress(path[0].pairs, path[0].output, path[0].source), set(once(path[0].pairs))
    for one in path[1:4]:
        found = compose(compress(one.pairs, one.output, one.source), found)
        own, rank, behind = len(one.source), len(one.output), defaultdict[tuple[int, ...], list[tuple[int, ...]]](list)
        for pair in pairs:
            behind[pair[:own]].append(pair[own:])
        pairs = {pair[:rank] + cell for pair in once(one.pairs) for cell in behind[pair[rank:]]}
    assert listed(found) == sorted(pairs)
    some = np.asarray(np.random.default_rng(seed_).random(found.out_shape) < 0.5)
    assert listed(restrict(found, from_mask(some))) == sorted({pair for pair in pairs if some[pair[: some.ndim]]})


def naive(path: list[Given], mask: Bools, backward: bool) -> Bools:
    """The cells that raw pairs lead to, one hop after the other."""
    cells = set(map(tuple, np.argwhere(mask).tolist()))
    for one in reversed(path) if backward else path:
        rank = len(one.output)
        pairs = [(tuple(pair[:rank]), tuple(pair[rank:])) for pair in one.pairs.tolist()]
        cells = (
            {source for output, source in pairs if output in cells} if backward else {output for output, source in pairs if source in cells}
        )
    found = np.zeros(path[0].source if backward else path[-1].output, dtype=np.bool_)
    for cell in cells:
        found[cell] = True
    return found


CHOICES: dict[str, Any] = {"boxes": lambda *_: False, "dense": lambda *_: True}


@drawn(
    30, one_in=2, path=paths(), backward=st.booleans(), share=st.sampled_from([0.0, 0.02, 0.3, 0.7, 1.0]), seed=st.integers(0, 2**32 - 1),
    most=st.sampled_from([aligned.MOST, 0]),
)  # fmt: skip
def test_an_answer_is_that_of_the_naive_join(path: list[Given], backward: bool, share: float, seed: int, most: int) -> None:
    """Whether bitmaps go through few rows as slices, or through none."""
    with mock.patch.object(aligned, "MOST", most):
        check_answers(path, backward, share, seed)


def check_answers(path: list[Given], backward: bool, share: float, seed: int) -> None:
    shape = path[-1].output if backward else path[0].source
    mask = np.random.default_rng(seed).random(shape) < share
    steps = [link(one.pairs, one.output, one.source, "exact").step(backward) for one in path]
    steps, names = steps[::-1] if backward else steps, [str(number) for number in range(len(path) + 1)]
    wanted = naive(path, np.asarray(mask), backward)
    for name, choose in CHOICES.items():
        for merge in (True, False):
            found, hops = follow(steps, names, Region(shape, bits=np.asarray(mask)), merge=merge, choose=choose)
            assert np.array_equal(found.mask, wanted), (name, merge)
            assert found.count == np.count_nonzero(wanted) == found.boxes.volumes().sum()
            assert {hop.execution for hop in hops} == {name if merge else "boxes"}


def test_boxes_that_overlap_are_told_apart() -> None:
    """Also those that only come to overlap when they are merged along another axis."""
    random = np.random.default_rng(5)
    for _ in range(300):
        shape = tuple(random.integers(1, 7, random.integers(1, 4)).tolist())
        ends = np.sort(random.integers(0, shape, (2, random.integers(1, 9), len(shape))), axis=0).transpose(0, 2, 1)
        found = union(Boxes(ends[0], ends[1]), shape)
        assert found.volumes().sum() == np.count_nonzero(to_mask(Boxes(ends[0], ends[1]), shape))
        assert np.array_equal(to_mask(found, shape), to_mask(Boxes(ends[0], ends[1]), shape))


@drawn(20, given_=relations(), backward=st.booleans())
def test_forward_is_the_inverse_of_backward(given_: Given, backward: bool) -> None:
    """Cell by cell, along one relation."""
    step = link(given_.pairs, given_.output, given_.source, "exact").step
    found = set()
    for at in np.ndindex(*(given_.output if backward else given_.source)):
        mask = np.zeros(given_.output if backward else given_.source, dtype=np.bool_)
        mask[at] = True
        region, _ = follow([step(backward)], ["", ""], Region(mask.shape, bits=mask))
        found |= {(*at, *map(int, cell)) if backward else (*map(int, cell), *at) for cell in np.argwhere(region.mask)}
    assert sorted(found) == once(given_.pairs)
