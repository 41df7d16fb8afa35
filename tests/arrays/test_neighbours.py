"""What neighbours show of patterns, against all patterns tried on the same rows."""

from __future__ import annotations

import itertools
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from airflow_lineage_provider import arrays
from airflow_lineage_provider.arrays import neighbours
from airflow_lineage_provider.arrays.compress import compress
from airflow_lineage_provider.arrays.neighbours import between_neighbours
from airflow_lineage_provider.arrays.relation import Relation
from tests.arrays.operations import OPERATIONS


def by_trying_all(monkeypatch: pytest.MonkeyPatch, pairs: Any, output: Any, source: Any) -> Relation:
    ends = list(itertools.product((0, 1, -1), repeat=2 * len(source)))
    monkeypatch.setattr(import_module("airflow_lineage_provider.arrays.compress"), "_patterns", lambda relation, axis: ends)
    found = compress(pairs, output, source)
    monkeypatch.undo()
    return found


OVERLAPPING = ("window", "padded window", "flat differences")
"""A cell is behind several neighbours: their rows merge in several ways, of which trying all patterns may take another."""


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in OVERLAPPING])
def test_no_pattern_that_was_not_seen_would_have_merged_more(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    operation = OPERATIONS[name]
    for seed, rank in itertools.product(range(3), [rank for rank in operation.ranks if rank < 3]):
        random = np.random.default_rng(seed)
        shape = tuple(random.integers(2, 7, rank).tolist())
        output, pairs = operation.relation(shape, random)
        found, other = compress(pairs, output, shape), by_trying_all(monkeypatch, pairs, output, shape)
        assert (arrays.expand(found) == arrays.expand(other)).all()
        assert len(found) <= len(other) + 2


def test_lines_here_and_there_say_whether_a_large_relation_is_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "_LARGE", 1000)
    monkeypatch.setattr(neighbours, "_SAMPLED", 1000)
    monkeypatch.setattr(neighbours, "_ENOUGH", 100)
    side, still = 300, np.zeros((2, 90_000), dtype=np.int8)
    at = np.indices((side, side)).reshape(2, -1)
    scattered = np.array(np.unravel_index(np.random.default_rng(0).permutation(side**2), (side, side)))
    turned = at[::-1].copy()
    for inputs, none in ((scattered, True), (turned, False)):
        relation = Relation((side, side), (side, side), at, at, inputs, inputs, still, still)
        assert (between_neighbours(relation, 0) == []) is none
        found = compress(np.concatenate([at, inputs]).T, (side, side), (side, side))
        assert (len(found) == 1) is not none
        assert (arrays.expand(found) == np.concatenate([at, inputs]).T).all()


def test_rows_that_overlap_are_left_to_others() -> None:
    at, still = np.array([[0, 0, 1]]), np.zeros((1, 3), dtype=np.int8)
    assert between_neighbours(Relation((2,), (3,), at, at, at, at, still, still), 0) is None
