"""A store's batches of streams, each looked at in one transaction (`batch_runs`), and many at once (`batch_groups`)."""

from __future__ import annotations

from airflow_lineage_provider.records.batches import BatchKey, BatchRun, NotAsked, RecordedBatch
from airflow_lineage_provider.secrecy import redact
from airflow_lineage_provider.store import batch_groups, batch_runs, lifecycle, unasked_batches
from airflow_lineage_provider.store.batch_groups import BatchGroup, BatchOfGroup
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

    def batches(self, pipeline: str, query: str | None = None, limit: int | None = None) -> list[RecordedBatch]:
        """The newest batches that were given to a pipeline (of one query), by query and number.

        :raises RecordDamaged: the record of one cannot be read.
        """
        with self._transaction(f"listing the batches of {pipeline!r}") as connection:
            return batch_runs.of_pipeline(connection, pipeline, query, limit)

    def batch_groups(self, pipeline: str, query: str | None = None) -> list[BatchGroup]:
        """A pipeline's complete batches (of one query) in groups whose results are asked in one way: those of the query whose first batch
        is the oldest first.
        """
        with self._transaction(f"listing the batches of {pipeline!r}") as connection:
            return batch_groups.groups(connection, self._executors, pipeline, query)

    def batches_not_asked(self, pipeline: str, query: str | None = None) -> dict[str, NotAsked]:
        """A pipeline's batches (of one query) that are in no group: those that have no result to be looked into, by status."""
        with self._statements(f"listing the batches of {pipeline!r}") as connection:
            return unasked_batches.not_asked(connection, pipeline, query)

    def batches_of_group(self, group: BatchGroup, after: int, most: int) -> list[BatchOfGroup]:
        """The first batches of a group whose numbers are above ``after``, ascending, and their results."""
        with self._transaction(f"listing the batches of {group.pipeline!r}") as connection:
            return batch_groups.members(connection, self._executors, group, after, most)

    def batches_with_rows(self, group: BatchGroup, where: str, most: int | None) -> list[BatchOfGroup]:
        """The first batches of a group that have rows which meet a condition in the table that they share, ascending: one statement.

        :param where: as in `read`.
        :raises StoreError: the table is gone: all of them were dropped meanwhile. :raises QueryTooSlow: the store is not ready in time.
        """
        with store_errors(f"finding batches of {group.pipeline!r} in {redact(self.url)}"), self.session() as session:
            return batch_groups.with_rows(session, group, where, most)
