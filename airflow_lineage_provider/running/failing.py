"""What is done when a run fails: the error as a person should see it, and nothing of the run left over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import LineageError, RunFailed
from airflow_lineage_provider.running.given_output import GivenOutput
from airflow_lineage_provider.running.journal import Journal
from airflow_lineage_provider.running.output import Output

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.spark.executing.run import Execution
    from airflow_lineage_provider.store.run_store import RunStore
    from airflow_lineage_provider.tracing.program import Program


def explained_failure(error: BaseException, recorded: RecordedPlan, made: Sequence[Program]) -> BaseException:
    """The error as the user should see it."""
    if isinstance(error, LineageError) or not isinstance(error, Exception):
        return error
    from airflow_lineage_provider.spark.failures import explained

    return explained(error, recorded, made) or RunFailed(f"the pipeline failed: {error}")


def forget(execution: Execution, error: BaseException) -> None:
    """Let Spark forget the run; a session that is gone as well does not hide the first error."""
    try:
        execution.close()
    except Exception as second:
        error.add_note(f"Spark could not be told to forget the run: {second}")


def record_failure(store: RunStore, run_id: str, error: BaseException) -> bool:
    """Say in the store that the run failed: whether it knows. A store that is gone as well does not hide the first error."""
    try:
        store.fail(run_id, f"{type(error).__name__}: {error}"[:10_000])
    except Exception as second:
        error.add_note(f"the store could not be told either: {second}; the next start cleans up")
        return False
    return True


def take_back(spark: SparkSession, output: Output | GivenOutput, journal: Journal, error: BaseException) -> None:
    """Take out what the run has appended; what cannot be now, the next run that appends there takes out."""
    try:
        output.take_back(spark, journal, own=True)
    except Exception as second:
        error.add_note(f"what the run appended to {output.shown} could not be taken out: {second}; the next run that appends there does it")
