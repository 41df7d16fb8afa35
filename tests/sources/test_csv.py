"""CSV files without Spark: the rows, and their digests, are those that Spark has read; what is not certain is left to it."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.lineage_keys import KeyColumn, SourceIdentity
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.sources import whole_files
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.kept import Kept
from airflow_lineage_provider.sources.whole_files import rows_of_files
from tests.sources.csv_cases import LEFT, READ, Case, case, recorded, written

pytest.importorskip("duckdb")

DIGEST = SourceIdentity(kind="row_digest", columns=(KeyColumn(name="lineage_digest", type="string"),))
SETTINGS = {"spark.sql.session.timeZone": "UTC"}
SPARK = recorded()


def source(columns: Mapping[str, str], reader: Mapping[str, str], **relation: Any) -> Source:
    output = tuple(Attribute(id=n, name=column, type=kind) for n, (column, kind) in enumerate(columns.items(), 1))
    described = {"name": "t", "kind": "files", "format": "csv", "options": tuple(reader.items())} | relation
    return Source(relation=Relation(**described), output=output, columns=tuple(columns), leaf=0)


def read(path: Path, made: Case, settings: Mapping[str, str] = SETTINGS, identity: SourceIdentity = DIGEST) -> pa.Table:
    return rows_of_files(source(made.columns, made.options), identity, [f"file:{path}"], settings)


def as_json(value: Any, kind: str) -> Any:
    """A value of a type as `json.loads` reads what Spark writes of it."""
    match value:
        case datetime():
            return value.replace(tzinfo=None).isoformat(timespec="microseconds") + ("Z" if value.tzinfo else "")
        case date():
            return value.isoformat()
        case float():
            return Decimal(f"{value:.7g}" if kind == "float" else repr(value))
    return value


@pytest.mark.parametrize("name", READ)
def test_the_rows_that_spark_reads(tmp_path: Path, name: str) -> None:
    rows = read(written(tmp_path, name, READ[name]), READ[name]).to_pylist()
    kinds = READ[name].columns
    found = sorted((row.pop("lineage_digest"), [as_json(value, kinds[column]) for column, value in row.items()]) for row in rows)
    expected = [(digest, list(json.loads(row, parse_float=Decimal).values())) for digest, row in SPARK[name]]
    assert [digest for digest, _ in found] == [digest for digest, _ in expected]
    assert [row for _, row in found] == [row for _, row in expected]


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_to_spark(tmp_path: Path, name: str) -> None:
    made, why = LEFT[name]
    with pytest.raises(CannotReadHere, match=why):
        read(written(tmp_path, name, made), made)


def test_every_line_is_looked_at(tmp_path: Path) -> None:
    """However far down it is, and in whichever file."""
    lines = [f"{n},row {n}" for n in range(50_000)]
    leaf = source({"id": "bigint", "name": "string"}, {})
    for at, wrong in ((0, "x,y"), (49_999, "1,2,3"), (30_000, "01,y"), (30_000, '1,"a"b')):
        (tmp_path / "a.csv").write_text("\n".join(lines))
        (tmp_path / "b.csv").write_text("\n".join([*lines[:at], wrong, *lines[at + 1 :]]))
        with pytest.raises(CannotReadHere, match=r"b\.csv"):
            rows_of_files(leaf, DIGEST, [f"file:{tmp_path}/{one}.csv" for one in "ab"], SETTINGS)
    found = rows_of_files(leaf, DIGEST, [f"file:{tmp_path}/a.csv"] * 2, SETTINGS)
    assert found.num_rows == 100_000
    assert len(set(found.column("lineage_digest").to_pylist())) == 50_000


@pytest.mark.parametrize(
    ("relation", "why"),
    [
        ({"kind": "table", "options": (("table", "t"),)}, "in the catalog"),
        ({"partition_columns": ("a",)}, "no columns but its partitions"),
        ({"partition_columns": ("b",)}, "partitioned by b, and .*a.csv is not in such folders"),
        ({"options": (("header", "perhaps"),)}, "option header"),
        ({"options": (("newOption", "x"),)}, "option newoption"),
        ({"options": (("sep", ";"), ("delimiter", "|"))}, "separator"),
        ({"options": (("sep", '"'),)}, "two purposes"),
        ({"options": (("sep", ";"), ("SEP", "|"))}, "twice"),
        ({"options": (("timeZone", "Asia/Tokyo"),)}, "time zone"),
    ],
)
def test_how_it_was_read(tmp_path: Path, relation: dict[str, Any], why: str) -> None:
    (tmp_path / "a.csv").write_text("x\n")
    with pytest.raises(CannotReadHere, match=why):
        rows_of_files(source({"a": "string"}, {}, **relation), DIGEST, [f"file:{tmp_path}/a.csv"], SETTINGS)


def test_partitions(tmp_path: Path) -> None:
    """What the folders say stands in their columns' places, and in the digest as a column of the file would."""
    whole = case('1,"a/b=% é",7,2024-02-29,x\n2,"a/b=% é",7,2024-02-29,y\n3,,8,2024-02-29,z\n', "i int, c string, y int, d date, s string")
    folders = {
        "c=a%2Fb%3D%25 é/y=007/d=2024-02-29": "1,x\n2,y\n",
        "c=__HIVE_DEFAULT_PARTITION__/y=8/d=2024-02-29": "3,z\n",
    }
    for folder, data in folders.items():
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "part.csv").write_text(data)
    leaf, files = source(whole.columns, {}, partition_columns=("c", "y", "d")), [f"file:{tmp_path}/{one}/part.csv" for one in folders]
    assert rows_of_files(leaf, DIGEST, files, SETTINGS).equals(read(written(tmp_path, "plain", whole), whole))
    for folder, why in (("c=x/y=1.5/d=2024-02-29", "y=1.5 is not certain"), ("c=a%0Ab/y=1/d=2024-02-29", "a control character")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "part.csv").write_text("1,x\n")
        with pytest.raises(CannotReadHere, match=why):
            rows_of_files(leaf, DIGEST, [*files, f"file:{tmp_path}/{folder}/part.csv"], SETTINGS)
    (tmp_path / next(iter(folders)) / "part.csv").write_text("1,c,7,2024-02-29,x\n")  # with the partitions' columns in the file, too
    with pytest.raises(CannotReadHere, match=r"part\.csv: "):
        rows_of_files(leaf, DIGEST, files, SETTINGS)


def test_which_session_it_was_read_in(tmp_path: Path) -> None:
    made = case("2024-01-01 00:00:00\n", "t timestamp")
    path = written(tmp_path, "plain", made)
    for settings, why in (
        ({"spark.sql.session.timeZone": "Asia/Tokyo"}, "time zone"),
        (SETTINGS | {"spark.sql.legacy.timeParserPolicy": "LEGACY"}, "timeParserPolicy"),
        (SETTINGS | {"spark.sql.columnNameOfCorruptRecord": "T"}, "wrong with a line"),
        ({}, "time zone"),
    ):
        with pytest.raises(CannotReadHere, match=why):
            read(path, made, settings)
    assert read(path, made).num_rows == 1


def test_columns_that_cannot_be_told_apart(tmp_path: Path) -> None:
    made = case("1,2\n", "a int, A int")
    with pytest.raises(CannotReadHere, match="case alone"):
        read(written(tmp_path, "plain", made), made)


def test_another_file_system() -> None:
    with pytest.raises(CannotReadHere, match="another file system"):
        rows_of_files(source({"a": "string"}, {}), DIGEST, ["s3a://bucket/a.csv"], SETTINGS)
    with pytest.raises(CannotReadHere, match="cannot be read"):
        rows_of_files(source({"a": "string"}, {}), DIGEST, ["file:/nowhere/a.csv"], SETTINGS)


def test_a_key_that_people_name(tmp_path: Path) -> None:
    key = SourceIdentity(kind="primary_key", columns=(KeyColumn(name="lineage_present", type="boolean"), KeyColumn(name="i", type="int")))
    made = case("1,2,3,4\n", READ["integers"].schema)
    assert read(written(tmp_path, "plain", made), made, identity=key).to_pylist() == [
        {"i": 1, "l": 2, "s": 3, "t": 4, "lineage_present": True}
    ]


def test_more_than_is_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_files, "MOST_BYTES", 10)
    for made in (case("a,b,c\n" * 2), READ["gzip"]):
        with pytest.raises(CannotReadHere, match="more than"):
            read(written(tmp_path, "gzip", made), made)


class TestKept:
    def test_a_file_that_is_another_now(self, tmp_path: Path) -> None:
        made = case("1\n", "a int")
        path = written(tmp_path, "plain", made)
        first = read(path, made)
        assert read(path, made) is first
        path.write_text("22\n")
        assert read(path, made).column("a").to_pylist() == [22]
        assert read(path, case("", "a string")).column("a").to_pylist() == ["22"]

    def test_up_to_a_number_of_bytes(self) -> None:
        kept: Kept[pa.Table] = Kept(1_700)
        calls: list[int] = []

        def made(key: int, rows: int = 100) -> pa.Table:
            return kept.found(key, lambda: calls.append(key) or pa.table({"x": pa.array(range(rows), pa.int64())}))  # type: ignore[func-returns-value]

        assert made(1) is made(1)
        assert made(2) is made(2)
        assert made(1) is made(1)
        made(3)
        assert calls == [1, 2, 3]
        made(1)
        made(2)
        assert calls == [1, 2, 3, 2]
        made(4, 1_000)
        made(4, 1_000)
        assert calls == [1, 2, 3, 2, 4, 4]

    def test_threads_that_want_the_same_read_it_once(self) -> None:
        kept: Kept[pa.Table] = Kept(10_000)
        begun, calls, found = threading.Event(), [], []

        def read_slowly() -> pa.Table:
            calls.append(begun.wait(30))
            if len(calls) == 1:
                raise OSError("the first fails")
            return pa.table({"x": [1]})

        def ask() -> None:
            try:
                found.append(kept.found("one", read_slowly))
            except OSError as problem:
                found.append(problem)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        begun.set()
        for thread in threads:
            thread.join(30)
        assert calls == [True, True]
        assert sorted(type(one).__name__ for one in found) == ["OSError", *["Table"] * 7]
        assert kept.found("one", lambda: pytest.fail("it is there")).num_rows == 1
        assert not kept._making

    def test_by_several_threads(self, tmp_path: Path) -> None:
        made = case("".join(f"{n}\n" for n in range(5_000)), "a int")
        path, found = written(tmp_path, "plain", made), []
        threads = [threading.Thread(target=lambda: found.append(read(path, made).num_rows)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [5_000] * 8
