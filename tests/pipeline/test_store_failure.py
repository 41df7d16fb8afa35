"""A store that is missing, silent, stopped or killed: the run fails promptly, or keeps its result, by choice. A real PostgreSQL."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import RunNotComplete, StoreUnavailable
from airflow_lineage_provider.reasons import ReasonedUdf
from airflow_lineage_provider.store import embedded
from tests.in_turn import in_turn, sampled

pytestmark = pytest.mark.spark

ROWS = 40
PROMPT = 40
"""Seconds that any of these runs may take on a busy machine; without a bound they take for ever."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_CONNECT_TIMEOUT", "2")
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE_SILENCE", "1")
    monkeypatch.setenv("AIRFLOW_LINEAGE_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="lineage-failing-"))
    yield made
    embedded.stop(made)
    shutil.rmtree(made)


@pytest.fixture
def server(home: Path) -> Iterator[Any]:
    running = embedded.ensure_running(home)
    yield running
    for pid in family(running.pid):
        with suppress(ProcessLookupError):  # of a connection that has just been closed
            os.kill(pid, signal.SIGCONT)


def family(pid: int) -> list[int]:
    """A server's own process and those of its connections."""
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False).stdout.split()
    return [pid, *map(int, children)] if Path(f"/proc/{pid}").exists() else []


def stopped(server: Any) -> None:
    for pid in family(server.pid):
        os.kill(pid, signal.SIGSTOP)


def killed(server: Any) -> None:
    os.kill(server.pid, signal.SIGKILL)
    time.sleep(0.3)


@pytest.fixture
def calls(spark: SparkSession) -> Any:
    return spark.sparkContext.accumulator(0)


@pytest.fixture
def pipeline(spark: SparkSession, calls: Any) -> Callable[[SparkSession], Any]:
    def judged(x: int) -> int:
        calls.add(1)
        return x % 3

    udf = ReasonedUdf(judged, "bigint", name="judged_without_store", main_with_reason=lambda x: (x % 3, "because"))
    udf.register(spark)
    return lambda session: session.sql(f"SELECT v, count(*) AS n FROM (SELECT judged_without_store(id) AS v FROM range({ROWS})) GROUP BY v")


EXPECTED = [(0, 14), (1, 13), (2, 13)]


@pytest.mark.parametrize(
    ("stage", "how"), in_turn(sampled(["computing segment_1", "storing segment_1", "publishing"], 2), [stopped, killed])
)
def test_a_store_that_goes_in_the_middle(
    server: Any, home: Path, spark: SparkSession, pipeline: Any, calls: Any, how: Callable[[Any], None], stage: str, tmp_path: Path
) -> None:
    def progress(now: str) -> None:
        if now == stage:
            how(server)

    name, out = f"{how.__name__} {stage}", str(tmp_path / "out")
    started = time.monotonic()
    with Lineage(spark, store=server.url) as lineage:
        run = lineage.run(pipeline, name=name, output=out, progress=progress, on_store_failure="keep_result")
        assert time.monotonic() - started < PROMPT
        assert sorted(map(tuple, spark.read.parquet(out).collect())) == EXPECTED
        assert sorted(map(tuple, run.result.collect())) == EXPECTED
        assert sorted(tuple(row.values()) for row in run.result_table().to_pylist()) == EXPECTED
        assert (run.summary.status, run.summary.rows) == ("incomplete", 3)
        assert "does not answer" in run.lineage_lost
        assert calls.value == ROWS, "the UDF was called for a row again"
        with pytest.raises(RunNotComplete, match="lineage incomplete"):
            run.explain("v = 0")
        run.close()
    for pid in family(server.pid):
        os.kill(pid, signal.SIGCONT)
    with Lineage(store=embedded.ensure_running(home).url) as again:
        (record,) = again.runs(name)
        assert record.status == "incomplete"
        assert "does not answer" in record.error
        assert again.store.query("SELECT 1 FROM pg_tables WHERE schemaname = 'lineage_data'").num_rows == 0
        told = again.store.run(record.id).output
        assert told is not None
        assert told.target == out


@pytest.mark.parametrize(("stage", "told"), [("writing", "driver ended"), ("publishing", "appended stays")])
def test_what_a_kept_result_appended_is_never_taken_out(
    server: Any, home: Path, spark: SparkSession, stage: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def progress(now: str) -> None:
        if now.split()[0] == stage:
            killed(server)

    name, out = f"appending while {stage}", str(tmp_path / "out")

    def append(lineage: Lineage, **options: Any) -> str:
        run = lineage.run("SELECT id FROM range(3)", name=name, output=f"{out}+append", **options)
        run.close()
        return run.summary.status

    with Lineage(spark, store=server.url, on_store_failure="keep_result") as lineage:
        assert append(lineage, progress=progress) == "incomplete"
    assert spark.read.parquet(out).count() == 3
    with monkeypatch.context() as elsewhere:  # another machine, which knows no more than the store does
        elsewhere.setenv("AIRFLOW_LINEAGE_HOME", str(tmp_path / "elsewhere"))
        with Lineage(spark, store=embedded.ensure_running(home).url) as again:
            assert told in str(again.store.runs(name)[0].error)
            assert append(again) == "complete"
    assert spark.read.parquet(out).count() == 6
    with Lineage(spark, store=embedded.ensure_running(home).url) as again:
        assert [record.status for record in again.runs(name)] == ["complete", "incomplete"]
        assert append(again) == "complete"
    assert spark.read.parquet(out).count() == 9


@pytest.mark.parametrize("stage", sampled(["storing segment_1", "publishing"]))
def test_without_the_choice_it_fails_promptly_and_by_name(server: Any, spark: SparkSession, pipeline: Any, stage: str) -> None:
    def progress(now: str) -> None:
        if now == stage:
            stopped(server)

    started = time.monotonic()
    lineage = Lineage(spark, store=server.url)
    with pytest.raises(StoreUnavailable, match="does not answer"):
        lineage.run(pipeline, name="unlucky", progress=progress)
    assert time.monotonic() - started < PROMPT


@pytest.fixture
def silent() -> Iterator[str]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"postgresql://someone:secret@127.0.0.1:{listening.getsockname()[1]}/db"


def test_a_store_that_never_says_a_word(silent: str, spark: SparkSession, pipeline: Any, calls: Any, tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(StoreUnavailable):
        Lineage(spark, store=silent)
    with Lineage(spark, store=silent, on_store_failure="keep_result") as lineage:
        run = lineage.run(pipeline, strategy="auto")
        assert sorted(map(tuple, run.result.collect())) == EXPECTED
        assert calls.value == ROWS
        with pytest.raises(StoreUnavailable):
            lineage.runs()
        run.close()
    assert time.monotonic() - started < PROMPT
    (kept,) = (tmp_path / "home" / "incomplete").glob("*.json")
    assert "secret" not in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0


def test_a_pipeline_that_fails_fails_whatever_the_store_does(server: Any, spark: SparkSession) -> None:
    def broken(x: int) -> int:
        raise ValueError("no such thing")

    ReasonedUdf(broken, "bigint", name="broken_without_store").register(spark)
    from airflow_lineage_provider.errors import UdfFailed

    with Lineage(spark, store=server.url, on_store_failure="keep_result") as lineage, pytest.raises(UdfFailed, match="no such thing"):
        lineage.run("SELECT broken_without_store(id) AS x FROM range(3)", name="broken")
    assert SparkContext._active_spark_context is not None
