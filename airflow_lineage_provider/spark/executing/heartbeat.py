"""How far a stage has come, told while it goes on: a task's log that is silent for an hour looks like a task that hangs."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.values import seconds_text
from airflow_lineage_provider.progress import Progress, SoFar, is_watched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY = 12.0
"""So many seconds after the last line the next one comes."""


@contextmanager
def heartbeat(session: Callable[[], SparkSession | None], progress: Progress) -> Iterator[Progress]:
    """The progress with lines in between (`SoFar`): the stage, the tasks and rows of Spark's jobs in it, and its seconds so far."""
    if not is_watched(progress):
        yield progress
        return
    beat = _Heartbeat(session, progress)
    try:
        yield beat.stage
    finally:
        beat.end()


class _Heartbeat:
    """A thread that speaks up when nobody else has for a while."""

    def __init__(self, session: Callable[[], SparkSession | None], progress: Progress) -> None:
        self._session = session
        self._jobs: _Jobs | None = None
        self._progress = progress
        self._name = ""
        self._began = self._told = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="lineage-progress", daemon=True)
        self._thread.start()

    def stage(self, name: str) -> None:
        """A stage begins. (Here, since a tag is that of the thread whose jobs it is to be on.)"""
        spark = self._session()
        if self._jobs is None and spark is not None:
            self._jobs = _Jobs(spark)
        self._name, self._began = name, time.monotonic()
        self._told = self._began
        self._progress(name)

    def end(self) -> None:
        self._over.set()
        self._thread.join(5.0)
        if self._jobs is not None:
            self._jobs.end()

    def _beat(self) -> None:
        while not self._over.wait(min(EVERY / 4, 1.0)):
            name, now = self._name, time.monotonic()
            if not name or now - self._told < EVERY:
                continue
            self._told = now
            with suppress(Exception):  # the session was stopped, say: the work itself will tell
                so_far = self._jobs.so_far() if self._jobs is not None else ""
                if not self._over.is_set() and name == self._name:
                    self._progress(SoFar(f"{name}: {so_far}{seconds_text(now - self._began)} so far"))


class _Jobs:
    """Spark's jobs of this thread, known by a tag."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext
        self._tag = f"lineage-{uuid.uuid4()}"
        self._context.addJobTag(self._tag)

    def end(self) -> None:
        with suppress(Exception):  # of a session that was stopped
            self._context.removeJobTag(self._tag)

    def so_far(self) -> str:
        """``stage 3: 5 of 8 tasks, 1,234,567 rows read, `` for each stage that is going on."""
        context: Any = self._context._jsc.sc()
        tracker, status = context.statusTracker(), context.statusStore()
        going_on = set(tracker.getActiveStageIds())
        mine = {stage for job in tracker.getJobIdsForTag(self._tag) for stage in self._stages(tracker, job)}
        return "".join(self._told(status.lastStageAttempt(stage)) for stage in sorted(going_on & mine)[:3])

    @staticmethod
    def _stages(tracker: Any, job: int) -> list[int]:
        found = tracker.getJobInfo(job)
        return list(found.get().stageIds()) if found.isDefined() else []

    @staticmethod
    def _told(stage: Any) -> str:
        rows = max(stage.inputRecords(), stage.shuffleReadRecords())
        read = f", {rows:,} rows read" if rows else ""
        return f"Spark's stage {stage.stageId()}, {stage.numCompleteTasks()} of {stage.numTasks()} tasks done{read}; "
