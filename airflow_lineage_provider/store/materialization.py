"""The handle of a stored segment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import StoredRowsGone
from airflow_lineage_provider.store.connection import with_connect_timeout
from airflow_lineage_provider.store.kinds import Kind
from airflow_lineage_provider.store.layout import MATERIALIZATION, Column, Layout
from airflow_lineage_provider.store.load import PartitionLoader
from airflow_lineage_provider.store.read import MaterializationReader, row_column
from airflow_lineage_provider.store.sqltext import CATALOG_SCHEMA, DATA_SCHEMA, identifier, qualified
from airflow_lineage_provider.store.transport import Chosen


@dataclass(frozen=True)
class ExecutorUrls:
    """The URLs by which Spark's executors reach the store: to load a run's tables, and to read them for a derivation."""

    loader: str = field(repr=False)
    reader: str = field(repr=False)


@dataclass(frozen=True)
class Materialization:
    """The stored output of a segment, the result, or a stored source.

    :ivar id: key in the catalog.
    :ivar run_id: the run it belongs to.
    :ivar name: unique in its run.
    :ivar kind: what it is (`kinds.KINDS`): ``result``, ``segment``, ``source``.
    :ivar columns: in order.
    :ivar table_name: name of the table in the schema of data, not quoted.
    :ivar rows: number of rows, None until it is published.
    :ivar row_count_hint: what the caller expected.
    :ivar escaped: columns whose stored text holds escapes (`textescape`): computing on them in PostgreSQL, equality apart, is not faithful.
    :ivar folder: URI of the folder whose Parquet files have the rows (`data_place`); None where a table has them.
    :ivar files: the files' names and bytes, once they are written; column number n is ``cn`` in them.
    :ivar checksums: their checksums (`file_checksums`), of those that the driver reached when they were written.
    :ivar is_shared: whether the table has rows of other batches of its stream, too.
    """

    id: int
    run_id: str
    name: str
    kind: Kind
    table_name: str
    layout: Layout = field(repr=False)
    urls: ExecutorUrls = field(repr=False)
    rows: int | None = None
    row_count_hint: int | None = None
    escaped: frozenset[str] = frozenset()
    folder: str | None = None
    files: Mapping[str, int] = field(default_factory=dict, repr=False)
    checksums: Mapping[str, int] = field(default_factory=dict, repr=False)
    is_shared: bool = False

    @property
    def in_files(self) -> bool:
        """Whether Parquet files have the rows, and no table."""
        return self.folder is not None

    def told_file(self, where: str) -> str:
        """A file of the rows, for messages."""
        return f"{where}, which has rows of {self.name!r} of run {self.run_id},"

    def check_file(self, name: str, where: str, now: int | None) -> None:
        """See that a file is the one that the run wrote; ``now`` are its bytes, None where it is not there.

        :raises StoredRowsGone: it is not.
        """
        if now != self.files[name]:
            what = "is gone" if now is None else f"has {now:,} bytes; the run wrote {self.files[name]:,}"
            raise StoredRowsGone(f"{self.told_file(where)} {what}: restore it, or run again")

    def check_content(self, name: str, where: str, now: int) -> None:
        """The same of a file of the right length; ``now`` is its checksum.

        :raises StoredRowsGone: it is not.
        """
        if now != self.checksums.get(name, now):
            raise StoredRowsGone(f"{self.told_file(where)} is damaged, or another: it has another checksum; restore it, or run again")

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, in order."""
        return self.layout.columns

    @property
    def table(self) -> str:
        """What a query reads the rows from: the quoted, schema-qualified name of the table, or the part of a shared one that has them."""
        return f"({self.part}) AS stored" if self.is_shared else qualified(DATA_SCHEMA, self.table_name)

    @property
    def part(self) -> str:
        """A SELECT of the rows from a shared table. Of a run that was dropped it fails, as it does where a table is gone."""
        own = f"{identifier(MATERIALIZATION)} = {int(self.id)} AND {CATALOG_SCHEMA}.still_stored({int(self.id)})"
        return f"SELECT * FROM {qualified(DATA_SCHEMA, self.table_name)} WHERE {own}"

    @property
    def parts(self) -> tuple[str, str]:
        """Schema and name of the table, not quoted."""
        return DATA_SCHEMA, self.table_name

    def physical(self, name: str) -> str | None:
        """The table's own name of a column; None for a column that is packed with others.

        :raises StoreError: there is no such column.
        """
        return self.layout.find(name)[1].physical

    def sql_column(self, name: str, table: str | None = None) -> str:
        """A PostgreSQL expression that yields a column; ``table`` is a quoted alias to qualify it with.

        Types that PostgreSQL has no like of (arrays, maps, structs, variants) come as their stored text: two values are the same
        when their texts are. `Store.query` turns them back when told their types.

        :raises StoreError: there is no such column.
        """
        return self.layout.sql_column(name, table)

    def loader(self, transport: Chosen = "auto", url: str | None = None) -> PartitionLoader:
        """What loads the partitions, from any process of Spark's; from one that reaches the store by another URL, by that."""
        url, silence, limit = with_connect_timeout(url or self.urls.loader), settings.store_silence(), settings.store_limit()
        return PartitionLoader(url, self.run_id, self.id, self.name, self.table_name, self.layout, transport, silence, limit)

    def reader(self, url: str | None = None) -> MaterializationReader:
        """What reads ranges of rows, from any process of Spark's; from one that reaches the store by another URL, by that.

        :raises StoreError: no column has the role ``row``.
        """
        return MaterializationReader(url or self.urls.reader, self.table, self.layout, row_column(self.layout, self.name))
