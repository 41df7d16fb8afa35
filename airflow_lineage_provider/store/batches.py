"""A store's batches of streams, each looked at in one transaction (`batch_runs`)."""

from __future__ import annotations

from airflow_lineage_provider.records.batches import BatchKey, BatchRun, RecordedBatch
from airflow_lineage_provider.records.run import RunStatus
from airflow_lineage_provider.store import batch_runs, lifecycle
from airflow_lineage_provider.store.connection import store_errors
from airflow_lineage_provider.store.open_store import OpenStore


class Batches(OpenStore):
    """What a store knows of batches. `Runs.begin_run` enters them."""

    def batch_run(self, key: BatchKey) -> BatchRun | None:
        """The last run of a batch; one whose driver has died has failed. None where there is none."""
        found = self._batch_run(key)
        if found is None or found.status != "running":
            return found
        with store_errors(f"ending run {found.run_id}"):
            lifecycle.end_if_dead(self._engine, found.run_id)
        return self._batch_run(key)

    def _batch_run(self, key: BatchKey) -> BatchRun | None:
        with self._statements(f"finding batch {key.batch} of query {key.query}") as connection:
            return batch_runs.find(connection, key)

    def batches(
        self, pipeline: str, query: str | None = None, status: RunStatus | None = None, limit: int | None = None
    ) -> list[RecordedBatch]:
        """The newest batches that were given to a pipeline (of one query, with runs of one status), by query and number.

        :raises RecordDamaged: the record of one cannot be read.
        """
        with self._transaction(f"listing the batches of {pipeline!r}") as connection:
            return batch_runs.of_pipeline(connection, pipeline, query, status, limit)
