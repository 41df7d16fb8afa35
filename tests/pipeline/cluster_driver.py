"""A driver for a standalone cluster whose executors do not have this package: it runs pipelines with lineage, and prints what their
explanations say. First the executors have no way to the store; then they have one, and a task that hangs is tried by another; then one of
them is killed while it loads rows, and one before the run is published; at last they write the rows into files: the executor of one that is
open is killed, and the task that writes it again hangs.

Usage: ``python cluster_driver.py MASTER FOLDER STORE``, with the store's URL
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import psutil

from airflow_lineage_provider import Lineage, Run
from airflow_lineage_provider.spark.executing import loading
from airflow_lineage_provider.spark.executing import lost_executors as losses
from airflow_lineage_provider.spark.executing.lost_executors import lost_executors
from airflow_lineage_provider.spark.executing.stored_rows import read_materialization
from airflow_lineage_provider.spark.reach import are_kept_out
from tests.answers import guarantees_of
from tests.chaos.checks import left_over
from tests.clusters import ROOT, session
from udfs.paper_credit_exam import credit_exam

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.store import PartitionLoader

ROWS = 12_000
NOWHERE = "postgresql://nobody@127.0.0.1:1/none"
"""What executors are told of the store: a port at which nobody listens."""
BUSY = {
    "spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0", "spark.dynamicAllocation.initialExecutors": "2",
    "spark.dynamicAllocation.executorIdleTimeout": "600s",  # those that are lost are the killed ones
    "spark.speculation": "true", "spark.speculation.interval": "20ms", "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1.1", "spark.speculation.minTaskRuntime": "1ms",
}  # fmt: skip
QUERY = """
    SELECT judge, count(*) AS n, sum(amount) AS total, max(note) AS note
    FROM (SELECT credit_exam(income, debt, amount) AS judge, amount, repeat('much', 250) AS note FROM applications) GROUP BY judge
"""
"""Both store more bytes than are brought to the driver to be stored."""
WIDE = "SELECT credit_exam(income, debt, amount) AS judge, amount, repeat('much', 250) AS note FROM applications WHERE hangs_once(id) >= 0"
WRITTEN = "SELECT credit_exam(income, debt, amount) AS judge, amount, hangs_once(id) AS id FROM applications"
"""The job that calls both functions writes its rows into files, if any are."""
HANGS = 300
"""Seconds that an attempt of a task takes which hangs."""
PATIENCE = 60
"""Seconds in which an attempt must have begun to write."""


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
        found |= hanging(spark, lineage, Path(folder)) | struck(spark, lineage, Path(folder))
    os.environ["AIRFLOW_LINEAGE_DATA_ROWS"] = "0"
    with Lineage(spark, store=store, data=f"{folder}/stored") as lineage:
        found |= in_files(spark, lineage, Path(folder))
    print(json.dumps(found | {"executors": len(_at_work(spark))}))
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
    attempts = _attempting(spark, folder / "attempts", {0: "hangs"})
    ways: list[str] = []
    for name in ("brought", "loading_partitions"):
        setattr(loading, name, _noting(getattr(loading, name), name, ways))
    started = time.monotonic()
    run = lineage.run(WIDE, name="hanging", reasons="lazy")
    seconds = time.monotonic() - started
    left = left_over(lineage.store, _stored(folder))
    return {"hanging": _rejected(spark, run), "attempts": _told(attempts), "ways": list(ways), "seconds": seconds, "left": left}


def in_files(spark: SparkSession, lineage: Lineage, folder: Path) -> dict[str, Any]:
    """Three attempts of one task, each of which has a file open: the first one's executor is killed, the second one hangs."""
    attempts = _attempting(spark, folder / "writing", {0: "dies", 1: "hangs"}, str(_stored(folder)))
    before, started = lost_executors(spark), time.monotonic()
    run = lineage.run(WRITTEN, name="in files", reasons="lazy")
    seconds = time.monotonic() - started
    left = left_over(lineage.store, _stored(folder))
    told = {"run": run.id, "found": _rejected(spark, run), "attempts": _told(attempts), "seconds": seconds, "left": left}
    return {"in files": told | {"lost": len(lost_executors(spark) - before)}}


def _stored(folder: Path) -> Path:
    """Where stored rows stand in files."""
    made = folder / "stored"
    made.mkdir(exist_ok=True)
    return made


def _told(attempts: Path) -> dict[str, str]:
    """The attempts of a task, and what each of them saw."""
    return {one.name: one.read_text() for one in sorted(attempts.iterdir())}


def _attempting(spark: SparkSession, attempts: Path, acts: Mapping[int, str], data: str = "") -> Path:
    attempts.mkdir()
    spark.udf.register("hangs_once", _acting(str(attempts), dict(acts), data), "bigint")
    return attempts


def _acting(folder: str, acts: dict[int, str], data: str) -> Callable[[int], int]:
    """A function that the first attempts of an application's first partition hang in, or lose their executor; each tells of itself, and,
    where rows are written into files below ``data``, of the file that it has open."""

    def hangs_once(n: int) -> int:
        import glob
        import os
        import time

        from pyspark import TaskContext

        context = TaskContext.get()
        if context is None or context.partitionId() not in acts:
            return n
        task, number = context.partitionId(), context.attemptNumber()
        act = "goes on" if number else acts[task]
        try:
            note = open(os.path.join(folder, f"{task}.{number} {act}"), "x")  # noqa: SIM115
        except FileExistsError:
            return n
        with note:
            # (Spark opens the first partition's file before it has a row.)
            its = f"{data}/*/*/_temporary/0/_temporary/attempt_*_{context.taskAttemptId()}/part-00000-*"
            deadline = time.monotonic() + PATIENCE
            while data and not task and not glob.glob(its) and time.monotonic() < deadline:
                time.sleep(0.05)
            note.write(" ".join(os.path.basename(one)[:10] for one in glob.glob(its)) if data else "")
        if act == "dies":
            _kill_executor()
        if act == "hangs":
            time.sleep(HANGS)
        return n

    return hangs_once


def _kill_executor() -> None:
    """End the executor whose Python worker this is, and wait for one's own end."""
    import time

    import psutil

    name = "CoarseGrainedExecutorBackend"
    next(one for one in psutil.Process().parents() if name in " ".join(one.cmdline())).kill()
    time.sleep(HANGS)


def _noting(function: Callable[..., Any], name: str, ways: list[str]) -> Callable[..., Any]:
    def noted(*arguments: Any, **further: Any) -> Any:
        ways.append(name)
        return function(*arguments, **further)

    return noted


def struck(spark: SparkSession, lineage: Lineage, folder: Path) -> dict[str, Any]:
    """A run that loses an executor which loads rows, and one when they are stored, before it is published."""
    check, load = losses.check_kept_rows, vars(loading)["loading_partitions"]
    before, note, told, lost = lost_executors(spark), folder / "loading", list[str](), list[int]()

    def strike(execution: Any) -> None:
        known = lost_executors(spark)
        lost.append(len(known - before))
        _process(spark, next(one for one, is_there in _at_work(spark).items() if is_there)).kill()
        while not lost_executors(spark) - known:
            time.sleep(0.2)
        check(execution)

    def dying(loader: PartitionLoader, *further: Any) -> Callable[[Any], Any]:
        return _dying(str(note), loader, load(loader, *further))

    with patch.object(losses, "check_kept_rows", strike), patch.object(loading, "loading_partitions", dying):
        run = lineage.run(WIDE.replace("hangs_once(id)", "id"), name="struck", progress=told.append)
    compared = [one for one in told if one.startswith("comparing")]
    lost.append(len(lost_executors(spark) - before))
    left = left_over(lineage.store, _stored(folder))
    return {"struck": _rejected(spark, run), "compared": compared, "loading": note.read_text(), "then lost": lost, "struck left": left}


def _dying(note: str, loader: PartitionLoader, load: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Load as told; the executor of the first partition's first attempt ends when the store is being sent rows, which is noted."""

    def dying(batches: Any) -> Any:
        import psycopg2
        from pyspark import TaskContext

        context = TaskContext.get()
        dies = context is not None and not context.partitionId() and not context.attemptNumber()
        query = "SELECT query FROM pg_stat_activity WHERE application_name = %s AND query LIKE 'COPY %%'"
        for batch in batches:
            for at in range(0, batch.num_rows, 500):  # the first two are looked at before any is sent
                yield batch.slice(at, 500)
                if dies and at >= 1000:
                    with open(note, "w") as told, psycopg2.connect(loader.url) as connection, connection.cursor() as cursor:
                        cursor.execute(query, [f"lineage-load:{loader.run_id}"])
                        told.write("; ".join(one for (one,) in cursor.fetchall()))
                    _kill_executor()

    def load_partition(batches: Any) -> Any:
        return load(dying(batches))

    return load_partition


def _rejected(spark: SparkSession, run: Run) -> list[Any]:
    """Rows of the result, of one of its targets, and of the source rows behind that; and what of it is not exact."""
    found = run.explain("judge = 'Reject' AND amount = 7800", max_rows=ROWS)
    worth = [f"{name}: {one.guarantee.cause}" for name, one in found.tables.items() if one.guarantee.level != "exact"]
    return [run.result.count(), found.target.num_rows, found.sources["applications"].num_rows, worth]


def _process(spark: SparkSession, executor: str) -> psutil.Process:
    name, number = f"--app-id {spark.sparkContext.applicationId} ", f"--executor-id {executor} "
    commands = ((one, " ".join(one.info["cmdline"] or ()) + " ") for one in psutil.process_iter(["cmdline"]))
    return next(one for one, command in commands if "CoarseGrainedExecutorBackend" in command and name in command and number in command)


def _at_work(spark: SparkSession) -> dict[str, bool]:
    """The executors that have done tasks so far, and whether they are still there."""
    found = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    seen = [found.apply(at) for at in range(found.size())]
    return {str(one.id()): bool(one.isActive()) for one in seen if one.id() != "driver" and int(one.completedTasks()) > 0}


if __name__ == "__main__":
    main(*sys.argv[1:])
