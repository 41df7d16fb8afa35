"""What a pipeline is, read from the session that it means."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import BatchError
from airflow_lineage_provider.running.given_pipeline import frame_of
from airflow_lineage_provider.running.lineage_sources import check_rows_are_read
from airflow_lineage_provider.secrecy import recorded_params
from airflow_lineage_provider.secrecy.failures import guarded
from airflow_lineage_provider.secrecy.parameters import texts_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.running.run import Request
    from airflow_lineage_provider.spark.capturing.capture import CapturedPipeline


def captured_pipeline(spark: SparkSession, request: Request) -> tuple[DataFrame, CapturedPipeline, Request, float]:
    """The user's frame and its plan, the request with the values of secret session variables, which the plan has, and the seconds that the
    pipeline took to give its frame."""
    from airflow_lineage_provider.spark.capturing.capture import capture
    from airflow_lineage_provider.spark.capturing.variables import values_now, values_of
    from airflow_lineage_provider.spark.ready import require_ready
    from airflow_lineage_provider.spark.rereading.lineage_sources import frame_of_rows
    from airflow_lineage_provider.spark.session import SETTINGS

    require_ready(spark)
    sessions = [spark]

    def message(text: str) -> str:
        found = values_now(sessions[-1], request.secrets.variables) if request.secrets.variables else {}
        return replace(request.secrets, withheld=(*request.secrets.withheld, *texts_of(list(found.values())))).message(text)

    with guarded(message):
        with SETTINGS:  # a derivation in another thread runs under the settings of its own run
            rows = {one.name: frame_of_rows(spark, one) for one in request.sources}
            began = time.perf_counter()
            frame = frame_of(spark, request.pipeline, request.params, request.name, rows)
            called = time.perf_counter() - began
            if frame.sparkSession is not spark:  # of newSession(), say
                require_ready(frame.sparkSession)
                sessions.append(frame.sparkSession)
            captured = capture(frame, request.batch, request.sources)
            if request.batch is not None:
                _check_batch_is_read(request, captured)
            check_rows_are_read(request.name, request.sources, captured.rows_of.values())
        secrets = request.secrets.with_variables(values_of(captured.variables, request.secrets.names))
    variables = {name: secrets.values[name] for name in request.secrets.variables}
    recorded = {**request.recorded_params, **recorded_params(variables, secret=variables)}
    return frame, captured, replace(request, secrets=secrets, recorded_params=recorded), called


def _check_batch_is_read(request: Request, captured: CapturedPipeline) -> None:
    """:raises BatchError: the pipeline does not read the batch that it is given: each batch would have the same result."""
    assert request.batch is not None
    if not any(request.batch.has(source.relation) for source in captured.sources):
        read = ", ".join(sorted({source.relation.name for source in captured.sources})) or "nothing"
        raise BatchError(
            f"pipeline {request.name} does not read the batch that it is given, but {read}: start from the frame that is its first "
            "argument (in SQL text, from the view batch), and not from what was collected from it"
        )
