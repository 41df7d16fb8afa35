"""Any reason as a relation between an array and its decision: its pairs are the cells that the reason marks, counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from airflow_lineage_provider import arrays, payload
from airflow_lineage_provider.arrays import Log
from airflow_lineage_provider.errors import CaptureFailed, InvalidCells
from tests.arrays.drawing import drawn


def cells(relation: arrays.Relation) -> list[list[int]]:
    return sorted(arrays.expand(relation).tolist())


BOXES = payload.Boxes((payload.Box(0.5, 1.0, 2.0, 1.5, "cat", 0.9), payload.Box(3, 0, 9, 1, "dog", 0.2)), (5, 4))
_spans: Any = ((3, 7, 0.8), (12, 15, -0.9, "bad"), (0, 2, 0.01))
_features: Any = (("age", 1, 0.5), ("city", "Rome", 0.0), ("income", 7, -2.0))
SPANS, FEATURES = payload.TextSpans(_spans, "so good, so bad"), payload.Attributions(_features, 0.0)


@pytest.mark.parametrize(
    ("reason", "shape", "threshold", "wanted"),
    [
        (BOXES, (4, 5), 0.5, [[(row, column) for row in (1, 2) for column in (0, 1, 2)], []]),
        (BOXES, (4, 5, 1), 0.0, [[(row, column, 0) for row in (1, 2) for column in (0, 1, 2)], [(0, 3, 0), (0, 4, 0)]]),
        (SPANS, (15,), 0.1, [[(at,) for at in range(3, 7)], [(at,) for at in range(12, 15)], []]),
        (FEATURES, (3,), 0.5, [[(0,)], [], [(2,)]]),
        (payload.Mask.of(np.eye(3) > 0), (3, 3), 0.0, [[(at, at) for at in range(3)]]),
        (np.eye(3) > 0, (3, 3), 9.0, [[(at, at) for at in range(3)]]),
        (np.array([0.5, -0.9, 0.0, np.nan, 0.1, -0.9]), (6,), 0.2, [[(1,), (5,)], [(0,)], []]),
        (np.array([0.5, -0.5, 0.0, np.nan, 0.1]), (5,), 0.0, [[(0,)], [(1,)], [(4,)]]),
        (np.array([-128, 3], np.int8), (2, 2), 100, [[(0, 0), (0, 1)], []]),
        (payload.Weights.of(np.array([[0.5, 0.25], [0.5, 0.0]])), (2, 2, 1), 0.3, [[(0, 0, 0), (1, 0, 0)], []]),
        (np.array([[2.0]]), (1, 1, 0), 0.0, [[]]),
        (np.array(-0.5), (), 0.0, [[()]]),
        (np.array([[True, False]]), (1, 2, 3), 0.0, [[(0, 0, channel) for channel in range(3)]]),
        (np.array(True), (), 0.0, [[()]]),
    ],
)  # fmt: skip
def test_a_reason_is_a_relation_to_its_decision_and_to_its_parts(reason: Any, shape: Any, threshold: float, wanted: Any) -> None:
    found = arrays.behind(reason, shape, threshold=threshold)
    assert (found.out_shape, found.in_shape) == ((), shape)
    assert cells(found) == sorted(list(cell) for cell in {cell for part in wanted for cell in part})
    parts = arrays.behind(reason, shape, threshold=threshold, parts=True)
    assert (parts.out_shape, parts.in_shape) == ((len(wanted),), shape)
    assert cells(parts) == sorted([at, *cell] for at, part in enumerate(wanted) for cell in part)


@drawn(30, one_in=20, shape=st.lists(st.integers(0, 5), max_size=3).map(tuple), seed=st.integers(0, 2**32 - 1))
def test_the_pairs_of_a_mask_are_where_it_is_true(shape: tuple[int, ...], seed: int) -> None:
    random = np.random.default_rng(seed)
    weights = np.round(random.normal(size=shape), 1)
    mask = np.abs(weights) >= 0.7
    for reason, threshold in ((mask, 0.0), (weights, 0.7), (payload.Weights.of(weights), 0.7), (payload.Mask.of(mask), 0.0)):
        assert cells(arrays.behind(reason, shape, threshold=threshold)) == np.argwhere(mask).tolist()
        marks = arrays.of_reason(reason, shape, threshold=threshold)
        assert np.array_equal(sum((one.region.mask.astype(int) for one in marks), np.zeros(shape, dtype=int)), mask), "no two overlap"
        for one in marks:
            assert one.weight is None or np.array_equal(one.region.mask, weights == one.weight)
        assert [one.weight for one in marks] == sorted((one.weight for one in marks), key=lambda it: (-abs(it), -it) if it else (0, 0))


@pytest.mark.parametrize(
    ("reason", "shape"),
    [
        (np.eye(3), (3, 4)),
        (np.eye(3), (3,)),
        (np.array(["a"]), (1,)),
        (np.array([None]), (1,)),
        (np.ma.masked_array([1.0, 2.0], [True, False]), (2,)),
        (payload.Json({}), (3,)),
        ([True, False], (2,)),
    ],
)
def test_what_marks_no_cells_of_the_array_is_refused(reason: Any, shape: Any) -> None:
    with pytest.raises(InvalidCells):
        arrays.behind(reason, shape)


SIDE = 32


def picture(channels: int = 0) -> Any:
    values = np.full((SIDE, SIDE, *([channels] if channels else [])), 40.0)
    values[8:16, 20:28] += 200
    values[24:32, 0:8] += 100
    return values


def scores(image: Any) -> Any:
    return np.array([image[8:16, 20:28].mean(), image[24:32, 0:8].mean(), 7.0])


BEHIND: list[Any] = [[[8, 16], [20, 28]], [[24, 32], [0, 8]]]


@pytest.mark.parametrize("channels", [0, 3])
def test_estimates_are_captures_of_each_class(channels: int) -> None:
    """Of scores that hang on one tile of the picture each, and of one that hangs on none."""
    log, asked = Log(), []

    def score(image: Any) -> Any:
        asked.append(image.shape)
        return scores(image)

    given = picture(channels)
    log.array("picture", given.shape)
    log.array("classes", (3,))
    log.lineage("picture", "classes", capture=arrays.by_lime(score, arrays.source("picture", given), samples=200, share=0.6))
    assert asked == [given.shape] * 200, "however many classes there are"
    for at, wanted in enumerate(BEHIND):
        found = log.prov_query(["classes", "picture"], at)
        assert found.boxes.tolist() == [[*wanted, *([[0, channels]] if channels else [])]]
        assert found.guarantee == "unavailable"


def test_an_estimate_is_a_capture_of_an_operation_and_of_a_number() -> None:
    log = Log()
    log.array("picture", (SIDE, SIDE))
    log.array("score", ())
    capture = arrays.by_drise(lambda image: image[8:16, 20:28].mean(), picture(), share=0.7, samples=400)
    assert not log.register_operation("detect", ["picture"], ["score"], capture=capture)
    found = log.prov_query(["score", "picture"], ())
    assert found.guarantee == "unavailable"
    inside = np.zeros((SIDE, SIDE), dtype=bool)
    inside[8:16, 20:28] = True
    assert (found.mask() & inside).sum() > 0.4 * inside.sum()
    assert (found.mask() & ~inside).sum() < (found.mask() & inside).sum() * 2
    log.array("sure", ())
    log.register_operation("detect", ["picture"], ["sure"], capture={("picture", "sure"): capture}, guarantee="superset")
    assert log.prov_query(["sure", "picture"], ()).guarantee == "superset", "who says more is believed"


def test_what_no_score_has_is_refused() -> None:
    log = Log()
    log.array("picture", (SIDE, SIDE))
    log.array("classes", (4,))
    with pytest.raises(CaptureFailed, match=r"no cell \(3,\)"):
        log.lineage("picture", "classes", capture=arrays.by_lime(scores, picture(), samples=20))
    for share in (0, 1.5, True, "half"):
        with pytest.raises(InvalidCells, match="share"):
            arrays.by_lime(scores, picture(), share=share)  # type: ignore[arg-type]
