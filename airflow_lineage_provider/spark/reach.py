"""Whether executors get to the results store. It may listen on the driver's machine alone (the embedded server does), a firewall may stand
between, or they may have no driver of PostgreSQL's: then rows go, and come, by way of the driver.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from airflow_lineage_provider.reasons.workers_python import on_this_machine
from airflow_lineage_provider.store.transport import Kind, open_transport

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_KEPT_OUT: dict[tuple[str, str, Kind], bool] = {}
"""What was found of an application's executors, by the application, the store's URL and the way to it."""


def are_kept_out(spark: SparkSession, url: str, kind: Kind) -> bool:
    """Whether executors do not get to a store by its URL: asked of a task for each core, once an application, of executors elsewhere."""
    if on_this_machine(spark):
        return False
    asked = (spark.sparkContext.applicationId, url, kind)
    if asked not in _KEPT_OUT:
        cores = spark.sparkContext.defaultParallelism
        told = spark.range(0, cores, 1, cores).mapInArrow(_trying(url, kind), "problem string").collect()
        problem = next((row.problem for row in told if row.problem), None)
        _KEPT_OUT[asked] = problem is not None
        if problem is not None:
            log.warning("executors do not get to the results store; rows go by way of the driver, which is slower: %s", problem)
    return _KEPT_OUT[asked]


def _trying(url: str, kind: Kind) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def connect(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow

        for _ in batches:
            yield pyarrow.RecordBatch.from_pydict({"problem": pyarrow.array([problem_with(url, kind)], pyarrow.string())})

    return connect


def problem_with(url: str, kind: Kind) -> str | None:
    """Why this process does not get to a store; None where it does."""
    from airflow_lineage_provider.errors import StoreError
    from airflow_lineage_provider.secrecy import redact
    from airflow_lineage_provider.store.connection import store_errors

    try:
        with store_errors(f"connecting to {redact(url)}"), open_transport(url, "airflow-lineage", kind) as transport:
            transport.scalar("SELECT 1")
    except (ImportError, StoreError) as error:
        return str(error)
    return None
