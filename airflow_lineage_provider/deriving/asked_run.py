"""A recorded run as a question finds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_lineage_provider import settings
from airflow_lineage_provider.deriving.stored_tables import StoredTables
from airflow_lineage_provider.words import Difference, Subqueries

if TYPE_CHECKING:
    from airflow_lineage_provider.deriving.sources import KeptRows
    from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
    from airflow_lineage_provider.progress import Progress
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing
    from airflow_lineage_provider.store import Materialization, RunRecord, Session, Store
    from airflow_lineage_provider.store.kept_udfs import UdfsOfRun


@dataclass(frozen=True, kw_only=True)
class AskedRun:
    """What a run wrote down and stored, and who can read it again.

    ``session`` is where the question's queries of the store run. ``on_demand`` has the Spark session, or starts one. ``kept`` has rows of
    sources that are no longer there. Without ``keep_reasons`` nothing is written into the store.
    An answer has ``most_sources`` source rows at most, and a query in this process is ended after ``query_seconds``, where there is
    such a bound. ``subqueries`` says what the rows of IN and EXISTS are to it, ``difference`` what the right side of a difference is, of
    which rows alone are asked for where nobody says so.
    """

    store: Store
    session: Session
    record: RunRecord
    recorded: RecordedPlan
    stored: Mapping[str, Materialization]
    udfs: UdfsOfRun
    on_demand: SparkOnDemand
    progress: Progress
    kept: KeptRows | None = None
    keep_reasons: bool = True
    most_sources: int = field(default_factory=settings.source_limit)
    subqueries: Subqueries = "partners"
    difference: Difference = "data"
    query_seconds: float | None = None

    @property
    def spark(self) -> SparkTracing | None:
        """Reads again what the run read and stored; None while there is no Spark session."""
        return self.on_demand.now

    @property
    def tables(self) -> StoredTables:
        """What the run stored, by number and position."""
        return StoredTables(self.store, self.session, self.on_demand, self.query_seconds)

    @property
    def total(self) -> int | None:
        """The number of the result's rows, where it is known."""
        return self.record.row_counts.get("result")
