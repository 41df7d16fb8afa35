"""The process that waits for a submitted driver: a driver on its machine does not outlive it.

A task that is killed outright ends nothing: its spark-submit and their driver would write on, beside those of the task's next try.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from airflow_lineage_provider.store.server_life import Place, here

log = logging.getLogger(__name__)

ENDED = 143
"""The exit code of a driver whose submitter has died: that of a program that was asked to end."""
_LOOKS = 1.0
"""Seconds between two looks."""
_PATIENCE = 10.0
"""Seconds that Spark has to end by itself, and then the program."""


@dataclass(frozen=True, kw_only=True)
class Submitter:
    """A process, by its number, when it began (in ticks since its machine did; empty where the system does not tell it), and its place."""

    pid: int
    began: str
    boot: str
    namespace: str

    @classmethod
    def this_process(cls) -> Submitter:
        place, pid = here(), os.getpid()
        return cls(pid=pid, began=_began(pid) or "", boot=place.boot, namespace=place.namespace)

    def is_seen(self) -> bool:
        """Whether its number means the same process here: not in another container, nor on another machine."""
        return bool(self.boot) and Place("", self.boot, self.namespace).is_here()

    def lives(self) -> bool:
        """Whether it runs: a process that has ended, and one that has its number since, do not."""
        return _began(self.pid) == self.began


def _began(pid: int) -> str | None:
    """Of a process that runs; one that has ended, and waits for its parent to notice, does not."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if told[0] in "ZX" else told[19]


def end_with(submitter: Submitter) -> None:
    """End this driver when its submitter has died: Spark gives up what it computes, and the program what it does.

    Where the submitter cannot be seen (in a container of its own, or where the system tells of no processes) nothing is watched.
    """
    if submitter.is_seen():
        threading.Thread(target=_watch, args=(submitter, _end), name="submitter", daemon=True).start()


def _watch(submitter: Submitter, end: Callable[[], None]) -> None:
    while submitter.lives():
        time.sleep(_LOOKS)
    log.error("process %d, which has submitted this application and waits for it, was killed: the application ends, too", submitter.pid)
    end()


def _end() -> None:
    # Spark first, so that the program sees an error and has its time to tidy up; then this process, whatever it waits for.
    stopping = threading.Thread(target=_stop_spark, daemon=True)
    stopping.start()
    stopping.join(_PATIENCE)
    threading.main_thread().join(_PATIENCE)
    os._exit(ENDED)


def _stop_spark() -> None:
    with suppress(Exception):
        from pyspark import SparkContext

        active = SparkContext._active_spark_context
        if active is not None:
            active.stop()
