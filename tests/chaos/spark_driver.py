"""A run on Spark: a reasoned UDF over Parquet files, the result written to PostgreSQL.

Usage: ``python -m tests.chaos.spark_driver MASTER FOLDER DATA``, with the folder for what is stored (``store``: PostgreSQL has it). Whoever
disturbs it reads beside the first folder which executors have tasks.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from unittest.mock import patch

from pyspark.sql import DataFrame, SparkSession

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.running import run as running
from airflow_lineage_provider.running.output import Output
from airflow_lineage_provider.spark.executing import few_rows
from tests.chaos.work import OUTPUT, PIPELINE, QUERY, told_in
from tests.clusters import session


@reasoned_udf("bigint")
def slow_double(x: int) -> int:
    time.sleep(0.002)
    return 2 * x


def pipeline(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(folder).createOrReplaceTempView("numbers")
    return spark.sql(QUERY)


def tell_executors(spark: SparkSession, place: Path, ended: threading.Event) -> None:
    """Write down, again and again, the executors' tasks in flight by their ids, and what became of those that were lost."""
    store = spark.sparkContext._jsc.sc().statusStore()
    while True:
        last = ended.wait(0.05)
        every = store.executorList(False)
        seen = [every.apply(number) for number in range(every.size())]
        tasks = {str(one.id()): int(one.activeTasks()) for one in seen if one.isActive()}
        lost = sum(not one.isActive() for one in seen)
        draft = place.with_suffix(".draft")
        draft.write_text(json.dumps({"tasks": tasks, "lost": lost, "failed": sum(int(one.failedTasks()) for one in seen)}))
        draft.replace(place)
        if last:
            return


def main(master: str, folder: str, data: str) -> None:
    if os.getpid() % 2:  # so that either way is disturbed:
        few_rows._MUCH = 0  # the executors load what the driver would,
        patch.object(running, "probably_many", lambda *_: frozenset()).start()  # and what would go straight into files is kept first.
    # Two executors on a cluster, and several tasks for them.
    spark = session(master, {"spark.executor.cores": "1", "spark.sql.files.maxPartitionBytes": "2000"})
    spark.sparkContext.setLogLevel("OFF")
    slow_double.register(spark)
    ended = threading.Event()
    telling = threading.Thread(target=tell_executors, args=(spark, told_in(Path(folder).parent, os.getpid()), ended))
    telling.start()
    try:
        with Lineage(spark, data=data) as lineage:
            output = Output.postgres(lineage.store.tcp_url, OUTPUT, "overwrite")
            print("begun", flush=True)
            run = lineage.run(pipeline, name=PIPELINE, params={"folder": folder}, output=output, progress=lambda stage: None)
            print("complete", run.id, flush=True)
    finally:
        ended.set()
        telling.join()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
