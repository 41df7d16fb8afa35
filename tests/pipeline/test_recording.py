"""What a program writes by Spark's own writers: written as Spark writes it, and recorded; or refused before anything is written."""

from __future__ import annotations

import json
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from inspect import isfunction, signature
from pathlib import Path
from typing import Any

import pytest
from pyspark.core.rdd import RDD
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, DataFrameWriter, DataFrameWriterV2, Row, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.merge import MergeIntoWriter
from pyspark.sql.streaming.readwriter import DataStreamWriter

from airflow_lineage_provider import Lineage, payload, reasoned_udf
from airflow_lineage_provider.errors import (
    InvalidOption,
    InvalidOutput,
    LineageError,
    SparkRequired,
    UdfFailed,
    WriteNotRecorded,
    WriteNotSeen,
)
from airflow_lineage_provider.spark.writing.watching import watched
from tests.in_turn import sampled
from tests.pandas_on_spark import pandas_on_spark

pytestmark = pytest.mark.spark

Write = Callable[[SparkSession, DataFrame, str, str], Any]
"""Writes a frame below a folder, or to a table whose name begins like this."""


@reasoned_udf("int")
def twice(x: int) -> int:
    return 2 * x


@twice.with_reason
def _(x: int) -> tuple[int, payload.Json]:
    return 2 * x, payload.Json({"x": x})


@reasoned_udf("int")
def stumbles(x: int) -> int:
    if x == 3:
        raise ValueError("three")
    return x


@pytest.fixture(scope="module")
def source(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("recording") / "numbers")
    spark.sql("SELECT CAST(id AS int) AS n, CAST(id % 2 AS int) AS odd, CONCAT('n', id) AS name FROM range(6)").write.parquet(path)
    twice.register(spark)
    stumbles.register(spark)
    return path


@pytest.fixture
def judged(spark: SparkSession, source: str) -> DataFrame:
    return spark.read.parquet(source).selectExpr("n", "odd", "name", "twice(n) AS double").where("n > 0")


@pytest.fixture
def tables(spark: SparkSession) -> Iterator[str]:
    """A name that those of the test's tables begin with."""
    yield "written"
    for name in _tables(spark, "written"):
        spark.sql(f"DROP TABLE {name}")


def _tables(spark: SparkSession, prefix: str) -> list[str]:
    return sorted(row["tableName"] for row in spark.sql(f"SHOW TABLES LIKE '{prefix}*'").collect())


def derby(folder: str) -> str:
    return f"jdbc:derby:{folder}/db;create=true"


def _pandas(frame: DataFrame) -> Any:
    return pandas_on_spark(frame)


WRITES: dict[str, tuple[Write, tuple[str, str, str]]] = {
    "parquet": (lambda _, df, at, __: df.write.partitionBy("odd").mode("overwrite").parquet(f"{at}/x"), ("path", "parquet", "overwrite")),
    "csv": (lambda _, df, at, __: df.coalesce(1).write.csv(f"{at}/x", header=True, sep=";"), ("path", "csv", "error")),
    "path as an option": (lambda _, df, at, __: df.write.format("json").option("path", f"{at}/x").save(), ("path", "json", "error")),
    "append": (lambda _, df, at, __: df.write.save(f"{at}/x", format="orc", mode="append"), ("path", "orc", "append")),
    "ignore": (lambda _, df, at, __: df.select("name").write.mode("ignore").text(f"{at}/x"), ("path", "text", "ignore")),
    "buckets": (lambda _, df, __, t: df.write.bucketBy(2, "n").sortBy("n").saveAsTable(f"{t}_x"), ("table", "parquet", "error")),
    "insertInto": (lambda _, df, __, t: df.write.insertInto(f"{t}_there", overwrite=True), ("table", "parquet", "overwrite")),
    "writeTo": (lambda _, df, __, t: df.writeTo(f"{t}_x").using("orc").partitionedBy("odd").create(), ("table", "table", "error")),
    "INSERT": (
        lambda spark, df, __, t: spark.sql(f"WITH a AS (SELECT * FROM {{df}}) INSERT INTO {t}_there SELECT * FROM a", df=df),
        ("table", "table", "append"),
    ),
    "CREATE TABLE": (
        lambda spark, df, __, t: spark.sql(f"CREATE TABLE {t}_x USING json COMMENT 'c' AS SELECT * FROM {{df}}", df=df),
        ("table", "table", "error"),
    ),
    "DIRECTORY": (
        lambda spark, df, at, _: spark.sql(
            f"INSERT OVERWRITE DIRECTORY '{at}/x' USING csv OPTIONS (SEP ';', `a.key` 'k') SELECT * FROM {{df}}", df=df
        ),
        ("path", "csv", "overwrite"),
    ),
    "JDBC": (lambda _, df, at, __: df.write.jdbc(derby(at), "x", mode="overwrite"), ("jdbc", "jdbc", "overwrite")),
    "another source": (lambda _, df, __, ___: df.write.format("noop").mode("append").save(), ("source", "noop", "append")),
}


@pytest.mark.parametrize("name", sampled(WRITES, 3))
def test_every_writer_writes_what_it_wrote_and_is_recorded(
    lineage: Lineage, spark: SparkSession, judged: DataFrame, tmp_path: Path, tables: str, name: str
) -> None:
    write, expected = WRITES[name]
    for prefix in (f"{tables}_plain", f"{tables}_recorded"):
        if name in ("insertInto", "INSERT"):
            spark.sql(f"CREATE TABLE {prefix}_there (n INT, odd INT, name STRING, double INT) USING parquet")
    write(spark, judged, str(tmp_path / "plain"), f"{tables}_plain")
    with lineage.recording(progress=False) as recording:
        write(spark, judged, str(tmp_path / "recorded"), f"{tables}_recorded")
    (run,) = recording.runs
    output = run.record.output
    assert output is not None
    assert (output.kind, output.format, output.mode) == expected
    assert output.options == {"csv": {"header": "true", "sep": ";"}, "DIRECTORY": {"sep": ";"}}.get(name)
    assert run.summary.rows == 5
    assert _found(spark, tmp_path / "recorded", f"{tables}_recorded") == _found(spark, tmp_path / "plain", f"{tables}_plain")


def _found(spark: SparkSession, at: Path, prefix: str) -> Any:
    """What was written: rows of files and tables, how they lie, and how a table was made."""
    rows: list[Any] = []
    for table in _tables(spark, prefix):
        made = spark.sql(f"SHOW CREATE TABLE {table}").collect()[0][0].replace(prefix, "")
        rows.append((made, sorted(map(str, spark.table(table).collect()))))
    if (at / "db").exists():
        rows.append(sorted(map(str, spark.read.jdbc(derby(str(at)), "x").collect())))
    elif at.exists():
        # Files begin with their numbers, and end with what they are.
        rows.append(sorted({(str(p.parent.relative_to(at)), p.name[:4], p.suffix) for p in at.rglob("*.*") if p.name[0] != "."}))
        kind = next(p.suffix for p in at.rglob("part-*"))[1:]
        rows.append(
            sorted(
                map(str, spark.read.option("header", True).option("sep", ";").format(kind.replace("txt", "text")).load(f"{at}/x").collect())
            )
        )
    return rows


@pytest.mark.filterwarnings("ignore:If `index_col` is not specified")
def test_pandas_on_spark_and_several_writes(lineage: Lineage, spark: SparkSession, judged: DataFrame, tmp_path: Path, tables: str) -> None:
    frame = _pandas(judged)
    with lineage.recording(name="both", params={"month": 12}, clear_params=["month"], context={"dag_id": "d"}, progress=False) as recording:
        frame.to_parquet(str(tmp_path / "p"), mode="overwrite", index_col=None)
        frame.to_table(f"{tables}_ps", format="parquet")
        judged.where("n > 100").write.parquet(str(tmp_path / "empty"))
    assert [(run.summary.pipeline, run.summary.rows, run.record.params, run.record.airflow) for run in recording.runs] == [
        ("both", rows, {"month": 12}, {"dag_id": "d"}) for rows in (5, 5, 0)
    ]
    assert spark.read.parquet(str(tmp_path / "empty")).columns == judged.columns
    assert spark.table(f"{tables}_ps").count() == spark.read.parquet(str(tmp_path / "p")).count() == 5


def test_what_was_written_is_explained_and_traced_through(lineage: Lineage, spark: SparkSession, judged: DataFrame, tmp_path: Path) -> None:
    path = str(tmp_path / "judged")
    with lineage.recording(progress=False) as recording:
        judged.write.parquet(path)
        spark.read.parquet(path).groupBy("odd").sum("double").write.parquet(f"{path}_sums")
    first, second = recording.runs
    assert [first.summary.pipeline, second.summary.pipeline] == ["judged", "judged_sums"]
    explanation = first.explain("n = 4", progress=False)
    assert [row["n"] for row in explanation.sources["numbers"].rows.to_pylist()] == [4]
    assert [json.loads(one["reason"])["value"] for one in explanation.reasons["twice"].rows.to_pylist()] == [{"x": 4}]
    across = second.explain("odd = 1", progress=False)
    assert sorted(row["n"] for row in across.sources["numbers"].rows.to_pylist()) == [1, 3, 5]


def test_ignored_and_existing(lineage: Lineage, judged: DataFrame, source: str, tables: str) -> None:
    """Spark's own errors, and nothing is begun."""
    before = len(lineage.runs(limit=1000))
    with lineage.recording(progress=False) as recording:
        judged.write.mode("ignore").parquet(source)
        with pytest.raises(AnalysisException, match="PATH_ALREADY_EXISTS"):
            judged.write.parquet(source)
        judged.sparkSession.sql(f"CREATE TABLE {tables}_there (n INT) USING parquet")
        with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
            judged.write.saveAsTable(f"{tables}_there")
        with pytest.raises(AnalysisException, match="TOO_MANY_DATA_COLUMNS"):
            judged.write.insertInto(f"{tables}_there")
        with pytest.raises(AnalysisException, match="UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE"):
            judged.selectExpr("array(n) AS many").write.csv(f"{source}_many")
        with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
            judged.sparkSession.sql("INSERT INTO nowhere SELECT 1")
    assert recording.runs == ()
    made = lineage.runs(limit=1000)
    late = 2 if judged.sparkSession.version < "4.1" else 0  # (what columns may be written Spark 4.0 looks at when it writes)
    assert [one.status for one in made[: len(made) - before]] == ["failed"] * late


def test_a_place_that_is_read(lineage: Lineage, spark: SparkSession, judged: DataFrame, tmp_path: Path, tables: str) -> None:
    path = str(tmp_path / "place")
    with lineage.recording(progress=False) as recording:
        judged.write.parquet(path)
        with pytest.raises(InvalidOutput, match="replaces files that it reads"):
            spark.read.parquet(path).write.mode("overwrite").parquet(path)
        spark.read.parquet(path).where("n = 5").write.mode("append").parquet(path)
        judged.write.jdbc(derby(str(tmp_path)), "x")
        with pytest.raises(InvalidOutput, match="drops the table that it reads"):
            spark.read.jdbc(derby(str(tmp_path)), "x").write.jdbc(derby(str(tmp_path)), "x", mode="overwrite")
        judged.write.saveAsTable(f"{tables}_t")
        with pytest.raises(AnalysisException, match="UNSUPPORTED_OVERWRITE"):
            spark.table(f"{tables}_t").write.mode("overwrite").saveAsTable(f"{tables}_t")
        rows = spark.read.parquet(path).localCheckpoint()
        rows.write.mode("overwrite").parquet(path)
    assert [run.summary.rows for run in recording.runs] == [5, 1, 5, 5, 6]
    assert sorted(row["n"] for row in spark.read.parquet(path).collect()) == [1, 2, 3, 4, 5, 5]


REFUSED: dict[str, tuple[Write, str]] = {
    "MERGE": (
        lambda _, df, __, t: df.alias("s").mergeInto(f"{t}_there", df.n == df.n).whenMatched().delete().merge(),
        "changes rows in place",
    ),
    "DELETE": (lambda spark, _, __, t: spark.sql(f"DELETE FROM {t}_there"), "DELETE has no rows of its own"),
    "several": (
        lambda spark, _, __, t: spark.sql(f"FROM {t}_there INSERT INTO {t}_there SELECT n INSERT INTO {t}_there SELECT -n"),
        "give them one by one",
    ),
    "a script": (lambda spark, _, __, t: spark.sql(f"BEGIN INSERT INTO {t}_there SELECT 1; END"), "one by one"),
    "EXECUTE": (lambda spark, _, __, t: spark.sql(f"EXECUTE IMMEDIATE 'INSERT INTO {t}_there SELECT 1'"), "give the statement itself"),
    "parameters": (lambda spark, _, __, t: spark.sql(f"INSERT INTO {t}_there SELECT :n", {"n": 1}), "put the values into the text"),
    "DEFAULT": (lambda spark, _, __, t: spark.sql(f"INSERT INTO {t}_there VALUES (DEFAULT)"), "cannot be read by itself"),
    "JDBC, ignored": (lambda _, df, at, __: df.write.mode("ignore").jdbc(derby(at), "x"), "Spark does not tell whether it wrote"),
    "an RDD": (lambda _, df, at, __: df.rdd.map(str).saveAsTextFile(f"{at}/x"), "saveAsTextFile.*write a DataFrame by df.write"),
    "no lineage": (lambda _, df, at, __: df.sample(True, 0.5, 1).write.parquet(f"{at}/x"), "with replacement"),
}


@pytest.mark.parametrize("name", sampled(REFUSED, 2))
def test_refused_before_it_is_made(
    lineage: Lineage, spark: SparkSession, judged: DataFrame, tmp_path: Path, tables: str, name: str
) -> None:
    write, message = REFUSED[name]
    spark.sql(f"CREATE TABLE {tables}_there (n INT) USING parquet")
    with lineage.recording(progress=False) as recording, pytest.raises(LineageError, match=message) as refused:
        write(spark, judged, str(tmp_path), tables)
    assert "nothing was written" in refused.value.__notes__[0]
    assert recording.runs == ()
    assert not any(tmp_path.iterdir())
    assert spark.table(f"{tables}_there").count() == 0


def _told(spark: SparkSession, text: str) -> str:
    with pytest.raises(PySparkException) as raised:
        spark.sql(text)
    return str(raised.value)


def _methods() -> dict[tuple[str, str], Any]:
    kinds: tuple[type, ...] = (RDD, ClassicDataFrame, DataFrameWriter, DataFrameWriterV2, MergeIntoWriter, DataStreamWriter)
    return {(kind.__name__, name): one for kind in kinds for name, one in vars(kind).items() if name[0] != "_" and isfunction(one)}


def test_every_method_that_writes_is_watched() -> None:
    """By what PySpark has, of whichever release: a setting gives the writer again, a write does not."""
    before = _methods()
    writing = {
        (kind, name)
        for (kind, name), method in before.items()
        if (re.match("save|foreach|insert|export", name) if kind in ("RDD", "DataFrame") else kind not in str(signature(method)))
    }
    with watched(object()):  # type: ignore[arg-type]
        assert {place for place, method in _methods().items() if method is not before[place]} == writing
    assert len(writing) > 25
    assert _methods() == before


def test_what_may_write_is_told(lineage: Lineage, spark: SparkSession, judged: DataFrame, tmp_path: Path) -> None:
    """The program's own code, and a catalog's procedure: before they run, and they run."""
    at = tmp_path / "touched"

    def touch(_: Iterator[Row]) -> None:
        at.touch()

    statement = "CALL nowhere.tidy()"
    alone = _told(spark, statement)
    with lineage.recording(progress=False) as recording, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        judged.foreachPartition(touch)
        judged.rdd.foreach(lambda _: None)
        assert _told(spark, statement) == alone
    assert at.exists()
    assert recording.runs == ()
    told = [one for one in said if one.category is WriteNotSeen]
    assert [str(one.message).partition(" is not seen")[0] for one in told] == [
        "what the function of foreachPartition(…) writes", "what the function of foreach(…) writes", "what the procedure of CALL … writes"
    ]  # fmt: skip
    assert {one.filename for one in told} == {__file__}


def test_incomplete_by_choice(lineage: Lineage, spark: SparkSession, judged: DataFrame, tmp_path: Path, tables: str) -> None:
    """What cannot be recorded is written by Spark alone; its run says where, and why it cannot be explained."""
    path = str(tmp_path / "some")
    spark.sql(f"CREATE TABLE {tables}_there (n INT) USING parquet")
    with lineage.recording(on_unsupported="incomplete", progress=False) as recording:
        judged.sample(True, 1.0, 1).write.parquet(path)
        spark.sql(f"INSERT INTO {tables}_there VALUES (DEFAULT)")  # a statement that no query stands in: nothing is recorded of it
        with pytest.raises(PySparkException):
            spark.sql(f"DELETE FROM {tables}_there WHERE n = 1")  # Spark's own answer, for such a table
        other = spark.table(f"{tables}_there")
        judged.sample(True, 1.0, 1).join(other, judged.n == other.n, "left_anti").write.parquet(f"{path}_others")
    run, joined = recording.runs
    assert (run.summary.status, run.summary.pipeline) == ("incomplete", "some")
    # What was read is known by name, and files by their version: as a run with a plan records them.
    assert [one.name for one in joined.record.inputs] == [*(one.name for one in run.record.inputs), f"spark_catalog.default.{tables}_there"]
    with lineage.recording(progress=False) as whole:
        judged.write.parquet(f"{path}_whole")
    (planned,), (named,) = whole.runs[0].record.inputs, run.record.inputs
    assert (named.name, named.version.files) == (planned.name, planned.version.files)  # type: ignore[union-attr]
    assert named.paths
    assert "with replacement" in (run.lineage_lost or "")
    output = run.record.output
    assert output is not None
    assert (output.target, output.mode) == (path, "error")
    assert Path(path, "_SUCCESS").exists()
    assert spark.table(f"{tables}_there").count() == 1
    with lineage.recording(progress=False) as further:
        spark.read.parquet(path).write.parquet(f"{path}_further")
    assert sorted(further.runs[0].explain(at=0, progress=False).sources) == ["some"]


def test_a_write_that_fails_half_way(lineage: Lineage, spark: SparkSession, source: str, tmp_path: Path) -> None:
    frame = spark.read.parquet(source).selectExpr("stumbles(n) AS n")
    with lineage.recording(progress=False) as recording:
        with pytest.raises(UdfFailed, match="three"):
            frame.write.parquet(str(tmp_path / "x"))
        with pytest.raises(PySparkException, match="CAST_INVALID_INPUT"):  # as without a recording
            spark.read.parquet(source).selectExpr("CAST(name AS int) AS n").write.parquet(str(tmp_path / "y"))
    assert recording.runs == ()
    assert [run.status for run in lineage.runs(limit=2)] == ["failed", "failed"]
    assert not any(tmp_path.rglob("*.parquet"))


def test_errors_of_the_program_and_the_writers_after_it(lineage: Lineage, spark: SparkSession, source: str, tmp_path: Path) -> None:
    methods = (DataFrameWriter.save, SparkSession.sql)
    with pytest.raises(ZeroDivisionError), lineage.recording(progress=False):
        raise ZeroDivisionError if DataFrameWriter.save is not methods[0] else AssertionError
    assert (DataFrameWriter.save, SparkSession.sql) == methods
    before = len(lineage.runs(limit=1000))
    spark.read.parquet(source).write.parquet(str(tmp_path / "x"))
    assert len(lineage.runs(limit=1000)) == before


def test_inside_each_other_and_beside_runs(lineage: Lineage, judged: DataFrame, tmp_path: Path) -> None:
    """A write is recorded once: by the innermost recording, and an output of `Lineage.run` by that run."""
    writer = judged.write
    with lineage.recording(name="outer", progress=False) as outer:
        with lineage.recording(name="inner", progress=False) as inner:
            writer.parquet(str(tmp_path / "a"))
        writer.parquet(str(tmp_path / "b"))
        lineage.run(judged, name="run", output=str(tmp_path / "c"), progress=False).close()
    assert [[run.summary.pipeline for run in one.runs] for one in (outer, inner)] == [["outer"], ["inner"]]
    assert lineage.latest().summary.pipeline == "run"


def test_threads(lineage: Lineage, judged: DataFrame, tmp_path: Path) -> None:
    """A recording has the writes of threads that it starts; whose a write is that two could have is not guessed."""

    def write(name: str, failed: list[Exception]) -> None:
        try:
            judged.where("n < 3").write.parquet(str(tmp_path / name))
        except Exception as error:
            failed.append(error)

    def run(*names: str) -> list[Exception]:
        failed: list[Exception] = []
        threads = [threading.Thread(target=write, args=(name, failed)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return failed

    with lineage.recording(progress=False) as recording:
        assert run("a", "b") == []
    assert sorted(one.summary.pipeline for one in recording.runs) == ["a", "b"]
    opened, done = threading.Event(), threading.Event()

    def other() -> None:
        with lineage.recording(progress=False):
            opened.set()
            done.wait()

    beside = threading.Thread(target=other)
    beside.start()
    opened.wait()
    with lineage.recording(progress=False) as mine:
        (failed,) = run("c")
        judged.where("n < 3").write.parquet(str(tmp_path / "d"))
    done.set()
    beside.join()
    assert isinstance(failed, WriteNotRecorded)
    assert "whose the write is cannot be told" in str(failed)
    assert [one.summary.pipeline for one in mine.runs] == ["d"]
    assert not (tmp_path / "c").exists()


def test_what_is_no_recording(lineage: Lineage, store: Any) -> None:
    with pytest.raises(SparkRequired), Lineage(store=store).recording():
        raise AssertionError
    with pytest.raises(InvalidOption, match="it can be fail, incomplete"), lineage.recording(on_unsupported="skip"):  # type: ignore[arg-type]
        raise AssertionError
