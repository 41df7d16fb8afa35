"""A run of a write whose plan cannot be recorded: that it was made, of which tables, where and when, and why no row can be explained."""

from __future__ import annotations

import platform
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from airflow_lineage_provider import __version__
from airflow_lineage_provider.records.run import RunRecord
from airflow_lineage_provider.secrecy.known import AIRFLOW
from airflow_lineage_provider.secrecy.parameters import recorded_value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from airflow_lineage_provider.running.given_output import GivenOutput
    from airflow_lineage_provider.running.run import Request
    from airflow_lineage_provider.store.run_store import RunStore


def write_unread(frame: DataFrame, output: GivenOutput, store: RunStore, request: Request, cause: str) -> RunRecord:
    """Have Spark write the program's own frame; the run, incomplete for this cause, with the tables that were read (`RecordedInput`): any
    of their rows may stand behind any that was written. The store's failures are no error here.

    :raises Exception: what Spark says when it cannot write; the run is recorded as failed.
    """
    from airflow_lineage_provider.running.given_output import recorded_output
    from airflow_lineage_provider.spark.capturing.named_inputs import named_inputs

    started = time.perf_counter()
    record = RunRecord(
        pipeline=request.name, strategy=request.strategy, reasons=request.reasons, params=dict(request.recorded_params),
        airflow={name: value if name in AIRFLOW else recorded_value(value) for name, value in request.airflow.items()},
        versions={"airflow_lineage_provider": __version__, "python": platform.python_version(), "spark": frame.sparkSession.version},
        started=datetime.now(UTC), inputs=named_inputs(frame),
    )  # fmt: skip
    record = replace(record, id=store.begin(record))
    try:
        written = output.write(frame)
    except BaseException as error:
        store.fail(record.id, f"{type(error).__name__}: {error}"[:10_000])
        raise
    record = replace(
        record, status="incomplete", error=f"lineage incomplete: {cause}", output=recorded_output(frame.sparkSession, output, written),
        timings={"total": time.perf_counter() - started}, finished=datetime.now(UTC),
    )  # fmt: skip
    store.incomplete(record, written.places)
    return record
