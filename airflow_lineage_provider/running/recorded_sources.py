"""The sources of a run as it reads them, to be recorded: what tells their rows apart, and which version it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_lineage_provider.recording import RecordedSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.plan.lineage_keys import SourceIdentity
    from airflow_lineage_provider.plan.operators import Source
    from airflow_lineage_provider.plan.segments import SegmentedPlan
    from airflow_lineage_provider.records.versions import SourceVersion
    from airflow_lineage_provider.spark.capturing.capture import CapturedPipeline
    from airflow_lineage_provider.spark.capturing.micro_batch import MicroBatch
    from airflow_lineage_provider.store.run_store import RunStore


class SourceVersions:
    """The versions of the sources that a run reads, each looked at once, when it is first asked for."""

    def __init__(self, spark: SparkSession, store: RunStore, captured: CapturedPipeline) -> None:
        self._spark, self._store, self._captured = spark, store, captured
        self._known: dict[int, SourceVersion] = {}

    def __call__(self, source: Source) -> SourceVersion:
        if source.leaf not in self._known:
            self._known[source.leaf] = self._look_at(source)
        return self._known[source.leaf]

    def _look_at(self, source: Source) -> SourceVersion:
        """Also whether the session keeps rows of it that may be others."""
        from airflow_lineage_provider.spark.rereading.sources import version_of

        version = version_of(self._spark, self._captured.leaves[source.leaf], source.relation, self._is_output)
        return replace(version, kept_rows="doubtful") if source.leaf in self._captured.doubtful else version

    def _is_output(self, place: str) -> bool:
        return self._store.ask("finding the runs that wrote a table", lambda opened: bool(opened.written([place])), False)


def recorded_sources(
    versions: SourceVersions,
    batch: MicroBatch | None,
    captured: CapturedPipeline,
    plan: SegmentedPlan,
    identities: Mapping[int, SourceIdentity],
) -> dict[int, RecordedSource]:
    """The sources by leaf. Rows of lineage are of the very version that the run that was asked has read, which was looked at."""
    from airflow_lineage_provider.spark.executing.run import sources_of
    from airflow_lineage_provider.spark.identity import file_hashes

    def recorded(source: Source) -> RecordedSource:
        rows_of, identity = captured.rows_of.get(source.leaf), identities[source.leaf]
        if rows_of is not None:
            return replace(rows_of.source, source=source, rows_of=rows_of.of, of_batch=False)
        return RecordedSource(
            source=source,
            identity=identity,
            version=versions(source),
            files=file_hashes(captured.leaves[source.leaf]) if identity.kind == "file_position" else {},
            of_batch=batch is not None and batch.has(source.relation),
        )

    return {source.leaf: recorded(source) for source in sources_of(plan)}
