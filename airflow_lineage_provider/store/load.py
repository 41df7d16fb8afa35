"""Loading partitions of a materialization from wherever their rows are: a small, picklable object, one transaction, COPY.

A Spark task can be tried again, and two tries of it can run at the same time. Each partition has a row in the catalog's table ``loads``,
which the catalog's functions look after (the loader's role has no right to the catalog); whoever holds that row's lock first deletes what
an earlier try of the partition wrote and then writes its own rows, so that the last try to finish stands alone. The transaction also
shares a lock on the run's row: a run cannot be published under a load that is still going, and a late try cannot write into a run that is
already complete, failed or dropped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import LoadFailed, StoreUnavailable
from airflow_lineage_provider.reasons.apart import Relations, parted_column
from airflow_lineage_provider.secrecy import redact
from airflow_lineage_provider.store.connection import store_errors
from airflow_lineage_provider.store.convert import storage_schema, to_storage
from airflow_lineage_provider.store.handover import Abandoned, Handover, Patience
from airflow_lineage_provider.store.layout import Layout
from airflow_lineage_provider.store.sqltext import CATALOG_SCHEMA, DATA_SCHEMA, literal
from airflow_lineage_provider.store.transport import Chosen, Transport, open_transport, transport_for

if TYPE_CHECKING:
    import pyarrow as pa


def application_name(run_id: str) -> str:
    """How the connections that load a run are known to PostgreSQL (``pg_stat_activity``)."""
    return f"lineage-load:{run_id}"


@dataclass(frozen=True)
class NewTable:
    """A table that is made by the transaction of its one load: what the catalog's function `make_table` takes.

    :ivar entry: its row in the catalog, as JSON. :ivar definition: its columns.
    :ivar again: whether it may have been made before, and the answer lost.
    """

    entry: str
    definition: str
    again: bool = False


@dataclass
class _Progress:
    """What passed through."""

    rows: int = 0
    escaped: set[str] = field(default_factory=set)
    relations: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class PartitionLoader:
    """Loads partitions of one materialization.

    :ivar url: libpq URL of the store.
    :ivar run_id: the run.
    :ivar materialization_id: its key in the catalog.
    :ivar name: the materialization's name, for messages.
    :ivar table: physical name of the table in the schema of data.
    :ivar layout: the columns and their places.
    :ivar transport: ``"auto"`` takes what costs least for the rows (`transport.transport_for`).
    :ivar silence, limit: how long the store is waited for, as `handover.Patience` has them.
    """

    url: str = field(repr=False)
    run_id: str
    materialization_id: int
    name: str
    table: str
    layout: Layout
    transport: Chosen = "auto"
    silence: float = 30.0
    limit: float | None = None

    def load(self, partition: int, attempt: int, batches: Iterator[pa.RecordBatch]) -> int:
        """Replace a partition's rows by those of the batches; the number of rows.

        :param partition: Spark's partition number.
        :param attempt: number of the try, kept for the record.
        :param batches: record batches with exactly the materialization's columns, in any order; may be empty.
        :raises LoadFailed: a value cannot be stored, or the run is no longer running; the partition keeps what it had.
        :raises StoreUnavailable: the store does not answer, or not any more; the partition keeps what it had.
        :raises Exception: whatever ``batches`` raised, unchanged.
        """
        told = f"partition {partition} (try {attempt})"
        return self._load(told, {partition: (progress := _Progress())}, attempt, self._converted(batches, partition, progress))

    def load_together(self, partitions: Mapping[int, pa.Table]) -> int:
        """Replace the rows of some partitions, which are all here, in one transaction; the number of rows.

        :param partitions: rows with exactly the materialization's columns, by Spark's partition numbers.
        :raises LoadFailed, StoreUnavailable: as from `load`; every partition keeps what it had.
        """
        progress = {partition: _Progress() for partition in partitions}
        converted = (self._converted(iter([rows]), partition, progress[partition]) for partition, rows in partitions.items())
        return self._load(f"{len(partitions):,} partitions", progress, 0, chain.from_iterable(converted))

    def load_new(self, table: NewTable, partitions: Mapping[int, pa.Table]) -> tuple[int, str | None]:
        """Make the table with all of its rows, in one transaction; its key in the catalog, and the table that a batch has its rows in where
        it shares one.

        :param partitions: as of `load_together`; none leave the table empty.
        :raises LoadFailed, StoreUnavailable: as from `load`, or the name is taken; there is no table.
        """
        progress = {partition: _Progress() for partition in partitions}
        converted = (self._converted(iter([rows]), partition, progress[partition]) for partition, rows in partitions.items())
        made: list[tuple[int, str | None]] = []

        def replace(transport: Transport, batches: Handover) -> None:
            made.append(self._make(transport, table, progress, batches))

        self._send(f"{len(partitions):,} partitions", chain.from_iterable(converted), replace)
        return made[-1]

    def _load(self, what: str, progress: Mapping[int, _Progress], attempt: int, converted: Iterator[pa.RecordBatch]) -> int:
        self._send(what, converted, lambda transport, batches: self._replace(transport, progress, attempt, batches))
        return sum(one.rows for one in progress.values())

    def _send(self, what: str, converted: Iterator[pa.RecordBatch], replace: Callable[[Transport, Handover], None]) -> None:
        doing = f"loading {what} of {self.name!r} of run {self.run_id} into {redact(self.url)}"
        kind, converted = transport_for(converted) if self.transport == "auto" else (self.transport, converted)

        def send(handover: Handover) -> None:
            with store_errors(doing, LoadFailed), open_transport(self.url, application_name(self.run_id), kind) as transport:
                replace(transport, handover)

        handover = Handover(send, Patience(self.url, self.silence, self.limit), doing)
        try:
            while handover.wants_more():
                handover.give(next(converted, None))
        except StoreUnavailable:
            raise
        except BaseException:  # the rows could not be made: what was sent of them is taken back
            handover.abandon()
            raise
        handover.result()

    def _make(self, transport: Transport, table: NewTable, progress: Mapping[int, _Progress], batches: Handover) -> tuple[int, str | None]:
        given = f"{literal(self.run_id)}, {literal(table.entry)}, {literal(table.definition)}, {table.again}"
        said = str(transport.scalar(f"SELECT {CATALOG_SCHEMA}.make_table({given})"))
        number, _, shared = said.partition(" ")
        if not number.isdecimal():
            raise LoadFailed(f"run {self.run_id} is {said}: it does not take {self.name!r}")
        transport.copy(DATA_SCHEMA, shared or self.table, storage_schema(self.layout), batches)
        self._keep_relations(transport, {name: content for one in progress.values() for name, content in one.relations.items()})
        loaded = [
            {"partition": partition, "rows": one.rows, "escaped": json.dumps(sorted(one.escaped))} for partition, one in progress.items()
        ]
        transport.scalar(f"SELECT {CATALOG_SCHEMA}.end_table({int(number)}, {literal(json.dumps(loaded))})")
        if batches.is_abandoned:
            raise Abandoned
        transport.commit()
        return int(number), shared or None

    def _replace(self, transport: Transport, progress: Mapping[int, _Progress], attempt: int, batches: Handover) -> None:
        of_run = f"{literal(self.run_id)}, {int(self.materialization_id)}"
        loads = {partition: f"{of_run}, {int(partition)}, {int(attempt)}" for partition in progress}
        for load in loads.values():
            status = transport.scalar(f"SELECT {CATALOG_SCHEMA}.begin_load({load})")
            if status != "running":
                raise LoadFailed(f"run {self.run_id} is {status}: {self.name!r} takes no more rows")
        transport.copy(DATA_SCHEMA, self.table, storage_schema(self.layout), batches)
        self._keep_relations(transport, {name: content for one in progress.values() for name, content in one.relations.items()})
        for partition, load in loads.items():
            escaped = literal(json.dumps(sorted(progress[partition].escaped)))
            transport.scalar(f"SELECT {CATALOG_SCHEMA}.end_load({load}, {progress[partition].rows}, {escaped})")
        if batches.is_abandoned:
            raise Abandoned
        transport.commit()

    def _keep_relations(self, transport: Transport, relations: Relations) -> None:
        """In one order, and at the end of the transaction: who loads the same does not wait long, and two do not wait for each other."""
        for name, content in sorted(relations.items()):
            values = f"{literal(self.run_id)}, {literal(name)}, decode('{content.hex()}', 'hex')"
            if not transport.scalar(f"SELECT {CATALOG_SCHEMA}.keep_relation({values})"):
                raise LoadFailed(f"run {self.run_id} takes no more relations of reasons: {self.name!r} is not loaded")

    def _converted(self, batches: Iterator[pa.RecordBatch | pa.Table], partition: int, progress: _Progress) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            parted, relations = self._parted(batch)
            progress.relations.update(relations)
            converted, escaped = to_storage(parted, self.layout, partition)
            progress.rows += converted.num_rows
            progress.escaped.update(escaped)
            yield converted

    def _parted(self, batch: pa.RecordBatch | pa.Table) -> tuple[pa.RecordBatch | pa.Table, Relations]:
        """The rows with the relations of long reasons apart."""
        found: dict[str, bytes] = {}
        for column in self.layout.columns:
            at = batch.schema.get_field_index(column.name) if column.role == "reason" else -1
            if at >= 0:
                reasons, relations = parted_column(batch.column(at))
                if relations:
                    batch = batch.set_column(at, batch.schema.field(at), reasons)
                    found |= relations
        return batch, found
