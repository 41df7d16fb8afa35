"""Calls told apart by whole columns: what a dictionary of their texts gives, call by call."""

from __future__ import annotations

import datetime
import decimal
import hashlib
import math
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from airflow_lineage_provider.deriving.calls import digests, distinct_calls, row_texts

VALUES: dict[pa.DataType, list[Any]] = {
    pa.float64(): [0.0, -0.0, math.nan, -math.nan, 0.1],
    pa.int64(): [0, -1, 2**63 - 1],
    pa.string(): ["", "a", "it's", 'a "b"', "ü\n", ", "],
    pa.binary(): [b"", b"\xff"],
    pa.bool_(): [True, False],
    pa.decimal128(5, 2): [decimal.Decimal("0.00"), decimal.Decimal("-1.50")],
    pa.timestamp("us", "UTC"): [datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), datetime.datetime(1, 1, 1, tzinfo=datetime.UTC)],
    pa.list_(pa.float64()): [[], [0.0], [-0.0], [math.nan, None]],
    pa.struct([("a", pa.float32())]): [{"a": None}, {"a": -0.0}, {"a": 0.0}],
    pa.map_(pa.string(), pa.int32()): [[("a", 1), ("b", None)], [("b", None), ("a", 1)]],
}


@st.composite
def calls(draw: Any) -> pa.Table:
    rows, kinds = draw(st.integers(0, 8)), draw(st.lists(st.sampled_from(list(VALUES)), max_size=3))
    columns = [pa.array(range(100, 100 + rows), pa.int64())]
    columns += [pa.array(draw(st.lists(st.none() | st.sampled_from(VALUES[one]), min_size=rows, max_size=rows)), one) for one in kinds]
    cut = draw(st.integers(0, rows))
    whole = pa.table(columns, names=[f"c{at}" for at in range(len(columns))])
    return pa.concat_tables([whole.slice(0, cut), whole.slice(cut)])


def by_row(table: pa.Table) -> list[str]:
    return [repr(call) for call in zip(*(column.to_pylist() for column in table.columns[1:]), strict=True)] or ["()"] * table.num_rows


@given(calls())
def test_as_a_dictionary_of_their_texts_has_them(rows: pa.Table) -> None:
    texts, known = by_row(rows), dict[str, int]()
    tags = [known.setdefault(text, len(known)) for text in texts]
    found, made = distinct_calls(rows)
    assert by_row(found) == list(known)
    assert made.to_pydict() == {"lineage_tag": tags, "key_0": rows.column(0).to_pylist()}
    assert found.column(0).to_pylist() == [rows.column(0)[tags.index(tag)].as_py() for tag in range(len(known))]


@given(calls())
def test_a_digest_is_that_of_the_row(rows: pa.Table) -> None:
    """What stands in stores under the digests of earlier releases is found."""
    texts = by_row(rows)
    assert row_texts(rows.columns[1:], rows.num_rows).to_pylist() == texts
    assert digests("v1", rows.columns[1:], rows.num_rows) == [hashlib.sha256(f"v1\n{text}".encode()).hexdigest() for text in texts]
