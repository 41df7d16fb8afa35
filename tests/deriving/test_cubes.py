"""Cells that are asked for as they are kept are given as they are: the same that DuckDB computes of them."""

from __future__ import annotations

import random
from decimal import Decimal

import pyarrow as pa
import pytest

from airflow_lineage_provider.answers.consumed_rows import grouped
from airflow_lineage_provider.capture.recorded import RecordedCube
from airflow_lineage_provider.deriving.cubes import AskedCube, _computed
from airflow_lineage_provider.sources.duckdb_query import selected

BY = ("mode", "year(day)")
MEASURES = ("count(*)", "count(tax)", "sum(tax)", "min(tax)", "avg(tax)")
CUBE = RecordedCube(leaf=0, by=BY, measures=MEASURES, number=-1, starts=(0,), cells=0, bytes=0, disjoint=True)


def cells(seed: int) -> pa.Table:
    """As a capture keeps them: of one row of a result, in their order."""
    chance = random.Random(seed)
    rows = pa.table({
        "mode": [chance.choice(["AIR", "SHIP", "ä", "", None]) for _ in range(200)],
        "year": pa.array([chance.choice([1995, 1996, None]) for _ in range(200)], pa.int64()),
        "tax": pa.array([chance.choice([None, None, Decimal(chance.randrange(900)) / 100]) for _ in range(200)], pa.decimal128(12, 2)),
    })  # fmt: skip
    parts = "count(*) AS part_0, count(tax) AS part_1, sum(tax) AS part_2, min(tax) AS part_3"
    return selected(f"SELECT mode AS by_0, year AS by_1, {parts} FROM rows{grouped(2)}", {"rows": rows})


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("measures", [("count(*) AS n", "sum(TAX)"), ("min(tax)", "count(tax)"), ()])
def test_they_are_what_is_computed_of_them(seed: int, measures: tuple[str, ...]) -> None:
    asked, kept = AskedCube(by=["mode AS m", "Year(day)"], measures=measures), cells(seed)
    named = asked._named(CUBE, disjoint=True)
    own = asked._as_kept(kept, CUBE, 1)
    assert named is not None
    assert own is not None
    expected = _computed(kept, named)
    assert own.rename_columns(expected.column_names).cast(expected.schema).equals(expected)
    assert expected.num_rows > 10


def test_what_is_to_be_computed_of_them_is() -> None:
    kept = cells(0)
    for by, measures, rows in [
        (["mode", "year(day)"], ["count(*)"], 2), (["year(day)", "mode"], ["count(*)"], 1), (["mode"], ["count(*)"], 1),
        ([], ["count(*)"], 1), (["mode", "year(day)"], ["avg(tax)"], 1),
    ]:  # fmt: skip
        assert AskedCube(by=by, measures=measures)._as_kept(kept, CUBE, rows) is None
