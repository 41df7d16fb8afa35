"""Rows that are probably many go into files by the job that makes them: the same rows, made once, and no copy of them kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.errors import LoadFailed, UdfFailed
from airflow_lineage_provider.reasons import ReasonedUdf
from airflow_lineage_provider.spark.executing import stored_files, straight
from airflow_lineage_provider.store import Column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.recorded_run import Run
    from airflow_lineage_provider.store import Store

pytestmark = pytest.mark.spark
ROWS = 60
JUDGED = "SELECT id, team, counted_exam(amount) AS judge FROM many_rows WHERE amount < {most}"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for tables of fifty rows and more."""
    monkeypatch.setenv("AIRFLOW_LINEAGE_DATA_ROWS", "50")
    folder = tmp_path / "stored"
    folder.mkdir()
    return folder


@pytest.fixture
def lineage(spark: SparkSession, store: Store, data: Path) -> Lineage:
    return Lineage(spark, store=store, data=str(data))


@pytest.fixture
def exam(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """A source of sixty rows in three files, and a UDF that notes its calls in the file that is given."""
    noted = tmp_path / "calls"
    folder = tmp_path / "many_rows"
    folder.mkdir()
    for at in range(3):
        ids = range(at * 20, at * 20 + 20)
        rows = {"id": ids, "team": [n % 4 for n in ids], "amount": [float(n) for n in ids]}
        parquet.write_table(pa.table(rows), folder / f"{at}.parquet")
    spark.read.parquet(str(folder)).createOrReplaceTempView("many_rows")
    _exam(noted).register(spark)
    yield noted
    spark.catalog.dropTempView("many_rows")


def _exam(noted: Path) -> ReasonedUdf:
    @reasoned_udf("string", name="counted_exam")
    def counted_exam(amount: float) -> str:
        with noted.open("a") as file:
            file.write("x")
        if amount < 0:
            raise ValueError("no such amount")
        return "high" if amount > 30 else "low"

    return counted_exam


def in_files(store: Store, run: Run) -> dict[str, bool]:
    return {name: one.in_files for name, one in store.materializations(run.id).items()}


def kept(spark: SparkSession) -> int:
    return len(spark.sparkContext._jsc.getPersistentRDDs())


def test_they_are_made_once_and_kept_nowhere_else(spark: SparkSession, store: Store, lineage: Lineage, exam: Path, tmp_path: Path) -> None:
    before = kept(spark)
    run = lineage.run(JUDGED.format(most=100), name="many", output=str(tmp_path / "written"))
    assert in_files(store, run) == {"result": True}
    assert kept(spark) == before
    assert len(exam.read_text()) == ROWS
    assert "result.compute" not in run.record.timings
    plain = Lineage(spark, store=store, data="store").run(JUDGED.format(most=100), name="many")
    assert in_files(store, plain) == {"result": False}
    rows = sorted(map(tuple, run.result.collect()))
    assert rows == sorted(map(tuple, plain.result.collect())) == sorted(map(tuple, spark.read.parquet(str(tmp_path / "written")).collect()))
    assert run.result.schema == plain.result.schema
    found, there = (one.explain("id IN (3, 44)", save=False) for one in (run, plain))
    assert sorted(map(repr, found.sources["many_rows"].rows.to_pylist())) == sorted(map(repr, there.sources["many_rows"].rows.to_pylist()))
    assert len(exam.read_text()) == 2 * ROWS


def test_what_stands_above_reads_the_files(spark: SparkSession, store: Store, lineage: Lineage, exam: Path) -> None:
    run = lineage.run(f"SELECT team, judge, count(*) AS n FROM ({JUDGED.format(most=100)}) GROUP BY team, judge", name="grouped")
    assert in_files(store, run) == {"segment_1": True, "result": False}
    assert sum(row.n for row in run.result.collect()) == ROWS == len(exam.read_text())
    (row,) = run.explain("team = 1 AND judge = 'high'", save=False).target.to_pylist()
    assert row["n"] == run.explain("team = 1 AND judge = 'high'", save=False).sources["many_rows"].rows.num_rows


def test_fewer_than_was_thought_go_into_the_database(
    spark: SparkSession, store: Store, lineage: Lineage, exam: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = lineage.run(JUDGED.format(most=7), name="few", output=str(tmp_path / "written"))
    assert in_files(store, run) == {"result": False}
    assert run.result.count() == 7 == len(exam.read_text())
    assert run.record.row_counts["result"] == 7
    assert list(data.iterdir()) == []
    assert [row["id"] for row in run.explain("id = 3", save=False).sources["many_rows"].rows.to_pylist()] == [3]
    # Large ones stay where they are.
    monkeypatch.setenv("AIRFLOW_LINEAGE_DATA_BYTES", "100")
    before = kept(spark)
    large = Lineage(spark, store=store, data=str(data)).run(JUDGED.format(most=7), name="few")
    assert in_files(store, large) == {"result": True}
    assert kept(spark) == before
    assert large.record.row_counts["result"] == large.result.count() == 7
    assert len(exam.read_text()) == 14
    assert [row["id"] for row in large.explain("id = 3", save=False).sources["many_rows"].rows.to_pylist()] == [3]


@pytest.mark.parametrize("laid_out", [" ORDER BY id DESC", " DISTRIBUTE BY team SORT BY id"])
def test_rows_in_an_order_keep_it(store: Store, lineage: Lineage, exam: Path, laid_out: str) -> None:
    run = lineage.run(JUDGED.format(most=100) + laid_out, name="ordered")
    assert all(in_files(store, run).values())
    assert {f"{name}.compute" for name in in_files(store, run)} <= set(run.record.timings)
    ids = [row.id for row in run.result.collect()]
    assert sorted(ids) == list(range(ROWS))
    assert ids == sorted(ids, reverse=True) or "DESC" not in laid_out


def test_a_function_that_fails_is_named_and_nothing_stays(
    spark: SparkSession, lineage: Lineage, exam: Path, data: Path, tmp_path: Path
) -> None:
    spark.sql("SELECT id, team, amount - 59 AS amount FROM many_rows").write.parquet(str(tmp_path / "bad"))
    spark.read.parquet(str(tmp_path / "bad")).createOrReplaceTempView("many_rows")
    with pytest.raises(UdfFailed, match="no such amount"):
        lineage.run(JUDGED.format(most=100), name="fails")
    assert list(data.iterdir()) == []


def test_a_run_that_goes_on_without_its_store_keeps_its_rows_first(store: Store, lineage: Lineage, exam: Path) -> None:
    run = lineage.run(JUDGED.format(most=100), name="kept first", on_store_failure="keep_result")
    assert in_files(store, run) == {"result": True}
    assert "result.compute" in run.record.timings


def test_auto_measures_making_and_storing_apart_the_first_time(store: Store, lineage: Lineage, exam: Path) -> None:
    first, second = (lineage.run(JUDGED.format(most=100), name="auto", strategy="auto") for _ in range(2))
    assert "result.compute" in first.record.timings
    stored = in_files(store, second)
    assert not stored or "result.compute" not in second.record.timings
    assert "earlier run" in second.record.choices[0].because


def test_executors_that_write_elsewhere_are_noticed(lineage: Lineage, exam: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a cluster whose machines have each a folder of that name: the driver finds no files, or some."""
    monkeypatch.setattr(straight, "is_local", lambda _: False)
    run = lineage.run(JUDGED.format(most=100), name="shared")
    assert run.record.row_counts["result"] == ROWS
    monkeypatch.setattr(stored_files, "files_at", lambda spark, folder: {})
    with pytest.raises(LoadFailed, match="has 0 of the 60 rows that were written: driver and executors must see the same folder"):
        lineage.run(JUDGED.format(most=100), name="not shared")
    assert [path.name for path in data.iterdir()] == [run.id]


def test_rows_are_counted_by_footers_as_spark_counts_them(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (
        spark.range(0, 20, 1, 3).where("id <> 5 AND id < 13").selectExpr("named_struct('a', id) AS s", "monotonically_increasing_id() AS n")
    )
    files = stored_files.write(rows, str(tmp_path / "counted"))
    columns = [Column(name="s", type="struct<a:bigint>"), Column(name="n", type="bigint", role="row", nullable=False)]
    made: Any = SimpleNamespace(columns=columns, folder=f"file:{tmp_path}/counted")
    counted = stored_files.rows_in_files(spark, made, files)
    assert counted == {0: 5, 1: 7}
    assert stored_files._rows_in_footers(made.folder, files, 1) == counted
    with monkeypatch.context() as patched:
        patched.setattr(stored_files, "_MOST_FOOTERS", 0)
        assert stored_files.rows_in_files(spark, made, files) == counted


@pytest.mark.parametrize(("numbers", "told"), [([0, 1, 1 << 33], True), ([0, 1], False)])
def test_where_footers_do_not_tell_spark_counts(spark: SparkSession, tmp_path: Path, numbers: list[int], told: bool) -> None:
    """A row group of two partitions, or without statistics; or no file."""
    table = pa.table({"c0": [{"a": 1}] * len(numbers), "c1": pa.array(numbers, pa.int64())})
    parquet.write_table(table, tmp_path / "one.parquet", write_statistics=told)
    columns = [Column(name="s", type="struct<a:bigint>"), Column(name="n", type="bigint", role="row", nullable=False)]
    made: Any = SimpleNamespace(columns=columns, folder=f"file:{tmp_path}")
    assert stored_files.rows_in_files(spark, made, {"one.parquet": 1}) == Counter(one >> 33 for one in numbers)
    assert stored_files._rows_in_footers(made.folder, {"one.parquet": 1}, 1) is None
    assert stored_files._rows_in_footers(made.folder, {"none.parquet": 1}, 1) is None
    assert stored_files._rows_in_footers("s3a://bucket/x", {"one.parquet": 1}, 1) is None
