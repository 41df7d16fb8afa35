"""Two ways to send a partition: ADBC's COPY of Arrow in binary, and psycopg2's COPY of CSV; taken is what costs less, or works at all."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from airflow_lineage_provider.store.connection import adbc_connect, psycopg2_connect
from airflow_lineage_provider.store.sqltext import identifier, qualified
from airflow_lineage_provider.store.textform import to_text

if TYPE_CHECKING:
    import pyarrow as pa

Kind: TypeAlias = Literal["adbc", "psycopg2"]
Chosen: TypeAlias = Literal["auto"] | Kind
"""``auto``: what costs least for the rows (`transport_for`)."""

FEW_ROWS = 10_000
"""Up to so many rows psycopg2 sends them for less: its connection is the cheaper one."""
# CPU time of client and server, measured for each type alone over 300,000 rows: what a value costs as CSV more than in binary. Numbers and
# short texts are quicker read than converted, which binary COPY does to each; times, fractions and arrays are dear to write and to parse.
_ROW = -0.04
_MICROSECONDS = {
    "is_boolean": -0.05,
    "is_integer": -0.03,
    "is_floating": 0.1,
    "is_decimal": -0.15,
    "is_date": 0.1,
    "is_temporal": 0.35,
    "is_binary": 0.2,
    "is_list": 0.9,
}
"""By the tests of `pyarrow.types`: the first that holds."""
_TEXT = -0.06
_MICROSECONDS_A_BYTE = 0.0023
"""Of a text, beside."""


class Transport(Protocol):
    """One transaction on one connection."""

    def execute(self, sql: str) -> None:
        """Run a statement without a result."""

    def scalar(self, sql: str) -> Any:
        """The first column of the first row, None when there is no row."""

    def copy(self, schema: str, table: str, arrow: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        """Append batches of the given Arrow schema."""

    def commit(self) -> None:
        """End the transaction for good."""


def transport_for(batches: Iterator[pa.RecordBatch]) -> tuple[Kind, Iterator[pa.RecordBatch]]:
    """Which way sends these batches at the least cost, and the batches, of which at most two were made."""
    begun = list(islice(batches, 1))
    if begun and begun[0].num_rows <= FEW_ROWS:
        begun += islice(batches, 1)
    many = sum(batch.num_rows for batch in begun) > FEW_ROWS
    return "adbc" if many and adbc_installed() and _dearer_as_text(begun[0]) else "psycopg2", chain(begun, batches)


def _dearer_as_text(batch: pa.RecordBatch) -> bool:
    """Whether rows such as these cost more as CSV than in binary."""
    return _ROW + sum(map(_more_as_text, batch.columns)) > 0


def _more_as_text(column: pa.Array) -> float:
    """Microseconds that a value of a column costs as CSV more than in binary."""
    from pyarrow import types

    known = next((cost for is_one, cost in _MICROSECONDS.items() if getattr(types, is_one)(column.type)), None)
    return _TEXT + _MICROSECONDS_A_BYTE * column.nbytes / max(len(column), 1) if known is None else known


@contextmanager
def open_transport(url: str, application: str, kind: Kind = "psycopg2") -> Iterator[Transport]:
    """A transport, closed (and rolled back unless committed) at the end."""
    adbc = kind == "adbc"
    connection: Any = adbc_connect(url, application) if adbc else psycopg2_connect(url, application)
    cursor = connection.cursor()
    try:
        if adbc:
            connection.begin()
            yield AdbcTransport(connection, cursor)
        else:
            yield Psycopg2Transport(connection, cursor)
    finally:
        # A lost connection cannot be closed properly, and must not hide the error that told of it.
        with suppress(Exception):
            cursor.close()
        with suppress(Exception):
            connection.rollback()
        with suppress(Exception):
            connection.close()


def adbc_installed() -> bool:
    """Whether ADBC's PostgreSQL driver can be imported."""
    return all(importlib.util.find_spec(name) is not None for name in ("adbc_driver_manager", "adbc_driver_postgresql"))


class _Cursor:
    """What both ways do alike, through a cursor of Python's database interface."""

    def __init__(self, connection: Any, cursor: Any) -> None:
        self._connection = connection
        self._cursor = cursor

    def execute(self, sql: str) -> None:
        """Run a statement without a result."""
        self._cursor.execute(sql)

    def scalar(self, sql: str) -> Any:
        """The first column of the first row, None when there is no row."""
        self._cursor.execute(sql)
        row = self._cursor.fetchone()
        return None if row is None else row[0]

    def commit(self) -> None:
        """End the transaction for good."""
        self._connection.commit()


class AdbcTransport(_Cursor):
    """Arrow record batches straight into binary COPY."""

    def copy(self, schema: str, table: str, arrow: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        """Append batches of the given Arrow schema."""
        import pyarrow as pa

        first = next(batches, None)
        if first is None:
            return
        reader = pa.RecordBatchReader.from_batches(arrow, chain([first], batches))
        self._cursor.adbc_ingest(table, reader, mode="append", db_schema_name=schema)


class Psycopg2Transport(_Cursor):
    """The same rows as CSV, which quotes every value, so that an empty string is not NULL."""

    def copy(self, schema: str, table: str, arrow: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        """Append batches of the given Arrow schema."""
        names = ", ".join(map(identifier, arrow.names))
        sql = f"COPY {qualified(schema, table)} ({names}) FROM STDIN (FORMAT csv, ENCODING 'UTF8')"
        self._cursor.copy_expert(sql, _CsvFile(batches), size=1 << 20)


class _CsvFile(io.RawIOBase):
    """A file of CSV that is made batch by batch as it is read."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._pending = b""
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes; none only at the end."""
        while self._at >= len(self._pending):
            batch = next(self._batches, None)
            if batch is None:
                return b""
            self._pending, self._at = _csv(batch), 0
        end = len(self._pending) if size < 0 else self._at + size
        piece = self._pending[self._at : end]
        self._at += len(piece)
        return piece


def _csv(batch: pa.RecordBatch) -> bytes:
    import pyarrow as pa
    from pyarrow import csv, types

    texts = [_list_text(column) if types.is_list(column.type) else to_text(column) for column in batch.columns]
    out = pa.BufferOutputStream()
    options = csv.WriteOptions(include_header=False, quoting_style="all_valid")
    csv.write_csv(pa.RecordBatch.from_arrays(texts, names=[str(i) for i in range(len(texts))]), out, options)
    return bytes(out.getvalue().to_pybytes())


def _list_text(array: pa.Array) -> pa.Array:
    """Arrays of texts in PostgreSQL's notation, every element quoted."""
    import pyarrow as pa

    return pa.array(["{" + ",".join(map(_element, value)) + "}" for value in array.to_pylist()], pa.string())


def _element(text: str | None) -> str:
    if text is None:
        return "NULL"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
