"""Rows that lineage leads to, as a stream: however many they are, a part of them is held at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee, weakest

if TYPE_CHECKING:
    import pyarrow as pa

Parts = Generator[tuple["pa.RecordBatch", Guarantee], None, None]


class LineageStream:
    """Record batches of the source rows behind rows of a result: to be read once, by iterating or through Arrow's C interface.

    A row is a pair: column ``asked`` is the row of the result that it stands behind (counted from 0 among those asked about, ascending),
    the others are the source table's. ``guarantee`` is what those that have been read so far are worth; a row that is not there any more
    ends the stream with `SourceUnavailable`.
    """

    def __init__(self, *, asked: str, table: str, schema: pa.Schema, parts: Parts) -> None:
        self.asked = asked
        self.table = table
        self.schema = schema
        self.guarantee = EXACT
        self._parts = parts

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch, worth in self._parts:
            self.guarantee = weakest(self.guarantee, worth)
            yield batch

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.reader().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<stream of the rows of {self.table} for {self.asked}>"

    def reader(self) -> pa.RecordBatchReader:
        """The same as Arrow's reader, for those who take one (a Parquet or Flight writer, DuckDB)."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, iter(self))

    def close(self) -> None:
        """Give back what the stream holds, before its end."""
        self._parts.close()
