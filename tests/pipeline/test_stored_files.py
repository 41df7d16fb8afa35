"""Stored rows in files at a URI: the same answers as from PostgreSQL, removed with their run, and never fewer than were written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from pyarrow import parquet

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.deriving import duckdb_engine, stored_files
from airflow_lineage_provider.errors import InvalidOption, LoadFailed, SparkRequired, StoredRowsGone, TracingError
from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.reasons import payload
from airflow_lineage_provider.spark.executing import few_rows
from airflow_lineage_provider.spark.executing.stored_files import are_taken
from airflow_lineage_provider.store import Materialization
from airflow_lineage_provider.words import Strategy
from tests.oracle.check import check
from tests.oracle.examples import EXAMPLES, TABLES
from tests.oracle.strategies import STYLES, Case
from tests.pipeline.small_files import write_parquet
from tests.store.conftest import sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.answers.explanation import Explanation
    from airflow_lineage_provider.recorded_run import Run
    from airflow_lineage_provider.store import Store

pytestmark = pytest.mark.spark


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for stored rows, however few they are."""
    monkeypatch.setenv("AIRFLOW_LINEAGE_DATA_ROWS", "0")
    folder = tmp_path / "stored ü %41"
    folder.mkdir()
    return folder


@pytest.fixture
def lineage(spark: SparkSession, store: Store, data: Path) -> Lineage:
    return Lineage(spark, store=store, data=str(data))


@reasoned_udf("string", name="files_exam")
def files_exam(income: float, amount: float) -> str:
    return "Reject" if amount > 5 * income else "Accept"


@files_exam.with_reason
def _(income: float, amount: float) -> tuple[str, payload.Json]:
    return files_exam.main(income, amount), payload.Json({"ratio": amount / income})


JUDGED = (
    "SELECT c.region, files_exam(c.income, l.amount) AS judge, count(*) AS n FROM client c JOIN loan l ON c.id = l.client GROUP BY 1, 2"
)


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Iterator[None]:
    """One table of files, and one that the session alone has."""
    loans = [(1, 1000.0), (2, 10.0), (3, 5000.0), (1, 700.0)]
    assert write_parquet(tmp_path / "loan", loans, "client int, amount double", files=2)
    spark.read.parquet(str(tmp_path / "loan")).createOrReplaceTempView("loan")
    clients = [(1, "N", 100.0), (2, "N", 900.0), (3, "S", 50.0)]
    spark.createDataFrame(clients, "id int, region string, income double").createOrReplaceTempView("client")
    files_exam.register(spark)
    yield
    for name in ("loan", "client"):
        spark.catalog.dropTempView(name)


def told(found: Explanation) -> dict[str, Any]:
    """An answer without what says where it came from; rows in no order, as those are that were made again."""
    rows = {name: sorted(map(repr, table.rows.to_pylist())) for name, table in found.sources.items()}
    reasons = {name: sorted(map(repr, table.rows.drop_columns("row").to_pylist())) for name, table in found.reasons.items()}
    return {
        "target": sorted(map(repr, found.target.to_pylist())),
        "sources": rows,
        "reasons": reasons,
        "levels": {n: t.guarantee for n, t in found.tables.items()},
    }


@pytest.mark.parametrize(("strategy", "asked"), [("function_materialization", (0, 2, 3)), ("full_materialization", (1,))])
def test_the_answers_are_those_from_postgresql(
    spark: SparkSession, store: Store, lineage: Lineage, tables: None, strategy: Strategy, asked: tuple[int, ...]
) -> None:
    in_files = lineage.run(JUDGED, name="files", strategy=strategy)
    in_tables = Lineage(spark, store=store).run(JUDGED, name="tables", strategy=strategy)
    stored = store.materializations(in_files.id)
    assert stored
    assert all(one.in_files for one in stored.values())
    in_files.close()
    assert sorted(map(tuple, in_files.result.collect())) == sorted(map(tuple, in_tables.result.collect())) if "result" in stored else True
    questions: list[Callable[[Run], Any]] = [
        lambda run: told(run.explain("judge = 'Reject'", save=False, verify=True)),
        lambda run: told(run.explain({"region": "N", "judge": "Accept", "n": 1}, save=False)),
        lambda run: run.why_not("client = 2", table="loan").to_dict()["rows"],
        lambda run: sorted(run.forward("client = 1", table="loan").rows.to_pylist(), key=repr),
    ]
    for question in (questions[number] for number in asked):
        assert question(lineage.get_run(in_files.id)) == question(Lineage(spark, store=store).get_run(in_tables.id))


def test_no_spark_is_needed_for_files_of_this_machine(store: Store, lineage: Lineage, tables: None) -> None:
    run = lineage.run(JUDGED, name="files")
    without = Lineage(store=store).get_run(run.id)
    found = without.explain("judge = 'Reject'", save=False)
    assert {query.engine for query in found.queries} == {"duckdb"}
    assert told(found) == told(lineage.get_run(run.id).explain("judge = 'Reject'", save=False))
    rows = without.result_table()
    assert without.explain(at=[0], save=False).target.to_pylist() == rows.slice(0, 1).to_pylist()
    assert without.result_table(limit=1).num_rows == 1
    assert sorted(map(repr, rows.to_pylist())) == sorted(repr(row.asDict()) for row in run.result.collect())


def test_a_stored_row_is_looked_up_not_looked_for(store: Store, lineage: Lineage, tables: None, monkeypatch: pytest.MonkeyPatch) -> None:
    run = lineage.run("SELECT client, amount FROM loan WHERE amount > 0", name="rows", strategy="full_materialization")
    without, rows = Lineage(store=store).get_run(run.id), run.result_table().to_pylist()
    run.close()
    monkeypatch.setattr(duckdb_engine, "view", lambda *_: pytest.fail("all rows are read"))
    for at in range(len(rows)):
        found = without.explain(at=[at], save=False)
        assert [{name: row[name] for name in ("client", "amount")} for row in found.sources["loan"].rows.to_pylist()] == [rows[at]]
    monkeypatch.undo()
    monkeypatch.setattr(duckdb_engine, "FEW_ROWS", 0)
    assert told(without.explain(at=[0], save=False))["sources"] == told(lineage.get_run(run.id).explain(at=[0], save=False))["sources"]


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "a correlated subquery with UDFs"][::24])
def test_every_operator(name: str, lineage: Lineage, spark: SparkSession) -> None:
    """Some of the operators; random pipelines have all of them in files where `FUZZ_DATA` is set."""
    turn = list(EXAMPLES).index(name)
    case = Case(tables=TABLES, query=EXAMPLES[name], style=STYLES[turn % len(STYLES)], strategy="full_materialization")
    check(case, lineage, spark)


VALUES = {
    "boolean": "true", "tinyint": "-128Y", "smallint": "-32768S", "int": "-2147483648", "bigint": "-9223372036854775808L",
    "float": "CAST('NaN' AS float)", "double": "-0.0D", "decimal(38,18)": "-99999999999999999999.999999999999999999BD", "string": "'ü\\0'",
    "binary": "X'00FF'", "date": "DATE'0001-01-01'", "timestamp": "TIMESTAMP'0001-01-01 00:00:00.000001Z'",
    "timestamp_ntz": "TIMESTAMP_NTZ'1500-01-01 12:00:00'", "array<double>": "array(1.5D, NULL, double('NaN'))",
    "map<string,array<int>>": "map('a', array(1, NULL))",
    "struct<a:int,b:array<struct<c:string>>>": "struct(1 AS a, array(struct('x' AS c)) AS b)",
}  # fmt: skip


def test_every_type_comes_back_as_it_was(spark: SparkSession, store: Store, lineage: Lineage) -> None:
    columns = ", ".join(f"IF(id = 0, CAST({value} AS {kind}), NULL) AS v{at}" for at, (kind, value) in enumerate(VALUES.items()))
    frame = spark.sql(f"SELECT id, {columns} FROM range(3)")
    with_settings = {"spark.sql.parquet.outputTimestampType": "INT96", "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY"}
    before = {name: str(spark.conf.get(name)) for name in with_settings}
    try:
        for name, value in with_settings.items():
            spark.conf.set(name, value)
        run = lineage.run(lambda spark: frame, name="types", strategy="full_materialization")
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    assert store.materializations(run.id)["result"].in_files
    plain = Lineage(spark, store=store).run(lambda spark: frame, name="types", strategy="full_materialization")
    run.close()
    here, there = lineage.get_run(run.id), plain.result_table()
    assert here.result_table().schema == there.schema
    assert repr(here.result_table().to_pylist()) == repr(there.to_pylist())
    assert repr(here.result.toArrow().to_pylist()) == repr(there.to_pylist())
    _both_ways(store.materializations(run.id)["result"])


def _both_ways(result: Materialization) -> None:
    """Rows by their numbers: looked up by DuckDB at their positions, or by the numbers, and read by Arrow."""
    names = [column.name for column in result.columns]
    numbers = stored_files.first(result, [ROW], None).column(0).to_pylist()[:-1]
    found_by_duckdb = {"_LITTLE": 0, "_of_groups": lambda *_: pytest.fail("DuckDB has to find them")}
    ways: list[dict[str, Any]] = [
        found_by_duckdb,
        {**found_by_duckdb, "_Group.positions": lambda *_: None},
        {"_LITTLE": 0, "_Group.positions": lambda self, wanted: self.among(wanted) * 0},
        {"fetched": lambda *_, **__: pytest.fail("this is little")},
        {"_LITTLE": 0, "FEW_ROWS": 0, "fetched": lambda *_, **__: pytest.fail("these are many")},
    ]
    found = []
    for way in ways:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in way.items():
                patch.setattr(f"{stored_files.__name__}.{name}", value)
            found.append(stored_files.rows(result, [*names, names[0]], numbers))
    assert {one.schema for one in found} == {found[0].schema}
    assert {one.num_rows for one in found} == {len(numbers)} == {2}
    assert len({repr([column.to_pylist() for column in one.columns]) for one in found}) == 1


_TAKEN = {
    "int": True, "string collate UTF8_LCASE": False, "array<string collate UTF8_LCASE>": False, "interval day to second": False,
    "void": False, "variant": False, "struct<a:double>": False, "struct<a:array<double>>": True, "map<string,double>": True,
    "varchar(3)": False, "time(6)": False, "decimal(38,0)": True, "struct<a:int,A:int>": False, "struct<>": False,
}  # fmt: skip


def test_types_that_files_do_not_take_stay_in_postgresql() -> None:
    assert {kind: are_taken(["int", kind]) for kind in _TAKEN} == _TAKEN


def test_conditions_find_nan(spark: SparkSession, lineage: Lineage, tmp_path: Path) -> None:
    """A file's statistics leave NaN out, which is larger than every number: Spark's and DuckDB's scans are kept from skipping by them."""
    spark.sql("SELECT id, IF(id = 7, double('NaN'), double(id)) AS x FROM range(10)").coalesce(1).write.parquet(str(tmp_path / "x"))

    def pipeline(spark: SparkSession) -> DataFrame:
        spark.read.parquet(str(tmp_path / "x")).createOrReplaceTempView("numbers_x")
        return spark.sql("SELECT id, x FROM numbers_x")

    run = lineage.run(pipeline, strategy="full_materialization")
    run.close()
    for more in ("", " AND sha1(string(id)) <> ''"):  # DuckDB's, and Spark's
        for least, found in ((8.5, [7, 9]), (100, [7])):
            asked = lineage.get_run(run.id).explain(f"x > {least}{more}", save=False)
            assert sorted(asked.target.column("id").to_pylist()) == found


def test_times_are_what_they_were_whatever_the_session_calls_a_timestamp(spark: SparkSession, store: Store, lineage: Lineage) -> None:
    """TIMESTAMP means without a zone there; the reader of files would take the one for the other, some hours off."""
    settings = {"spark.sql.timestampType": "TIMESTAMP_NTZ", "spark.sql.session.timeZone": "Europe/Berlin"}
    before = {name: str(spark.conf.get(name)) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        frame = spark.sql(
            "SELECT id, CAST('2025-07-01 12:00:00' AS TIMESTAMP_LTZ) AS at, named_struct('x', current_timestamp()) AS s FROM range(2)"
        )
        run = lineage.run(lambda spark: frame, name="times", strategy="full_materialization")
        made = run.result_table().to_pylist()
        run.close()
        again = lineage.get_run(run.id)
        assert [row.at for row in again.result.collect()] == [row.at for row in frame.collect()]
        assert again.result.dtypes == frame.dtypes
        assert again.result_table().to_pylist() == made
        for target in ("at = '2025-07-01 12:00:00'", "at = '2025-07-01 12:00:00' AND sha1(string(id)) <> ''"):
            assert again.explain(target, save=False).target.num_rows == 2
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def test_a_place_that_is_gone_is_no_runs_business(spark: SparkSession, store: Store, lineage: Lineage, tables: None, data: Path) -> None:
    """What is to be removed there waits; and what is not to be reached is told."""
    away = Lineage(spark, store=store, data="hdfs://no-such-host.invalid/lineage")
    with pytest.raises(LoadFailed, match=r"below hdfs://no-such-host.invalid/lineage failed: "):
        away.run(JUDGED, name="files")
    kept = away.run(JUDGED, name="files", on_store_failure="keep_result")
    assert kept.lineage_lost
    assert kept.result.count() == 3
    run = lineage.run(JUDGED, name="files")
    away.drop(run.id)
    assert folders(data) == []


def test_few_rows_that_are_not_large_stay_in_postgresql(
    lineage: Lineage, store: Store, tables: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which rows these are is the same whether they came to the driver, or Spark alone has them; what it keeps and nobody stores is none
    of their size."""
    monkeypatch.setenv("AIRFLOW_LINEAGE_DATA_ROWS", "4")
    monkeypatch.setenv("AIRFLOW_LINEAGE_DATA_BYTES", "20000")
    limited = Lineage(lineage.spark, store=store, data=str(lineage.data.folder if lineage.data else ""))
    run = limited.run(
        "SELECT client, files_exam(amount, amount) AS judge, explode(array(1, 2)) AS x FROM loan", strategy="full_materialization"
    )
    few = limited.run("SELECT client, files_exam(amount, amount) AS judge FROM loan WHERE client = 1")
    assert {one.in_files for one in store.materializations(run.id).values()} == {True}
    assert {one.in_files for one in store.materializations(few.id).values()} == {False}
    texts = "SELECT client, amount, repeat(CAST(client AS STRING), 10000) AS text FROM loan WHERE amount > 100"
    large = f"SELECT client, files_exam(amount, amount) AS judge, text FROM ({texts})"
    plain = Lineage(lineage.spark, store=store, data="store").run(large)
    assert not store.materializations(plain.id)["result"].in_files
    expected = plain.explain("client = 3", save=False)
    for rows_brought in (few_rows._ROWS, 1):
        monkeypatch.setattr(few_rows, "_ROWS", rows_brought)
        wide = limited.run(large)
        assert store.materializations(wide.id)["result"].in_files
        found = wide.explain("client = 3", save=False)
        assert found.target.to_pylist() == expected.target.to_pylist() == [{"client": 3, "judge": "Accept", "text": "3" * 10_000}]
        assert found.sources["loan"].rows.equals(expected.sources["loan"].rows)
        assert found.sources["loan"].rows.num_rows == 1
        assert found.sources["loan"].guarantee.level == "exact"
    grouped = limited.run(f"SELECT judge, sum(length(text)) AS letters FROM ({large}) GROUP BY judge")
    assert {name: one.in_files for name, one in store.materializations(grouped.id).items()} == {"segment_1": False, "result": False}
    assert [row.letters for row in grouped.result.collect()] == [30_000]


def folders(data: Path) -> list[str]:
    return sorted(path.name for path in data.iterdir())


def listed(store: Store, data: Path) -> list[str]:
    return [one for one, _ in store.discarded_folders() if one.startswith(f"file:{data}/")]


def test_files_go_with_their_run(lineage: Lineage, store: Store, tables: None, data: Path) -> None:
    run = lineage.run(JUDGED, name="files")
    assert folders(data) == [run.id]
    made = store.materializations(run.id)["result"]
    assert made.table.split(".")[1].strip('"') not in {name for (name,) in sql(store.tcp_url, "SELECT relname FROM pg_class")}
    assert store.table_sizes(run.id)["result"] == sum(made.files.values()) == run.stored[0].bytes > 0
    assert run.stored[0].folder == made.folder
    lineage.drop(run.id)
    assert folders(data) == []
    assert listed(store, data) == []


def test_a_run_that_fails_leaves_no_files(lineage: Lineage, tables: None, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_lineage_provider.store.store.Store.publish_run", lambda *_, **__: 1 / 0)
    with pytest.raises(Exception, match="division"):
        lineage.run(JUDGED, name="files")
    assert folders(data) == []


def test_a_place_that_cannot_be_written_is_named(lineage: Lineage, tables: None, data: Path, store: Store) -> None:
    data.rmdir()
    data.write_text("a file")
    with pytest.raises(LoadFailed, match=r"storing '.*' of run .* below /.*stored ü %41"):
        lineage.run(JUDGED, name="files")
    data.unlink()
    kept = Lineage(lineage.spark, store=store, data=str(data), on_store_failure="keep_result")
    data.write_text("a file")
    run = kept.run(JUDGED, name="files")
    assert run.result.count() == 3
    assert "storing" in run.lineage_lost


def _damage(file: Path) -> None:
    """One bit of a page, by which DuckDB reads other values of the first column, and says nothing."""
    shutil.copy2(file, f"{file}.before")
    file.with_name(f".{file.name}.crc").unlink()  # Hadoop's, on local disks alone, and lost where files are copied
    content, chunk = file.read_bytes(), parquet.ParquetFile(file).metadata.row_group(0).column(0)
    before = duckdb.execute(f"SELECT c0 FROM read_parquet('{file}')").fetchall()
    for place in range(chunk.data_page_offset, chunk.data_page_offset + chunk.total_compressed_size):
        file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with suppress(duckdb.Error):
            if duckdb.execute(f"SELECT c0 FROM read_parquet('{file}')").fetchall() != before:
                return
    raise AssertionError("every bit is told")


def test_a_file_less_or_another_is_an_error_and_no_answer(
    lineage: Lineage, tables: None, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = lineage.run("SELECT client, files_exam(amount, amount) AS judge FROM loan", name="files")
    made = store.materializations(run.id)["result"]
    file = Path("/" + str(made.folder).removeprefix("file:").lstrip("/")) / sorted(made.files)[-1]
    content = file.read_bytes()
    without = Lineage(store=store).get_run(run.id)
    file.write_bytes(content + b" ")
    with pytest.raises(StoredRowsGone, match=r"the run wrote [\d,]+"):
        without.result_table()
    file.unlink()
    for question in (without.result_table, lambda: without.explain("client = 1", save=False), lambda: without.explain(at=0, save=False)):
        with pytest.raises(StoredRowsGone, match="is gone: restore it, or run again"):
            question()
    with pytest.raises(StoredRowsGone, match="is gone: restore it, or run again"):
        lineage.get_run(run.id).explain("sha1(string(client)) <> ''", save=False)
    for damaged in (b"x" * len(content), b"PAR1" + b"\xff" * 20 + content[24:]):
        file.write_bytes(damaged)
        with pytest.raises(StoredRowsGone, match="is damaged, or another"):
            without.result_table()
    file.write_bytes(content)
    assert without.result_table().num_rows == 4
    # Of the same length, and the same to whoever looks at no checksum.
    _damage(file)
    for question in (without.result_table, lambda: without.explain("client >= 1", save=False), lambda: without.explain(at=0, save=False)):
        with pytest.raises(StoredRowsGone, match="is damaged, or another: it has another checksum; restore it, or run again"):
            question()
    with pytest.raises(TracingError, match="failed in Spark") as problem:
        lineage.get_run(run.id).explain("sha1(string(client)) <> ''", save=False)
    assert "CRC checksum verification failed" in str(problem.value.__cause__)
    # Of what an older release wrote nobody knows a checksum of the whole: Arrow looks at those of the pages.
    monkeypatch.setattr(Materialization, "check_content", lambda *_: None)
    with pytest.raises(StoredRowsGone, match="CRC checksum verification failed"):
        without.result_table()
    shutil.move(f"{file}.before", file)
    monkeypatch.undo()
    assert without.result_table().num_rows == 4


DRIVER = """
import os, sys
from pathlib import Path
from pyspark.sql import SparkSession
from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store.run_store import RunStore
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
RunStore.enter_files = lambda *_: os._exit(9)  # killed when the files are there, and nobody was told
Lineage(spark, data=sys.argv[1]).run("SELECT id FROM range(5)", name="killed", strategy="full_materialization")
"""


def test_files_of_a_driver_that_was_killed_are_removed_at_the_next_opening(store: Store, data: Path, lineage_home: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", DRIVER, str(data)], env={**os.environ}, capture_output=True, text=True)
    assert killed.returncode == 9, killed.stderr[-2000:]
    (run_folder,) = data.iterdir()
    assert list(run_folder.rglob("*.parquet"))
    Lineage().close()
    assert folders(data) == []


def test_a_folder_that_is_not_mounted_here_stays_listed(lineage: Lineage, tables: None, store: Store, data: Path) -> None:
    run = lineage.run(JUDGED, name="files")
    stored = {str(one.folder) for one in store.materializations(run.id).values()}
    elsewhere = data.with_name("elsewhere")
    shutil.move(data, elsewhere)
    lineage.drop(run.id)
    assert set(listed(store, data)) == stored
    shutil.move(elsewhere, data)
    Lineage(store=store.url).close()
    assert listed(store, data) == []
    assert folders(data) == []


def test_a_file_system_that_only_spark_reaches(spark: SparkSession, store: Store, data: Path, tables: None) -> None:
    """Hadoop's ViewFs stands for S3 and HDFS: a scheme of its own, behind which nothing but Hadoop's client finds the files."""
    conf = spark._jsc.hadoopConfiguration()
    data_there = data.with_name("plain")
    data_there.mkdir()
    conf.set("fs.viewfs.mounttable.lineage.link./stored", f"file://{data_there}")
    remote = Lineage(spark, store=store, data="viewfs://lineage/stored")
    run = remote.run(JUDGED, name="files")
    plain = Lineage(spark, store=store).run(JUDGED, name="tables")
    run.close()
    assert folders(data_there) == [run.id]
    again = remote.get_run(run.id)
    for target in ({"target": "judge = 'Reject'"}, {"at": 1}):
        assert told(again.explain(**target, save=False)) == told(plain.explain(**target, save=False))
    assert again.result_table().to_pylist() == plain.result_table().to_pylist()
    assert again.result_table(limit=2).to_pylist() == plain.result_table(limit=2).to_pylist()
    with pytest.raises(SparkRequired, match="viewfs://lineage/stored"):
        Lineage(store=store).get_run(run.id).result_table()
    remote.drop(run.id)
    assert folders(data_there) == []


@pytest.mark.parametrize("given", ["", "relative/path", "/", "C:\\x", 7, "/a/{b}", "/a/b*"])
def test_a_place_that_is_none(given: Any) -> None:
    with pytest.raises(InvalidOption, match=r"absolute path or as a URI|for a pattern"):
        Lineage(data=given)
