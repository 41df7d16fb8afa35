"""Loading one partition of a materialization from wherever Spark computes it: a small, picklable object, one transaction, COPY.

A Spark task can be tried again, and two tries of it can run at the same time. Each partition has a row in the catalog's table
``loads``; whoever holds that row's lock first deletes what an earlier try of the partition wrote and then writes its own rows, so
that the last try to finish stands alone. The transaction also shares a lock on the run's row: a run cannot be published under a load
that is still going, and a late try cannot write into a run that is already complete, failed or dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from airflow_lineage_provider.errors import LoadFailed
from airflow_lineage_provider.store.connection import redact, store_errors
from airflow_lineage_provider.store.convert import storage_schema, to_storage
from airflow_lineage_provider.store.layout import PARTITION, Layout
from airflow_lineage_provider.store.sqltext import CATALOG_SCHEMA, DATA_SCHEMA, identifier, literal, qualified
from airflow_lineage_provider.store.transport import Transport, open_transport

if TYPE_CHECKING:
    import pyarrow as pa


def application_name(run_id: str) -> str:
    """How the connections that load a run are known to PostgreSQL (``pg_stat_activity``)."""
    return f"lineage-load:{run_id}"


@dataclass
class _Progress:
    """What passed through, and the error of the batches' producer, which no driver would hand on whole."""

    rows: int = 0
    escaped: set[str] = field(default_factory=set)
    error: BaseException | None = None


@dataclass(frozen=True)
class PartitionLoader:
    """Loads partitions of one materialization.

    Attributes:
        url: libpq URL of the store.
        run_id: the run.
        materialization_id: its key in the catalog.
        name: the materialization's name, for messages.
        table: physical name of the table in the schema of data.
        layout: the columns and their places.
        transport: ``"auto"`` takes ADBC where it is installed, else psycopg2.
    """

    url: str = field(repr=False)
    run_id: str
    materialization_id: int
    name: str
    table: str
    layout: Layout
    transport: Literal["auto", "adbc", "psycopg2"] = "auto"

    def load(self, partition: int, attempt: int, batches: Iterator[pa.RecordBatch]) -> int:
        """Replace a partition's rows by those of the batches; the number of rows.

        Args:
            partition: Spark's partition number.
            attempt: number of the try, kept for the record.
            batches: record batches with exactly the materialization's columns, in any order; may be empty.

        Raises:
            LoadFailed: a value cannot be stored, or the run is no longer running; the partition keeps what it had.
            StoreUnavailable: the store does not answer; the partition keeps what it had.
            Exception: whatever ``batches`` raised, unchanged.
        """
        progress = _Progress()
        doing = f"loading partition {partition} (try {attempt}) of {self.name!r} of run {self.run_id} into {redact(self.url)}"
        try:
            with store_errors(doing, LoadFailed), open_transport(self.url, application_name(self.run_id), self.transport) as transport:
                self._replace(transport, partition, attempt, self._converted(batches, partition, progress), progress)
        except Exception as error:
            if progress.error is not None and progress.error is not error:
                raise progress.error from None
            raise
        return progress.rows

    def _replace(self, transport: Transport, partition: int, attempt: int, batches: Iterator[pa.RecordBatch], progress: _Progress) -> None:
        key = f"materialization_id = {self.materialization_id} AND partition = {int(partition)}"
        loads = qualified(CATALOG_SCHEMA, "loads")
        self._check_running(transport)
        transport.execute(
            f"INSERT INTO {loads} (materialization_id, partition, attempt, rows)"
            f" VALUES ({self.materialization_id}, {int(partition)}, {int(attempt)}, 0) ON CONFLICT DO NOTHING"
        )
        earlier = transport.scalar(f"SELECT rows FROM {loads} WHERE {key} FOR UPDATE")
        if earlier:
            transport.execute(f"DELETE FROM {qualified(DATA_SCHEMA, self.table)} WHERE {identifier(PARTITION)} = {int(partition)}")
        transport.copy(DATA_SCHEMA, self.table, storage_schema(self.layout), batches)
        escaped = literal(json.dumps(sorted(progress.escaped)))
        transport.execute(
            f"UPDATE {loads} SET rows = {progress.rows}, attempt = {int(attempt)}, escaped = {escaped}, loaded = now() WHERE {key}"
        )
        transport.commit()

    def _check_running(self, transport: Transport) -> None:
        runs = qualified(CATALOG_SCHEMA, "runs")
        status = transport.scalar(f"SELECT status FROM {runs} WHERE id = {literal(self.run_id)} FOR SHARE")
        if status != "running":
            raise LoadFailed(f"run {self.run_id} is {status or 'not in the store'}: {self.name!r} takes no more rows")

    def _converted(self, batches: Iterator[pa.RecordBatch], partition: int, progress: _Progress) -> Iterator[pa.RecordBatch]:
        try:
            for batch in batches:
                converted, escaped = to_storage(batch, self.layout, partition)
                progress.rows += converted.num_rows
                progress.escaped.update(escaped)
                yield converted
        except GeneratorExit:
            raise
        except BaseException as error:
            progress.error = error
            raise
