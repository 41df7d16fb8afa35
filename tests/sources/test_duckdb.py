"""DuckDB over Parquet files: what it may touch, what it survives, and the files that it would read otherwise than Spark does."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.lineage_keys import KeyColumn, SourceIdentity
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.sources import duckdb_rows
from airflow_lineage_provider.sources import duckdb_source as of_duckdb
from airflow_lineage_provider.sources.duckdb_connection import MOST_KEPT, _kept, connected, name, text
from airflow_lineage_provider.sources.duckdb_query import fetched
from airflow_lineage_provider.sources.duckdb_source import duckdb_source
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.parquet import read_positions
from airflow_lineage_provider.sql import PortabilityProblem

duckdb = pytest.importorskip("duckdb")

KEY = SourceIdentity(kind="file_position", columns=(KeyColumn(name="file", type="bigint"), KeyColumn(name="position", type="bigint")))
TODAYS = {"spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED"}


def source(**types: str) -> Source:
    output = tuple(Attribute(id=n, name=column, type=kind) for n, (column, kind) in enumerate(types.items(), 1))
    return Source(relation=Relation(name="t", kind="files", format="parquet"), output=output, columns=tuple(types), leaf=0)


def written(folder: Path, table: pa.Table, file: str = "a.parquet") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, folder / file)
    return folder / file


def asked(path: Path, query: str, settings: dict[str, str] = TODAYS, **types: str) -> list[tuple[object, ...]]:
    """A query over the view ``t`` of one file, with its lineage key."""
    leaf = source(**types)
    read = duckdb_source(leaf, KEY, [*types, "file", "position"], {"7": str(path)}, settings)
    rows = fetched(query, views={"t": read.query}, tables={}, paths=read.paths)
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


class TestWhatItMayTouch:
    def test_the_files_that_it_is_given_alone(self, tmp_path: Path) -> None:
        mine, others = written(tmp_path / "a", pa.table({"x": [1]})), written(tmp_path / "b", pa.table({"x": [2]}))
        with connected([mine]) as connection:
            assert connection.sql(f"SELECT x FROM read_parquet([{text(str(mine))}])").fetchall() == [(1,)]
            for forbidden in (
                f"SELECT * FROM read_parquet([{text(str(others))}])",
                f"SELECT * FROM read_text({text(__file__)})",
                "SELECT * FROM read_parquet('https://127.0.0.1/x.parquet')",
                f"COPY (SELECT 1) TO {text(str(tmp_path / 'out.csv'))}",
                f"COPY (SELECT 1) TO {text(str(mine))} (FORMAT parquet)",
                f"ATTACH {text(str(tmp_path / 'db'))} AS other",
                "INSTALL httpfs",
                "LOAD httpfs",
                "SET enable_external_access = true",
                "SET memory_limit = '100GiB'",
                "SET lock_configuration = false",
            ):
                with pytest.raises(duckdb.Error):
                    connection.execute(forbidden)
        assert parquet.read_table(mine).to_pydict() == {"x": [1]}
        assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}

    def test_no_variables_of_python(self) -> None:
        mine = pa.table({"x": [1]})
        with connected([]) as connection, pytest.raises(duckdb.Error):
            connection.execute("SELECT * FROM mine")
        assert mine.num_rows == 1

    def test_what_one_block_made_the_next_does_not_see(self, tmp_path: Path) -> None:
        """The database is kept; views, tables and settings of a connection are not."""
        path = written(tmp_path, pa.table({"x": [1]}))
        for other in (False, True):
            with connected([path], may_skip=True) as connection:
                if other:
                    with pytest.raises(duckdb.Error):
                        connection.execute("SELECT * FROM given")
                    with pytest.raises(duckdb.Error):
                        connection.execute("SELECT * FROM own")
                connection.register("given", pa.table({"y": [7]}))
                connection.execute("CREATE TEMP VIEW own AS SELECT 1")
                assert connection.execute("SELECT current_setting('TimeZone')").fetchall() == [("UTC",)]
                before = connection.execute("SELECT current_setting('disabled_optimizers')").fetchall()
                assert before == [("",)]
        with connected([path]) as connection:
            assert connection.execute("SELECT current_setting('disabled_optimizers') <> ''").fetchall() == [(True,)]

    def test_a_file_that_is_another_now_is_read_again(self, tmp_path: Path) -> None:
        path = written(tmp_path, pa.table({"x": [1]}))
        times = path.stat()
        assert asked(path, "SELECT x FROM t", x="bigint") == [(1,)]
        written(tmp_path, pa.table({"x": [2]}))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert asked(path, "SELECT x FROM t", x="bigint") == [(2,)]

    def test_few_databases_are_kept(self, tmp_path: Path) -> None:
        paths = [written(tmp_path, pa.table({"x": [at]}), f"{at}.parquet") for at in range(MOST_KEPT + 4)]
        with connected([paths[0]]) as first:
            for at, path in enumerate(paths):
                assert asked(path, "SELECT x FROM t", x="bigint") == [(at,)]
            assert first.sql("SELECT 1").fetchall() == [(1,)]
        assert len(_kept.databases) == MOST_KEPT

    def test_nothing_at_home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        (tmp_path / "home").mkdir()
        assert asked(written(tmp_path, pa.table({"x": [1]})), "SELECT x FROM t", x="bigint") == [(1,)]
        assert not list((tmp_path / "home").iterdir())

    @pytest.mark.long
    def test_more_memory_than_it_has_is_an_error(self) -> None:
        with pytest.raises(CannotReadHere, match="Out of Memory"):
            fetched("SELECT list(range) FROM range(1000000000)", views={}, tables={}, paths=[])


class TestForks:
    def test_a_child_opens_its_own(self, tmp_path: Path) -> None:
        path = written(tmp_path, pa.table({"x": [1, 2]}))
        with connected([path]) as connection:
            assert connection.sql("SELECT 1").fetchall() == [(1,)]
            assert _in_a_child(lambda: asked(path, "SELECT sum(x) FROM t", x="bigint") == [(3,)])
            assert connection.sql("SELECT 2").fetchall() == [(2,)]
        assert asked(path, "SELECT sum(x) FROM t", x="bigint") == [(3,)]

    def test_while_another_thread_asks(self, tmp_path: Path) -> None:
        path, stop = written(tmp_path, pa.table({"x": list(range(1000))})), threading.Event()

        def ask() -> None:
            while not stop.is_set():
                asked(path, "SELECT sum(x) FROM t", x="bigint")

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            for _ in range(5):
                assert _in_a_child(lambda: asked(path, "SELECT count(*) FROM t", x="bigint") == [(1000,)])
        finally:
            stop.set()
            thread.join()


def _in_a_child(hold: object) -> bool:
    """What a forked child finds; it has 30 seconds."""
    child = os.fork()
    if not child:
        try:
            import signal

            signal.alarm(30)
            os._exit(0 if hold() else 1)  # type: ignore[operator]
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0


class TestValues:
    def test_nan_and_negative_zero(self, tmp_path: Path) -> None:
        """DuckDB alone would skip the row group, whose greatest value is 3, says the file. Spark does, sometimes: it is asked."""
        for odd, kind in ((float("nan"), "double"), (-0.0, "double"), (float("nan"), "float")):
            column = pa.array([1.0, odd, 3.0, None], {"double": pa.float64(), "float": pa.float32()}[kind])
            path = written(tmp_path, pa.table({"x": column, "id": [1, 2, 3, 4]}))
            joined = "SELECT t.position FROM t JOIN (SELECT CAST(9 AS DOUBLE) AS y) AS u ON t.x = u.y"
            for query in ("SELECT id FROM t WHERE x > 5", "SELECT max(x) FROM t", "SELECT x FROM t ORDER BY x DESC LIMIT 1", joined):
                with pytest.raises(CannotReadHere, match="column x has NaN"):
                    asked(path, query, x=kind, id="bigint")
            assert asked(path, "SELECT id FROM t WHERE id > 3", x=kind, id="bigint") == [(4,)]
        fine = written(tmp_path, pa.table({"x": [1.0, 0.0, float("inf"), None]}))
        assert asked(fine, "SELECT position FROM t WHERE x >= 1.0", x="double") == [(0,), (2,)]
        assert asked(fine, "SELECT x FROM t WHERE x = 0", x="double") == [(0.0,)]

    def test_decimals_with_more_digits_than_they_declare(self, tmp_path: Path) -> None:
        """DuckDB alone would cut 70000 to 16 bits."""
        for precision in (4, 9, 18, 38):
            raw = b"".join(number.to_bytes(16, "little", signed=True) for number in (5, 10**precision))
            column = pa.Array.from_buffers(pa.decimal128(precision, 0), 2, [None, pa.py_buffer(raw)])
            path = written(tmp_path / str(precision), pa.table({"x": column}))
            with pytest.raises(CannotReadHere, match="digits"):
                asked(path, "SELECT x FROM t", x=f"decimal({precision},0)")
        fine = written(tmp_path / "fine", pa.table({"x": pa.array([9999, None], pa.decimal128(4, 0))}))
        assert asked(fine, "SELECT CAST(x AS VARCHAR) FROM t", x="decimal(4,0)") == [("9999",), (None,)]

    def test_a_text_that_is_not_utf_8(self, tmp_path: Path) -> None:
        broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\x00\x00\x00\x00\x02\x00\x00\x00"), pa.py_buffer(b"\xff\xfe")])
        path = written(tmp_path, pa.table({"x": broken}))
        with pytest.raises(CannotReadHere, match="DuckDB failed"):
            asked(path, "SELECT x FROM t", x="string")

    def test_texts_with_nul(self, tmp_path: Path) -> None:
        texts = ["a", "a\0", "a\0\0b", "", "\0", "a\0", "long enough to be elsewhere\0", "long enough to be elsewhere", "\0"]
        path = written(tmp_path, pa.table({"x": texts}))
        assert asked(path, "SELECT DISTINCT x FROM t ORDER BY x", x="string") == [(one,) for one in sorted(set(texts))]
        pairs = sum(texts.count(one) for one in texts)
        assert asked(path, "SELECT count(*) FROM t AS l JOIN t AS r ON l.x = r.x", x="string") == [(pairs,)]

    def test_bytes_that_do_not_say_that_they_are_text(self, tmp_path: Path) -> None:
        path = written(tmp_path, pa.table({"x": [b"\xffa"]}))
        with pytest.raises(CannotReadHere, match="bytes are text"):
            asked(path, "SELECT x FROM t", x="string")
        assert asked(path, "SELECT x FROM t", x="binary") == [(b"\xffa",)]

    def test_calendars(self, tmp_path: Path) -> None:
        old, new = pa.array([-700_000], pa.int32()).cast(pa.date32()), pa.array([0], pa.int32()).cast(pa.date32())
        legacy = {b"org.apache.spark.version": b"2.4.8"}
        for kind, table in (("old", pa.table({"x": old})), ("new", pa.table({"x": new}))):
            path = written(tmp_path / kind, table.replace_schema_metadata(legacy))
            if kind == "new":
                assert asked(path, "SELECT position FROM t WHERE x > DATE '1969-01-01'", x="date") == [(0,)]
                continue
            with pytest.raises(CannotReadHere, match="calendar"):
                asked(path, "SELECT x FROM t", x="date")
        untold = written(tmp_path / "untold", pa.table({"x": old}))
        with pytest.raises(CannotReadHere, match="calendar"):
            asked(untold, "SELECT x FROM t", {}, x="date")
        assert asked(untold, "SELECT position FROM t WHERE x < DATE '0100-01-01'", x="date") == [(0,)]

    def test_int96(self, tmp_path: Path) -> None:
        """Moments of any year, where the file, or a setting, tells that they are of today's calendar."""
        at = pa.array([-62_135_596_799_999_999, -1, 0, 1_704_070_923_000_004, 253_402_300_799_999_999, None], pa.timestamp("us"))
        table = pa.table({"x": at})
        for version, settings in (("4.3.0", TODAYS), ("", {"spark.sql.parquet.int96RebaseModeInRead": "CORRECTED"})):
            told = table.replace_schema_metadata({"org.apache.spark.version": version}) if version else table
            parquet.write_table(told, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
            found = asked(tmp_path / "a.parquet", "SELECT EPOCH_US(x) FROM t ORDER BY position", settings, x="timestamp")
            assert [one for (one,) in found] == at.cast(pa.int64()).to_pylist()
        for version, settings in (("2.4.8", TODAYS), ("", TODAYS)):
            told = table.replace_schema_metadata({"org.apache.spark.version": version}) if version else table
            parquet.write_table(told, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
            with pytest.raises(CannotReadHere, match="calendar"):
                asked(tmp_path / "a.parquet", "SELECT x FROM t", settings, x="timestamp")

    def test_the_ends_of_time(self, tmp_path: Path) -> None:
        """What DuckDB calls infinity is a value like others."""
        ends = [-(2**63), -(2**63) + 1, 2**63 - 1]
        path = written(tmp_path, pa.table({"x": pa.array(ends, pa.int64()).cast(pa.timestamp("us"))}))
        read = duckdb_source(source(x="timestamp_ntz"), KEY, ["x"], {"7": str(path)}, TODAYS)
        rows = fetched("SELECT x FROM t ORDER BY x", views={"t": read.query}, tables={}, paths=read.paths)
        assert rows.column(0).cast(pa.int64()).to_pylist() == ends

    def test_types_that_it_does_not_know(self, tmp_path: Path) -> None:
        path = written(tmp_path, pa.table({"x": [[1]], "y": [1]}))
        with pytest.raises(PortabilityProblem, match="array<bigint>"):
            asked(path, "SELECT 1", x="array<bigint>")
        with pytest.raises(PortabilityProblem, match="interval"):
            asked(path, "SELECT 1", y="interval day to second")


class TestNames:
    def test_paths(self, tmp_path: Path) -> None:
        """A folder is no column, a quote is a quote, and a pattern is left to others."""
        table = pa.table({"x": [1]})
        assert asked(written(tmp_path / "x=5" / 'it\'s "here"', table), "SELECT x FROM t", x="bigint") == [(1,)]
        with pytest.raises(CannotReadHere, match="pattern"):
            asked(written(tmp_path, table, "a[1].parquet"), "SELECT x FROM t", x="bigint")

    def test_columns(self, tmp_path: Path) -> None:
        odd = 'a"; --'
        path = written(tmp_path, pa.table({odd: [1], "Ä": [2], "B": [3]}))
        assert asked(path, f"SELECT {name(odd)} FROM t", TODAYS, **{odd: "bigint"}) == [(1,)]
        assert asked(path, "SELECT b FROM t", b="bigint") == [(3,)]
        with pytest.raises(CannotReadHere, match="not in every file"):
            asked(path, "SELECT b FROM t", TODAYS | {"spark.sql.caseSensitive": "true"}, b="bigint")
        with pytest.raises(CannotReadHere, match="not in every file"):
            asked(path, "SELECT 1", ä="bigint")

    def test_columns_that_it_has_itself(self, tmp_path: Path) -> None:
        path = written(tmp_path, pa.table({"x": [1], "file_row_number": [5]}))
        with pytest.raises(CannotReadHere, match="file_row_number"):
            asked(path, "SELECT x FROM t", x="bigint")
        twice = written(tmp_path, pa.table({"x": [1], "X": [5]}), "b.parquet")
        with pytest.raises(CannotReadHere, match="case alone"):
            asked(twice, "SELECT x FROM t", TODAYS | {"spark.sql.caseSensitive": "true"}, x="bigint")


class TestRows:
    TABLE = pa.table({"x": pa.array(range(1000), pa.int64()), "s": [f"text {n}" for n in range(1000)], "n": [[n] for n in range(1000)]})

    def read(self, path: Path, positions: list[int], **types: str) -> pa.Table:
        keys = pa.table({"key_0": pa.array([7] * len(positions), pa.int64()), "key_1": pa.array(positions, pa.int64())})
        return read_positions(source(**types), {"7": str(path)}, keys, TODAYS)

    def test_with_duckdb_and_without(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "a.parquet"
        parquet.write_table(self.TABLE, path, row_group_size=100)
        asked: list[str] = []
        by_duckdb = duckdb_rows._fetched

        def fetched_and_told(query: str, at: Collection[Path], wanted: pa.Table) -> pa.Table:
            asked.append(query)
            return by_duckdb(query, at, wanted)

        monkeypatch.setattr(duckdb_rows, "_fetched", fetched_and_told)
        types = {"x": "bigint", "s": "string", "n": "array<bigint>"}
        positions = [999, 0, 150, 5000]
        first = self.read(path, positions, **types)
        assert len(asked) == 1
        monkeypatch.setitem(sys.modules, "duckdb", None)
        assert self.read(path, positions, **types).equals(first)
        assert first.column("key_1").to_pylist() == [0, 150, 999]
        assert first.column(4).to_pylist() == [[0], [150], [999]]

    def test_a_text_that_is_not_utf_8_is_not_given_by_either(self, tmp_path: Path) -> None:
        broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\x00\x00\x00\x00\x02\x00\x00\x00"), pa.py_buffer(b"\xff\xfe")])
        found = self.read(written(tmp_path, pa.table({"x": broken})), [0], x="string")
        assert found.column(2)[0].as_buffer().to_pybytes() == b"\xff\xfe"


class TestManyFiles:
    @pytest.mark.long
    def test_files_of_one_form_are_one_scan(self, tmp_path: Path) -> None:
        """More than a thousand files, most of them alike: each row has the hash of its own file, and its partition's values."""
        expected, files = set(), {}
        wide, narrow = pa.table({"x": [1, 2], "s": ["a", None]}), pa.table({"s": ["b"], "X": pa.array([7], pa.int32())})
        for form, table in {"w": wide, "n": narrow}.items():
            written(tmp_path, table, f"{form}.parquet")
        for number in range(1_010):
            kind = "n" if number % 100 == 50 else "w"
            folder = tmp_path / f"p={number % 7}'"
            folder.mkdir(exist_ok=True)
            files[str(number - 500)] = str(folder / f"{number} é'.parquet")
            (folder / f"{number} é'.parquet").write_bytes((tmp_path / f"{kind}.parquet").read_bytes())
            rows = [(7, "b")] if kind == "n" else [(1, "a"), (2, None)]
            expected |= {(number - 500, at, f"{number % 7}'", x, s) for at, (x, s) in enumerate(rows)}
        leaf = source(x="bigint", s="string", p="string")
        leaf = replace(leaf, relation=replace(leaf.relation, partition_columns=("p",)))
        read = duckdb_source(leaf, KEY, ["file", "position", "p", "x", "s"], files, TODAYS)
        assert read.query.count("UNION ALL") == 1
        found = fetched("SELECT * FROM t", views={"t": read.query}, tables={}, paths=read.paths).to_pylist()
        assert len(found) == len(expected)
        assert {tuple(row.values()) for row in found} == expected
        without_keys = duckdb_source(leaf, KEY, ["x"], files, TODAYS)
        count = fetched("SELECT count(*) AS n, sum(x) AS x FROM t", views={"t": without_keys.query}, tables={}, paths=without_keys.paths)
        assert count.to_pylist() == [{"n": len(expected), "x": sum(row[3] for row in expected)}]

    def test_bounds(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        files = {str(n): str(written(tmp_path, pa.table({"x": [1], f"y{n}": [n]}), f"{n}.parquet")) for n in range(3)}
        assert duckdb_source(source(x="bigint"), KEY, ["x"], files, TODAYS).query.count("UNION ALL") == 2
        monkeypatch.setattr(of_duckdb, "MOST_FORMS", 2)
        with pytest.raises(CannotReadHere, match="t have 3 different forms; DuckDB is asked for 2"):
            duckdb_source(source(x="bigint"), KEY, ["x"], files, TODAYS)
        monkeypatch.setattr(of_duckdb, "MOST_FILES", 2)
        with pytest.raises(CannotReadHere, match="t has 3 files; DuckDB is asked for 1 to 2"):
            duckdb_source(source(x="bigint"), KEY, ["x"], files, TODAYS)

    def test_a_file_that_changes_its_form_is_no_wrong_answer(self, tmp_path: Path) -> None:
        """Between the look at its footer and the query."""
        files = {str(n): str(written(tmp_path, pa.table({"x": [n, n]}), f"{n}.parquet")) for n in range(2)}
        read = duckdb_source(source(x="bigint"), KEY, ["x", "file"], files, TODAYS)
        written(tmp_path, pa.table({"x": ["one"]}), "1.parquet")
        with pytest.raises(CannotReadHere):
            fetched("SELECT * FROM t", views={"t": read.query}, tables={}, paths=read.paths)
