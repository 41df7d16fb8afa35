"""The Spark session of a question: as far as there is one, or one can be started where the answer turns out to need it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import SparkRequired

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing


@dataclass
class SparkOnDemand:
    """``now`` reads again what a run read and stored; None without a session. ``start`` is told why one is needed; None: there is none."""

    now: SparkTracing | None = None
    start: Callable[[str], SparkTracing | None] = field(default=lambda _: None)

    @property
    def session(self) -> SparkSession | None:
        """The session that there is."""
        return None if self.now is None else self.now.spark

    def needed(self, why: SparkRequired) -> SparkTracing:
        """A session, started where there was none.

        :raises SparkRequired: there is none, and none can be started: ``why`` itself.
        """
        if self.now is None:
            self.now = self.start(str(why))
        if self.now is None:
            raise why
        return self.now

    @contextmanager
    def not_started(self) -> Iterator[None]:
        """While it lasts, a session that there is not is not started either: what needs one raises."""
        start, self.start = self.start, lambda _: None
        try:
            yield
        finally:
            self.start = start
