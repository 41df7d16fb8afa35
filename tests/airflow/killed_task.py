"""A task in a process of its own, which is to be killed: signals are handled as Airflow's task runner handles them.

Usage: ``python -m tests.airflow.killed_task KIND FOLDER [SECONDS]``; FOLDER has the file ``going`` when the task is in the middle of its
work, and it is for others to kill it. With SECONDS another task comes before it in this process, whose time is over so long after it is
going, as Airflow's task runner has it: what it ended with is written into the file ``out of time``.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator
from airflow_lineage_provider.operators.lineage_pyspark import LineagePySparkOperator
from airflow_lineage_provider.operators.lineage_spark_sql import LineageSparkSqlOperator
from airflow_lineage_provider.reasons import reasoned_udf
from tests.airflow.submitting import context, execute

GOING = "AIRFLOW_LINEAGE_TEST_GOING"
PIPELINE = "explained slowly"


@reasoned_udf("bigint")
def slowly(number: int) -> int:
    """In a task that is to be killed it gives a sign at the last row, and does not come to an end."""
    if number == 3 and GOING in os.environ:
        Path(os.environ[GOING]).touch()
        time.sleep(600)
    return number


@slowly.with_reason
def _(number: int) -> tuple[int, dict[str, int]]:
    return slowly(number), {}


def pipeline(spark: Any) -> Any:
    slowly.register(spark)
    return spark.range(4).selectExpr("id", "slowly(id) AS slow").groupBy("slow").count()


def task_of(kind: str, folder: str) -> Any:
    match kind:
        case "pyspark":
            return LineagePySparkOperator(task_id="killed", python_callable=pipeline, output=f"{folder}/output")
        case "sql":
            sql = f"INSERT OVERWRITE DIRECTORY '{folder}/output' USING parquet SELECT slowly(id) AS slow FROM range(4)"
            session = {"master": "local[*]", "conf": {"spark.sql.catalogImplementation": "in-memory"}}
            return LineageSparkSqlOperator(task_id="killed", sql=sql, udfs=[slowly], **session)
        case "derive":
            return DeriveAugmentedLineageOperator(task_id="killed", pipeline=PIPELINE, target="slow = 3")
        case _:
            raise ValueError(kind)


def out_of_time_in(seconds: float, task: Any, going: Path) -> None:
    """Have the time be over so long after the work is going on, by the handler of Airflow's own `timeout`."""
    from airflow.sdk.execution_time.timeout import TimeoutPosix

    def watch() -> None:
        while not going.exists():
            time.sleep(0.1)
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGALRM)

    task.execution_timeout = timedelta(seconds=seconds)
    signal.signal(signal.SIGALRM, TimeoutPosix(seconds).handle_timeout)
    threading.Thread(target=watch, daemon=True).start()


def out_of_time(kind: str, folder: str, seconds: float) -> None:
    """A task before the other, with a session of its own in the same Java."""
    going, task = Path(folder, "going"), task_of(kind, f"{folder}/timed")
    out_of_time_in(seconds, task, going)
    try:
        run(task, f"{folder}/timed")
    except BaseException as error:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        going.unlink()  # the other is not going yet
        Path(folder, "out of time").write_text(f"{type(error).__name__}: {error}")


def run(task: Any, dag_id: str) -> None:
    given = context()
    given["ti"] = SimpleNamespace(**{**vars(given["ti"]), "dag_id": dag_id})
    execute(task, given)


def main(kind: str, folder: str, seconds: str | None = None) -> None:
    os.environ[GOING] = f"{folder}/going"  # of Java's workers, too, which have the variables that it was started with
    if seconds is not None:
        out_of_time(kind, folder, float(seconds))
    task = task_of(kind, folder)
    signal.signal(signal.SIGTERM, lambda *_: task.on_kill())
    run(task, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
