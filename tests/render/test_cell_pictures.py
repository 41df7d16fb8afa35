"""The cells behind a reason on the page and in words: over the source's own image, in its text, over its array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from airflow_lineage_provider import arrays, payload
from airflow_lineage_provider.answers.cells import CellsOf
from airflow_lineage_provider.answers.explanation import Explanation, Image
from airflow_lineage_provider.render.cell_pictures import CellView, Spot, cell_views
from airflow_lineage_provider.render.cell_text import cell_line, cell_lines
from airflow_lineage_provider.render.decisions import decisions
from airflow_lineage_provider.render.decisions import placed as placed_decisions
from airflow_lineage_provider.render.html import to_html
from airflow_lineage_provider.render.withheld import shown
from airflow_lineage_provider.tracing.columns.lineage import ColumnInput, SourceColumn
from airflow_lineage_provider.tracing.columns.transformation import IDENTITY
from tests.render import explanation_examples as examples

WIDTH, HEIGHT = 16, 12


def explained(value: Any, reason: Any, **changes: Any) -> Explanation:
    """An answer with one decision over one argument, and its reason as a UDF gives it."""
    record = payload.as_payload(reason)
    assert isinstance(record, payload.Traced)
    placed = payload.Traced(
        record.reason,
        record.shape,
        tuple(payload.ArraySource(one.argument, one.shape, one.paths, 0) for one in record.sources),
        record.cells,
        record.threshold,
        record.axes,
    )
    table = pa.table({"row": [0], "photo": [value], "value": [True], "reason": [payload.to_json(placed)]})
    return examples.explanation(reasons={"udf": table}, **changes)


def views(explanation: Explanation) -> tuple[CellView, ...]:
    return cell_views(decisions(explanation, "udf")[0], explanation.images)


def boxes_of(pixels: Any, *boxes: payload.Box) -> Any:
    """Boxes on every second pixel of a part of the image, against their mean."""
    seen = arrays.source("photo", pixels)[2:10, 4:12].reshape(4, 2, 4, 2, -1).mean(axis=(1, 3, 4))
    return arrays.traced(payload.Boxes(boxes), on=seen - seen.mean())


PIXELS = np.zeros((HEIGHT, WIDTH, 3))
BOXES = (payload.Box(1, 0, 2, 1, "lamp", 0.5), payload.Box(0, 3, 1, 1), payload.Box(9, 9, 1, 1, "beyond"))


def test_boxes_stand_over_the_source_and_not_over_what_the_model_saw() -> None:
    explanation = explained(examples.png(WIDTH, HEIGHT), boxes_of(PIXELS, *BOXES))
    (view,) = views(explanation)
    assert (view.kind, view.title) == ("image", "photo, 12 × 16 × 3: 36 cells, through subtract, mean, reshape, index")
    assert view.others == ("192 cells, through subtract, mean 2, mean, reshape, index",)
    picture = view.drawing
    assert (picture.width, picture.height, picture.note, picture.hidden) == (WIDTH, HEIGHT, "", 0)
    assert [(one.path, one.text, one.x, one.y) for one in picture.outlines] == [
        ("M6 2h4v2h-4z", "lamp 0.5: 24 cells", 6, 2),
        ("M4 8h2v2h-2z", "part: 12 cells", 4, 8),
    ]
    page = to_html(explanation)
    assert 'd="M6 2h4v2h-4z"' in page
    assert 'viewBox="0 0 16 12"' in page
    assert "1 other path" in page
    assert "On the array that was judged" in page


def test_an_image_by_its_path() -> None:
    images = {"/photos/a.png": Image(data=examples.png(WIDTH, HEIGHT))}
    (view,) = views(explained("/photos/a.png", boxes_of(PIXELS, *BOXES), images=images))
    assert view.drawing.image is not None
    refused = {"/photos/a.png": Image(problem="It is in no folder.")}
    (view,) = views(explained("/photos/a.png", boxes_of(PIXELS, *BOXES), images=refused))
    assert (view.drawing.image, view.drawing.note) == (None, "It is in no folder, so only the places are drawn.")


def test_an_image_of_another_size_is_not_drawn_under_the_cells() -> None:
    (view,) = views(explained(examples.png(7, 5), boxes_of(PIXELS, *BOXES)))
    assert view.drawing.image is None
    assert view.drawing.note == "The image has another size than the array that was judged, so only the places are drawn."


def test_channels_may_come_first() -> None:
    seen = arrays.source("photo", np.zeros((3, HEIGHT, WIDTH)))[:, 1:, 1:]
    made = arrays.traced(payload.Boxes((payload.Box(2, 1, 3, 2),)), on=seen, axes=(1, 2))
    (view,) = views(explained(examples.png(WIDTH, HEIGHT), made))
    assert [one.path for one in view.drawing.outlines] == ["M3 2h3v2h-3z"]


def test_a_large_image_with_many_boxes() -> None:
    seen = arrays.source("photo", np.zeros((3000, 4000), dtype=np.uint8))[500:2500, 500:3500]
    boxes = tuple(payload.Box(at % 20 * 140, at // 20 * 150, 100, 100, f"box {at}") for at in range(220))
    explanation = explained(None, arrays.traced(payload.Boxes(boxes), on=seen))
    (view,) = views(explanation)
    assert (view.drawing.width, view.drawing.height, len(view.drawing.outlines), view.drawing.hidden) == (4000, 3000, 200, 20)
    page = to_html(explanation)
    assert "… and 180 more, told where they are pointed at" in page
    assert "… and 20 more that are not drawn" in page
    assert 'font-size="75.0"' in page


def test_spans_stand_in_the_source_text() -> None:
    text = "  So GOOD!"
    characters = arrays.source("photo", text)[2:]
    made = arrays.traced(payload.TextSpans((payload.Span(3, 7, 0.7),), "so good!"), on=characters)
    explanation = explained(text, made)
    (view,) = views(explanation)
    assert [(one.text, one.tone) for one in view.drawing.pieces] == [("  So ", ""), ("GOOD", "up5"), ("!", "")]
    assert ">GOOD</mark>" in to_html(explanation)
    assert list(cell_lines(payload.from_json(explanation.reasons["udf"]["reason"][0].as_py()))) == [  # type: ignore[arg-type]
        "4 cells of photo, 10, through index",
    ]


def test_cells_of_an_array_are_a_mask() -> None:
    vector = arrays.source("photo", np.arange(6.0))
    (view,) = views(explained([0.0] * 6, arrays.traced({"sum": 3}, on=vector.reshape(2, 3).sum(axis=1), cells=(1,))))
    assert (view.kind, view.drawing.slices[0].path) == ("mask", "M3 0h3v1h-3z")
    large = arrays.source("photo", np.zeros((5, 1_000_000)))
    (view,) = views(explained([0.0], arrays.traced("why", on=large.sum(axis=1), cells=(1,))))
    assert (view.kind, view.drawing) == ("told", "An array of 5,000,000 cells is not drawn.")


def test_features_are_bars_in_the_columns_of_source_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each argument of one cell by what it weighs, linked with the row that has it; its column is marked there, and no other is."""
    income, debt = arrays.source("income", 3.0), arrays.source("debt", 4.0)
    weights = payload.Attributions((payload.Attribution("income", 3.0, 0.5), payload.Attribution("debt", 4.0, -1.0)), 0.0)
    record = payload.as_payload(arrays.traced(weights, on=np.stack([income, debt])))
    assert isinstance(record, payload.Traced)
    positions = {"income": 1, "debt": 0}
    of = tuple(payload.ArraySource(one.argument, one.shape, one.paths, positions[one.argument]) for one in record.sources)
    placed = payload.Traced(record.reason, record.shape, of, record.cells, record.threshold, record.axes)
    table = pa.table({"row": [0], "debt": [4.0], "income": [3.0], "value": [True], "reason": [payload.to_json(placed)]})
    loans = {"id": [6, 7], "debt": [1.0, 4.0], "more": [4.0, 4.0], "income": [9.0, 3.0]}
    explanation = examples.explanation(reasons={"udf": table}, source={"loans": loans}, links={"udf": examples.links((0, "loans", 1))})
    unknown = to_html(explanation)
    assert '<p class="note">The plan of the run that called the UDF is not in this answer</p>' in unknown
    assert "Stands in" not in unknown
    assert "nth-child(5){box-shadow" not in unknown
    relation: Any = None
    columns = [
        [ColumnInput(source=SourceColumn(table="loans", column=name, relation=relation), transformation=IDENTITY)]
        for name in ("debt", "income")
    ]
    monkeypatch.setattr(CellsOf, "inputs", columns)
    (decision,) = placed_decisions(explanation, "udf", decisions(explanation, "udf"))
    spots = {
        view.title.partition(",")[0]: view.drawing for view in cell_views(decision, {}, lambda one: Spot(text=str(one.column), anchor=""))
    }
    assert {name: [(one.feature, one.value, one.contribution, one.share) for one in told.bars] for name, told in spots.items()} == {
        "income": [("income", "3.0", 0.5, 0.5)],
        "debt": [("debt", "4.0", -1.0, -1.0)],
    }
    assert {name: [one.text for one in told.spots] for name, told in spots.items()} == {"income": ["income"], "debt": ["debt"]}
    page = to_html(explanation)
    assert '<a href="#source-0-1">income of loans 2</a>' in page
    assert "#source-0-1>td:nth-child(3),#source-0-1>td:nth-child(5){box-shadow" in page
    withheld = to_html(shown(explanation, mask=["income"]))
    assert "income of loans 2" not in withheld
    assert "nth-child(5){box-shadow" not in withheld


def test_what_cannot_be_read_is_told() -> None:
    explanation = explained([1.0, 2.0], arrays.traced("why", on=arrays.source("photo", [1.0, 2.0]) + 1))
    text = explanation.reasons["udf"]["reason"][0].as_py()
    relation = payload.from_json(text).sources[0].paths[0].relation  # type: ignore[union-attr]
    damaged = explanation.reasons["udf"].rows.set_column(3, "reason", pa.array([text.replace(relation, "AAAA")]))
    broken = examples.explanation(reasons={"udf": damaged})
    (view,) = views(broken)
    assert (view.kind, "no relation of cells" in view.drawing, "cells that cannot be read" in view.title) == ("told", True, True)
    assert "cells that cannot be read" in to_html(broken)


def test_cells_in_words() -> None:
    cell = {
        "row": 0, "label": "face", "weight": 0.5, "argument": "path", "source": "photos", "source_row": 2, "column": "file",
        "path": ["mean", "index"], "lo": [0, 10], "hi": [5, 1200], "guarantee": "exact", "cause": "",
    }  # fmt: skip
    assert cell_line(cell) == "decision 1, face: photos 3, file [0, 5) × [10, 1,200) exact, through mean, index"
    whole = cell | {"lo": None, "hi": None, "guarantee": "superset", "cause": "it was changed", "label": None, "path": []}
    assert cell_line(whole) == "decision 1, photos 3, file all of it superset (it was changed)"
    assert cell_line(whole | {"source": None, "source_row": None, "column": None}).startswith("decision 1, path all of it")
