"""Cells that are asked for as they are kept are given as they are: the same that DuckDB computes of them."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from airflow_lineage_provider.answers.consumed_rows import grouped
from airflow_lineage_provider.capture.csr import Csr
from airflow_lineage_provider.capture.recorded import RecordedCube
from airflow_lineage_provider.capture.wanted import Cube
from airflow_lineage_provider.deriving.classes import DividedRows
from airflow_lineage_provider.deriving.cubes import AskedCube, _computed
from airflow_lineage_provider.deriving.narrowing import holds
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
    expected = _computed(kept, named, "")
    assert own.rename_columns(expected.column_names).cast(expected.schema).equals(expected)
    assert expected.num_rows > 10


def test_what_is_to_be_computed_of_them_is() -> None:
    kept = cells(0)
    for by, measures, rows in [
        (["mode", "year(day)"], ["count(*)"], 2), (["year(day)", "mode"], ["count(*)"], 1), (["mode"], ["count(*)"], 1),
        ([], ["count(*)"], 1), (["mode", "year(day)"], ["avg(tax)"], 1),
    ]:  # fmt: skip
        assert AskedCube(by=by, measures=measures)._as_kept(kept, CUBE, rows) is None


def test_zeros_of_two_signs_have_cells_of_their_own() -> None:
    """They are one group, and a condition may tell them apart all the same."""
    rows = pa.table({"f": [-0.0, 0.0, 0.0, 1.0, None, math.nan], "n": [1, 2, 3, 4, 5, 6]})
    lists = pa.array([[one] for one in rows.column("f").to_pylist()])
    values = rows.append_column("list_value(f)", lists)
    divided: Any = DividedRows(made=cast(Any, None), tables={}, _rids={0: np.arange(6)}, _values={0: values})
    for by, condition in [
        ("f", "f::varchar = '-0.0'"),
        ("f", "signbit(f)"),
        ("list_value(f)", "list_value(f)::varchar = '[-0.0]'"),
        ("f", "f = 0"),
    ]:
        cube = Cube(by=[by], measures=["count(*)", "sum(n)"])
        found = pa.Table.from_struct_array(divided.cells(0, cube, Csr(np.array([0, 6]), np.arange(6))).flatten())
        kept = found.filter(pa.array(holds(condition, [by], found.select(["by_0"]), {}, "")))
        expected = selected(f"SELECT sum(n) AS s FROM rows WHERE {condition}", {"rows": rows})
        assert selected("SELECT sum(part_1) AS s FROM rows", {"rows": kept}) == expected, condition
        recorded = replace(CUBE, by=(by,), measures=("count(*)", "sum(n)"))
        asked = AskedCube(by=[f"{by} AS by"], measures=["sum(n) AS s"])
        named = asked._named(recorded, disjoint=True)
        assert named is not None
        assert asked._as_kept(found, recorded, 1) is None
        together = selected(f"SELECT {by} AS by, sum(n) AS s FROM rows{grouped(1)}", {"rows": rows})
        assert _computed(found, named, "").column("s") == together.column("s")
