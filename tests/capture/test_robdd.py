"""Decision diagrams are those of the paper, canonical, and as small as another library's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oxidd.bdd import BDDFunction, BDDManager

from airflow_lineage_provider.capture.csr import Csr, Edges, csr
from airflow_lineage_provider.capture.encodings.robdd import SharedRoBdd

BITS = 4


def _of(*sets: Sequence[int]) -> Csr:
    asked = np.repeat(np.arange(len(sets)), [len(one) for one in sets])
    return csr(Edges(asked, np.array([rid for one in sets for rid in one], np.int64)), len(sets), 1 << BITS)


def _nodes(*sets: Sequence[int]) -> int:
    return len(SharedRoBdd().encode(_of(*sets), 1 << BITS).field("nodes").values)


def test_the_diagrams_of_the_paper() -> None:
    """Forward lineage, Sec. 4.2: two sets over four bits, alone and sharing nodes."""
    first, second = [0, 1, 2, 3, 4, 9, 10, 11, 12], [0, 1, 2, 3, 4, 8, 9, 10]
    assert (_nodes(first), _nodes(second), _nodes(first, second)) == (7, 6, 10)


@pytest.mark.parametrize(("some", "nodes"), [([], 0), (range(16), 0), (range(8), 1), (range(0, 16, 2), 1), ([5], 4)])
def test_what_does_not_depend_on_a_bit_has_no_node_for_it(some: Sequence[int], nodes: int) -> None:
    assert _nodes(some) == nodes


@settings(deadline=None, max_examples=60)
@given(sets=st.lists(st.sets(st.integers(0, 15)).map(sorted), max_size=6))
def test_as_many_nodes_as_oxidd_has(sets: list[list[int]]) -> None:
    """For each set alone, and for all that differ: equal sets have one root, sets that share nodes are smaller together."""
    manager = BDDManager(10_000, 10_000, 1)
    variables = [manager.var(at) for at in manager.add_vars(BITS)]
    assert [_nodes(one) for one in sets] == [_inner(_function(manager, variables, one)) for one in sets]
    roots = SharedRoBdd().encode(_of(*sets), 1 << BITS).field("root").to_pylist()
    assert [roots.index(one) for one in roots] == [sets.index(one) for one in sets]


def _function(manager: BDDManager, variables: Sequence[BDDFunction], some: Sequence[int]) -> BDDFunction:
    found = manager.false()
    for number in some:
        term = manager.true()
        for at, variable in enumerate(variables):
            term &= variable if number >> (BITS - 1 - at) & 1 else ~variable
        found |= term
    return found


def _inner(function: BDDFunction) -> int:
    """Without the two ends; oxidd counts those that are reached."""
    ends = int(not function.satisfiable()) or int(function.valid()) or 2
    return function.node_count() - ends


def test_prefixes_of_scattered_rows_share_nearly_all() -> None:
    """What it is for: sets that are nested in one another, whose numbers would be written again and again."""
    scattered = np.sort(np.random.default_rng(3).choice(100_000, 4_000, replace=False))
    sets = [scattered[: at + 1] for at in range(0, 4_000, 40)]
    edges = csr(Edges(np.repeat(np.arange(100), [len(one) for one in sets]), np.concatenate(sets)), 100, 100_000)
    array = SharedRoBdd().encode(edges, 100_000)
    assert len(array.field("nodes").values) < len(edges.rids) // 5
    assert SharedRoBdd().of(array, np.array([99, 3]), 100_000).rid.tolist() == [*sets[99].tolist(), *sets[3].tolist()]
    assert SharedRoBdd().having(array, scattered[[1_000]], 100_000).rid.tolist() == list(range(25, 100))
