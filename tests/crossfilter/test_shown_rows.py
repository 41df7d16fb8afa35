"""Rows of files for who may not see all of them: an expression has the columns that it may, reaches nothing else, and is ended in time."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_lineage_provider.answers.crossfilter import Crossfilter
from airflow_lineage_provider.errors import InvalidOption, QueryTooSlow, SourceUnavailable
from airflow_lineage_provider.sources.duckdb_query import fetched
from airflow_lineage_provider.sources.view_values import ParquetRows, ShownRows
from tests.crossfilter.flights import flights

TABLE = flights(2_000).append_column("Odd name", pa.array(np.arange(2_000) % 7))


@pytest.fixture
def rows(tmp_path: Path) -> ParquetRows:
    for at in range(2):
        pq.write_table(TABLE.slice(1_000 * at, 1_000), tmp_path / f"part-{at}.parquet", row_group_size=300)
    return ParquetRows.at([tmp_path])


def shown(rows: ParquetRows, seconds: float = 60) -> ShownRows:
    return ShownRows(rows, ("carrier", "lat", "Odd name"), ("carrier", "delay", "lat", "Odd name"), time.monotonic() + seconds)


@pytest.mark.parametrize("expression", ["carrier", "lat * 2 + 1", '"odd name" || carrier', "1", "coalesce(Carrier, 'none')", "rows.lat"])
def test_plain_expressions_have_the_values_that_they_have_without_bounds(rows: ParquetRows, expression: str) -> None:
    assert shown(rows).values(expression).to_pylist() == rows.values(expression).to_pylist()


@pytest.mark.parametrize("expression", ["delay", "lon", "rows", "rows.delay", "nothing", "file_row_number", "filename", "lat + (SELECT 1)"])
def test_nothing_else_is_reached(rows: ParquetRows, expression: str) -> None:
    with pytest.raises(InvalidOption):
        Crossfilter("flights", shown(rows), {"x": expression})


def test_rows_have_the_columns_that_are_shown(rows: ParquetRows) -> None:
    assert shown(rows).take([3, 1_500]) == TABLE.select(["carrier", "delay", "lat", "Odd name"]).take([3, 1_500])


def test_files_that_changed(rows: ParquetRows) -> None:
    one = shown(rows)
    pq.write_table(TABLE.slice(0, 10), rows.paths[0])
    with pytest.raises(SourceUnavailable):
        one.values("lat")
    with pytest.raises(SourceUnavailable):
        one.take([0])


def test_it_ends_in_time(rows: ParquetRows) -> None:
    with pytest.raises(QueryTooSlow, match="longer than they may"):
        shown(rows, -1).values("lat")
    started = time.monotonic()
    with pytest.raises(QueryTooSlow, match=r"ended after 0\.3 s"):
        fetched("SELECT sum(range) FROM range(1000000000000)", views={}, tables={}, paths=(), seconds=0.3)
    assert time.monotonic() - started < 30
    assert fetched("SELECT 1 AS one", views={}, tables={}, paths=(), seconds=30).to_pylist() == [{"one": 1}]
