"""What a run would do with sketches now: nothing is run, and nothing is recorded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_lineage_provider.records.sketches import SketchUse
from airflow_lineage_provider.running.captured_pipeline import captured_pipeline
from airflow_lineage_provider.running.run import Request, prepare
from airflow_lineage_provider.secrecy.failures import guarded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.store.run_store import RunStore


def fitting_now(spark: SparkSession, store: RunStore, request: Request) -> tuple[SketchUse, ...]:
    """For each source the sketch that a run would read it through, or why there is none.

    :raises PlanError: the pipeline cannot be understood, or ``keys`` or ``sketch_on`` name what it does not read.
    """
    frame, captured, request, _ = captured_pipeline(spark, replace(request, sketches="use"))
    with guarded(request.secrets.message):
        return prepare(frame.sparkSession, store, request, frame, captured).sketching.uses
