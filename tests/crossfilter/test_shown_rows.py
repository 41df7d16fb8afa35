"""Rows of files for who may not see all of them: an expression has the columns that it may, reaches nothing else, and is ended in time."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_lineage_provider.answers.crossfilter import Crossfilter
from airflow_lineage_provider.errors import AnswerTooLarge, InvalidOption, QueryTooSlow, SourceUnavailable
from airflow_lineage_provider.sources import encoded_values, view_values
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


# --- how much memory it takes ---------------------------------------------------------------------------------------------


@pytest.fixture
def documents(tmp_path: Path) -> ParquetRows:
    """Little on disk, and much in memory: 60 MB."""
    text = [f"{at % 5}" * 10_000 for at in range(1_000)]
    with pq.ParquetWriter(tmp_path / "docs.parquet", pa.schema([("doc", pa.string()), ("n", pa.int64())]), compression="zstd") as file:
        for at in range(6):
            file.write_table(pa.table({"doc": text, "n": np.arange(1_000) + 1_000 * at}))
    return ParquetRows.at([tmp_path])


def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How large what each query of DuckDB is given, and gives, is."""
    found: list[int] = []

    def fetch(query: str, **of: Any) -> pa.Table:
        answer = fetched(query, **of)
        found.extend([answer.nbytes, *(one.nbytes for one in of["tables"].values())])
        return answer

    monkeypatch.setattr(view_values, "fetched", fetch)
    return found


@pytest.mark.parametrize("expression", ["length(doc)", "doc || doc", "left(doc, 3)", "n % 7", f"'{'x' * 1_900}'"])
def test_values_are_computed_piece_by_piece(documents: ParquetRows, monkeypatch: pytest.MonkeyPatch, expression: str) -> None:
    expected = documents.values(expression).to_pylist()
    found = sizes(monkeypatch)
    rows = ShownRows(documents, ("doc", "n"), ("doc", "n"), time.monotonic() + 60)
    assert rows.values(expression).to_pylist() == expected
    assert max(found) < 14 * 2**20


def test_values_that_are_too_many_are_not_computed_to_the_end(documents: ParquetRows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoded_values, "_BYTES_APART", 4 * 2**20)
    monkeypatch.setattr(encoded_values, "_APART", 100)
    found = sizes(monkeypatch)
    rows = ShownRows(documents, ("doc", "n"), ("doc", "n"), time.monotonic() + 60, most_values=500, most_bytes=8 * 2**20)
    with pytest.raises(AnswerTooLarge, match="more than the 500 bars that are drawn"):
        rows.values("n")
    with pytest.raises(AnswerTooLarge, match="bytes of a server"):
        replace(rows, most_values=10_000).values("doc || n")
    assert sum(found) < 40 * 2**20
    assert len(rows.values("n % 500")) == 6_000


def test_rows_of_a_file_that_is_larger_in_memory(documents: ParquetRows) -> None:
    """A few of them are read, not all; until the time is over."""
    rows = ShownRows(documents, ("n",), ("n", "doc"), time.monotonic() + 60)
    assert rows.take([7, 5_999]).to_pylist() == [{"n": 7, "doc": "2" * 10_000}, {"n": 5_999, "doc": "4" * 10_000}]
    assert rows.take([]).num_rows == 0
    with pytest.raises(QueryTooSlow, match="longer than they may"):
        ShownRows(documents, ("n",), ("n", "doc"), time.monotonic() - 1).take([7])


AWKWARD = {
    "floats": pa.array([math.nan, 0.0, None, -0.0, math.inf, math.nan, 1.5] * 9),
    "flags": pa.array([True, None, False] * 21),
    "money": pa.array([Decimal("1.50"), None, Decimal("-3.25")] * 21, pa.decimal128(9, 2)),
    "empty": pa.nulls(63, pa.int32()),
    "days": pa.array([0, 20_000, None] * 21, pa.date32()),
}


@pytest.mark.parametrize("pieces", [4, 1_000])
@pytest.mark.parametrize("name", AWKWARD)
def test_bars_of_pieces_are_those_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, pieces: int) -> None:
    monkeypatch.setattr(view_values, "_PIECE_ROWS", pieces)
    monkeypatch.setattr(view_values, "_PIECE_BYTES", 8 * pieces)
    monkeypatch.setattr(encoded_values, "_APART", 3)
    pq.write_table(pa.table(AWKWARD), tmp_path / "a.parquet")
    whole = ParquetRows.at([tmp_path])
    rows = ShownRows(whole, whole.columns, whole.columns, time.monotonic() + 60)
    one, other = Crossfilter("x", rows, {"x": name}), Crossfilter("x", whole, {"x": name})
    assert str(one.views["x"].values.to_pylist()) == str(other.views["x"].values.to_pylist())
    assert one.codes("x").tolist() == other.codes("x").tolist()


def test_a_table_without_rows(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 0), tmp_path / "a.parquet")
    rows = shown(ParquetRows.at([tmp_path]))
    for expression in ("lat", "1"):
        assert len(Crossfilter("none", rows, {"x": expression}).views["x"].values) == 0
    assert rows.take([]).num_rows == 0


def test_files_of_which_one_has_other_types(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"a": ["x", "y"]}), tmp_path / "b.parquet")
    rows = ParquetRows.at([tmp_path])
    assert rows.take([1]).to_pylist() == [{"a": 2}]
    with pytest.raises(SourceUnavailable, match="not of the same types"):
        rows.take([1, 2])


DRIFTED = [
    (pa.array([1, 2], pa.int32()), pa.array([2.5, 2.0])),
    (pa.array([Decimal("1.50")], pa.decimal128(5, 2)), pa.array([Decimal("1.504")], pa.decimal128(6, 3))),
    (pa.array([19_000], pa.date32()), pa.array([19_000 * 86_400_000_000 + 1], pa.timestamp("us"))),
    (pa.array([True]), pa.array([5])),
    (pa.nulls(1), pa.array(["12"])),
    (pa.array([{"f": 1}]), pa.array([{"f": 1.5}])),
]


@pytest.mark.parametrize("at", range(len(DRIFTED)))
def test_values_are_not_cast_to_the_type_of_another_file(tmp_path: Path, at: int) -> None:
    for name, column in zip("ab", DRIFTED[at], strict=True):
        pq.write_table(pa.table({"Drifted": column, "n": [1] * len(column)}), tmp_path / f"{name}.parquet")
    rows = ParquetRows.at([tmp_path])
    for expression in ("drifted", "coalesce(rows.drifted::text, 'x')", "hash(rows)"):
        for asked in (rows, ShownRows(rows, rows.columns, rows.columns, time.monotonic() + 60)):
            with pytest.raises(InvalidOption, match=r"hash\(rows\)|Drifted is .* in .*a.parquet and .* in .*b.parquet"):
                asked.values(expression)
    assert set(rows.values("n").to_pylist()) == {1}, "of other columns there is nothing to refuse"


def test_whole_numbers_of_all_files_are_of_the_widest_type(tmp_path: Path) -> None:
    """And how a text was written is no type of it."""
    large = 2**40
    pq.write_table(pa.table({"n": pa.array([1, 2], pa.int16()), "t": pa.array(["x", "y"]).dictionary_encode()}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": [large, 2], "t": pa.array(["x", "z"], pa.large_string())}), tmp_path / "b.parquet")
    found = Crossfilter.over(tmp_path, {"n": "n", "t": "t"})
    assert found.brush().counts == {"n": {1: 1, 2: 2, large: 1}, "t": {"x": 2, "y": 1, "z": 1}}
    assert found.brush(n=[2]).rows().to_pylist() == [{"n": 2, "t": "y"}, {"n": 2, "t": "z"}]


def test_files_that_may_not_be_looked_at(rows: ParquetRows, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_file(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", is_file)
    with pytest.raises(SourceUnavailable):
        rows.check()
