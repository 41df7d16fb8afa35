"""Probing: what is found is lineage, and of functions that hang on all they read it is all of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from airflow_lineage_provider import arrays
from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.tracking.tracing import record
from airflow_lineage_provider.errors import CaptureFailed, NotTracked, TooManyCells

Pairs = set[tuple[int, ...]]


def pairs(found: arrays.Tracked, name: str) -> Pairs:
    ways = record(found, ..., influence=False).ways(name)
    return {tuple(one) for way in ways for one in arrays.expand(way.relation).tolist()}


def truth(relation: arrays.Relation) -> Pairs:
    return {tuple(one) for one in arrays.expand(relation).tolist()}


def blurred(image: Any) -> Any:
    wide = np.pad(image, 1)
    return sum(wide[y : y + image.shape[0], x : x + image.shape[1]] for y, x in itertools.product(range(3), range(3)))


@pytest.mark.parametrize(
    ("function", "rule"),
    [
        (lambda a: a.sum(axis=1), rules.reduction((4, 3), 1)),
        (lambda a: np.cumsum(a, axis=0), rules.scan((4, 3), 0)),
        (lambda a: a @ np.arange(1.0, 7.0).reshape(3, 2), rules.einsum("ij,jk->ik", (4, 3), (3, 2))[0]),
        (lambda a: a.T[::-1], arrays.moved(lambda a: a.T[::-1], (4, 3))[0]),
        (blurred, rules.windows((4, 3), (3, 3), "same")),
        (np.negative, rules.elementwise((4, 3))[0]),
    ],
)
@pytest.mark.parametrize("kind", [float, int])
def test_what_hangs_on_all_that_it_reads(function: Callable[..., Any], rule: arrays.Relation, kind: type) -> None:
    for seed in range(3):
        image: Any = np.random.default_rng(seed).integers(1, 50, (4, 3)).astype(kind)
        found = arrays.probe(function, arrays.source("image", image))
        np.testing.assert_array_equal(found.values, function(image))
        assert pairs(found, "image") == truth(rule)


@pytest.mark.parametrize("function", [np.sort, np.argmax, np.unique, lambda a: a[a > 10], lambda a: a.max(axis=0), np.median])
def test_what_hangs_on_values_is_a_part_of_all(function: Callable[..., Any]) -> None:
    """Never a cell that the function does not look at, which here it is told: the last row."""
    image = np.random.default_rng(1).integers(1, 50, (4, 3))
    found = arrays.probe(lambda a: function(a[:3]), arrays.source("image", image))
    behind = pairs(found, "image")
    assert behind
    assert all(pair[-2] < 3 for pair in behind)
    assert arrays.trace(found, ..., to="image").cells.guarantee == "unavailable"


def test_several_arrays_texts_times_and_failures() -> None:
    one, other = arrays.source("one", [1.0, np.nan]), arrays.source("other", np.array([True, False]))
    found = arrays.probe(lambda a, b, c: np.where(b, a, c), one, other, np.array([5.0, 6.0]), name="chosen")
    assert (pairs(found, "one"), pairs(found, "other"), found.result.name) == ({(0, 0)}, {(0, 0), (1, 1)}, "chosen")
    upper = arrays.probe(lambda text: np.char.upper(text[:2]), arrays.source("text", "abc"))
    assert pairs(upper, "text") == {(0, 0), (1, 1)}
    days = arrays.source("days", np.array(["2026-01-01", "2026-01-05"], dtype="datetime64[D]"))
    assert pairs(arrays.probe(np.diff, days), "days") == {(0, 0), (0, 1)}
    letters = arrays.probe(lambda a: np.array([1 / (one - 2) for one in a]), arrays.source("numbers", np.array([1, 3, 1])))
    assert {(at, at) for at in range(3)} <= pairs(letters, "numbers")
    assert arrays.probe(lambda a: a, arrays.source("none", np.zeros((0, 2)))).shape == (0, 2)


def test_it_is_the_same_in_every_process() -> None:
    image = np.random.default_rng(3).random((5, 5))
    one, other = (arrays.probe(np.sort, arrays.source("image", image)) for _ in range(2))
    assert pairs(one, "image") == pairs(other, "image")


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda a: arrays.probe(np.sort, np.ones(3)), NotTracked, "needs a tracked array"),
        (lambda a: arrays.probe(np.stack, [a, a]), NotTracked, "none in lists"),
        (lambda a: arrays.probe(np.sort, a, calls=10), TooManyCells, "would call sort 11 times"),
        (lambda a: arrays.probe(lambda b: b + np.random.default_rng().random(), a), CaptureFailed, "another result for the same arrays"),
        (lambda a: arrays.probe(lambda b: 1 / 0, a), ZeroDivisionError, "division"),
        (lambda a: arrays.probe(lambda b: np.array([None]), a), NotTracked, "an array of object"),
    ],
)
def test_what_cannot_be_probed_is_refused(call: Callable[[Any], Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        call(arrays.source("a", np.arange(3.0)))
