"""Rows with long binary values sent in one COPY, in PostgreSQL's binary format: nothing is written as text, or sent row by row."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from airflow_lineage_provider.store.sqltext import identifier

if TYPE_CHECKING:
    import sqlalchemy as sa

_HEADER = b"PGCOPY\n\xff\r\n\x00" + struct.pack(">ii", 0, 0)
_END = struct.pack(">h", -1)
_AT_ONCE = 1 << 20

Value: TypeAlias = "bytes | str | tuple[str, int] | None"
"""Bytes, a text, a number with its format in `struct` (``i`` of an int, ``q`` of a bigint), or NULL."""


def copy_rows(connection: sa.Connection, table: sa.Table, columns: Sequence[str], rows: Iterable[Sequence[Value]]) -> None:
    """Append rows within the connection's transaction; ``rows`` are gone through while they are sent."""
    names = ", ".join(map(identifier, columns))
    cursor: Any = connection.connection.cursor()
    with closing(cursor):
        cursor.copy_expert(f"COPY {table.fullname} ({names}) FROM STDIN (FORMAT binary)", _File(map(_row, rows)), size=_AT_ONCE)


class _File(io.RawIOBase):
    """The file that COPY reads, made row by row."""

    def __init__(self, rows: Iterator[bytes]) -> None:
        self._pieces = chain([_HEADER], rows, [_END])
        self._pending = memoryview(b"")

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes; none only at the end."""
        while not self._pending:
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._pending = memoryview(piece)
        end = len(self._pending) if size < 0 else size
        piece, self._pending = bytes(self._pending[:end]), self._pending[end:]
        return piece


def _row(values: Sequence[Value]) -> bytes:
    """
    >>> _row([("i", 7), b"ab", None]).hex()
    '00030000000400000007000000026162ffffffff'
    """
    return struct.pack(">h", len(values)) + b"".join(map(_field, values))


def _field(value: Value) -> bytes:
    if value is None:
        return struct.pack(">i", -1)
    if isinstance(value, tuple):
        value = struct.pack(f">{value[0]}", value[1])
    content = value.encode() if isinstance(value, str) else value
    return struct.pack(">i", len(content)) + content
