"""The bounds of row groups, as the footers of local Parquet files have them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.sources.row_groups import in_footers

KINDS = {"k": "bigint", "s": "string", "at": "timestamp", "none": "int", "tags": "array<int>"}


@pytest.fixture
def source(tmp_path: Path) -> Source:
    relation = Relation(name="t", kind="files", format="parquet", paths=(str(tmp_path),))
    output = tuple(Attribute(id=at, name=name, type=kind) for at, (name, kind) in enumerate(KINDS.items()))
    return Source(relation=relation, output=output, columns=tuple(KINDS), leaf=0)


def written(path: Path, **options: object) -> str:
    table = pa.table({
        "k": pa.array([1, 2, None, 4, None, None], pa.int64()),
        "s": ["a", "b", "c", "d", "é", "z"],
        "at": pa.array([datetime(2020, 1, day) for day in range(1, 7)], pa.timestamp("us", "UTC")),
        "none": pa.array([None] * 6, pa.int32()),
        "tags": [[1]] * 6,
    })  # fmt: skip
    parquet.write_table(table, path, row_group_size=2, **options)
    return path.as_uri()


def test_each_row_group_that_has_values_has_bounds(source: Source, tmp_path: Path) -> None:
    found = in_footers(source, [written(tmp_path / "1.parquet"), written(tmp_path / "2.parquet")]).bounds
    assert found["k"] == [(1, 2), (4, 4)] * 2
    assert found["s"] == [("a", "b"), ("c", "d"), ("z", "é")] * 2
    assert found["at"][0] == (datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 2, tzinfo=UTC))
    assert sorted(found) == ["at", "k", "s"]


def test_what_is_not_told_is_left_out(source: Source, tmp_path: Path) -> None:
    """By a file without statistics, by files that are elsewhere, gone, or too many."""
    told, untold = written(tmp_path / "1.parquet"), written(tmp_path / "2.parquet", write_statistics=["s"])
    assert sorted(in_footers(source, [told, untold]).bounds) == ["s"]
    for paths in (["s3a://bucket/t.parquet"], [told, (tmp_path / "gone.parquet").as_uri()], [told] * 1001):
        assert in_footers(source, paths).bounds == {}


def test_rows_are_counted_by_all_footers(source: Source, tmp_path: Path) -> None:
    """None where that is not the whole table."""
    told = written(tmp_path / "1.parquet")
    assert in_footers(source, [told, written(tmp_path / "2.parquet")]).rows == 12
    for paths in ([], ["s3a://bucket/t.parquet"], [told, (tmp_path / "gone.parquet").as_uri()], [told] * 1001):
        assert in_footers(source, paths).rows is None
