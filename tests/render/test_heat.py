"""The weights of cells on the page and in words: the tones, what stands on top, and how much is drawn."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

from airflow_lineage_provider import arrays, payload
from airflow_lineage_provider.answers.cells import CellsOf
from airflow_lineage_provider.render import heat
from airflow_lineage_provider.render.cell_pictures import cell_views
from airflow_lineage_provider.render.decisions import decisions
from airflow_lineage_provider.render.heat import heat_picture
from airflow_lineage_provider.render.html import to_html
from airflow_lineage_provider.render.reason_text import weights_text
from tests.render import explanation_examples as examples
from tests.render.test_cell_pictures import explained, views


def painted(path: str, shape: tuple[int, int]) -> np.ndarray:
    """The cells that an SVG path of rectangles covers."""
    found = np.zeros(shape, dtype=int)
    for x, y, width, height in re.findall(r"M(\d+) (\d+)h(\d+)v(\d+)h-\d+z", path):
        found[int(y) : int(y) + int(height), int(x) : int(x) + int(width)] += 1
    return found


def test_each_cell_is_drawn_once_in_the_tone_of_its_share_of_the_largest() -> None:
    weights = np.round(np.random.default_rng(1).normal(size=(9, 7)), 1)
    found = heat_picture(weights)
    (one,) = found.slices
    assert (one.width, one.height, found.marked, found.cells, found.note) == (7, 9, int(np.count_nonzero(weights)), 63, "")
    largest, drawn = np.abs(weights).max(), np.zeros((9, 7), dtype=int)
    for layer in one.layers:
        sign, level = (-1 if layer.tone.startswith("down") else 1), int(layer.tone[-1])
        size = np.round(weights * sign * 5 / largest, 9)
        assert np.array_equal(painted(layer.path, (9, 7)), (size > level - 1) & (size <= level))
        drawn += painted(layer.path, (9, 7))
    assert np.array_equal(drawn, weights != 0)
    assert [one.tone for one in found.legend] == [one.tone for one in reversed(one.layers)]
    by_size = itertools.pairwise(int(layer.tone[-1]) for layer in one.layers)
    assert all(before <= after for before, after in by_size), "the largest is on top"
    assert heat_picture(np.array([0.25, 0.3, 0.5, -0.5])).legend[0].text == "0.5: 1 cell"


def test_of_too_many_runs_and_slices_the_largest_weights_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    cube = np.zeros((9, 2, 3))
    cube[:, 0, 0] = np.arange(1, 10)
    found = heat_picture(cube)
    assert [one.title for one in found.slices] == [f"[{at}, :, :]" for at in range(3, 9)]
    assert found.note == "6 of 9 slices are drawn: the first that have the largest weights."
    monkeypatch.setattr(heat, "MASK_RUNS", 2)
    found = heat_picture(np.array([[1.0, 0.0, 1.0, 0.0, 0.2, 0.0, 0.2]]))
    assert [one.tone for one in found.slices[0].layers] == ["up5"]
    assert found.note == "Only 2 of 4 runs are drawn, the largest weights."
    assert heat_picture(np.zeros((0, 4))).slices == heat_picture(np.zeros((3, 4))).slices == ()


def test_weights_stand_over_the_source_the_largest_on_top() -> None:
    """Of a pixel that is behind two weights both are told, and the larger is seen."""
    seen = arrays.source("photo", np.zeros((12, 16, 3))).sum(axis=2)
    steps = seen[:, 1:] + seen[:, :-1]
    weights = np.zeros((12, 15))
    weights[3, 4], weights[3, 5] = -0.25, 1.0
    explanation = explained(examples.png(16, 12), arrays.traced(payload.Weights.of(weights, "face"), on=steps))
    view = views(explanation)[0]
    assert view.kind == "image"
    assert [(one.tone, one.text) for one in view.drawing.layers] == [("down2", "−0.25: 1 pixel"), ("up5", "1: 1 pixel")]
    assert view.drawing.outlines == ()
    page = to_html(explanation)
    assert 'class="heat down2" d="M4 3h1v1h-1z"' in page
    assert "On the array that was judged" in page
    assert 'class="heat up5" d="M5 3h1v1h-1z"' in page, "the array itself"
    assert "2 of 180 cells weigh, most +1 at [3, 5] for &#39;face&#39;" in page
    rows = CellsOf(explanation, "udf").table().to_pylist()
    assert {(one["label"], one["weight"]) for one in rows} == {("face", 1.0), ("face", -0.25)}


def test_weights_of_a_large_image_and_of_an_array() -> None:
    large = np.zeros((3000, 4000), dtype=np.uint8)
    tiles = np.kron(np.random.default_rng(2).normal(size=(8, 8)), np.ones((100, 100)))
    seen = arrays.source("photo", large)[500:1300, 500:1300]
    (view,) = views(explained(None, arrays.traced(payload.Weights.of(tiles), on=seen)))
    assert (view.drawing.width, view.drawing.height, view.drawing.note.count("boxes")) == (4000, 3000, 0)
    drawn = sum((painted(one.path, (3000, 4000)) for one in view.drawing.layers), np.zeros((3000, 4000), dtype=int))
    assert (drawn[500:1300, 500:1300] == 1).all()
    assert drawn.sum() == 800 * 800
    vector = arrays.source("photo", np.arange(6.0))
    reason = arrays.traced(payload.Weights.of([0.5, -1.0]), on=vector.reshape(2, 3).sum(axis=1))
    (view,) = views(explained([0.0] * 6, reason))
    assert (view.kind, [(one.tone, one.path) for one in view.drawing.slices[0].layers]) == (
        "heat", [("up3", "M0 0h3v1h-3z"), ("down5", "M3 0h3v1h-3z")],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "wanted"),
    [
        (payload.Weights.of(np.zeros((2, 3)), "face"), "none of 6 cells weighs for 'face'"),
        (payload.Weights.of([[0.5, 0.0], [0.0, -1.5]]), "2 of 4 cells weigh, most -1.5 at [1, 1]"),
        (payload.Weights.of(2.0), "1 of 1 cells weighs, most +2 at []"),
    ],
)
def test_weights_in_words(reason: Any, wanted: str) -> None:
    assert weights_text(reason).replace("\N{MINUS SIGN}", "-") == wanted
    explanation = examples.explanation(reasons={"udf": examples.reasons({"x": [1]}, [True], [reason])})
    (decision,) = decisions(explanation, "udf")
    assert cell_views(decision, {}) == ()
    assert 'class="heat ' in to_html(explanation) or not reason.levels
