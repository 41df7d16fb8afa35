"""Paths as relations of their own against the same paths asked hop by hop, for a part of the cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from airflow_lineage_provider import arrays
from airflow_lineage_provider.arrays.boxes import Boxes, from_mask, to_mask
from airflow_lineage_provider.arrays.compose import compose
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.tracking.tracing import record
from airflow_lineage_provider.arrays.tracking.ways import Way

CHAINS: dict[str, Callable[[Any], Any]] = {
    "blocks, less their mean": lambda a: (small := a.reshape(3, 2, 4, 2).mean(axis=(1, 3))) - small.mean(),
    "normalised twice": lambda a: ((b := a - a.mean()) / b.std() - b.max()) * a.sum(axis=0),
    "padded, turned and cut": lambda a: np.rot90(np.pad(a, 2, mode="reflect"))[1:, ::2] - a.min(),
    "sums that run, and moved": lambda a: np.roll(np.cumsum(a, axis=1), 3) + a[2, 3],
    "sorted, by all of it": lambda a: np.sort(a / a.sum(), axis=0)[::-1] * np.repeat(a[:, :4], 2, axis=1),
    "a product with itself": lambda a: (a @ a.T).reshape(4, 9) - a.reshape(-1)[:9].mean(),
    "sums of shifted ones": lambda a: np.stack([a[:-1], a[1:]]).sum(axis=0) - np.ravel(a)[::5].mean(),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_a_way_is_its_path_asked_hop_by_hop(chain: str) -> None:
    random = np.random.default_rng(len(chain))
    made = CHAINS[chain](arrays.source("own", random.random((6, 8))))
    for share in (0.03, 0.3, 1.0):
        mask = random.random(made.shape) < share
        mask.flat[0] = True
        recorded = record(made, mask, influence=True)
        by_hops = {path.names[:-1]: path.cells for path in recorded.traced("own").paths}
        ways = recorded.ways("own")
        assert {one.names for one in ways} == set(by_hops)
        for way in ways:
            assert (inputs(way, mask) == by_hops[way.names].mask()).all()
            assert way.guarantee == by_hops[way.names].guarantee
            assert (outputs(way) == mask).all()


def inputs(way: Way, mask: Any) -> Any:
    """A bitmap."""
    found = np.zeros(way.relation.in_shape, dtype=bool)
    pairs = arrays.expand(way.relation)
    assert mask[tuple(pairs[:, : mask.ndim].T)].all()
    found[tuple(pairs[:, mask.ndim :].T)] = True
    return found


def outputs(way: Way) -> Any:
    return to_mask(way.relation.out_boxes, way.relation.out_shape)


def test_ways_through_the_whole_array_make_no_pairs_of_it() -> None:
    """Of the path through the mean, one row; by the cells of the other, as many as its blocks have lines."""
    picture = arrays.source("picture", np.random.default_rng(1).random((400, 600)))
    small = picture.reshape(200, 2, 300, 2).mean(axis=(1, 3))
    narrow, wide = record(small - small.mean(), np.s_[5:7, 8:10], influence=False).ways("picture")
    assert (len(wide.relation), wide.count) == (1, 240_000)
    assert (len(narrow.relation), narrow.count) == (4, 16)


def test_a_relation_of_each_cell_with_itself_adds_nothing() -> None:
    relation = arrays.rules.windows((5, 6), (2, 3))
    assert arrays.rules.elementwise((5, 1, 6))[0].is_identity
    for other in (arrays.rules.elementwise((6,), (5, 6))[0], arrays.rules.reduction((4,)), arrays.moved(np.flip, (4, 4))[0]):
        assert not other.is_identity
    assert not relation.is_identity
    found = compose(relation, arrays.rules.elementwise((5, 6))[0])
    assert (arrays.expand(found) == arrays.expand(relation)).all()


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 4)])
def test_a_bitmap_of_all_cells_is_one_box(shape: tuple[int, ...]) -> None:
    found: Boxes = from_mask(np.ones(shape, dtype=bool))
    assert len(found) == (0 not in shape)
    assert (to_mask(found, shape) == 1).all()


def test_a_path_of_a_thousand_operations_is_followed() -> None:
    made = arrays.source("own", np.zeros((2, 3)))
    for _ in range(1_000):
        made = made + 1
    (way,) = record(made, (0, 1), influence=False).ways("own")
    assert (len(way.names), way.relation.in_boxes.lo.tolist()) == (1_000, [[0], [1]])


def test_relations_of_no_pairs_have_ways() -> None:
    made: Any = np.cumsum(arrays.source("own", np.zeros((3, 4))), axis=0)[:0]
    (way,) = record(made, ..., influence=False).ways("own")
    assert isinstance(way.relation, Relation)
    assert (len(way.relation), way.count) == (0, 0)
