"""Values of partitions, read from the names of folders."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.lineage_keys import KeyColumn, SourceIdentity
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.sources.duckdb_query import fetched
from airflow_lineage_provider.sources.duckdb_source import duckdb_source
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.parquet import read_positions
from airflow_lineage_provider.sources.partitions import partition_of, without_partitions
from airflow_lineage_provider.spark.capturing.partition_folders import in_folders, partitions_digest, refuse_one_folder_twice

KEY = SourceIdentity(kind="file_position", columns=(KeyColumn(name="file", type="bigint"), KeyColumn(name="position", type="bigint")))


def source(partitions: tuple[str, ...], kind: str = "files", folder: Path | None = None, **types: str) -> Source:
    paths, known = (() if folder is None else (f"file:{folder}",)), folder is not None
    relation = Relation(
        name="t",
        kind=kind,  # type: ignore[arg-type]
        format="parquet",
        partition_columns=partitions,
        paths=paths,
        partitions_in_folders=known,
    )
    output = tuple(Attribute(id=n, name=column, type=one) for n, (column, one) in enumerate(types.items(), 1))
    return Source(relation=relation, output=output, columns=tuple(types), leaf=0)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("string", "NL", "NL"),
        ("string", "a%2Fb%3Dc%25", "a/b=c%"),
        ("string", "é😀 '", "é😀 '"),
        ("string", "007", "007"),
        ("string", "__HIVE_DEFAULT_PARTITION__", None),
        ("int", "__HIVE_DEFAULT_PARTITION__", None),
        ("int", "-2147483648", -(2**31)),
        ("int", "007", 7),
        ("bigint", "9223372036854775807", 2**63 - 1),
        ("date", "2024-02-29", datetime.date(2024, 2, 29)),
    ],
)
def test_both_ways_read_the_value(tmp_path: Path, kind: str, text: str, value: Any) -> None:
    folder = tmp_path / f"p={text}"
    folder.mkdir()
    # A column of the name in the file is not what counts.
    parquet.write_table(pa.table({"x": [1, 2], "p": ["no", "no"]}), folder / "a.parquet")
    given = source(("p",), x="bigint", p=kind)
    read = duckdb_source(given, KEY, ["p", "x", "position"], {"7": str(folder / "a.parquet")}, {})
    rows = fetched("SELECT p, x FROM t ORDER BY position", views={"t": read.query}, tables={}, paths=read.paths)
    assert rows.to_pylist() == [{"p": value, "x": 1}, {"p": value, "x": 2}]
    keys = pa.table({"key_0": pa.array([7, 7], pa.int64()), "key_1": pa.array([1, 5], pa.int64())})
    found = read_positions(given, {"7": str(folder / "a.parquet")}, keys, {})
    assert [column.to_pylist() for column in found.columns] == [[7], [1], [2], [value]]


@pytest.mark.parametrize(
    ("kind", "text"),
    [("int", "2147483648"), ("int", "+1"), ("int", "1.0"), ("bigint", ""), ("date", "2024-2-9"), ("date", "2024-02-30"), ("string", "a%zz"),
     ("string", ""), ("timestamp", "2024-01-01 00%3A00%3A00"), ("double", "1.5"), ("int", "٣")],
)  # fmt: skip
def test_values_that_could_be_read_in_two_ways(kind: str, text: str) -> None:
    with pytest.raises(CannotReadHere, match="is not certain to be read as a value of type"):
        partition_of(source(("p",), x="bigint", p=kind), Path(f"/t/p={text}/a.parquet"))


@pytest.mark.parametrize(
    "path", ["/t/a.parquet", "/t/p=1/a.parquet", "/t/q=1/p=1/a.parquet", "/t/p=1/q=1/more/a.parquet", "/t/p/q=1/a.parquet"]
)
def test_folders_that_are_not_those_of_the_partitions(path: str) -> None:
    with pytest.raises(CannotReadHere, match="is partitioned by p, q, and"):
        partition_of(source(("p", "q"), p="int", q="int"), Path(path))


def test_the_last_folders_count() -> None:
    found = partition_of(source(("p", "q"), p="int", q="int"), Path("/lake/p=9/t/p=1/q=2/a.parquet"))
    assert found.values == {"p": "1", "q": "2"}
    assert "P" in found
    assert "r" not in found


def test_what_stands_in_files() -> None:
    assert without_partitions(source(("P",), x="int", p="int", y="int")).columns == ("x", "y")
    assert without_partitions(source((), x="int")).columns == ("x",)
    assert partition_of(source((), x="int"), Path("/a.parquet")).values == {}


def told(values: str, place: str) -> str:
    """A partition as Spark's catalog writes it."""
    parameters = "{numFiles=1, transient_lastDdlTime=1}"
    return (
        f"CatalogPartition(\n\tPartition Values: [{values}]\n\tLocation: {place}\n\tPartition Parameters: {parameters}\n"
        "\tCreated Time: Thu Nov 26 16:20:26 UTC 2026\n\tLast Access: UNKNOWN)"
    )


def test_partitions_of_the_catalog_in_their_folders() -> None:
    fine = [
        told("p=a/b=%, q=7", "file:/w/t/p=a%2Fb%3D%25/q=7"),
        told("p=__HIVE_DEFAULT_PARTITION__, q=é]", "file:/w/t/p=__HIVE_DEFAULT_PARTITION__/q=é]"),
    ]
    assert in_folders("", "file:/w/t", ("p", "q"))
    assert in_folders("\n\x1e\n".join(fine), "file:/w/t", ("p", "q"))
    for values, place in (
        ("p=1, q=2", "file:/elsewhere/p=1/q=2"),
        ("p=1, q=2", "file:/w/t/p=1/q=3"),
        ("p=1, q=2", "file:/w/t/q=2/p=1"),
        ("p=1, q=2", "file:/w/t/p=1/q=2/more"),
        ("p=1, q=2", "file:/w/t/p=1"),
        ("p=1, q=2", "file:/w/t"),
        ("p=1, q=2, q=3", "file:/w/t/p=1, q=2/q=3"),  # which of the two has the comma
        ("p=%41, q=2", "file:/w/t/p=%41/q=2"),
    ):
        assert not in_folders("\n\x1e\n".join([*fine, told(values, place)]), "file:/w/t", ("p", "q")), place
    assert not in_folders("something else", "file:/w/t", ("p",))


def test_which_partition_is_where() -> None:
    one, other = told("p=1", "file:/w/t/p=2"), told("p=2", "file:/w/t/p=1")
    digest = partitions_digest("\n\x1e\n".join([one, other]))
    assert digest == partitions_digest("\n\x1e\n".join([other, one.replace("numFiles=1", "numFiles=2")]))
    moved = [told("p=1", "file:/w/t/p=1"), told("p=2", "file:/w/t/p=2")]
    assert len({digest, partitions_digest("\n\x1e\n".join(moved)), partitions_digest(one), partitions_digest("")}) == 4
    refuse_one_folder_twice("\n\x1e\n".join([one, other]), "t")
    with pytest.raises(UnsupportedOperator, match="file:/w/t/p=2 is the folder of several"):
        refuse_one_folder_twice("\n\x1e\n".join([one, told("p=9", "file:/w/t/p=2")]), "t")


def test_tables_of_the_catalog(tmp_path: Path) -> None:
    """A partition's files are in its folder, and not below it, where names mean nothing."""
    given = source(("p",), "table", tmp_path, x="bigint", p="int")
    for folder in ("p=1", "p=1/p=2", "other/p=1"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.table({"x": [5]}), tmp_path / folder / "a.parquet")
    read = duckdb_source(given, KEY, ["p", "x"], {"7": str(tmp_path / "p=1" / "a.parquet")}, {})
    assert fetched("SELECT p, x FROM t", views={"t": read.query}, tables={}, paths=read.paths).to_pylist() == [{"p": 1, "x": 5}]
    for folder in ("p=1/p=2", "other/p=1"):
        with pytest.raises(CannotReadHere, match="is not in the folder of a partition of t"):
            duckdb_source(given, KEY, ["p"], {"7": str(tmp_path / folder / "a.parquet")}, {})


def test_tables_of_the_catalog_are_left_to_spark(tmp_path: Path) -> None:
    """Their partitions may stand anywhere."""
    with pytest.raises(CannotReadHere, match="is a table partitioned by p"):
        duckdb_source(source(("p",), kind="table", p="int"), KEY, ["p"], {"7": str(tmp_path)}, {})


def test_a_column_is_no_partition_of_a_name_that_folds_to_the_same(tmp_path: Path) -> None:
    """To Spark ``maße`` and ``masse`` are two: it compares names in lower case."""
    folder = tmp_path / "Maße=1"
    folder.mkdir()
    parquet.write_table(pa.table({"masse": [5, 6]}), folder / "a.parquet")
    one = source(("Maße",), folder=tmp_path, masse="bigint", maße="int")
    found = partition_of(one, folder / "a.parquet")
    assert ("maße" in found, "masse" in found, without_partitions(one).columns) == (True, False, ("masse",))
