"""Rows of Parquet files by their positions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.sources import duckdb_connection
from airflow_lineage_provider.sources import parquet as by_arrow
from airflow_lineage_provider.sources.duckdb_rows import NotByDuckDb, rows_at
from airflow_lineage_provider.sources.files import Footers
from airflow_lineage_provider.sources.parquet import read_positions

TYPES = {pa.string_view(): "string", pa.binary_view(): "binary", pa.list_(pa.string_view()): "array<string>"}


def source_of(spark_type: str) -> Source:
    relation = Relation(name="a", kind="files", format="parquet")
    return Source(relation=relation, output=(Attribute(id=1, name="a", type=spark_type),), columns=("a",), leaf=0)


def keys_of(positions: list[int]) -> pa.Table:
    return pa.table({"key_0": pa.array([5] * len(positions), pa.int64()), "key_1": pa.array(positions, pa.int64())})


@pytest.mark.parametrize(("kind", "spark_type"), TYPES.items(), ids=TYPES.values())
def test_columns_that_the_file_declares_as_views(tmp_path: Path, kind: pa.DataType, spark_type: str) -> None:
    texts = [f"text {number}, long enough to be stored elsewhere" for number in range(8)]
    plain = pa.array([[one] for one in texts]) if pa.types.is_list(kind) else pa.array(texts)
    column = plain.cast(pa.binary()).cast(kind) if kind == pa.binary_view() else pa.array(plain.to_pylist(), kind)
    parquet.write_table(pa.table({"a": column}), tmp_path / "a.parquet", row_group_size=3)
    found = read_positions(source_of(spark_type), {"5": str(tmp_path / "a.parquet")}, keys_of([7, 1]), {})
    assert found.column("key_1").to_pylist() == [1, 7]
    assert found.column(2).to_pylist() == [column[1].as_py(), column[7].as_py()]


@pytest.mark.parametrize("at_once", [1, 3, 4, 1_000])
@pytest.mark.parametrize("positions", [[0], [9], [11, 0, 5, 4, 10, 3], [2, 99, 8], [99], list(range(12))])
def test_a_row_group_is_read_some_rows_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int, positions: list[int]
) -> None:
    def not_here(*_: Any) -> Any:
        raise NotByDuckDb

    monkeypatch.setattr(by_arrow, "rows_at", not_here)
    monkeypatch.setattr(by_arrow, "_AT_ONCE", at_once)
    parquet.write_table(pa.table({"a": [f"text {at}" for at in range(12)]}), tmp_path / "a.parquet", row_group_size=8)
    found = read_positions(source_of("string"), {"5": str(tmp_path / "a.parquet")}, keys_of(positions), {})
    there = sorted(at for at in positions if at < 12)
    assert found.column("key_1").to_pylist() == there
    assert found.column(2).to_pylist() == [f"text {at}" for at in there]


@pytest.mark.parametrize(("files", "made"), [(duckdb_connection.MOST_OF_ONE_FILE, duckdb_connection.MOST_OF_ONE_FILE), (30, 1)])
def test_many_files_are_read_by_one_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int, made: int) -> None:
    """Few have one each, which the next question finds; of many none would stay, and making one takes longer than the reading."""
    make, of = duckdb_connection._made, list[frozenset[str]]()

    def noting(paths: frozenset[str], may_skip: bool, zone: str) -> Any:
        of.append(paths)
        return make(paths, may_skip, zone)

    monkeypatch.setattr(duckdb_connection, "_made", noting)
    for number in range(files):
        parquet.write_table(pa.table({"a": [number * 10 + at for at in range(4)]}), tmp_path / f"{number}.parquet")
    keys = pa.table({"key_0": np.repeat(np.arange(files), 2), "key_1": np.tile([3, 1], files)})
    for _ in range(2):
        found = read_positions(source_of("bigint"), {str(number): str(tmp_path / f"{number}.parquet") for number in range(files)}, keys, {})
        assert found.column(2).to_pylist() == [number * 10 + at for number in range(files) for at in (1, 3)]
    assert len(of) == made
    assert frozenset().union(*of) == {str(tmp_path / f"{number}.parquet") for number in range(files)}


def test_scattered_rows_of_a_large_file_are_read_by_duckdb_however_many(tmp_path: Path) -> None:
    whole = np.arange(250_000)
    parquet.write_table(pa.table({"a": whole * 3}), tmp_path / "a.parquet", row_group_size=100_000)
    file = parquet.ParquetFile(tmp_path / "a.parquet")
    columns = Footers(source_of("bigint"), {}).columns(file)
    some = np.sort(np.random.default_rng(7).choice(whole, 25_000, replace=False))
    (found,) = rows_at(file, tmp_path / "a.parquet", columns, some)
    assert found.to_pylist() == (some * 3).tolist()
    with pytest.raises(NotByDuckDb, match="25,001 of its rows are wanted"):
        rows_at(file, tmp_path / "a.parquet", columns, whole[:25_001])
