"""A pipeline's result as a PostgreSQL table of the user's: loaded beside it by the executors, and put in place in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import LoadFailed
from airflow_lineage_provider.records.appends import KnownBy
from airflow_lineage_provider.secrecy import redact
from airflow_lineage_provider.store.appended_rows import take_out
from airflow_lineage_provider.store.connection import normalise, store_errors
from airflow_lineage_provider.store.convert import storage_schema, to_storage
from airflow_lineage_provider.store.fingerprint import place_query
from airflow_lineage_provider.store.layout import PARTITION, Column, Layout, make_layout
from airflow_lineage_provider.store.note import Note, Notes
from airflow_lineage_provider.store.sqltext import identifier, literal, qualified
from airflow_lineage_provider.store.staging import mark, staging_name
from airflow_lineage_provider.store.transport import open_transport, transport_for
from airflow_lineage_provider.words import OutputMode

if TYPE_CHECKING:
    import pyarrow as pa

_APPLICATION = "lineage-result"


def result_layout(name: str, columns: Sequence[Column]) -> Layout:
    """The columns of the user's table.

    :raises LoadFailed: two columns have one name, or there are more than a table can have.
    """
    layout = make_layout(columns)
    if layout.packed or [place.physical for place in layout.places] != [column.name for column in columns]:
        raise LoadFailed(f"the result cannot be PostgreSQL table {name}: it has too many columns, or names that PostgreSQL cannot hold")
    return layout


@dataclass(frozen=True)
class ResultTable:
    """A table that is being written; small and picklable.

    Arrays, maps and structs become JSON text; every other type becomes PostgreSQL's own.

    :ivar url: libpq URL of the user's database.
    :ivar schema, table: where the result goes.
    :ivar staging: the table beside it that the executors load.
    :ivar layout: the columns.
    :ivar mode: what is done when the table exists.
    """

    url: str = field(repr=False)
    schema: str
    table: str
    staging: str
    layout: Layout
    mode: OutputMode

    @staticmethod
    @contextmanager
    def staged(url: str, name: str, columns: Sequence[Column], mode: OutputMode) -> Iterator[ResultTable]:
        """Make the staging table, which is gone at the end, whatever the end is: should this process be killed, the next writer drops it.

        :param url: ``postgresql://…``.
        :param name: ``table`` or ``schema.table``.
        :param columns: names and Spark types, in order.
        :param mode: ``error`` refuses an existing table, ``overwrite`` replaces it, ``append`` adds to it.
        :raises LoadFailed: the table exists (``error``), two columns have one name, or there are more than a table can have.
        :raises StoreUnavailable: the database does not answer.
        """
        normal, schema = normalise(url), name.rpartition(".")[0] or "public"
        with store_errors(f"preparing table {name} in {redact(url)}", LoadFailed), staging_name(normal, schema) as staging:
            yield ResultTable._begin(normal, name, columns, mode, staging)

    @staticmethod
    def _begin(url: str, name: str, columns: Sequence[Column], mode: OutputMode, staging: str) -> ResultTable:
        schema, _, table = name.rpartition(".")
        layout = result_layout(name, columns)
        made = ResultTable(url, schema or "public", table, staging, layout, mode)
        with made._errors("preparing"), open_transport(made.url, _APPLICATION) as transport:
            if mode == "error" and transport.scalar(f"SELECT to_regclass({literal(made._target)})::text") is not None:
                raise LoadFailed(f"table {name} exists already in {redact(made.url)}; use +overwrite or +append, or another name")
            transport.execute(f"CREATE TABLE {made._staging} ({', '.join(layout.ddl())})")
            transport.execute(mark(made._staging))
            transport.commit()
        return made

    def load(self, partition: int, batches: Iterator[pa.RecordBatch]) -> int:
        """Replace a partition's rows in the staging table, in one transaction; the number of rows.

        :raises LoadFailed: a value cannot be stored. :raises StoreUnavailable: the database does not answer.
        """
        rows = 0

        def converted() -> Iterator[pa.RecordBatch]:
            nonlocal rows
            for batch in batches:
                stored, _ = to_storage(batch, self.layout, partition)
                rows += stored.num_rows
                yield stored

        with self._errors(f"loading partition {partition} of"):
            kind, sent = transport_for(converted())
            with open_transport(self.url, _APPLICATION, kind) as transport:
                # Two tries of a partition at the same time: the second waits, and then replaces what the first wrote.
                transport.execute(f"SELECT pg_advisory_xact_lock(hashtext({literal(self.staging)}), {int(partition)})")
                transport.execute(f"DELETE FROM {self._staging} WHERE {identifier(PARTITION)} = {int(partition)}")
                transport.copy(self.schema, self.staging, storage_schema(self.layout), sent)
                transport.commit()
        return rows

    def publish(self, notes: Notes | None = None) -> None:
        """Put the rows in place and drop the staging table, in one transaction.

        :param notes: told of rows that are appended before anybody can see them; what they replace is taken out in the same transaction.
        :raises LoadFailed: the table cannot be written, or some of the rows that are to be replaced were changed since.
        """
        columns = ", ".join(identifier(column.name) for column in self.layout.columns)
        rows, replaced, removed = f"SELECT {columns} FROM {self._staging}", list[Note](), 0
        # Not through ADBC, whose driver makes a COPY of each query: a DELETE that counts is none.
        with self._errors("publishing"), open_transport(self.url, _APPLICATION) as transport:
            exists = transport.scalar(f"SELECT to_regclass({literal(self._target)})::text") is not None
            if exists and self.mode == "overwrite":
                transport.execute(f"DROP TABLE {self._target}")
            if exists and self.mode == "append":
                transport.execute(f"INSERT INTO {self._target} ({columns}) {rows}")
            else:
                transport.execute(f"CREATE TABLE {self._target} AS {rows}")
            if notes is not None and self.mode == "append":
                count = transport.scalar(f"SELECT count(*) FROM {self._staging}")
                place = transport.scalar(place_query(self._target))
                how = KnownBy(transaction=int(transport.scalar("SELECT txid_current()")), rows=int(count))
                replaced = notes.intend([place], how)
                removed = sum(take_out(transport, self._target, self._shown, note) for note in replaced)
            transport.execute(f"DROP TABLE {self._staging}")
            transport.commit()
        if notes is not None:
            notes.replaced(replaced, removed)

    @property
    def _shown(self) -> str:
        return f"{self.schema}.{self.table} in {redact(self.url)}"

    @property
    def _target(self) -> str:
        return qualified(self.schema, self.table)

    @property
    def _staging(self) -> str:
        return qualified(self.schema, self.staging)

    def _errors(self, doing: str) -> AbstractContextManager[None]:
        return store_errors(f"{doing} table {self._shown}", LoadFailed)
