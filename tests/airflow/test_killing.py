"""Tasks that are killed in the middle of their work, as Airflow kills them: Spark stops, and all that is left of them is a failed run."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import StoreUnavailable
from airflow_lineage_provider.operators.capture import CaptureLineageOperator
from airflow_lineage_provider.operators.lineage_pyspark import LineagePySparkOperator
from airflow_lineage_provider.store import Store
from tests.airflow.killed_task import PIPELINE, pipeline
from tests.airflow.submitting import context, execute, tables
from tests.in_turn import sampled

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.usefixtures("airflow_home")]


@pytest.mark.parametrize("kind", sampled(["pyspark", "derive", "sql"], one_in=3))
def test_the_run_fails_and_nothing_of_it_is_left(kind: str, store: Store, tmp_path: Path, spark: SparkSession) -> None:
    if kind == "derive":
        with Lineage(spark, store=store) as lineage:
            asked = lineage.run(pipeline, name=PIPELINE, progress=False)
    before, timed = tables(store), kind == "pyspark"
    children, said = ended(kind, tmp_path, store, *(["1"] if timed else []))
    assert "AirflowException: task 'killed' was killed" in said
    _, alive = psutil.wait_procs(children, timeout=30)
    assert alive == []
    assert tables(store) == before
    if kind == "derive":
        assert store.derivations(asked.id) == []
        return
    tasks = [str(tmp_path), f"{tmp_path}/timed"] if timed else [str(tmp_path)]
    assert sorted(str((one.airflow or {})["dag_id"]) for one in store.runs(limit=1_000) if is_failed_below(one, tmp_path)) == tasks
    assert not list(tmp_path.rglob("*.parquet"))
    if timed:
        assert (tmp_path / "out of time").read_text().startswith("AirflowTaskTimeout: ")


def is_failed_below(run: Any, folder: Path) -> bool:
    return run.status == "failed" and str((run.airflow or {}).get("dag_id", "")).startswith(str(folder))


def ended(kind: str, folder: Path, store: Store, *seconds: str) -> tuple[list[psutil.Process], str]:
    """The processes of a task that was ended in the middle of its work, and what it said.

    ``seconds``: another task before it, in the same processes, is out of time so long after it has begun.
    """
    command = [sys.executable, "-W", "ignore", "-m", "tests.airflow.killed_task", kind, str(folder), *seconds]
    with (folder / "log").open("w") as log:
        task = subprocess.Popen(command, cwd=Path(__file__).parents[2], env=os.environ | {"AIRFLOW_LINEAGE_STORE": store.url}, stderr=log)
    try:
        for sign in ("out of time", "going") if seconds else ("going",):
            while not (folder / sign).exists():
                assert task.poll() is None, (folder / "log").read_text()[-3000:]
                time.sleep(0.1)
        children = psutil.Process(task.pid).children(recursive=True)
        task.send_signal(signal.SIGTERM)
        assert task.wait(timeout=60) == 1
    finally:
        task.kill()
    return children, (folder / "log").read_text()


def test_work_that_has_ended_is_not_ended_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_lineage_provider.hooks.spark_session.cancel_jobs", lambda: pytest.fail("nothing is to be cancelled"))
    made: Any = LineagePySparkOperator(task_id="over", python_callable=print)
    with made._working():
        pass
    made.on_kill()


@pytest.mark.parametrize(
    "operator",
    [
        CaptureLineageOperator(task_id="asks", pipeline="p"),
        LineagePySparkOperator(task_id="runs", python_callable=lambda spark: spark.range(3)),
    ],
)
def test_a_store_that_never_answers_holds_no_task_up(operator: Any, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_CONNECT_TIMEOUT", "2")
    with socket.create_server(("127.0.0.1", 0)) as silent:  # a connection is made, and nobody says a word
        operator.store = f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/lineage"
        started = time.monotonic()
        with pytest.raises(StoreUnavailable):
            execute(operator, context())
    assert time.monotonic() - started < 30
