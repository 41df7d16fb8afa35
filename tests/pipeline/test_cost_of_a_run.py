"""What a run of ten rows costs in things that can be counted, which are the same on every machine: a bound that is passed is looked into.

The first run of a process reads classes and the function registry as well, and has a bound of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from py4j.clientserver import JavaClient
from pyspark.sql import DataFrame, SparkSession

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.spark import jvm_classes, jvm_functions, jvm_trees, session
from airflow_lineage_provider.spark.capturing import document, function_names
from airflow_lineage_provider.store import Store, embedded
from tests.statements import noted
from tests.store.conftest import sql

pytestmark = pytest.mark.spark

PIPELINE = "SELECT g, judged(x) AS verdict FROM ten_rows WHERE x > 2"


@reasoned_udf("string", name="judged")
def judged(x: int) -> str:
    return "high" if x > 5 else "low"


@dataclass
class Counts:
    """``calls`` into the JVM, Spark's ``jobs``, ``transactions`` of the store that write (and savepoints in them)."""

    calls: int = 0
    jobs: int = 0
    transactions: int = 0


@pytest.fixture
def lineage(spark: SparkSession, store: Store, tmp_path: Path) -> Lineage:
    rows = spark.createDataFrame([(number, f"group {number % 3}") for number in range(10)], "x int, g string")
    rows.coalesce(1).write.parquet(str(tmp_path / "ten_rows"))
    spark.read.parquet(str(tmp_path / "ten_rows")).createOrReplaceTempView("ten_rows")
    judged.register(spark)
    spark.catalog.clearCache()  # what other tests left there is looked through at every run
    return Lineage(spark, store=store)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    sent: list[str] = []
    send = JavaClient.send_command

    def sending(self: JavaClient, command: str, retry: bool = True, binary: bool = False) -> object:
        if not command.startswith("m\n"):  # that an object is not needed any more: said when Python collects its rubbish
            sent.append(command)
        return send(self, command, retry, binary)

    monkeypatch.setattr(JavaClient, "send_command", sending)
    return sent


@contextmanager
def counted(spark: SparkSession, store: Store, commands: list[str]) -> Iterator[Counts]:
    found = Counts()
    jobs, transactions = _jobs(spark), _transactions(store)
    commands.clear()
    yield found
    found.calls = len(commands)
    found.jobs = _jobs(spark) - jobs
    found.transactions = _transactions(store) - transactions - 1  # asking for the number takes one


def _jobs(spark: SparkSession) -> int:
    return int(spark.sparkContext._jsc.sc().dagScheduler().nextJobId())


def _transactions(store: Store) -> int:
    return int(str(sql(store.url, "SELECT txid_current()")[0][0]))


def test_a_run_and_a_question(lineage: Lineage, spark: SparkSession, store: Store, commands: list[str]) -> None:
    lineage.run(PIPELINE, name="ten rows").close()
    with counted(spark, store, commands) as of_run:
        run = lineage.run(PIPELINE, name="ten rows")
    assert 0 < of_run.calls <= 180, of_run
    # The result is made and stored at once.
    assert of_run.jobs == 1, of_run
    # The run's beginning, its table, the rows of its one partition; publishing, with a savepoint for the index.
    assert 0 < of_run.transactions <= 5, of_run
    with counted(spark, store, commands) as of_question:
        assert run.explain("verdict = 'high'", save=False).sources["ten_rows"].rows.num_rows == 4
    # What the store and the files have needs no Spark.
    assert of_question.jobs == 0, of_question
    assert of_question.calls <= 5, of_question
    # It only reads.
    assert of_question.transactions == 0, of_question
    run.close()
    # However often a UDF is called, it is registered once: a further call is a further expression of the plan, which is read.
    calls = ", ".join(f"judged(x + {number}) AS verdict_{number}" for number in range(8))
    eight = lineage.run(f"SELECT g, {calls} FROM ten_rows WHERE x > 2", name="eight calls")
    eight.close()
    with counted(spark, store, commands) as of_eight:
        again = lineage.run(f"SELECT g, {calls} FROM ten_rows WHERE x > 2", name="eight calls")
    assert sum("registerPython" in command for command in commands) == 1
    assert (of_eight.calls - of_run.calls) / 7 <= 15, (of_eight, of_run)
    assert again.result_table().column_names == ["g", *(f"verdict_{number}" for number in range(8))]
    assert again.result_table(1).to_pylist() == [{"g": "group 0"} | {f"verdict_{n}": "high" if 3 + n > 5 else "low" for n in range(8)}]
    again.close()


def test_a_batch_of_a_stream(lineage: Lineage, spark: SparkSession, store: Store, commands: list[str], tmp_path: Path) -> None:
    """A batch of ten rows, the second of its query: what a run costs, and finding the stream's files and whether the batch is known."""
    record = lineage.foreach_batch("SELECT g, judged(x) AS verdict FROM batch WHERE x > 2", name="batches of ten rows")
    found: list[Counts] = []
    texts: list[list[str]] = []

    def function(batch: DataFrame, number: int) -> None:
        with noted(embedded.ensure_running(store.home), store.url) as asked, counted(spark, store, commands) as of_batch:
            record(batch, number)
        found.append(of_batch)
        texts.append(asked.texts)

    rows = spark.createDataFrame([(number, "group") for number in range(10)], "x int, g string").coalesce(1)
    for _ in range(2):
        rows.write.parquet(str(tmp_path / "stream"), mode="append")
    stream = spark.readStream.schema("x int, g string").option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "stream"))
    writer = stream.writeStream.foreachBatch(function).option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    _, second = found
    assert 0 < second.calls <= 260, second
    assert second.jobs == 1, second
    assert 0 < second.transactions <= 5, second
    assert 0 < len(texts[1]) <= 16, texts[1]  # those that count the transactions among them


def test_a_question_about_what_the_store_has(spark: SparkSession, store: Store) -> None:
    """All in PostgreSQL: one transaction, of a fixed number of statements, on one connection, whether the answer is kept or not."""
    spark.createDataFrame([(number, number % 3) for number in range(10)], "x int, g int").createOrReplaceTempView("ten_of_the_session")
    judged.register(spark)
    lineage, server = Lineage(spark, store=store), embedded.ensure_running(store.home)
    query = "SELECT g, count(*) AS n FROM (SELECT g, judged(x) AS verdict FROM ten_of_the_session) GROUP BY g"
    for sql_text, target, most in ((PIPELINE.replace("ten_rows", "ten_of_the_session"), "g = 1", 6), (query, "g = 1", 8)):
        run = lineage.run(sql_text, name="ten rows of the session")
        asked_without_spark = Lineage(store=store).get_run(run.id)
        asked_without_spark.explain(target)
        with noted(server, store.url) as asked:
            answer = asked_without_spark.explain(target, save=False)
        assert answer.sources["ten_of_the_session"].rows.num_rows in (2, 3)
        assert (asked.transactions, asked.connections, asked.connected) == (1, 1, 0), asked
        assert len(asked.statements) <= most, asked
        with noted(server, store.url) as kept:
            asked_without_spark.explain(target)
        assert (kept.transactions, kept.connections, kept.connected) == (1, 1, 0), kept
        assert len(kept.statements) <= most + 3, kept
        run.close()


def test_the_first_run_of_a_process(lineage: Lineage, spark: SparkSession, store: Store, commands: list[str]) -> None:
    for remembered in (jvm_classes.named, jvm_classes.member, jvm_classes.module, jvm_functions._pattern, jvm_functions._identity,
                       jvm_functions._function, jvm_trees._pattern, session._defaults):  # fmt: skip
        remembered.cache_clear()
    for known in (function_names._CACHE, document._FIELDS, document._OPTIONS, document._MAPS, session._MODIFIABLE):
        known.clear()
    with counted(spark, store, commands) as of_run:
        lineage.run(PIPELINE, name="ten rows").close()
    assert 195 < of_run.calls <= 380, of_run


def test_a_question_that_turns_out_to_need_spark_goes_on_with_it(spark: SparkSession, store: Store) -> None:
    judged.register(spark)
    run = Lineage(spark, store=store).run("SELECT id, judged(CAST(id AS INT)) AS verdict FROM range(10)", name="ten numbers")
    run.close()
    reasons: list[str] = []
    told: list[str] = []

    def start(why: str) -> SparkSession:
        reasons.append(why)
        return spark

    with pytest.raises(SparkRequired):
        Lineage(store=store).get_run(run.id).explain("id = 4", save=False)
    lineage = Lineage(store=store, start_spark=start)
    answer = lineage.get_run(run.id).explain("id = 4", save=False, progress=told.append)
    assert [table.rows.to_pylist() for table in answer.sources.values()] == [[{"id": 4}]]
    assert lineage.spark is spark
    assert len(reasons) == 1
    assert told.count("finding the target rows") == 1
