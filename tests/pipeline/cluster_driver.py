"""A driver for a master given on the command line: runs a pipeline with lineage and prints what its explanation says.

Usage: ``python cluster_driver.py MASTER FOLDER``
"""

from __future__ import annotations

import json
import sys

from airflow_lineage_provider import Lineage
from tests.answers import guarantees_of
from tests.clusters import session
from udfs.paper_credit_exam import credit_exam


def main(master: str, folder: str) -> None:
    spark = session(master, {})
    applications = [(n, 1000 + 10 * n, 50 * n, 200 * n) for n in range(100)]
    spark.createDataFrame(applications, "id int, income int, debt int, amount int").repartition(4).write.parquet(f"{folder}/applications")
    spark.read.parquet(f"{folder}/applications").createOrReplaceTempView("applications")
    credit_exam.register(spark)
    query = "SELECT judge, count(*) AS n FROM (SELECT credit_exam(income, debt, amount) AS judge FROM applications) GROUP BY judge"
    with Lineage(spark) as lineage:
        run = lineage.run(query, name="cluster", reasons="eager")
        found = run.explain("judge = 'Reject'")
        same = sorted(map(tuple, run.result.collect())) == sorted(map(tuple, spark.sql(query).collect()))
    print(
        json.dumps(
            {
                "executors": spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size(),
                "same": same,
                "rejected": found.target.column("n").to_pylist(),
                "sources": found.sources["applications"].num_rows,
                "reasons": found.reasons["credit_exam"].num_rows,
                "guarantees": sorted({one.level for one in guarantees_of(found).values()}),
            }
        )
    )
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
