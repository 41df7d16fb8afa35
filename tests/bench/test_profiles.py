"""What a profile tells of the JVM and of PostgreSQL: a session's work, and a server's."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg2
import pytest
from py4j.clientserver import JavaClient

from airflow_lineage_provider.store import Store, embedded
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.profiles import Beside, profile
from tests.bench.readings import Meter, Reading
from tests.bench.table_parts import table_parts
from tests.bench.told import Told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_stages_and_threads_of_the_jvm(spark: SparkSession) -> None:
    """A shuffle's two stages, with what was shuffled, and where the tasks were."""

    def work() -> None:
        spark.range(3_000_000).selectExpr("hash(id) % 7 AS g").groupBy("g").count().collect()

    told = profile(work, Beside(spark=spark))
    assert "stage 1, " in told
    assert "shuffled" in told
    assert " CPU 0." in told or " CPU 1." in told
    assert "JVM thread 'Executor task launch worker for task n" in told
    assert "org.apache.spark" in told
    assert str(Path(__file__).parent) not in told


def test_statements_of_postgresql_with_what_they_took(store: Store) -> None:
    def work() -> None:
        with closing(psycopg2.connect(store.url)) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.2)")
            cursor.execute("SELECT 7")

    told = profile(work, Beside(server=embedded.ensure_running(store.home)))
    first = next(line for line in told.splitlines() if "pg_sleep" in line and " times: " in line)
    milliseconds, times = first.split(" ms, ")
    assert float(milliseconds) >= 200 * int(times.split(" times")[0]) > 0
    assert "SELECT 7" in told


def test_statements_of_an_arm_that_has_too_many(store: Store) -> None:
    def ask() -> None:
        with closing(psycopg2.connect(store.url)) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 42")

    found = compared("one target, all of it in the store", {"10,000 rows": Arm(ask)}, Meter(None, None), 1)
    found.facts = {"10,000 rows": {"statements": 99.0, "transactions": 7.0}}
    Told("questions", "small", Beside(server=embedded.ensure_running(store.home))).tell(found)
    told = found.profiles["10,000 rows"]
    assert told.startswith("2 statements, 1 transactions, 1 connections (1 new)")
    assert told.count("SELECT 42") == 1


def test_calls_of_an_arm_that_has_too_many(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JavaClient, "send_command", JavaClient.send_command)  # a meter counts there: it is put back

    def work() -> None:
        for _ in range(201):
            spark.sparkContext._jsc.sc().version()

    meter = Meter(spark, None)
    found = Comparison("ten rows, with a UDF, written", "function_materialization", {"function_materialization": [meter.measured(work)]})
    found.arms = {"function_materialization": Arm(work)}
    Told("small_runs", "small", meter=meter).tell(found)
    total, *each = found.profiles["function_materialization"].splitlines()
    assert total == "402 calls into the JVM"
    assert sorted(each) == ["  201 sc", "  201 version"]


def test_what_the_bytes_of_a_table_are(store: Store) -> None:
    with closing(psycopg2.connect(store.url)) as connection, connection, connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA parts; CREATE TABLE parts.t (n bigint, s text, none int); CREATE INDEX ON parts.t (n)")
        cursor.execute("INSERT INTO parts.t SELECT n, repeat('x', 100) FROM generate_series(1, 5000) AS n")
        cursor.execute("INSERT INTO parts.t SELECT 0, string_agg(md5(n::text), '') FROM generate_series(1, 1000) AS n")
        cursor.execute("SELECT pg_total_relation_size('parts.t')")
        ((whole,),) = cursor.fetchall()
    first, heap, too_long, index, maps = table_parts(store.url, "parts.t").splitlines()
    sizes = [int(re.search(r": ([\d,]+) B", line)[1].replace(",", "")) for line in (first, heap, too_long, index, maps)]  # type: ignore[index]
    assert sizes[0] == whole == sum(sizes[1:])
    assert sizes[2] >= 32_000
    assert index.startswith("  index on btree (n): ")
    assert "5,001 rows of " in heap
    assert "n 8.0, s 107.4, none 0.0, " in heap
    with closing(psycopg2.connect(store.url)) as connection, connection, connection.cursor() as cursor:
        cursor.execute("TRUNCATE parts.t")
    assert "heap: 0 B, no rows" in table_parts(store.url, "parts.t")


def test_what_an_arm_asks_of_the_store_is_counted(store: Store) -> None:
    """In one further turn, of quick arms that are done here."""
    asked: list[int] = []

    def ask() -> None:
        asked.append(1)
        with closing(psycopg2.connect(store.url)) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 7")
            connection.commit()
            cursor.execute("SELECT 8")

    arms = {"asks": Arm(ask), "does not": Arm(lambda: None), "elsewhere": Arm(ask, reading=lambda _: Reading(0.1))}
    found = compared("x", arms, Meter(None, store), 1)
    assert found.asked == {"asks": {"statements": 5, "transactions": 2, "connections": 1}}
    assert len(asked) == 5
    assert found.figures()["asks"].items() >= found.asked["asks"].items()
    assert Comparison.from_json(found.to_json()) == found
