"""What a result is going to be asked for by: indexed in PostgreSQL, in order in files; the same answers, for less."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.cli import main
from airflow_lineage_provider.errors import InvalidIndex
from airflow_lineage_provider.running.wanted_index import index_of
from airflow_lineage_provider.sources.file_uris import local_path
from airflow_lineage_provider.spark.executing import stored_files
from airflow_lineage_provider.store.read import select_sql
from tests.store.conftest import sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from airflow_lineage_provider.recorded_run import Run
    from airflow_lineage_provider.store import Store
    from airflow_lineage_provider.words import Strategy

pytestmark = pytest.mark.spark
ROWS = 30_000
SCATTERED = "SELECT id, amount * 2 AS doubled, team, amount, made_on FROM scattered WHERE amount >= 0"
ROW_NUMBER = "c7"
"""After the five columns, and the two that say which source row it is."""
TARGETS = ("id = 4711", "team = 'team 30' AND amount = 104", "id IN (3, 29999)", "made_on = DATE '2026-01-05' AND amount = 4")


@pytest.fixture(scope="module")
def scattered(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Rows whose ids are in any order, in two files."""
    folder = tmp_path_factory.mktemp("scattered") / "scattered"
    columns = [
        f"id * 7368787 % {ROWS} AS id",
        "id % 1000 AS amount",
        "concat('team ', id % 97) AS team",
        "date_add('2026-01-01', int(id % 9))",
    ]
    frame = spark.range(0, ROWS, numPartitions=2).selectExpr(*columns[:3], f"{columns[3]} AS made_on")
    frame.write.parquet(str(folder))
    spark.read.parquet(str(folder)).createOrReplaceTempView("scattered")
    yield folder
    spark.catalog.dropTempView("scattered")


def answers(store: Store, run: Run) -> list[Any]:
    """What stands behind each target, by a process that has no Spark."""
    asked = Lineage(store=store).get_run(run.id)
    found = [asked.explain(target, save=False).sources["scattered"].rows for target in TARGETS]
    assert all(one.num_rows for one in found)
    return [sorted(map(str, one.to_pylist())) for one in found]


def indexes(store: Store, run: Run) -> list[str]:
    table = store.materializations(run.id)["result"].table
    found = sql(store.url, "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s::regclass ORDER BY indexrelid", [table])
    return [str(one).rpartition("USING ")[2] for (one,) in found]


def test_what_it_can_be() -> None:
    assert index_of(None) == index_of([]) == ()
    assert index_of(["a", ("b", "a"), ["b"]]) == (("a",), ("b", "a"), ("b",))
    for wrong, told in (
        ("id", r"index='id' is not understood; it can be \[column, \[column, …\], …\]"),
        ({"id": 1}, "is not understood"),
        ([3], "index: 3 is not understood; it can be a column's name"),
        ([[]], r"index: \[\] is not understood"),
        ([""], "index: '' is not understood"),
        ([["a", "a"]], "index names a column twice"),
        (["a", ["a"]], "index names a twice"),
    ):
        with pytest.raises(InvalidIndex, match=told):
            index_of(wrong)


def test_in_postgresql(spark: SparkSession, store: Store, scattered: Path) -> None:
    lineage = Lineage(spark, store=store)
    plain = lineage.run(SCATTERED, name="scattered")
    run = lineage.run(SCATTERED, name="scattered", index=["Team", ["made_on", "amount"], "id"])
    assert run.summary.indexes == (("team",), ("made_on", "amount"), ("id",))
    assert plain.summary.indexes == ()
    assert indexes(store, run) == ["btree (lineage_row_number)", "btree (team)", "btree (made_on, amount)", "btree (id)"]
    assert answers(store, run) == answers(store, plain)
    made = store.materializations(run.id)["result"]
    for condition in ("team = 'team 30' AND amount = 104", "made_on = DATE '2026-01-05' AND amount = 4", "id = 4711"):
        text = select_sql(made.table, made.layout, ["lineage_row_number"], condition, ["lineage_row_number"], 10)
        plan = "\n".join(str(line) for (line,) in sql(store.url, f"EXPLAIN {text}"))
        assert "Seq Scan" not in plan, plan


def test_a_small_result_has_its_index_too(spark: SparkSession, store: Store) -> None:
    run = Lineage(spark, store=store).run("SELECT 1 AS a, 'x' AS b", name="small", index=[["b", "a"]])
    assert indexes(store, run) == ["btree (lineage_row_number)", "btree (b, a)"]


def test_what_is_no_column_is_refused_before_anything_runs(spark: SparkSession, store: Store, scattered: Path, tmp_path: Path) -> None:
    lineage, before = Lineage(spark, store=store), len(store.runs(limit=1000))
    with pytest.raises(InvalidIndex, match="index names column nothing"):
        lineage.run(SCATTERED, name="refused", index=["id", "nothing"], output=str(tmp_path / "never"))
    refused: list[tuple[str, list[Any], dict[str, Any], str]] = [
        (SCATTERED, ["nothing"], {}, "index names column nothing, which the result has not; it has id, doubled, team, amount, made_on"),
        ("SELECT id, id FROM scattered", ["id"], {}, "index names column id, which the result has 2 times"),
        ("SELECT array(id) AS ids FROM scattered", ["ids"], {}, "index names column ids, which is array<bigint>: its values have no order"),
        (SCATTERED, ["id"], {"strategy": "rerun"}, "strategy 'rerun' stores nothing"),
    ]
    for text, index, options, told in refused:
        with pytest.raises(InvalidIndex, match=told):
            lineage.run(text, name="refused", index=index, **options)
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(InvalidIndex, match="index names column Team, which the result has not"):
            lineage.run(SCATTERED, name="refused", index=["Team"])
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    assert len(store.runs(limit=1000)) == before
    assert not (tmp_path / "never").exists()


def test_writes_that_have_its_columns(spark: SparkSession, store: Store, scattered: Path, tmp_path: Path) -> None:
    with Lineage(spark, store=store).recording(index=["id", "doubled"]) as recording:
        spark.sql("SELECT id, team FROM scattered WHERE id < 10").write.parquet(str(tmp_path / "one"))
        spark.sql("SELECT id, amount * 2 AS doubled FROM scattered WHERE id < 10").write.parquet(str(tmp_path / "two"))
    assert [one.summary.indexes for one in recording.runs] == [(("id",),), (("id",), ("doubled",))]


@pytest.mark.parametrize(
    "strategy", ["function_materialization", "auto"], ids=["by the job that makes them", "of rows that are kept first"]
)
def test_in_files(
    strategy: Strategy, spark: SparkSession, store: Store, scattered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_DATA_ROWS", "0")
    monkeypatch.setitem(stored_files._OPTIONS, "parquet.block.size", "16384")
    # Spark's writer looks at the size of a row group after so many rows.
    monkeypatch.setitem(stored_files._OPTIONS, "parquet.page.size.row.check.min", "100")
    monkeypatch.setitem(stored_files._OPTIONS, "parquet.page.size.row.check.max", "100")
    lineage = Lineage(spark, store=store, data=str(tmp_path / "stored"))
    plain, run = (lineage.run(SCATTERED, name=f"by {index} {strategy}", index=index, strategy=strategy) for index in ([], ["id"]))
    assert answers(store, run) == answers(store, plain)
    assert bytes_behind(store, run, "c0", 4711) * 4 < bytes_behind(store, plain, "c0", 4711)
    number = numbered(store, run, 4711)
    assert bytes_behind(store, run, ROW_NUMBER, number) * 4 < bytes_of(store, run)
    for file in files(store, run):
        found = parquet.read_table(file, columns=["c0", ROW_NUMBER])
        assert found.column("c0").to_pylist() == sorted(found.column("c0").to_pylist())
        assert found.column(ROW_NUMBER).to_pylist() == sorted(found.column(ROW_NUMBER).to_pylist())
    assert sorted(map(tuple, run.result.collect())) == sorted(map(tuple, plain.result.collect()))


def files(store: Store, run: Run) -> list[str]:
    made = store.materializations(run.id)["result"]
    assert made.folder is not None
    return [f"{local_path(made.folder)}/{name}" for name in made.files]


def bytes_behind(store: Store, run: Run, column: str, value: int) -> int:
    """The bytes of the row groups that may have a value of a column, by their statistics."""
    total = 0
    for file in files(store, run):
        read = parquet.ParquetFile(file).metadata
        for group in (read.row_group(at) for at in range(read.num_row_groups)):
            found = next(one for one in map(group.column, range(group.num_columns)) if one.path_in_schema == column)
            total += group.total_byte_size if found.statistics.min <= value <= found.statistics.max else 0
    return total


def bytes_of(store: Store, run: Run) -> int:
    read = [parquet.ParquetFile(file).metadata for file in files(store, run)]
    return sum(one.row_group(at).total_byte_size for one in read for at in range(one.num_row_groups))


def numbered(store: Store, run: Run, value: int) -> int:
    rows = pa.concat_tables([parquet.read_table(file, columns=["c0", ROW_NUMBER]) for file in files(store, run)]).to_pylist()
    (found,) = (one[ROW_NUMBER] for one in rows if one["c0"] == value)
    return int(found)


def test_rows_that_are_in_an_order_stay_in_it(
    spark: SparkSession, store: Store, scattered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_DATA_ROWS", "0")
    lineage = Lineage(spark, store=store, data=str(tmp_path / "stored"))
    run = lineage.run("SELECT id, amount FROM scattered WHERE id < 300 ORDER BY amount DESC, id", name="ordered", index=["id"])
    amounts = [one.amount for one in run.result.collect()]
    assert amounts == sorted(amounts, reverse=True)
    assert run.explain("id = 7").sources["scattered"].rows.column("id").to_pylist() == [7]


def test_a_segment_is_in_the_order_of_what_the_result_is_asked_by(
    spark: SparkSession, store: Store, scattered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The groups' rows are looked up by their keys: first by those that people name."""
    monkeypatch.setenv("AIRFLOW_LINEAGE_DATA_ROWS", "0")
    lineage = Lineage(spark, store=store, data=str(tmp_path / "stored"))
    inner = "SELECT team, amount, count(*) AS n FROM scattered GROUP BY team, amount"
    of_few = "SELECT DISTINCT amount AS few FROM scattered WHERE amount < 500"
    text = f"SELECT team, amount, sum(n) AS n FROM ({inner}) JOIN ({of_few}) ON amount = few GROUP BY team, amount"
    plain, run = (lineage.run(text, name="groups", strategy="full_materialization", index=index) for index in ([], ["amount"]))
    stored = store.materializations(run.id)
    names = {name: [column.name for column in one.columns] for name, one in stored.items() if one.kind == "segment"}
    segment = next(stored[name] for name, columns in names.items() if {"team", "amount"} <= set(columns))
    at = names[segment.name].index("amount")
    assert segment.folder is not None
    for name in segment.files:
        found = parquet.read_table(f"{local_path(segment.folder)}/{name}", columns=[f"c{at}"]).column(0).to_pylist()
        assert found == sorted(found)
    rows = [sorted(map(str, one.explain("amount = 11").sources["scattered"].rows.to_pylist())) for one in (plain, run)]
    assert rows[0] == rows[1]
    assert len(rows[0]) == ROWS // 1000


def test_it_is_shown(spark: SparkSession, store: Store, scattered: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = Lineage(spark, store=store).run("SELECT id, amount FROM scattered WHERE id < 100", name="few", index=[["amount", "id"], "id"])
    assert main(["--store", store.url, "show", run.id]) == 0
    assert "amount, id; id" in capfd.readouterr().out
