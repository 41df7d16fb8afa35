"""Edges that are put in order in bounded memory are those that one sort in memory gives."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_lineage_provider.capture import shape
from airflow_lineage_provider.capture.csr import Csr, Edges, csr
from airflow_lineage_provider.capture.spooled import Room, fits, inverted

ROOMS = st.integers(0, 4000)
ROWS, OTHERS = 9, 60
PAIRS = st.lists(st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(0, OTHERS - 1)), max_size=80), max_size=6)


def same(one: Csr, other: Csr) -> bool:
    return one.indptr.tolist() == other.indptr.tolist() and one.rids.tolist() == other.rids.tolist() and one.rids.dtype == other.rids.dtype


@given(PAIRS, PAIRS, ROOMS)
def test_spooled_is_what_one_sort_gives(first: list[list[tuple[int, int]]], second: list[list[tuple[int, int]]], most: int) -> None:
    room = Room(most)
    spools = [room.spool(ROWS, OTHERS), room.spool(ROWS, OTHERS)]
    for parts in zip(first, second, strict=False):
        for spool, part in zip(spools, parts, strict=True):
            spool.add(*np.array(part, np.int64).reshape(-1, 2).T)
            assert sum(one.waiting for one in spools) <= room.numbers
    for spool, wanted in zip(spools, (first, second), strict=True):
        pairs = np.array([pair for part in wanted[: min(len(first), len(second))] for pair in part], np.int64).reshape(-1, 2)
        expected = csr(Edges(pairs[:, 0], pairs[:, 1]), ROWS, OTHERS)
        found = [pair for rows, rids in spool.blocks() for pair in zip(rows.tolist(), rids.tolist(), strict=True)]
        assert sorted(found) == sorted(map(tuple, pairs.tolist()))
        assert same(spool.csr(), expected)
        assert spool.csr() is spool.csr()
        assert same(inverted(spool.csr(), OTHERS, room), expected.inverse(OTHERS))
    assert not room._spools


def test_what_is_no_one_number() -> None:
    assert fits(1 << 31, 1 << 31)
    assert not fits(1 << 32, 1 << 31)


@pytest.mark.long
@pytest.mark.parametrize("skewed", [False, True])
def test_memory_is_bounded(skewed: bool) -> None:
    """Three million edges, 24 MB as numbers, in a room of 4 MB; all of one row, or of many."""
    rows, others, room = 1000, 5_000_000, Room(4 << 20)
    random = np.random.default_rng(7)
    tracemalloc.start()
    spool = room.spool(rows, others)
    for _ in range(150):
        asked = np.zeros(20_000, np.int64) if skewed else random.integers(0, rows, 20_000)
        spool.add(asked, random.integers(0, others, 20_000))
    made = spool.csr()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 6 << 20
    assert (len(made.rids), made.indptr[-1]) == (made.indptr[-1], len(made.rids))
    assert len(made.rids) > (2_200_000 if skewed else 2_990_000)
    steps = np.diff(made.rids)
    begins = made.indptr[1:-1][(made.indptr[1:-1] > 0) & (made.indptr[1:-1] < len(made.rids))]
    assert set(np.flatnonzero(steps <= 0).tolist()) <= set((begins - 1).tolist())


@given(st.lists(st.lists(st.integers(0, 40), max_size=12, unique=True), min_size=1, max_size=8), st.integers(1, 30))
def test_the_shape_is_that_of_all_pairs_at_once(rows: list[list[int]], block: int) -> None:
    edges = Csr(np.cumsum([0, *map(len, rows)]), np.array([rid for row in rows for rid in sorted(row)], np.int64))
    near = sum(any(0 < abs(one - other) < 3 for other in row) for row in rows for one in row)
    pairs = len(edges.rids)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shape, "_BLOCK", block)
        found = shape.shape_of(edges, 41)
    behind = len({rid for row in rows for rid in row})
    wanted = (len(rows), pairs / len(rows), pairs / behind if behind else 0.0, near / pairs if pairs else 0.0)
    assert (found.rows, found.size, found.replication, found.clustering) == wanted
