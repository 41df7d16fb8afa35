"""Columns that another program may read otherwise than Spark are named by the footers of the files."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.sources.certain_columns import certain_columns
from airflow_lineage_provider.sources.view_values import ParquetRows

TYPES = {
    "n": "bigint", "day": "date", "at": "timestamp", "price": "decimal(4,2)", "text": "string", "raw": "string",
    "days": "array<date>",
}  # fmt: skip
SOURCE = Source(
    relation=Relation(name="t", kind="files", format="parquet"),
    output=tuple(Attribute(id=at, name=name, type=kind) for at, (name, kind) in enumerate(TYPES.items(), 1)),
    columns=tuple(TYPES),
    leaf=0,
)
ALL = {"n", "day", "at", "price", "text", "days"}


def written(folder: Path, name: str = "a", *, day: date = date(2020, 1, 1), spark: str = "3.5.0", **options: bool) -> Path:
    table = pa.table({
        "n": pa.array([1, 2], pa.int64()),
        "day": [day, None],
        "at": pa.array([datetime(2020, 1, 1, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "price": pa.array([Decimal("1.50"), None], pa.decimal128(4, 2)),
        "text": ["a", None],
        "raw": pa.array([b"a", None], pa.binary()),
        "days": pa.array([[day], None], pa.list_(pa.date32())),
    })  # fmt: skip
    path = folder / f"{name}.parquet"
    pq.write_table(table.replace_schema_metadata({"org.apache.spark.version": spark}), path, **options)
    return path


def certain(folder: Path, **settings: str) -> set[str]:
    found = certain_columns(SOURCE, ParquetRows.at([folder]).versions, tuple((key.replace("_", "."), one) for key, one in settings.items()))
    return set(found)


def test_what_is_read_the_same(tmp_path: Path) -> None:
    """All but bytes of which the file does not say that they are text."""
    written(tmp_path)
    assert certain(tmp_path) == ALL
    assert certain(tmp_path, **{"spark.sql.parquet.fieldId.read.enabled": "true"}) == set()


def test_old_calendars(tmp_path: Path) -> None:
    """One file that has one is enough."""
    written(tmp_path)
    written(tmp_path, "b", spark="2.4.8")
    assert certain(tmp_path) == ALL - {"days"}
    written(tmp_path, "b", spark="2.4.8", day=date(1500, 1, 1))
    assert certain(tmp_path) == ALL - {"days", "day"}
    written(tmp_path, "b", spark="4.0.10", day=date(1500, 1, 1))
    assert certain(tmp_path) == ALL


def test_int96_and_decimals_without_bounds(tmp_path: Path) -> None:
    written(tmp_path, use_deprecated_int96_timestamps=True)
    assert certain(tmp_path) == ALL
    written(tmp_path, use_deprecated_int96_timestamps=True, spark="2.4.8")
    assert certain(tmp_path) == ALL - {"at", "days"}
    written(tmp_path, write_statistics=False)
    assert certain(tmp_path) == ALL - {"price"}


def test_a_column_that_a_file_lacks(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1], "text": [2]}), tmp_path / "a.parquet")
    assert certain(tmp_path) == {"n"}


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    versions = ParquetRows.at([written(tmp_path)]).versions
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(SourceUnavailable):
        certain_columns(SOURCE, versions, ())
