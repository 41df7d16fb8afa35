"""A driver with a streaming query over a folder of files, which kills itself in its second batch where it is told to.

Usage: ``python -m tests.pipeline.stream_driver FOLDER WHEN``. ``written``: the batch's output is written, and its run is not recorded yet.
``recorded``: its run is recorded, and Spark has not noted that the batch is done. ``never``.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from pyspark.sql import DataFrame

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from tests.local_session import local_session

NAME = "a driver that is killed"
_AT = 1


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(folder: str, when: str) -> None:
    spark = local_session(NAME, {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"})
    stream(Lineage(spark), folder, when)
    spark.stop()


def stream(lineage: Lineage, folder: str, when: str) -> None:
    """Everything that is there, and what of it was not recorded before."""
    record = lineage.foreach_batch("SELECT id, amount > 100 AS large FROM batch", name=NAME, output=f"{folder}/judged+append")
    going, publish_run = [-1], Store.publish_run

    def publish(store: Store, run_id: str, **what: Any) -> None:
        if (going[0], when) == (_AT, "written"):
            die()
        publish_run(store, run_id, **what)

    def function(batch: DataFrame, number: int) -> None:
        going[0] = number
        record(batch, number)
        if (number, when) == (_AT, "recorded"):
            die()

    if when == "written":
        setattr(Store, "publish_run", publish)  # noqa: B010  (it is another method for type checkers)
    assert lineage.spark is not None
    loans = lineage.spark.readStream.schema("id int, amount double").option("maxFilesPerTrigger", 1).parquet(f"{folder}/loans")
    writer = loans.writeStream.foreachBatch(function).option("checkpointLocation", f"{folder}/checkpoint")
    writer.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
