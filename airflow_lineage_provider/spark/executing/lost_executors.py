"""What becomes of a run that loses an executor: the rows that it kept are made again by another one, and may be others.

Rows that come of a shuffle have another order then, and so other numbers, and what a function gives that is not deterministic is another
value. The store has the rows as they were; what was computed after the loss was made from the others. So a run that lost an executor
compares the two before it is published.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import LoadFailed
from airflow_lineage_provider.spark.executing.stored_rows import read_materialization
from airflow_lineage_provider.spark.frames import columns_named, renamed, selected
from airflow_lineage_provider.spark.jvm_classes import java_class, scala_object
from airflow_lineage_provider.spark.session import is_local

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.spark.executing.run import Execution

_SECONDS = 10
"""So long Spark has to hear all that has happened: it tells of executors in a queue of its own."""
_UNHASHED = ("map<", "variant")


def lost_executors(spark: SparkSession) -> frozenset[str]:
    """The executors that the application has lost so far, by their numbers; none where the driver is the only one."""
    if is_local(spark):
        return frozenset()
    java = spark.sparkContext._jsc.sc()
    java.listenerBus().waitUntilEmpty(_SECONDS * 1000)
    mapper = java_class(spark, "com.fasterxml.jackson.databind.ObjectMapper")()
    mapper.registerModule(scala_object(spark, "com.fasterxml.jackson.module.scala.DefaultScalaModule"))
    told = json.loads(mapper.writeValueAsString(java.statusStore().executorList(False)))
    return frozenset(one["id"] for one in told if not one["isActive"])


def check_kept_rows(execution: Execution) -> None:
    """See that the rows which the run went on with are those that it stored, where an executor was lost since it began.

    :raises LoadFailed: they are others, and the result is not to be kept without its lineage.
    """
    if not execution.stored or execution.store.lost or not lost_executors(execution.spark) - execution.lost_before:
        return
    for frame, names, made in execution.stored:
        execution.progress(f"comparing {made.name}, since an executor was lost")
        opened = execution.store.opened()
        there = read_materialization(execution.spark, opened, made)
        if _digest(columns_named(frame, names)) == _digest(there):
            continue
        cause = (
            f"an executor was lost, and the rows of {made.name!r} of run {execution.run_id} that it had kept were made again, in another "
            "order or with other values: what was stored is not what the result was made from. Run it again"
        )
        if not execution.store.keeps_result:
            raise LoadFailed(cause)
        execution.store.lose(cause)
        return


def _digest(frame: DataFrame) -> tuple[int, int]:
    """The number of rows, and a sum of hashes of them with their numbers."""
    numbered = renamed(frame, [f"c{at}" for at in range(len(frame.columns))])
    values = [
        f"CAST(c{at} AS STRING)" if any(kind in field.dataType.simpleString() for kind in _UNHASHED) else f"c{at}"
        for at, field in enumerate(numbered.schema)
    ]
    row = selected(numbered, ["count(*) AS rows", f"sum(CAST(xxhash64({', '.join(values)}) AS DECIMAL(38, 0))) AS hashes"]).first()
    assert row is not None
    return int(row["rows"]), int(row["hashes"] or 0)
