"""A profile as people see it: of files, of data in memory and of results; its graph, its documents and its page."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet
from rich.console import Console

from airflow_lineage_provider import Lineage, Profile
from airflow_lineage_provider.cli import main
from airflow_lineage_provider.errors import InvalidOption, SourceUnavailable, SparkRequired
from airflow_lineage_provider.sources import given_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = pa.table({
    "zip": ["02138", "02138", "10001", "10001", "2138", None],
    "city": ["Cambridge", "Boston", "New York", "New York", "Cambridge", "Boston"],
    "state": ["MA", "MA", "NY", "NJ", "MA", "<b>"],
})  # fmt: skip


def lineage() -> Lineage:
    """One without a store: none is needed."""
    made = Lineage.__new__(Lineage)
    made.spark, made._start_spark = None, None
    return made


def profile(**options: Any) -> Profile:
    return lineage().profile(ROWS, ["zip -> city", "zip -> state", "city, state -> zip"], **options)


def test_values_and_rows() -> None:
    found = profile()
    assert [one.holds for one in found] == [False, False, False]
    assert found.values("zip -> city").to_pylist() == [{"zip": "02138", "different_values": 2, "rows": 2}]
    assert found.rows_of("ZIP->state", 0).column("state").to_pylist() == ["NY", "NJ"]
    assert found.values(2).to_pylist() == [{"city": "Cambridge", "state": "MA", "different_values": 2, "rows": 2}]
    assert found.graph.edges().to_pydict() == {"dependency": [0, 0, 1, 1, 2, 2], "violation": [0] * 6, "row": [0, 1, 2, 3, 0, 4]}
    assert repr(found) == "<profile of a table, 6 rows: 0 of 3 dependencies hold>"
    assert repr(found.graph) == "<graph of 3 dependencies, 3 violating values and 6 edges to rows>"


def test_what_is_not_there_is_refused() -> None:
    found = profile()
    with pytest.raises(InvalidOption, match="was not asked for"):
        found["state -> zip"]
    wrong: Any
    for wrong in (1, -1, True, "0"):
        with pytest.raises(InvalidOption, match="there are 1"):
            found.rows_of(0, wrong)
    with pytest.raises(InvalidOption, match="max_rows is 5"):
        profile(max_rows=5)
    with pytest.raises(InvalidOption, match="is no table"):
        lineage().profile(7, ["a -> b"])
    with pytest.raises(InvalidOption, match="several columns called a"):
        lineage().profile(pa.table([[1], [2]], names=["a", "a"]), ["a -> a"])
    with pytest.raises(SparkRequired, match="is no file here"):
        lineage().profile("loans", ["a -> b"])
    with pytest.raises(SourceUnavailable, match="no such file"):
        lineage().profile(Path("/nowhere.parquet"), ["a -> b"])


def test_a_csv_file_has_texts(tmp_path: Path) -> None:
    path = tmp_path / "physicians.csv"
    path.write_text('zip,city\n02138,Cambridge\n2138,"Bost\non"\n,Boston\n"",Boston\n')
    found = lineage().profile(str(path), ["zip -> city"])
    assert found.table == "physicians.csv"
    assert found.rows.to_pydict() == {"zip": ["02138", "2138", None, ""], "city": ["Cambridge", "Bost\non", "Boston", "Boston"]}
    assert found[0].holds
    path.write_text("")
    with pytest.raises(SourceUnavailable, match=r"physicians\.csv cannot be read"):
        lineage().profile(str(path), ["zip -> city"])


def test_values_are_not_cast_to_the_type_of_another_file(tmp_path: Path) -> None:
    day = 19_000 * 86_400_000_000
    unlike = [
        (pa.array([19_000, 19_000], pa.date32()), pa.array([day, day + 1], pa.timestamp("us"))),
        (pa.array([True, True]), pa.array([1, 5])),
    ]
    for columns in unlike:
        for name, column in zip("ab", columns, strict=True):
            parquet.write_table(pa.table({"x": ["p", "p"], "y": column}), tmp_path / f"{name}.parquet")
        with pytest.raises(InvalidOption, match=r"y is .* in .*a.parquet and .* in .*b.parquet"):
            lineage().profile(tmp_path, ["x -> y"])
    alike = [(pa.nulls(2), pa.array([7, 2**40])), (pa.array([7, 2], pa.int8()), pa.array([7, 2**40])), (pa.array([1, 7]), pa.nulls(2))]
    for columns in alike:
        for name, column in zip("ab", columns, strict=True):
            parquet.write_table(pa.table({"x": pa.array(["p", "q"]).dictionary_encode(), "y": column}), tmp_path / f"{name}.parquet")
        assert lineage().profile(tmp_path, ["y -> x"], nulls="value").rows.column("y").to_pylist() == [
            y for one in columns for y in one.to_pylist()
        ]


def test_values_are_the_same_however_they_are_written(tmp_path: Path) -> None:
    """Categories of pandas among them: with a value twice in a dictionary, which Arrow lets be, and other dictionaries in other chunks."""
    plain = pa.chunked_array([["x", "x", "y", None], ["z", "x"]])
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 2, 1, 3], pa.int32()), pa.array(["x", "y", "x", None]))
    written = {
        "chunks": pa.chunked_array([chunk.dictionary_encode() for chunk in plain.chunks]),
        "twice": pa.chunked_array([twice, pa.array(["z", "x"]).dictionary_encode()]),
        "runs": pa.chunked_array([pc.run_end_encode(chunk) for chunk in plain.chunks]),
        "views": plain.cast(pa.string_view()),
    }
    other = pa.array([1, 1, 2, 3, 4, 5])
    for what, column in written.items():
        for method in ("cd", "ug", "auto"):
            for fds in (["c -> n", "n -> c"], ["c -> n", "n -> c", "c -> m"]):
                found, known = (
                    lineage().profile(pa.table({"c": one, "n": other, "m": other}), fds, method=method, nulls="value")
                    for one in (column, plain)
                )
                for at in range(len(fds)):
                    assert found.values(at).to_pylist() == known.values(at).to_pylist(), (what, method)
    parquet.write_table(pa.Table.from_pandas(pa.table({"c": written["chunks"], "n": other}).to_pandas()), tmp_path / "a.parquet")
    assert lineage().profile(tmp_path / "a.parquet", ["c -> n"]).values(0).to_pylist() == [{"c": "x", "different_values": 2, "rows": 3}]


def test_files_and_frames_give_the_same(tmp_path: Path) -> None:
    parquet.write_table(ROWS, tmp_path / "a.parquet")
    expected = profile().to_dict()["dependencies"]
    fds = [str(one.dependency) for one in profile()]
    for table in (tmp_path / "a.parquet", str(tmp_path), ROWS.to_pandas()):
        assert lineage().profile(table, fds).to_dict()["dependencies"] == expected
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no file")
    with pytest.raises(SourceUnavailable, match="cannot be read"):
        lineage().profile(str(tmp_path), fds)
    (tmp_path / "a.txt").touch()
    with pytest.raises(InvalidOption, match=r"\.parquet or \.csv"):
        lineage().profile(tmp_path / "a.txt", fds)


def test_nulls_as_values() -> None:
    rows = pa.table({"a": [None, None, 1], "b": [1, 2, 3]})
    assert lineage().profile(rows, ["a -> b"])[0].ignored == 2
    assert lineage().profile(rows, ["a -> b"], nulls="value").values(0).to_pylist() == [{"a": None, "different_values": 2, "rows": 2}]


def test_it_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    profile().show(Console(width=100))
    out = " ".join(capsys.readouterr().out.split())
    assert "violated by 1 value in 2 rows; without 20.0000% of 5 rows it would hold; 1 row with a NULL took no part" in out
    profile().show(Console(width=100), mask=["zip"])
    assert "02138" not in capsys.readouterr().out
    document = profile().to_dict(mask=["zip"])
    assert "02138" not in json.dumps(document)
    assert document["dependencies"][0]["rows"] == [[0, 1]]


def test_the_page_is_self_contained_and_escaped(tmp_path: Path) -> None:
    text = profile(nulls="value").graph.to_html(tmp_path / "violations.html")
    assert (tmp_path / "violations.html").read_text(encoding="utf-8") == text
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")
    anchors, ids = set(re.findall(r'href="#([^"]+)"', text)), re.findall(r'id="([^"]+)"', text)
    assert anchors <= set(ids)
    assert len(ids) == len(set(ids))
    page = lineage().profile(pa.table({"a": ["<i>", "<i>"], "b": ["<b>", "x"]}), ["a -> b"]).graph.to_html()
    assert "<i>" not in page
    assert "&lt;i&gt;" in page
    assert "02138" not in profile().graph.to_html(mask=["zip"])


def test_the_rows_that_are_shown_tell_the_values_apart() -> None:
    rows = pa.table({"k": [1] * 100, "v": ["same"] * 99 + ["other"]})
    text = lineage().profile(rows, ["k -> v"]).graph.to_html()
    assert "other" in text
    assert "row 99" in text
    assert "80 more rows" in text
    assert "2 different values in 100 rows" in text


def test_what_holds_has_nothing_to_draw() -> None:
    text = lineage().profile(ROWS, ["city, state, zip -> zip"]).graph.to_html()
    assert "<svg" not in text
    assert "holds" in text


def test_the_verb(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    parquet.write_table(ROWS, tmp_path / "a.parquet")
    given = ["profile", str(tmp_path / "a.parquet"), "zip -> city"]
    assert main([*given, "--html", str(tmp_path / "v.html")]) == 0
    assert "violated by 1 value" in capfd.readouterr().out
    assert (tmp_path / "v.html").exists()
    assert main([*given, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["dependencies"][0]["values"]["rows"] == [["02138", 2, 2]]
    assert main([*given, "--html", str(tmp_path / "no" / "v.html")]) != 0
    assert "cannot be written" in capfd.readouterr().err
    assert main([given[0], given[1], "zip"]) != 0


def test_results_rows_of_lineage_and_tables_of_a_session(spark: SparkSession, lineage_home: Path, tmp_path: Path) -> None:
    parquet.write_table(ROWS, tmp_path / "places.parquet")
    with Lineage(spark) as made:
        spark.read.parquet(str(tmp_path / "places.parquet")).createOrReplaceTempView("places")
        run = made.run("SELECT zip, city FROM places WHERE zip IS NOT NULL", name="judged places")
        of_result = made.profile(run, ["zip -> city"])
        assert (of_result.table, of_result.values(0).to_pylist()) == ("judged places", [{"zip": "02138", "different_values": 2, "rows": 2}])
        rows = run.backward("zip = '10001'", table="places")
        assert made.profile(rows, ["zip -> state"]).values(0).to_pylist() == [{"zip": "10001", "different_values": 2, "rows": 2}]
        for table in ("places", spark.table("places")):
            assert made.profile(table, ["zip -> city"]).values(0).num_rows == 1
        with pytest.raises(InvalidOption, match="neither a file here nor a table"):
            made.profile("no_such_table", ["a -> b"])
        with pytest.raises(InvalidOption, match="more than 3 rows"):
            made.profile("places", ["zip -> city"], max_rows=3)


def test_of_a_file_the_columns_that_are_named_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And all of them when the rows are asked for; not those of another file that stands in its place since."""
    rows = pa.table({"Zip": ["1", "1", "2"], "city": ["a", "b", None], "note": ["x", "y", "z"], "n": [1, 2, 3]})
    parquet.write_table(rows, tmp_path / "a.parquet")
    read = list[list[str]]()
    select = given_table.ParquetTable.select

    def noted(self: given_table.ParquetTable, names: Sequence[str]) -> pa.Table:
        read.append(list(names))
        return select(self, names)

    monkeypatch.setattr(given_table.ParquetTable, "select", noted)
    found = lineage().profile(tmp_path / "a.parquet", ["zip -> city"])
    assert found.values(0).to_pylist() == [{"Zip": "1", "different_values": 2, "rows": 2}]
    assert "note" not in found.values(0).column_names
    assert found.to_dict()["rows"] == 3
    assert read == [["Zip", "city"]]
    assert found.rows.to_pylist() == rows.to_pylist()
    assert found.rows_of(0, 0).to_pylist() == rows.slice(0, 2).to_pylist()
    assert read[1:] == [["Zip", "city", "note", "n"]]
    again = lineage().profile(tmp_path / "a.parquet", ["zip -> city"])
    parquet.write_table(rows.slice(1), tmp_path / "a.parquet")
    with pytest.raises(SourceUnavailable, match="has changed since"):
        again.rows_of(0, 0)


def test_columns_that_stand_in_the_names_of_folders(tmp_path: Path) -> None:
    rows = pa.table({"c": ["x", "x", "y", None], "k": [1, 1, 2, 3], "n": ["a", "b", "c", "d"], "b": [b"1", b"1", b"2", None]})
    parquet.write_to_dataset(rows, str(tmp_path), partition_cols=["c", "k"])
    found = lineage().profile(tmp_path, ["c -> n", "k -> c", "b -> c"])
    assert [len(one) for one in found] == [1, 0, 0]
    assert found.values(0).to_pylist() == [{"c": "x", "different_values": 2, "rows": 2}]
    assert found.rows.select(rows.column_names).sort_by("n").to_pylist() == rows.to_pylist()
