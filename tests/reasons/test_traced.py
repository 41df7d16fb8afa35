"""Reasons about arrays that were computed from arguments: which of their cells they are about, as text that is always the same."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from airflow_lineage_provider import arrays, payload, reasoned_udf
from airflow_lineage_provider.errors import InvalidArray, InvalidCells, NotTracked, PayloadError, ReasonTooLarge, UdfFailed
from airflow_lineage_provider.reasons.traced import Traced
from tests.new_process import NewPython

BOXES = payload.Boxes((payload.Box(1.5, 2, 2, 1, "lamp", 0.9), payload.Box(0, 0, 1, 1, "dark", 0.1)), image_size=(4, 6))


def image() -> Any:
    return np.arange(24.0 * 32).reshape(24, 32)


def shrunk(picture: Any) -> Any:
    """4 × 4 pixels as one, of a part of the picture, against their mean."""
    small = picture[:, 8:24].reshape(6, 4, 4, 4).mean(axis=(1, 3))
    return small - small.mean()


def reason(on: Any = None, **options: Any) -> Traced:
    found = payload.as_payload(arrays.traced(BOXES, shrunk(arrays.source("image", image())) if on is None else on, **options))
    assert isinstance(found, Traced)
    return found


def test_it_reads_back_as_it_was_written() -> None:
    made = reason()
    text = payload.to_json(made)
    assert payload.from_json(text) == made
    assert payload.to_json(payload.from_json(text)) == text
    record = json.loads(text)
    assert (record["kind"], record["version"], record["reason"]["kind"], record["shape"]) == ("traced", 1, "boxes", [6, 4])
    assert [one["through"] for one in record["sources"][0]["paths"]] == [
        ["subtract", "mean", "reshape", "index"],
        ["subtract", "mean 2", "mean", "reshape", "index"],
    ]
    assert "cells" not in record


def test_its_paths_lead_to_the_cells_that_numpy_read() -> None:
    (source,) = reason().sources
    assert (source.argument, source.shape) == ("image", (24, 32))
    first, second = source.paths
    boxes = [source.cells(first, part.region).mask for part in reason().parts()]
    wanted = np.zeros((24, 32), dtype=bool)
    wanted[8:12, 12:24] = True  # pixels 1 to 3 of row 2: the box begins within the first of them
    assert (boxes[0] == wanted).all()
    assert (source.cells(first).count, source.cells(second).count) == (48 + 16, 24 * 16)


def test_it_is_the_same_in_a_new_process(new_python: NewPython) -> None:
    code = "from tests.reasons.test_traced import payload, reason; print(payload.to_json(reason()))"
    assert [new_python(code) for _ in range(2)] == [payload.to_json(reason())] * 2


def test_parts_below_a_threshold_are_left_out() -> None:
    made = reason(threshold=0.5)
    assert [(one.label, one.weight) for one in made.parts()] == [("lamp", 0.9)]
    assert made.sources[0].cells(made.sources[0].paths[0]).count == 48
    assert payload.from_json(payload.to_json(made)) == made


def test_a_reason_that_marks_nothing_is_about_the_cells_that_are_said() -> None:
    small = shrunk(arrays.source("image", image()))
    said = payload.as_payload(arrays.traced({"why": "bright"}, small, cells=np.s_[0:2, 3]))
    assert isinstance(said, Traced)
    assert payload.untraced(said) == payload.Json({"why": "bright"})
    assert said.sources[0].cells(said.sources[0].paths[0]).boxes.lo.tolist() == [[0], [20]]
    assert payload.from_json(payload.to_json(said)) == said
    assert [one.boxes.tolist() for one in said.parts()] == [[[[0, 2], [3, 4]]]]
    everything = payload.as_payload(arrays.traced("bright", small))
    assert isinstance(everything, Traced)
    assert everything.sources[0].cells(everything.sources[0].paths[0]).count == 24 * 16


@pytest.mark.parametrize(
    ("given", "shape", "cells"),
    [
        (payload.Boxes((payload.Box(-3, 1, 5.5, 99, "all"),)), (4, 6, 3), [[[1, 4], [0, 3], [0, 3]]]),
        (payload.Boxes((payload.Box(9, 9, 5, 5),)), (4, 6), []),
        (payload.Mask.of([[True, False], [True, True]]), (2, 2), [[[0, 2], [0, 1]], [[1, 2], [1, 2]]]),
        (payload.TextSpans((payload.Span(2, 5, -0.5),)), (7,), [[[2, 5]]]),
    ],
)
def test_the_cells_of_a_reason(given: Any, shape: tuple[int, ...], cells: Any) -> None:
    (part,) = arrays.of_reason(given, shape)
    found = np.zeros(shape, dtype=bool)
    for box in cells:
        found[tuple(slice(*one) for one in box)] = True
    assert (part.region.mask == found).all()


def test_the_cells_of_attributions() -> None:
    made = payload.Attributions(
        (payload.Attribution("a", 1, 0.5), payload.Attribution("b", 2, -0.7), payload.Attribution("c", 3, 0.1)), 0.0
    )
    found = arrays.of_reason(made, (3,), threshold=0.3)
    assert [(one.part, one.label, one.weight, one.boxes.tolist()) for one in found] == [
        (0, "a", 0.5, [[[0, 1]]]),
        (1, "b", -0.7, [[[1, 2]]]),
    ]


def test_boxes_of_an_image_whose_channels_come_first() -> None:
    (part,) = arrays.of_reason(payload.Boxes((payload.Box(1, 0, 2, 1),), image_size=(4, 6)), (3, 6, 4), axes=(1, 2))
    assert part.boxes.tolist() == [[[0, 3], [0, 1], [1, 3]]]


@pytest.mark.parametrize(
    "ask",
    [
        lambda: arrays.of_reason(payload.Json(1), (3,)),
        lambda: arrays.of_reason(BOXES, (4, 6)),
        lambda: arrays.of_reason(BOXES, (6,)),
        lambda: arrays.of_reason(payload.Boxes((payload.Box(float("nan"), 0, 1, 1),)), (6, 4)),
        lambda: arrays.of_reason(BOXES, (6, 4), axes=(0, 0)),
        lambda: arrays.of_reason(payload.Mask.of([True]), (2,)),
        lambda: arrays.of_reason(payload.TextSpans((payload.Span(2, 5, 1),)), (4,)),
        lambda: arrays.of_reason(payload.TextSpans((payload.Span(2, 5, 1),)), (4, 4)),
        lambda: arrays.of_reason(payload.Attributions((), 0.0), (4,)),
        lambda: reason(cells=(9, 9)),
    ],
)
def test_a_reason_that_does_not_fit_is_refused(ask: Callable[[], Any]) -> None:
    with pytest.raises(InvalidCells):
        ask()


def test_a_reason_about_no_tracked_array_is_refused() -> None:
    with pytest.raises(NotTracked):
        arrays.traced(BOXES, np.zeros((6, 4)))
    with pytest.raises(InvalidArray, match="no source"):
        arrays.traced("why", np.diff(arrays.source("cells", [1.0, 2.0]), 5))


def test_too_large_a_reason_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_REASON_BYTES", "300")
    with pytest.raises(ReasonTooLarge, match=r"cells of image.*AIRFLOW_LINEAGE_REASON_BYTES"):
        payload.to_json(reason())


def damaged(**changes: Any) -> str:
    record = json.loads(payload.to_json(reason()))
    path = record["sources"][0]["paths"][0]
    path |= changes.pop("path", {})
    return json.dumps(record | changes)


@pytest.mark.parametrize(
    "text",
    [
        damaged(reason={"kind": "strange", "version": 1}), damaged(reason=3), damaged(reason=json.loads(payload.to_json(reason()))),
        damaged(shape="six"), damaged(shape=[-1]), damaged(sources=[{"argument": "image"}]), damaged(path={"guarantee": "sure"}),
        damaged(version=2), damaged(more=1), damaged(sources=[{"argument": "image", "shape": [2], "paths": "ab"}]),
        damaged(sources=[{"argument": "image", "shape": [2], "paths": []}]), damaged(sources=3), damaged(sources=["image"]),
    ],
)  # fmt: skip
def test_what_is_no_traced_reason_is_refused(text: str) -> None:
    with pytest.raises(PayloadError):
        payload.from_json(text)


@pytest.mark.parametrize("relation", ["", "no base64!", base64.b64encode(b"PRVC").decode(), base64.b64encode(bytes(40)).decode()])
def test_what_is_no_relation_is_refused_when_it_is_read(relation: str) -> None:
    found = payload.from_json(damaged(path={"relation": relation}))
    assert isinstance(found, Traced)
    with pytest.raises(PayloadError):
        found.sources[0].paths[0].decoded()


def test_a_relation_of_other_arrays_is_refused_when_it_is_asked() -> None:
    found = payload.from_json(damaged(shape=[4, 4]))
    assert isinstance(found, Traced)
    with pytest.raises(PayloadError, match="other shapes"):
        found.sources[0].cells(found.sources[0].paths[0], arrays.of_reason(payload.Mask.of(np.ones((4, 4))), (4, 4))[0].region)


# --- in a UDF ---------------------------------------------------------------------------------------------------------------


def explained(numbers: Any) -> tuple[float, Any]:
    cells = arrays.source("numbers", numbers)
    halves = cells.reshape(2, 2).sum(axis=1)
    return float(halves.values.max()), arrays.traced("the larger half", halves, cells=(int(halves.values.argmax()),))


@reasoned_udf("double")
def by_row(numbers: Any) -> float:
    return float(np.asarray(numbers).reshape(2, 2).sum(axis=1).max())


@by_row.with_reason
def _(numbers: Any) -> Any:
    return explained(numbers)


@reasoned_udf("double", vectorized="pandas")
def by_pandas(numbers: pd.Series) -> pd.Series:
    return numbers.map(by_row.main)


@by_pandas.with_reason
def _(numbers: pd.Series) -> Any:
    values, reasons = zip(*map(explained, numbers), strict=True)
    return pd.Series(values), pd.Series(reasons)


@reasoned_udf("double", vectorized="arrow")
def by_arrow(numbers: pa.Array) -> pa.Array:
    return pa.array([by_row.main(one) for one in numbers.to_pylist()])


@by_arrow.with_reason
def _(numbers: pa.Array) -> Any:
    values, reasons = zip(*map(explained, numbers.to_pylist()), strict=True)
    return pa.array(values), list(reasons)


@pytest.mark.parametrize("udf", [by_row, by_pandas, by_arrow], ids=lambda one: one.name)
def test_every_kind_of_udf_gives_them(udf: Any) -> None:
    batch = [pa.array([[1.0, 2.0, 3.0, 4.0], [9.0, 2.0, 3.0, 4.0]], pa.list_(pa.float64()))]
    values, reasons = udf.explain_batch(batch)
    udf.check_values(batch, values)
    found = [payload.from_json(one) for one in reasons.to_pylist()]
    assert [one.sources[0].cells(one.sources[0].paths[0]).boxes.lo.tolist() for one in found if isinstance(one, Traced)] == [[[2]], [[0]]]
    assert [payload.untraced(one) for one in found] == [payload.Json("the larger half")] * 2


@reasoned_udf("double")
def misnamed(cells: float) -> float:
    return cells


@misnamed.with_reason
def _(cells: float) -> Any:
    return cells, arrays.traced("why", arrays.source("numbers", [cells]) + 1)


def test_a_source_that_is_no_argument_is_refused() -> None:
    with pytest.raises(UdfFailed, match="source 'numbers', which is no argument; the arguments are cells"):
        misnamed.explain_batch([pa.array([1.0])])
