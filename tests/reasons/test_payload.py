"""The schema of reasons: everything reads back as it was written, and equal reasons are equal text."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_lineage_provider.errors import PayloadError
from airflow_lineage_provider.reasons.payload import (
    Attribution,
    Attributions,
    Box,
    Boxes,
    Json,
    Mask,
    Span,
    TextSpans,
    Weights,
    from_json,
    to_json,
)

numbers = st.floats(allow_nan=False)


def of_plain_tuples(features: tuple[tuple[str, Any, float], ...], base_value: float, output: float | None = None) -> Attributions:
    """Of plain tuples: `Attributions` takes them, though its field's type is what it makes of them."""
    given: Any = features
    return Attributions(given, base_value, output)


names = st.text(max_size=8)
plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)
attributions = st.builds(
    Attributions,
    features=st.lists(st.builds(Attribution, names, plain_values, numbers), max_size=4).map(tuple),
    base_value=numbers,
    output=st.none() | numbers,
    output_space=st.sampled_from(["probability", "log-odds", "raw"]),
    label=st.none() | names,
    method=st.dictionaries(names, plain_values, max_size=3),
)
span = st.tuples(st.integers(0, 50), st.integers(0, 50), numbers).map(lambda each: Span(each[0], each[0] + each[1], each[2], "pos"))
spans = st.builds(
    TextSpans,
    spans=st.lists(span, max_size=4).map(tuple),
    method=st.dictionaries(names, plain_values, max_size=3),
)
sizes = st.floats(min_value=0, allow_nan=False)
boxes = st.builds(
    Boxes,
    boxes=st.lists(st.builds(Box, numbers, numbers, sizes, sizes, st.none() | names, st.none() | numbers), max_size=3).map(tuple),
    image_size=st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
)


def _arrays(shape: tuple[int, int]) -> st.SearchStrategy[np.ndarray]:
    size = shape[0] * shape[1]
    return st.lists(st.booleans(), min_size=size, max_size=size).map(lambda flat: np.reshape(flat, shape))


cells = st.tuples(st.integers(0, 4), st.integers(0, 5)).flatmap(_arrays)
payloads = attributions | spans | boxes | cells.map(Mask.of) | cells.map(Weights.of) | plain_values.map(Json)


def _text_of_residual(payload: object) -> object:
    # A residual that is not a number is not equal to itself.
    return repr(getattr(payload, "residual", None))


@given(payloads)
def test_a_payload_reads_back_as_written(payload: Json) -> None:
    text = to_json(payload)
    back = from_json(text)
    assert to_json(back) == text
    assert type(back) is type(payload)
    assert _text_of_residual(back) == _text_of_residual(payload)
    if "NaN" not in text:
        assert back == payload


@given(payloads)
def test_the_text_is_strict_json_with_sorted_keys(payload: Json) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    record = json.loads(to_json(payload), parse_constant=refuse)
    assert list(record) == sorted(record)
    assert record["version"] == 1


@given(cells)
def test_a_mask_gives_its_array_back(array: np.ndarray) -> None:
    mask = from_json(to_json(Mask.of(array, "cat")))
    assert isinstance(mask, Mask)
    np.testing.assert_array_equal(mask.to_array(), array)


@given(st.lists(plain_values, max_size=4))
def test_user_keys_that_look_like_ours_survive(values: list[object]) -> None:
    reason = {"$float": "NaN", "$object": {"$float": values}, "kind": "mask", "version": 9}
    assert from_json(to_json(reason)) == Json(reason)


def test_the_residual_is_computed_and_shown() -> None:
    reason = of_plain_tuples((("income", 3400, 0.25), ("debt", 810, -0.05)), base_value=0.5, output=0.75)
    assert reason.residual == pytest.approx(0.05)
    assert json.loads(to_json(reason))["residual"] == reason.residual
    assert Attributions((), 0.5).residual is None
    assert math.isnan(of_plain_tuples((("a", 1, math.nan),), 0.5, 1.0).residual or 0)


def test_a_residual_of_huge_numbers() -> None:
    """Sums on the way to it may be beyond the largest double, and it may be itself."""
    huge = 1.5e308
    assert of_plain_tuples((("a", 1, huge), ("b", 1, huge), ("c", 1, -huge)), base_value=-huge, output=1.0).residual == 1.0
    assert of_plain_tuples((("a", 1, -huge),), base_value=-huge, output=huge).residual == math.inf


def test_numbers_that_json_lacks() -> None:
    text = to_json(of_plain_tuples((("a", math.nan, math.inf),), base_value=-math.inf))
    record = json.loads(text)
    assert record["features"][0]["value"] == {"$float": "NaN"}
    assert record["features"][0]["contribution"] == {"$float": "Infinity"}
    assert record["base_value"] == {"$float": "-Infinity"}


def test_plain_results_are_wrapped() -> None:
    assert to_json({"LoanAmount", "Income"}) == '{"kind":"json","value":["Income","LoanAmount"],"version":1}'
    assert from_json(to_json("because")) == Json("because")
    assert from_json(to_json((1, 2.5, None, True))) == Json([1, 2.5, None, True])
    assert from_json(to_json({"a": np.float64(1.5), "b": np.arange(3)})) == Json({"a": 1.5, "b": [0, 1, 2]})
    assert from_json(to_json({"a": decimal.Decimal("1.10"), "b": b"\x00", "c": pd.NaT, "d": pd.NA})) == Json(
        {"a": "1.10", "b": "AA==", "c": None, "d": None}
    )
    assert from_json(to_json(dt.datetime(2020, 1, 2, tzinfo=dt.UTC))) == Json("2020-01-02T00:00:00+00:00")


def test_a_set_of_mixed_values_is_sorted() -> None:
    assert to_json({3, "a", (1, 2), None}) == to_json({None, (1, 2), "a", 3})


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{", "not JSON"),
        ("[1]", "no known kind"),
        ('{"kind":"poem","version":1}', "no known kind"),
        ('{"kind":"json","version":2,"value":1}', "schema version 2"),
        ('{"kind":"json","value":1}', "schema version None"),
        ('{"kind":"json","version":1,"value":1,"more":2}', "unknown fields ['more']"),
        ('{"kind":"attributions","version":1}', "wrong fields"),
        ('{"kind":"attributions","version":1,"base_value":0,"features":[{"feature":"a"}]}', "wrong fields"),
        ('{"kind":"attributions","version":1,"base_value":"high","features":[]}', "base_value is 'high'"),
        ('{"kind":"text_spans","version":1,"spans":[{"start":5,"end":2,"weight":0}]}', "from 5 to 2"),
        ('{"kind":"mask","version":1,"shape":[2],"runs":[[1,5]]}', "ends beyond 2"),
        ('{"kind":"json","version":1,"value":{"$float":"huge"}}', "'huge'"),
    ],
)
def test_what_is_no_payload_is_refused(text: str, part: str) -> None:
    with pytest.raises(PayloadError) as caught:
        from_json(text)
    assert part in str(caught.value)


@pytest.mark.parametrize("reason", [object(), {"a": object()}, {1: "a"}, [lambda: 0]])
def test_a_reason_that_json_cannot_hold_is_refused(reason: object) -> None:
    with pytest.raises(PayloadError, match="JSON"):
        to_json(reason)


def test_a_span_beyond_its_text_is_refused() -> None:
    with pytest.raises(PayloadError, match="has 3 characters"):
        TextSpans((Span(0, 4, 1.0),), "abc")


def test_fields_that_came_later_are_written_only_where_they_say_something() -> None:
    spans = TextSpans((Span(0, 1, 0.5),), "ab")
    assert to_json(spans) == (
        '{"kind":"text_spans","method":{},"spans":[{"end":1,"label":null,"start":0,"weight":0.5}],"text":"ab","version":1}'
    )
    assert "fit" not in to_json(Attributions((), 0.5))
    said = TextSpans((), "ab", label="pos", output=0.75, output_space="probability", fit=0.5)
    assert from_json(to_json(said)) == said
    fitted = Attributions((), 0.5, fit=float("nan"))
    assert '"fit":{"$float":"NaN"}' in to_json(fitted)
