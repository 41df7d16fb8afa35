"""A run on Spark: a reasoned UDF over Parquet files, the result written to PostgreSQL.

Usage: ``python -m tests.chaos.spark_driver MASTER FOLDER``
"""

from __future__ import annotations

import sys
import time

from pyspark.sql import DataFrame, SparkSession

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.running.output import Output
from tests.chaos.work import OUTPUT, PIPELINE, QUERY
from tests.clusters import session


@reasoned_udf("bigint")
def slow_double(x: int) -> int:
    time.sleep(0.002)
    return 2 * x


def pipeline(spark: SparkSession, folder: str) -> DataFrame:
    spark.read.parquet(folder).createOrReplaceTempView("numbers")
    return spark.sql(QUERY)


def main(master: str, folder: str) -> None:
    # Two executors on a cluster, and several tasks for them.
    spark = session(master, {"spark.executor.cores": "1", "spark.sql.files.maxPartitionBytes": "2000"})
    spark.sparkContext.setLogLevel("OFF")
    slow_double.register(spark)
    with Lineage(spark) as lineage:
        output = Output.postgres(lineage.store.tcp_url, OUTPUT, "overwrite")
        print("begun", flush=True)
        run = lineage.run(pipeline, name=PIPELINE, params={"folder": folder}, output=output, progress=lambda stage: None)
        print("complete", run.id, flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
