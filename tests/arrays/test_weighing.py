"""Weights of pixels by covering parts of an image: where a score looks, and nowhere else, whatever the score is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from airflow_lineage_provider import arrays, payload
from airflow_lineage_provider.arrays import Log
from airflow_lineage_provider.errors import CaptureFailed, InvalidArray
from tests.in_turn import in_turn

SIDE = 64


def image(*, channels: int = 0, kind: str = "float64") -> Any:
    """Bright in a box, noise elsewhere."""
    values = np.random.default_rng(2).random((SIDE, SIDE, *([channels] if channels else []))) * 40
    values[16:32, 40:56] += 200
    return values.astype(kind)


def brightness(values: Any) -> float:
    return float(values[16:32, 40:56].mean())


BOX = np.zeros((SIDE, SIDE), dtype=bool)
BOX[16:32, 40:56] = True


def test_the_weights_of_a_linear_score_are_its_own() -> None:
    """Of a score that adds up the means of superpixels, the model has the very parts (where they are no mean colour)."""
    values, labels = image(), np.arange(16).repeat(4)[:SIDE] // 4 * 4
    segments = labels[:, None] + (np.arange(SIDE) // 16)[None]
    parts = np.random.default_rng(5).normal(size=16)

    def score(given: Any) -> float:
        return float(sum(part * given[segments == at].mean() for at, part in enumerate(parts)))

    found = arrays.lime(score, values, segments=segments, samples=400)
    wanted = np.array([part * (values[segments == at].mean() - values.mean()) for at, part in enumerate(parts)])
    np.testing.assert_allclose(found, wanted[segments], rtol=0.02, atol=0.05)


@pytest.mark.long
@pytest.mark.parametrize(("image_of", "weigh"), in_turn([(0, "float64"), (3, "uint8"), (1, "float32")], [arrays.lime, arrays.drise]))
def test_they_are_large_where_the_score_looks(image_of: tuple[int, str], weigh: Callable[..., Any]) -> None:
    channels, kind = image_of
    given = image(channels=channels, kind=kind)
    seen: set[tuple[Any, ...]] = set()

    def score(values: Any) -> float:
        seen.add((values.shape, values.dtype.name))
        return brightness(values)

    weights = weigh(score, given)
    assert seen == {(given.shape, kind)}
    chosen = weights >= weights.max() / 2
    assert (chosen & BOX).sum() / (chosen | BOX).sum() > 0.5
    assert abs(weights[~BOX].mean()) < weights[BOX].mean() / 5
    np.testing.assert_array_equal(weights, weigh(score, arrays.source("image", given)))


def test_they_are_lineage_of_a_decision_and_of_what_it_was_made_from() -> None:
    weights = arrays.lime(brightness, image())
    log = Log()
    log.array("image", (SIDE, SIDE))
    log.array("score", ())
    log.lineage("image", "score", np.argwhere(weights >= weights.max() / 2), guarantee="unavailable")
    found = log.prov_query(["score", "image"], ())
    assert (found.guarantee, found.boxes.tolist()) == ("unavailable", [[[16, 32], [40, 56]]])
    photo = arrays.source("photo", np.kron(image(), np.ones((2, 2))))
    small = photo.reshape(SIDE, 2, SIDE, 2).mean(axis=(1, 3))
    small_weights = arrays.lime(brightness, small)
    reason = arrays.traced(payload.Mask.of(small_weights >= small_weights.max() / 2, "bright"), on=small)
    (source,) = reason.sources
    assert source.ways[0].count == 32 * 32


@pytest.mark.parametrize("weigh", [arrays.lime, arrays.drise])
@pytest.mark.parametrize(
    ("score", "given", "error", "said"),
    [
        (lambda one: "high", np.ones((4, 4)), CaptureFailed, "no number"),
        (lambda one: np.nan, np.ones((4, 4)), CaptureFailed, "says nothing"),
        (lambda one: 1 / 0, np.ones((4, 4)), ZeroDivisionError, "division"),
        (brightness, np.ones(4), InvalidArray, "shape \\(4,\\)"),
        (brightness, np.array([["a"]]), InvalidArray, "array of numbers"),
        (brightness, np.ones((0, 4)), InvalidArray, "shape \\(0, 4\\)"),
    ],
)
def test_what_is_no_image_or_no_score_is_refused(
    weigh: Callable[..., Any], score: Any, given: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        weigh(score, given)


@pytest.mark.parametrize("segments", [np.zeros((3, 4), int), np.zeros((4, 4)), 0, True, "tiles"])
def test_superpixels_are_of_the_image_s_size(segments: Any) -> None:
    with pytest.raises(InvalidArray, match="superpixels"):
        arrays.lime(lambda one: one.sum(), np.ones((4, 4)), segments=segments)


def test_small_images_and_constant_scores() -> None:
    for weigh in (arrays.lime, arrays.drise):
        np.testing.assert_allclose(weigh(lambda one: 3.0, np.ones((5, 3))), 0, atol=1e-9)
        assert weigh(lambda one: float(one.sum()), np.ones((1, 1))).shape == (1, 1)
