"""Which limits have ties that can be counted, and what is counted."""

from __future__ import annotations

import pytest

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.sketches.ties import limit_to_count, rows_in_place
from airflow_lineage_provider.sql import lower
from airflow_lineage_provider.tracing.binding import LeafTable, bind
from tests.plan.shorthand import Shorthand


@pytest.fixture
def short() -> Shorthand:
    return Shorthand()


def test_rows_are_counted_by_their_rank(short: Shorthand) -> None:
    limit = o.Limit(child=short.project(short.sort(short.table("T", "k, v"), "v"), "k"), count=3)
    assert limit_to_count(limit, 0) == limit
    counted = rows_in_place(limit)
    text = " ".join(lower(counted, bind(counted, {("source", 0): LeafTable(name=("T",))}), dialect="spark").split())
    assert text.startswith("SELECT COUNT(*)")
    assert "RANK() OVER (ORDER BY T.v ASC NULLS FIRST)" in text
    assert "<= 3" in text


def test_what_counting_does_not_tell(short: Shorthand) -> None:
    """Several limits, one of another table, one without an order, and values of any row."""
    first = o.Limit(child=short.sort(short.table("T", "k, v"), "v"), count=3)
    assert limit_to_count(o.Limit(child=short.sort(first, "k"), count=2), 0) is None
    assert limit_to_count(first, 7) is None
    assert limit_to_count(o.Limit(child=short.table("S", "k, v"), count=3), 1) is None
    any_row = short.group(short.table("U", "g, w"), by="g", give="g, first(w) AS w1")
    assert limit_to_count(o.Limit(child=short.sort(any_row, "g"), count=3), 2) is None
