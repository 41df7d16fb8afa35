"""What footers say of columns: bounds that hold of every value that Spark reads, and nothing where that is not sure."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.sketches.statistics import ColumnBounds
from airflow_lineage_provider.sources.file_statistics import file_statistics


def source(**kinds: str) -> Source:
    relation = Relation(name="t", kind="files", format="parquet", paths=("/data",))
    output = tuple(Attribute(id=at, name=name, type=kind) for at, (name, kind) in enumerate(kinds.items()))
    return Source(relation=relation, output=output, columns=tuple(kinds), leaf=0)


def written(path: Path, columns: dict[str, Any], **options: object) -> str:
    parquet.write_table(pa.table(columns), path, **{"row_group_size": 2} | options)
    return path.as_uri()


def told(tmp_path: Path, kind: str, *files: Any, **options: object) -> ColumnBounds | None:
    """What is said of column c, of files that have these values."""
    paths = [written(tmp_path / f"{at}.parquet", {"c": values}, **options) for at, values in enumerate(files)]
    return file_statistics(source(c=kind), paths, {}).bounds.get("c")


def test_the_bounds_of_all_row_groups_of_all_files(tmp_path: Path) -> None:
    assert told(tmp_path, "bigint", [5, 2, 3, 9], [-1, 4]) == ColumnBounds("-1", "9", has_null=False)


def test_an_appended_file_widens_them(tmp_path: Path) -> None:
    assert told(tmp_path, "bigint", [5, 2]) == ColumnBounds("2", "5", has_null=False)
    assert told(tmp_path, "bigint", [5, 2], [None, 77]) == ColumnBounds("2", "77", has_null=True)


def test_nulls(tmp_path: Path) -> None:
    """Of a column that has NULL alone only that is known; no rows have neither a value nor NULL."""
    assert told(tmp_path, "bigint", pa.array([None, None], pa.int64())) == ColumnBounds(has_null=True)
    assert told(tmp_path, "bigint", pa.array([], pa.int64())) == ColumnBounds(has_null=False)


def test_without_statistics_nothing_is_known(tmp_path: Path) -> None:
    assert told(tmp_path, "bigint", [5, 2], write_statistics=False) == ColumnBounds(has_null=True)


def test_one_footer_without_statistics_is_enough(tmp_path: Path) -> None:
    paths = [written(tmp_path / "1.parquet", {"c": [1, 2]}), written(tmp_path / "2.parquet", {"c": [9, 9]}, write_statistics=False)]
    for order in (paths, paths[::-1]):
        assert file_statistics(source(c="bigint"), order, {}).bounds["c"] == ColumnBounds(has_null=True)


@pytest.mark.parametrize(
    ("kind", "values", "least", "most"),
    [
        ("decimal(9,2)", pa.array([Decimal("-1.20"), Decimal("10.05")], pa.decimal128(9, 2)), "-1.20", "10.05"),
        ("decimal(30,2)", pa.array([Decimal("-1.20"), Decimal("10.05")], pa.decimal128(30, 2)), "-1.20", "10.05"),
        ("date", [date(1995, 3, 15), date(1600, 1, 1)], "1600-01-01", "1995-03-15"),
        ("string", ["b", "é", "a", "zz"], "a", "é"),  # by their bytes
        ("tinyint", pa.array([3, -7], pa.int8()), "-7", "3"),
        ("bigint", pa.array([3, -7], pa.int32()), "-7", "3"),
    ],
)
def test_kinds(tmp_path: Path, kind: str, values: Any, least: str, most: str) -> None:
    assert told(tmp_path, kind, values) == ColumnBounds(least, most, has_null=False)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("double", [0.5, float("nan"), -0.0, 1.5]),  # NaN is the largest for Spark, and in no statistics
        ("double", [-0.0, 0.0]),
        ("tinyint", pa.array([1000], pa.int32())),  # Spark cuts it to eight bits
        ("string", [b"a", b"b"]),
        ("decimal(9,3)", pa.array([Decimal("1.20")], pa.decimal128(9, 2))),
        ("boolean", [True, False]),
        ("timestamp_ntz", pa.array([0], pa.timestamp("us"))),
    ],
)
def test_of_what_no_bounds_are_told(tmp_path: Path, kind: str, values: Any) -> None:
    found = told(tmp_path, kind, values)
    assert found is None or (found.least, found.most) == (None, None)


def test_days_that_spark_may_move(tmp_path: Path) -> None:
    """Before 15 October 1582 old files count in another calendar."""
    assert told(tmp_path, "date", [date(1582, 10, 14), date(2000, 1, 1)]) == ColumnBounds(has_null=False)


def test_unsigned_numbers(tmp_path: Path) -> None:
    assert told(tmp_path, "bigint", pa.array([3_000_000_000], pa.uint32())) == ColumnBounds(has_null=False)


def test_texts_that_are_cut_are_bounds_still(tmp_path: Path) -> None:
    """Other writers cut the least after so many bytes, and make the most one more there. DuckDB's are such."""
    import duckdb

    place = tmp_path / "cut.parquet"
    low, high = "a" * 300, "y" * 300
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT * FROM (VALUES ('{low}'), ('{high}')) t(c)) TO '{place}' (FORMAT parquet)")
    found = file_statistics(source(c="string"), [place.as_uri()], {}).bounds["c"]
    assert found.least is None or found.least <= low
    assert found.most is None or found.most >= high


def test_a_text_that_is_none(tmp_path: Path) -> None:
    """Bytes that are no UTF-8, in a column that says that it has texts."""
    broken = pa.array([b"\xff\xfe", b"a"], pa.binary()).view(pa.string())
    assert told(tmp_path, "string", broken) == ColumnBounds(has_null=False)


def test_a_column_that_a_file_has_not_or_has_of_another_type(tmp_path: Path) -> None:
    files = [written(tmp_path / "1.parquet", {"c": [1, 2], "d": [1, 1]}), written(tmp_path / "2.parquet", {"d": [2, 2]})]
    assert file_statistics(source(c="bigint", d="bigint", gone="int"), files, {}).bounds == {"d": ColumnBounds("1", "2", has_null=False)}
    assert file_statistics(source(c="int", d="bigint"), files[:1], {}).bounds == {"d": ColumnBounds("1", "1", has_null=False)}


def test_values_of_partitions_are_in_the_names_of_folders(tmp_path: Path) -> None:
    """A file may have a column of the same name, of which Spark reads nothing."""
    given = source(c="bigint", d="bigint")
    partitioned = replace(given, relation=replace(given.relation, partition_columns=("C",)))
    path = written(tmp_path / "1.parquet", {"c": [1, 2], "d": [1, 1]})
    assert set(file_statistics(partitioned, [path], {}).bounds) == {"d"}


def test_where_nothing_is_told(tmp_path: Path) -> None:
    path, given = written(tmp_path / "1.parquet", {"c": [1, 2]}), source(c="bigint")
    assert file_statistics(given, [path], {}).bounds
    for paths in ([], ["s3a://bucket/t.parquet"], [path, (tmp_path / "gone.parquet").as_uri()], [path] * 1001):
        assert file_statistics(given, paths, {}).bounds == {}
    assert file_statistics(given, [path], {"spark.sql.parquet.fieldId.read.enabled": "true"}).bounds == {}
    assert file_statistics(replace(given, relation=replace(given.relation, format="delta")), [path], {}).bounds == {}
