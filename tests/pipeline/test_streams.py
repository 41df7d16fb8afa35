"""Micro-batches of streams: recorded once, traced to the files that the stream has come by."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_lineage_provider import Explanation, Lineage, payload, reasoned_udf, streams
from airflow_lineage_provider.deriving import stored_files
from airflow_lineage_provider.errors import (
    BatchError,
    EmptyTarget,
    InvalidOutput,
    InvalidTarget,
    PlanError,
    RunNotComplete,
    StoredRowsGone,
    TargetTooLarge,
)
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.store import Store, embedded
from tests.answers import guarantees_of
from tests.batches import come_again
from tests.statements import noted
from tests.store.conftest import sql

pytestmark = pytest.mark.spark

COLUMNS = "id int, amount double"


@reasoned_udf("string", name="judged_in_streams")
def judged(amount: float) -> str:
    return "Reject" if amount > 100 else "Accept"


@judged.with_reason
def _(amount: float) -> tuple[str, payload.Json]:
    return judged(amount), payload.Json({"over": amount - 100})


class Stream:
    """A folder that loans come into, a file at a time, and a query over it that can be started again."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.loans = folder / "loans"
        self.loans.mkdir()

    def come(self, *rows: tuple[int, float]) -> None:
        """A file of loans."""
        self.spark.createDataFrame(list(rows), COLUMNS).coalesce(1).write.parquet(str(self.loans), mode="append")

    def read(self, **options: Any) -> DataFrame:
        return self.spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).options(**options).parquet(str(self.loans))

    def forget_commit(self, batch: int) -> None:
        """As if Spark had been killed after a batch was worked off, and before it noted that."""
        for path in (self.folder / "checkpoint" / "commits").glob(f"*{batch}*"):
            path.unlink()

    def run(self, function: Callable[[DataFrame, int], None], frame: DataFrame | None = None, mode: str = "append") -> Any:
        """Work off what has come; the query, ended."""
        writer = (self.read() if frame is None else frame).writeStream.foreachBatch(function).outputMode(mode)
        query = writer.option("checkpointLocation", str(self.folder / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()
        return query


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    judged.register(spark)
    return Stream(spark, tmp_path)


def judge(batch: DataFrame) -> DataFrame:
    return batch.selectExpr("id", "judged_in_streams(amount) AS judge")


def test_batches_are_runs(lineage: Lineage, stream: Stream) -> None:
    stream.come((1, 10.0), (2, 300.0))
    stream.come((3, 400.0))
    query = stream.run(lineage.foreach_batch(judge, name="batches are runs"))
    batches = lineage.batches("batches are runs")
    known = [(one.query, one.batch, one.run.status, one.run.rows) for one in batches]
    assert known == [(query.id, 0, "complete", 2), (query.id, 1, "complete", 1)]
    answers = lineage.explain_batches("batches are runs", "judge = 'Reject'")
    assert [(one.batch, rows_behind(one.explanation)) for one in answers] == [(0, [(2, 300.0)]), (1, [(3, 400.0)])]
    assert [guarantees_of(one.explanation)["loans"].level for one in answers] == ["exact", "exact"]
    assert answers[1].explanation.reasons["judged_in_streams"].rows.num_rows == 1
    # One batch is a run like any other.
    assert lineage.get_run(batches[1].run.id).explain("id = 3", verify=True).verification is not None
    assert [one.batch for one in lineage.explain_batches("batches are runs", {"id": 1})] == [0]
    assert answers.not_asked == {}
    with pytest.raises(EmptyTarget, match=r"none of the complete batches of pipeline 'batches are runs' has a row that matches 'id = 99'$"):
        lineage.explain_batches("batches are runs", "id = 99")
    with pytest.raises(InvalidTarget, match="reason is not a column"):
        lineage.explain_batches("batches are runs", "reason = 'x'")
    with pytest.raises(TargetTooLarge, match="more than 1 batches"):
        lineage.explain_batches("batches are runs", "id > 0", max_batches=1)


def rows_behind(explanation: Explanation, table: str = "loans") -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in explanation.sources[table].rows.to_pylist()]


def test_a_long_query_retires_old_runs(lineage: Lineage, stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    tidied: list[int] = []
    monkeypatch.setattr(Store, "tidy", lambda _: tidied.append(len(lineage.batches("long"))))
    for number in range(2):
        stream.come((number, 300.0))
    stream.run(lineage.foreach_batch(judge, name="long"))
    assert tidied == []
    stream.come((2, 300.0))
    monkeypatch.setattr(streams, "TIDY_SECONDS", 0.0)
    stream.run(lineage.foreach_batch(judge, name="long"))
    assert tidied == [3]


def test_a_pipeline_that_was_changed(lineage: Lineage, stream: Stream) -> None:
    stream.come((1, 300.0))
    stream.run(lineage.foreach_batch(judge, name="changed"))
    stream.come((2, 400.0))
    stream.run(lineage.foreach_batch("SELECT id, amount * 2 AS twice FROM batch", name="changed"))
    assert [one.batch for one in lineage.explain_batches("changed", "judge = 'Reject'")] == [0]
    assert [one.batch for one in lineage.explain_batches("changed", "twice = 800")] == [1]
    assert [one.batch for one in lineage.explain_batches("changed", "id > 0")] == [0, 1]


def test_the_plan_is_kept_once(lineage: Lineage, stream: Stream, store: Store) -> None:
    for number in range(3):
        stream.come((number, 300.0))
    stream.run(lineage.foreach_batch(judge, name="one plan"))
    runs = [one.run.id for one in lineage.batches("one plan")]
    assert sql(store.url, "SELECT count(*), count(DISTINCT shared_plan), count(plan) FROM lineage.runs WHERE pipeline = 'one plan'") == [
        (3, 1, 0)
    ]
    # Each has its own files all the same.
    assert [rows_behind(lineage.get_run(run_id).explain("judge = 'Reject'")) for run_id in runs] == [[(n, 300.0)] for n in range(3)]
    (plan,) = {run.record.plan for run in map(lineage.get_run, runs)}
    for run_id in runs:
        assert sql(store.url, "SELECT count(*) FROM lineage.plans WHERE plan = %s", [plan]) == [(1,)]
        lineage.drop(run_id)
    assert sql(store.url, "SELECT count(*) FROM lineage.plans WHERE plan = %s", [plan]) == [(0,)]


def test_batches_share_tables(lineage: Lineage, stream: Stream, store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """A table for each stored segment, whatever the number of batches; each is traced through its own rows, and goes without the others."""

    def by_judge(batch: DataFrame) -> DataFrame:
        judges = batch.selectExpr("id", "judged_in_streams(amount) AS judge")
        return judges.groupBy("judge").agg(F.count("*").alias("n"), F.max("id").alias("last"))

    record = lineage.foreach_batch(by_judge, name="batches share tables", index=["last"])
    for number in range(3):
        stream.come((2 * number, 10.0), (2 * number + 1, 300.0))
    stream.run(record)
    runs = [one.run for one in lineage.batches("batches share tables")]
    made = [store.materializations(one.id) for one in runs]
    assert [sorted(one) for one in made] == [sorted(made[0])] * 3
    assert len(made[0]) == 2
    for name in made[0]:
        assert len({one[name].table_name for one in made}) == 1
        assert all(one[name].is_shared for one in made)
    assert [one.indexes for one in runs] == [(("last",),)] * 3
    place = [made[0]["result"].table_name]
    (defined,) = sql(store.url, "SELECT string_agg(indexdef, ' ') FROM pg_indexes WHERE tablename = %s", place)
    assert "(last, _materialization)" in str(defined[0])

    asked = Lineage(store=store)  # without Spark
    for number, one in enumerate(runs):
        answer = asked.get_run(one.id).explain("judge = 'Reject'")
        assert rows_behind(answer) == [(2 * number + 1, 300.0)]
        assert "postgresql" in {query.engine for query in answer.queries}
    asked.drop(runs[1].id)
    answers = asked.explain_batches("batches share tables", "last > 1 AND judge = 'Reject'")
    assert [(one.batch, rows_behind(one.explanation)) for one in answers] == [(2, [(5, 300.0)])]
    # Of the second nobody can tell: that is said, with the answer and where there is none.
    assert {status: str(one) for status, one in answers.not_asked.items()} == {"dropped": "1 dropped (1)"}
    assert repr(answers).endswith("; not asked: 1 dropped (1)>")
    assert "that could not be looked into, so that no row of theirs is explained: 1 dropped (1)" in caplog.text
    with pytest.raises(EmptyTarget, match=r"none of the complete batches .*; batches that could not be looked into: 1 dropped \(1\)"):
        asked.explain_batches("batches share tables", "last = 3")
    stream.come((6, 10.0))
    stream.run(record)
    fourth = asked.explain_batches("batches share tables", "last = 6")
    assert [(one.batch, rows_behind(one.explanation)) for one in fourth] == [(3, [(6, 10.0)])]


def test_batches_are_found_by_their_table(lineage: Lineage, stream: Stream, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the same statements, however many batches there are, and the same batches as those that have such rows when each is asked."""
    stream.come((1, 300.0), (2, 10.0))
    query = stream.run(lineage.foreach_batch("SELECT id, amount, judged_in_streams(amount) AS judge FROM batch", name="many"))
    first, asked = lineage.latest("many").id, Lineage(store=store)
    server = embedded.ensure_running(store.home)

    def statements(target: Any) -> list[str]:
        with noted(server, store.url) as said, pytest.raises(EmptyTarget):
            asked.explain_batches("many", target)
        return said.texts

    few = [statements("id = 777") for _ in range(2)][-1]  # the first connects
    rows = {0: [(1, 300.0), (2, 10.0)]} | {number: [(1, float(number)), (number, 10.0)] for number in range(1, 130)}
    for number in range(1, 130):  # more than are looked at together where each has a place of its own
        come_again(store, first, query.id, number, values_of(rows[number]))
    assert len(statements("id = 777")) == len(few) <= 15, few
    assert [one.batch for one in asked.explain_batches("many", [{"id": 1, "amount": 5.0}, {"id": 9}], save=False)] == [5, 9]
    for number in range(130, 133):
        rows[number] = [(number, 7.0), (0, 0.0)]
        come_again(store, first, query.id, number, values_of(rows[number]), own=True)
    runs = {one.batch: one.run.id for one in asked.batches("many", limit=None)}
    asked.drop(runs.pop(6))
    with pytest.raises(TargetTooLarge, match="more than 100 batches"):
        asked.explain_batches("many", "amount = 10", save=False)
    targets: dict[str, Callable[[int, float], bool]] = {
        "amount = 7": lambda _, amount: amount == 7,
        "id BETWEEN 5 AND 7": lambda id, _: 5 <= id <= 7,
        "id = 131 OR amount IN (9, 300)": lambda id, amount: id == 131 or amount in {9, 300},
    }
    for target, meets in targets.items():
        found = asked.explain_batches("many", target, save=False)
        assert [one.batch for one in found] == [number for number in sorted(runs) if any(meets(*row) for row in rows[number])]
        for one in found:
            alone = asked.get_run(runs[one.batch]).explain(target, save=False)
            assert (one.explanation.run.id, one.explanation.target) == (alone.run.id, alone.target)
            assert one.explanation.sources["loans"].rows.equals(alone.sources["loans"].rows)
    # One that is dropped after it was found is an error, and not one batch less.
    records = Store.records

    def dropping(of: Store, run_ids: Any) -> Any:
        read = records(of, run_ids)
        if runs[8] in run_ids:
            of.drop_run(runs[8])
        return read

    monkeypatch.setattr(Store, "records", dropping)
    with pytest.raises(RunNotComplete, match=runs[8]):
        asked.explain_batches("many", "amount = 8", save=False)


def values_of(rows: list[tuple[int, float]]) -> dict[str, list[Any]]:
    """The columns of a batch's result."""
    return {"id": [one for one, _ in rows], "amount": [one for _, one in rows]}


def test_batches_in_files(spark: SparkSession, stream: Stream, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_DATA_ROWS", "0")
    lineage = Lineage(spark, store=store, data=str(tmp_path / "stored"))
    for number in range(2):
        stream.come((2 * number, 10.0), (2 * number + 1, 300.0))
    stream.run(lineage.foreach_batch(judge, name="batches in files", index=["id"]))
    made = [store.materializations(one.run.id)["result"] for one in lineage.batches("batches in files")]
    assert [(one.in_files, one.is_shared) for one in made] == [(True, False)] * 2
    explained: list[str] = []
    explain = Run.explain

    def noting(run: Run, *given: Any, **options: Any) -> Explanation:
        explained.append(run.id)
        return explain(run, *given, **options)

    monkeypatch.setattr(Run, "explain", noting)

    def found(target: str) -> tuple[list[int], int]:
        explained.clear()
        answers = lineage.explain_batches("batches in files", target)
        assert [rows_behind(one.explanation) for one in answers] == [[(2 * one.batch + 1, 300.0)] for one in answers]
        return [one.batch for one in answers], len(explained)

    assert found("judge = 'Reject'") == ([0, 1], 2)
    assert found("judge = 'Reject' AND id > 2") == ([1], 1)
    # Of files that this process does not read the store cannot tell, and Spark is asked.
    with monkeypatch.context() as patched:
        patched.setattr(stored_files, "local_path", lambda _: None)
        assert found("judge = 'Reject' AND id > 2") == ([1], 2)
    shutil.move(str(made[0].folder).removeprefix("file:"), tmp_path / "elsewhere")
    with pytest.raises(StoredRowsGone, match=made[0].run_id):
        found("id > 2")


def test_what_comes_before_the_batch_is_traced(lineage: Lineage, stream: Stream, tmp_path: Path) -> None:
    """Operators of the stream itself, and tables that it is joined with."""
    stream.spark.createDataFrame([(1, "Ann"), (2, "Bob")], "id int, name string").coalesce(1).write.parquet(str(tmp_path / "clients"))
    stream.come((1, 300.0), (1, 300.0), (2, 1.0))
    clients = stream.spark.read.parquet(str(tmp_path / "clients"))
    frame = stream.read().where("amount > 100").join(clients, "id").withColumn("twice", F.col("amount") * 2)
    stream.run(lineage.foreach_batch("SELECT name, sum(twice) AS total FROM batch GROUP BY name", name="before"), frame)
    (answer,) = lineage.explain_batches("before", "name = 'Ann'")
    assert rows_behind(answer.explanation) == [(1, 300.0), (1, 300.0)]
    assert rows_behind(answer.explanation, "clients") == [(1, "Ann")]
    assert answer.explanation.guarantee.level == "exact"
    assert answer.explanation.target.to_pylist() == [{"name": "Ann", "total": 1200.0}]


def test_the_time_of_a_batch(lineage: Lineage, stream: Stream) -> None:
    """It is the query's, the same when the batch is given again; and no reason to trace no further."""
    stream.come((1, 300.0), (2, 1.0))
    given: list[Any] = []

    def function(batch: DataFrame) -> DataFrame:
        given[:] = batch.select("came").distinct().collect()
        return batch.selectExpr("id", "judged_in_streams(amount) AS judge", "came", "today")

    frame = stream.read().withColumn("came", F.current_timestamp()).withColumn("today", F.current_date())
    stream.run(lineage.foreach_batch(function, name="time of a batch"), frame)
    (answer,) = lineage.explain_batches("time of a batch", "judge = 'Reject'")
    assert rows_behind(answer.explanation) == [(1, 300.0)]
    (row,) = answer.explanation.target.to_pylist()
    assert (row["came"].replace(tzinfo=None), row["today"]) == (given[0].came, given[0].came.date())
    assert answer.explanation.guarantee.origin == "known"


def per_client(batch: DataFrame) -> DataFrame:
    return batch.selectExpr("id", "judged_in_streams(total) AS judge")


def test_what_keeps_rows_of_earlier_batches_is_named(lineage: Lineage, stream: Stream) -> None:
    stream.come((1, 60.0))
    stream.come((1, 60.0), (2, 5.0))
    function = lineage.foreach_batch(per_client, name="with state")
    totals = stream.read().groupBy("id").agg(F.sum("amount").alias("total"))
    stream.run(function, totals, "update")
    (answer,) = lineage.explain_batches("with state", "judge = 'Reject'")
    assert (answer.batch, rows_behind(answer.explanation, "batch")) == (1, [(1, 120.0)])
    worth = guarantees_of(answer.explanation)["batch"]
    assert (worth.level, worth.origin) == ("exact", "unknown")
    assert "an aggregation before it, which may go by rows of earlier batches" in worth.cause
    assert "lineage ends here" in worth.cause
    # State is made by reading all of a batch: one that is recorded already is read, too, or Spark would refuse to commit it.
    stream.forget_commit(1)
    stream.run(function, totals, "update")
    assert [one.batch for one in lineage.batches("with state")] == [0, 1]


def test_a_stream_that_cannot_be_read_again(lineage: Lineage, stream: Stream) -> None:
    numbers = stream.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 3).load()
    stream.run(lineage.foreach_batch(lambda batch: batch.selectExpr("value"), name="numbers"), numbers)
    (answer,) = lineage.explain_batches("numbers", "value = 1")
    worth = guarantees_of(answer.explanation)["batch"]
    assert [row[1] for row in rows_behind(answer.explanation, "batch")] == [1]
    assert worth.origin == "unknown"
    assert "the stream reads no files" in worth.cause


def test_files_of_other_kinds(lineage: Lineage, stream: Stream, tmp_path: Path) -> None:
    """Partitions are columns of the stream; JSON is read again by Spark, from the batch's files alone."""
    rows = stream.spark.createDataFrame([(1, 300.0, "b"), (2, 1.0, "a")], f"{COLUMNS}, day string").coalesce(1)
    rows.write.partitionBy("day").parquet(str(tmp_path / "days"))
    rows.write.json(str(tmp_path / "lines"))
    schema = f"{COLUMNS}, day string"
    days = stream.spark.readStream.schema(schema).parquet(str(tmp_path / "days"))
    lines = stream.spark.readStream.schema(schema).json(str(tmp_path / "lines"))
    judging = "SELECT id, day, judged_in_streams(amount) AS judge FROM batch"
    stream.run(lineage.foreach_batch(judging, name="days and lines"), days.union(lines))
    rows.write.json(str(tmp_path / "lines"), mode="append")
    (answer,) = lineage.explain_batches("days and lines", "judge = 'Reject'")
    for table in ("days", "lines"):
        assert rows_behind(answer.explanation, table) == [(1, 300.0, "b")]
        assert guarantees_of(answer.explanation)[table].level == "exact"
    assert answer.explanation.stale == ()


def test_a_batch_that_is_given_again(lineage: Lineage, stream: Stream, tmp_path: Path) -> None:
    """Spark has not heard that it was done: it is not recorded, and not written, twice."""
    stream.come((1, 300.0))
    out = str(tmp_path / "judged")
    function = lineage.foreach_batch(judge, name="given again", output=f"{out}+append")
    query = stream.run(function)
    first = [one.run.id for one in lineage.batches("given again")]
    stream.forget_commit(0)
    assert stream.run(function).id == query.id
    assert [one.run.id for one in lineage.batches("given again")] == first
    assert len(lineage.runs("given again")) == 1
    assert stream.spark.read.parquet(out).count() == 1
    # Another pipeline's record of the same batch is another.
    stream.forget_commit(0)
    stream.run(lineage.foreach_batch(judge, name="given again, by another name"))
    assert [one.batch for one in lineage.batches("given again, by another name")] == [0]


def test_a_batch_that_failed_is_done_anew(lineage: Lineage, stream: Stream, tmp_path: Path) -> None:
    stream.come((1, 300.0))
    out, failing = str(tmp_path / "judged"), [True]

    def fails_once(batch: DataFrame) -> DataFrame:
        return batch.selectExpr(
            "id", "judged_in_streams(amount) AS judge", "CAST(assert_true(id > 1) AS int) AS n" if failing else "1 AS n"
        )

    function = lineage.foreach_batch(fails_once, name="fails once", output=f"{out}+append")
    with pytest.raises(StreamingQueryException):
        stream.run(function)
    assert [one.run.status for one in lineage.batches("fails once")] == ["failed"]
    failing.clear()
    stream.run(function)
    assert [one.run.status for one in lineage.batches("fails once")] == ["complete"]
    assert sorted(one.status for one in lineage.runs("fails once")) == ["complete", "failed"]
    assert stream.spark.read.parquet(out).count() == 1


def test_what_is_refused(lineage: Lineage, stream: Stream, spark: SparkSession) -> None:
    with pytest.raises(InvalidOutput, match=r"\+append, or \+overwrite"):
        lineage.foreach_batch(judge, output="/tmp/judged")
    with pytest.raises(PlanError, match="called with the batch and the parameters"):
        lineage.foreach_batch(judge, params={"month": 12})
    with pytest.raises(PlanError, match="is no pipeline of batches"):
        lineage.foreach_batch(spark.range(3))  # type: ignore[arg-type]
    with pytest.raises(BatchError, match="is called by Spark, with a batch of a streaming query"):
        lineage.foreach_batch(judge)(spark.range(3), 0)
    stream.come((1, 300.0))
    one, other = lineage.foreach_batch(judge), lineage.foreach_batch(per_client, name="judge")
    with pytest.raises(StreamingQueryException, match="two pipelines called judge"):
        stream.run(lambda batch, number: (one(batch, number), other(batch, number)))  # type: ignore[arg-type]
    with pytest.raises(StreamingQueryException, match="does not read the batch that it is given, but range"):
        stream.run(lineage.foreach_batch(lambda batch: spark.range(3), name="ignores it"))
    assert lineage.batches("ignores it") == []
