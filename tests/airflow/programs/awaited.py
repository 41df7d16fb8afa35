"""A function that is in the middle of its work until it is let go on."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def judge(spark: SparkSession, folder: str) -> DataFrame:
    """Twice the numbers. Meanwhile a run of what it writes by itself is recorded; and it waits for the file ``go``."""
    spark.range(8).coalesce(1).write.mode("overwrite").parquet(f"{folder}/numbers")
    Path(folder, f"going-{os.getpid()}").touch()
    while not Path(folder, "go").exists():
        time.sleep(0.1)
    return spark.read.parquet(f"{folder}/numbers").selectExpr("id", "2 * id AS judged")
