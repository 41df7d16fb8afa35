"""A run that is made once more, without sketches, where what it read through them may not stand."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import SketchMismatch, SketchOutdated
from airflow_lineage_provider.running.run import Executed, Request, execute

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.progress import Progress
    from airflow_lineage_provider.store.run_store import RunStore

log = logging.getLogger(__name__)


def executed(spark: SparkSession, store: RunStore, request: Request, progress: Progress) -> Executed:
    """Run a pipeline (`run.execute`); where what was read through sketches turns out wrong or outdated, once more without.

    :raises LineageError: as `run.execute`.
    """
    try:
        return execute(spark, store, request, progress)
    except (SketchMismatch, SketchOutdated) as problem:
        log.warning("the run is made without sketches: %s", problem)
        return execute(spark, store, replace(request, sketches="off", sketches_refused=str(problem)), progress)
