"""Reasons of a batch in which some rows fail, or what is returned are no reasons of rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import PayloadError, UdfFailed
from airflow_lineage_provider.reasons import ReasonedUdf, payload
from airflow_lineage_provider.reasons.batch import _MOST_FAILING
from airflow_lineage_provider.words import Vectorized


def udf(reason: Callable[[Any], Any], vectorized: Vectorized = False) -> ReasonedUdf:
    """One that doubles."""
    return ReasonedUdf(lambda a: a * 2, "double", name="doubled", vectorized=vectorized).with_reason(lambda a: (a * 2, reason(a)))


def three(*values: float) -> list[pa.Array]:
    return [pa.array(values, pa.float64())]


@pytest.mark.parametrize("vectorized", [False, "pandas"])
def test_a_row_that_fails_takes_nothing_from_the_others(vectorized: Vectorized) -> None:
    def reason(a: Any) -> Any:
        if np.isin(2.0, a):
            raise ZeroDivisionError("two")
        return list(a) if vectorized else a

    values, reasons, failures = udf(reason, vectorized).explain_each(three(1, 2, 3))
    assert values.to_pylist() == [2.0, None, 6.0]
    assert [json.loads(one)["value"] if one else one for one in reasons.to_pylist()] == [1.0, None, 3.0]
    assert [*failures] == [1]
    assert "a=2.0: ZeroDivisionError: two" in str(failures[1])


def test_where_many_fail_the_rest_is_not_tried() -> None:
    tried = set()

    def reason(a: float) -> float:
        tried.add(a)
        return 1 / 0

    values, reasons, failures = udf(reason).explain_each(three(*range(1000)))
    assert (values.null_count, reasons.null_count, [*failures]) == (1000, 1000, [*range(1000)])
    assert len(tried) < 3 * _MOST_FAILING


@pytest.mark.parametrize("given", [lambda a: {"why": list(a)}, lambda a: "a" * len(a), lambda a: {0.5} if len(a) == 1 else None])
def test_one_reason_for_a_batch_is_none_of_its_rows(given: Callable[[Any], Any]) -> None:
    with pytest.raises(UdfFailed, match=r"for the reasons, not a sequence|returned NoneType"):
        udf(given, "pandas").explain_batch(three(1))


def test_what_is_missing_in_a_series_is_no_reason() -> None:
    """Whatever stands beside it."""
    for rows in ((1.0, 2.0), (1.0,)):
        _, reasons = udf(lambda a: pd.Series([None, 0.5][: len(a)]), "pandas").explain_batch(three(*rows))
        assert reasons[0].as_py() is None


INT: Any = np.int64


@pytest.mark.parametrize(
    ("reason", "written"),
    [
        (payload.TextSpans((payload.Span(INT(0), INT(1), 0.5, INT(7)),)), '"end":1,"label":"7","start":0'),
        (payload.Boxes((payload.Box(0, 0, 1, 1, label=INT(3)),)), '"label":"3"'),
        (payload.Mask((2,), ((0, 1),), label=INT(3)), '"label":"3"'),
        (np.longdouble(1.5), '"value":1.5'),
        ({"at": np.datetime64(1, "ns"), "for": np.array([1_500_000_000], "m8[ns]")}, '"at":"1970-01-01T00:00:00","for":[1.5]'),
    ],
)  # fmt: skip
def test_numbers_of_numpy(reason: Any, written: str) -> None:
    assert written in payload.to_json(reason)


def test_what_cannot_be_written_is_a_failure_of_its_row() -> None:
    endless: list[Any] = []
    endless.append(endless)
    for wrong in ("\ud800", endless):
        given = partial(lambda wrong, a: wrong if a == 2 else a, wrong)
        with pytest.raises(UdfFailed, match=r"UDF 'doubled' failed on a=2\.0"):
            udf(given).explain_batch(three(1, 2))
    half: Any = 0.5
    with pytest.raises(PayloadError, match="not a whole number"):
        payload.Span(half, 1, 1.0)
