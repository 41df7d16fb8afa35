"""What decisions become with the other cells blank, or why that was not tried; answers are made by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from airflow_lineage_provider import arrays, payload, reasoned_udf
from airflow_lineage_provider.answers.blanked import Blanked
from airflow_lineage_provider.deriving import blanking
from airflow_lineage_provider.deriving.blanking import with_blanking
from tests.render.explanation_examples import png
from tests.render.test_cell_pictures import PIXELS, boxes_of, explained

PLACE = SimpleNamespace(segments=[SimpleNamespace(number=0, functions=[SimpleNamespace(udf="udf", function=7)])], traceable={0})


def tried(value: Any, reason: Any, udf: Any) -> tuple[Blanked, ...]:
    recorded: Any = SimpleNamespace(plan=PLACE, materialized={0: None})
    udfs: Any = SimpleNamespace(find={7: udf}.__getitem__)
    return with_blanking(explained(value, reason), udfs, recorded).blanked


def first(cells: Any, count: int) -> Any:
    """A reason about the first cells."""
    return arrays.traced("why", arrays.source("photo", cells)[:count])


@reasoned_udf("boolean", name="any_letter")
def any_letter(photo: str) -> bool:
    return photo.strip() != "" if photo[2] != " " else 1 / 0 > 1


def test_the_decision_stays_or_the_udf_fails() -> None:
    (one,) = tried("abcd", first("abcd", 3), any_letter)
    assert (one.udf, one.row, one.argument, one.path, one.left, one.cells, one.stays, one.value) == (
        "udf", 0, "photo", ("index",), 3, 4, True, "True",
    )  # fmt: skip
    (one,) = tried("abcd", first("abcd", 2), any_letter)
    assert (one.stays, one.cause) == (None, "the UDF fails on a copy (ZeroDivisionError)")


def test_nothing_is_tried_where_nothing_is_blank() -> None:
    (one,) = tried("abcd", first("abcd", 4), any_letter)
    assert (one.stays, one.left, one.cause) == (None, 4, "the reason is about all cells, and none is another")


def test_a_udf_that_may_decide_otherwise_each_time_is_not_tried() -> None:
    @reasoned_udf("boolean", name="moody", deterministic=False)
    def moody(photo: str) -> bool:
        return True

    assert tried("abcd", first("abcd", 1), moody)[0].cause == "the UDF may decide otherwise each time"


def test_an_argument_that_is_no_array_is_said() -> None:
    (one,) = tried("/no/image/here", first(np.zeros(4), 1), any_letter)
    assert one.cause == "its array is of another shape than the argument, (14,)"


@pytest.mark.parametrize(
    ("wanted", "cause"), [("PNG", ""), ("other", "the image is decided otherwise when it is written anew without a change")]
)
def test_an_image_is_tried_where_a_copy_of_it_is_decided_as_before(wanted: str, cause: str) -> None:
    data = png(16, 12)

    @reasoned_udf("boolean", name="is_image")
    def is_image(photo: bytes) -> bool:
        return photo.startswith(b"\x89PNG") and (wanted == "PNG" or photo == data)

    (one,) = tried(data, boxes_of(PIXELS, payload.Box(1, 0, 2, 1)), is_image)
    assert (one.stays, one.cause) == (None if cause else True, cause)


def test_so_many_are_tried_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blanking, "_MOST", 0)
    assert tried("abcd", first("abcd", 1), any_letter) == ()
