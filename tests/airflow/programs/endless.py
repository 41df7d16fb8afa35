"""A program whose write does not end. Usage: ``endless.py FOLDER SIGN``: the sign is a file that a task makes, with the driver's number."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf


def main(folder: str, sign: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    driver = os.getpid()

    def slow(number: int) -> int:
        import time

        with open(f"{sign}.half", "w") as file:
            file.write(str(driver))
        os.replace(f"{sign}.half", sign)
        time.sleep(600)
        return number

    spark.range(3).select(udf(slow, "long")("id").alias("id")).write.parquet(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
