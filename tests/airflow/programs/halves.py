"""A program as people have it: it makes its session, and writes. Usage: ``halves.py FOLDER ROWS``."""

from __future__ import annotations

import sys

from beside import HALF  # type: ignore[import-not-found]  # a driver finds it beside the program
from pyspark.sql import SparkSession


def main(folder: str, rows: str) -> None:
    spark = SparkSession.builder.appName("halves").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.range(int(rows)).selectExpr("id", HALF).write.mode("overwrite").parquet(f"{folder}/halves")
    counted = spark.read.parquet(f"{folder}/halves").groupBy("half").count()
    counted.write.mode("overwrite").parquet(f"{folder}/counts")
    print("the program's settings:", sorted(key for key, _ in spark.sparkContext.getConf().getAll() if "lineage" in key))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
