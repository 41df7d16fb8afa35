"""A driver for a standalone cluster whose executors do not have this package: it runs pipelines with lineage, and prints what their
explanations say. First the executors have no way to the store; then they have one, and a task that hangs is tried by another; then one of
them is killed between the load and the end of the run.

Usage: ``python cluster_driver.py MASTER FOLDER STORE``, with the store's URL
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from airflow_lineage_provider import Lineage, Run
from airflow_lineage_provider.spark.executing import loading
from airflow_lineage_provider.spark.executing import lost_executors as losses
from airflow_lineage_provider.spark.executing.lost_executors import lost_executors
from airflow_lineage_provider.spark.executing.stored_rows import read_materialization
from airflow_lineage_provider.spark.reach import are_kept_out
from tests.answers import guarantees_of
from tests.clusters import ROOT, session
from udfs.paper_credit_exam import credit_exam

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 12_000
NOWHERE = "postgresql://nobody@127.0.0.1:1/none"
"""What executors are told of the store: a port at which nobody listens."""
BUSY = {
    "spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0", "spark.dynamicAllocation.initialExecutors": "2",
    "spark.speculation": "true", "spark.speculation.interval": "20ms", "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1.1", "spark.speculation.minTaskRuntime": "1ms",
}  # fmt: skip
QUERY = """
    SELECT judge, count(*) AS n, sum(amount) AS total, max(note) AS note
    FROM (SELECT credit_exam(income, debt, amount) AS judge, amount, repeat('much', 250) AS note FROM applications) GROUP BY judge
"""
"""Both store more bytes than are brought to the driver to be stored."""
WIDE = "SELECT credit_exam(income, debt, amount) AS judge, amount, repeat('much', 250) AS note FROM applications WHERE hangs_once(id) >= 0"
HANGS = 120
"""Seconds that the first attempt of a task takes."""


def main(master: str, folder: str, store: str) -> None:
    os.environ |= {"AIRFLOW_LINEAGE_LOADER_STORE": NOWHERE, "AIRFLOW_LINEAGE_READER_STORE": NOWHERE}
    logging.basicConfig()
    logging.getLogger("airflow_lineage_provider").setLevel(logging.INFO)
    spark = session(master, BUSY)
    applications = spark.range(0, ROWS, 1, 4).selectExpr("id", "1000 + id % 700 AS income", "id % 31 AS debt", "200 * (id % 40) AS amount")
    applications.write.parquet(f"{folder}/applications")
    spark.read.parquet(f"{folder}/applications").createOrReplaceTempView("applications")
    # The user's own functions travel as they do in every Spark application.
    spark.sparkContext.addPyFile(shutil.make_archive(f"{folder}/functions", "zip", ROOT, "udfs"))
    credit_exam.register(spark)
    with Lineage(spark, store=store) as lineage:
        found = told(spark, lineage)
    for name in ("LOADER", "READER"):
        del os.environ[f"AIRFLOW_LINEAGE_{name}_STORE"]
    with Lineage(spark, store=store) as lineage:
        found |= hanging(spark, lineage, Path(folder)) | struck(spark, lineage)
    print(json.dumps(found | {"executors": _at_work(spark)}))
    spark.stop()


def told(spark: SparkSession, lineage: Lineage) -> dict[str, Any]:
    run = lineage.run(QUERY, name="cluster", reasons="eager")
    found = run.explain("judge = 'Reject'")
    stored = max(lineage.store.materializations(run.id).values(), key=lambda one: one.rows or 0)
    read = read_materialization(spark, lineage.store, stored)
    return {
        "lost": len(lost_executors(spark)),
        "kept out": [are_kept_out(spark, NOWHERE, "psycopg2"), are_kept_out(spark, lineage.store.url, "psycopg2")],
        "stored": sorted((row.amount, row.judge) for row in read.selectExpr("amount", "judge").distinct().collect()),
        "read": read.count(),
        "same": sorted(map(tuple, run.result.collect())) == sorted(map(tuple, spark.sql(QUERY).collect())),
        "rejected": found.target.column("n").to_pylist(),
        "sources": found.sources["applications"].num_rows,
        "reasons": found.reasons["credit_exam"].num_rows,
        "guarantees": sorted({one.level for one in guarantees_of(found).values()}),
    }


def hanging(spark: SparkSession, lineage: Lineage, folder: Path) -> dict[str, Any]:
    """Two attempts of one task, of a run whose rows the executors load themselves."""
    attempts = folder / "attempts"
    attempts.mkdir()
    spark.udf.register("hangs_once", _hanging(str(attempts)), "bigint")
    ways: list[str] = []
    for name in ("brought", "loading_partitions"):
        setattr(loading, name, _noting(getattr(loading, name), name, ways))
    started = time.monotonic()
    run = lineage.run(WIDE, name="hanging", reasons="lazy")
    seconds = time.monotonic() - started
    tried = sorted(one.name for one in attempts.iterdir())
    return {"hanging": _rejected(spark, run), "attempts": tried, "ways": list(ways), "seconds": seconds}


def _hanging(folder: str) -> Callable[[int], int]:
    def hangs_once(n: int) -> int:
        import os
        import time

        from pyspark import TaskContext

        context = TaskContext.get()
        if n == 0 and context is not None:
            number = context.attemptNumber()
            with open(os.path.join(folder, f"{number} of task {context.taskAttemptId()}"), "w"):
                pass
            if number == 0:
                time.sleep(HANGS)
        return n

    return hangs_once


def _noting(function: Callable[..., Any], name: str, ways: list[str]) -> Callable[..., Any]:
    def noted(*arguments: Any, **further: Any) -> Any:
        ways.append(name)
        return function(*arguments, **further)

    return noted


def struck(spark: SparkSession, lineage: Lineage) -> dict[str, Any]:
    """A run that loses an executor when its rows are stored, and before it is published."""
    check, told = losses.check_kept_rows, list[str]()

    def strike(execution: Any) -> None:
        before = lost_executors(spark)
        _executors(spark)[0].send_signal(signal.SIGKILL)
        while not lost_executors(spark) - before:
            time.sleep(0.2)
        check(execution)

    losses.check_kept_rows = strike
    try:
        run = lineage.run(WIDE.replace("hangs_once(id)", "id"), name="struck", progress=told.append)
    finally:
        losses.check_kept_rows = check
    compared = [one for one in told if one.startswith("comparing")]
    return {"struck": _rejected(spark, run), "compared": compared, "then lost": len(lost_executors(spark))}


def _rejected(spark: SparkSession, run: Run) -> list[Any]:
    """Rows of the result, of one of its targets, and of the source rows behind that; and what of it is not exact."""
    found = run.explain("judge = 'Reject' AND amount = 7800", max_rows=ROWS)
    worth = [f"{name}: {one.guarantee.cause}" for name, one in found.tables.items() if one.guarantee.level != "exact"]
    return [run.result.count(), found.target.num_rows, found.sources["applications"].num_rows, worth]


def _executors(spark: SparkSession) -> list[psutil.Process]:
    """The executors' processes, in the order of their numbers."""
    names = ("CoarseGrainedExecutorBackend", spark.sparkContext.applicationId)
    found = [one for one in psutil.process_iter(["cmdline"]) if all(name in " ".join(one.info["cmdline"] or ()) for name in names)]
    return sorted(found, key=lambda one: one.pid)


def _at_work(spark: SparkSession) -> int:
    """How many executors have done tasks so far, those that are gone among them."""
    seen = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    return sum(seen.apply(at).id() != "driver" and int(seen.apply(at).completedTasks()) > 0 for at in range(seen.size()))


if __name__ == "__main__":
    main(*sys.argv[1:])
