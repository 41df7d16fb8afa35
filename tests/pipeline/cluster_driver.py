"""A driver for a standalone cluster whose executors have neither this package nor a way to the store: it runs a pipeline with lineage, and
prints what its explanation says.

Usage: ``python cluster_driver.py MASTER FOLDER STORE``, with the store's URL
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import Lineage
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
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.speculation": "true", "spark.speculation.interval": "20ms", "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1.1", "spark.speculation.minTaskRuntime": "1ms",
}  # fmt: skip
QUERY = """
    SELECT judge, count(*) AS n, sum(amount) AS total
    FROM (SELECT credit_exam(income, debt, amount) AS judge, amount FROM applications) GROUP BY judge
"""


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
        print(json.dumps(told(spark, lineage)))
    spark.stop()


def told(spark: SparkSession, lineage: Lineage) -> dict[str, Any]:
    run = lineage.run(QUERY, name="cluster", reasons="eager")
    found = run.explain("judge = 'Reject'")
    stored = max(lineage.store.materializations(run.id).values(), key=lambda one: one.rows or 0)
    read = read_materialization(spark, lineage.store, stored)
    return {
        "executors": spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1,
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


if __name__ == "__main__":
    main(*sys.argv[1:])
