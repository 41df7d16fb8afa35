"""How much each pixel of an image counts for a score, for any function from an image to a number: by covering parts of it.

`lime` covers superpixels and fits a linear model (LIME, Ribeiro et al. 2016); `drise` covers random blots and takes the mean score of those
that leave a pixel (D-RISE, Petsiuk et al. 2021, with the score in place of its similarity of detections). Both are estimates, seeded, and
need nothing but the function: no weights, no gradients. (DSLog, Sec. VII.A, captures lineage by both.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from airflow_lineage_provider.arrays.tracking.array import Values, plain
from airflow_lineage_provider.errors import CaptureFailed, InvalidArray
from airflow_lineage_provider.shown import shown

Weights = npt.NDArray[np.float64]
Score = Callable[[Values], Any]

_WIDTH = 0.25
"""Of LIME's kernel: how fast images that have less of the original count less."""
_RIDGE = 1e-3


def lime(score: Score, image: Any, *, segments: Any = 8, samples: int = 500, seed: int = 0) -> Weights:
    """The weight of each pixel's superpixel in a linear model of the score.

    :param score: takes an image of this shape and type, and gives a number.
    :param image: (height, width) or (height, width, channels); a tracked array's values will do.
    :param segments: (height, width) whole numbers, the superpixel of each pixel; or n, for n × n tiles.
    :param samples: how often the score is asked.
    :returns: (height, width); what is covered has the image's mean colour.
    :raises InvalidArray: it is no image, or the superpixels are not of its size.
    :raises CaptureFailed: the score is no finite number.
    """
    values = _image(image)
    labels = _labels(segments, values)
    count = int(labels.max(initial=0)) + 1
    kept = np.random.default_rng(seed).random((samples, count)) < 0.5
    kept[0] = True
    scores = np.array([_score(score, _covered(values, row[labels].astype(float))) for row in kept])
    share = kept.mean(axis=1)
    distance = 1 - np.sqrt(share)  # one minus the cosine of the angle between what is kept and everything
    importance = np.exp(-(distance**2) / _WIDTH**2)
    return np.asarray(_ridge(kept.astype(float), scores, importance)[labels], dtype=np.float64)


def drise(score: Score, image: Any, *, grid: int = 8, chance: float = 0.5, samples: int = 1000, seed: int = 0) -> Weights:
    """The mean score of images of which blots are left that have the pixel, above the mean of all.

    :param grid: the blots are as large as the tiles of so many rows and columns; where they are, and how they fade, is random.
    :param chance: how likely a tile is left.
    Else as `lime`.
    """
    values, random = _image(image), np.random.default_rng(seed)
    total, weight = np.zeros(values.shape[:2]), np.zeros(values.shape[:2])
    scores = []
    for mask in _blots(values.shape[:2], grid, chance, samples, random):
        scores.append(_score(score, _covered(values, mask)))
        total += scores[-1] * mask
        weight += mask
    return np.asarray(total / np.maximum(weight, 1e-12) - np.mean(scores), dtype=np.float64)


def _image(given: Any) -> Values:
    values = np.asarray(plain(given))
    if values.ndim not in (2, 3) or values.dtype.kind not in "buif" or not values.size:
        wanted = "an image is an array of numbers, (height, width) or (height, width, channels)"
        raise InvalidArray(f"{wanted}; this has shape {values.shape} of {values.dtype}")
    return values


def _labels(segments: Any, values: Values) -> npt.NDArray[np.int64]:
    if isinstance(segments, int) and not isinstance(segments, bool) and segments > 0:
        rows, columns = (np.arange(side) * segments // side for side in values.shape[:2])
        return np.unique(rows[:, None] * segments + columns, return_inverse=True)[1].reshape(values.shape[:2])
    labels = np.asarray(segments)
    if labels.shape != values.shape[:2] or labels.dtype.kind not in "iu":
        raise InvalidArray(f"superpixels are a number of tiles, or whole numbers of shape {values.shape[:2]}; these are {shown(segments)}")
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)


def _covered(values: Values, left: Weights) -> Values:
    """The image where ``left`` is 1, its mean colour where it is 0."""
    mean = values.mean(axis=(0, 1), keepdims=True)
    share = left if values.ndim == 2 else left[:, :, None]
    return np.asarray(mean + (values - mean) * share).astype(values.dtype)


def _score(score: Score, image: Values) -> float:
    found = score(image)
    try:
        number = float(found)
    except (TypeError, ValueError) as error:
        raise CaptureFailed(f"the score of an image is {shown(found)}, and no number: {error}") from error
    if not np.isfinite(number):
        raise CaptureFailed(f"the score of an image is {number}, which says nothing")
    return number


def _ridge(kept: Weights, scores: Weights, importance: Weights) -> Weights:
    """The coefficients of a weighted linear model with a constant."""
    design = np.concatenate([kept, np.ones((len(kept), 1))], axis=1)
    weighted = design.T * importance
    penalty = _RIDGE * np.diag([*np.ones(kept.shape[1]), 0.0])
    return np.asarray(np.linalg.solve(weighted @ design + penalty, weighted @ scores)[:-1])


def _blots(sides: tuple[int, int], grid: int, chance: float, samples: int, random: np.random.Generator) -> Iterator[Weights]:
    """Random masks: a coarse grid of noughts and ones, made as large as the image and a tile more, and cut out at random."""
    tiles = [max(1, -(-side // grid)) for side in sides]
    for _ in range(samples):
        coarse = (random.random((grid + 2, grid + 2)) < chance).astype(float)
        starts = [int(random.integers(tile)) for tile in tiles]
        rows, columns = ((np.arange(side) + start) / tile for side, start, tile in zip(sides, starts, tiles, strict=True))
        yield _between(coarse, rows, columns)


def _between(coarse: Weights, rows: Weights, columns: Weights) -> Weights:
    """Bilinear: the value of the grid at each of these places."""
    top, left = (np.floor(one).astype(np.int64) for one in (rows, columns))
    down, right = (rows - top)[:, None], (columns - left)[None]
    upper = coarse[np.ix_(top, left)] * (1 - right) + coarse[np.ix_(top, left + 1)] * right
    lower = coarse[np.ix_(top + 1, left)] * (1 - right) + coarse[np.ix_(top + 1, left + 1)] * right
    return np.asarray(upper * (1 - down) + lower * down)
