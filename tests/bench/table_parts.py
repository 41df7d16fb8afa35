"""What the bytes of a table of PostgreSQL are: heap, what is too long for it, each index; and of a row by column."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg2
from psycopg2 import sql

_SIZES = """
    SELECT pg_relation_size(oid), coalesce(pg_total_relation_size(nullif(reltoastrelid, 0)), 0), pg_total_relation_size(oid)
    FROM pg_class WHERE oid = %s::regclass"""
_INDEXES = """
    SELECT pg_get_indexdef(indexrelid), pg_total_relation_size(indexrelid) FROM pg_index WHERE indrelid = %s::regclass ORDER BY 2 DESC, 1"""
_COLUMNS = "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"


def table_parts(url: str, table: str) -> str:
    """In words, a line each. ``table`` may have a schema's name before its own."""
    with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
        return "\n".join(_told(cursor, table))


def _told(cursor: Any, table: str) -> Iterator[str]:
    ((heap, too_long, whole),) = _asked(cursor, _SIZES, table)
    indexes = _asked(cursor, _INDEXES, table)
    yield f"  table {table}: {whole:,} B"
    yield f"  heap: {heap:,} B, {_of_a_row(cursor, table, heap)}"
    yield f"  values that are too long for it: {too_long:,} B"
    for definition, size in indexes:
        yield f"  index on {definition.partition(' USING ')[2]}: {size:,} B"
    yield f"  maps of what is free, and visible: {whole - heap - too_long - sum(size for _, size in indexes):,} B"


def _of_a_row(cursor: Any, table: str, heap: int) -> str:
    """Its bytes by column; the rest are its header, gaps between columns, its place in the page, and what is free."""
    names = [name for (name,) in _asked(cursor, _COLUMNS, table)]
    sizes = sql.SQL(", ").join(sql.SQL("coalesce(avg(pg_column_size({})), 0)::float8").format(sql.Identifier(one)) for one in names)
    cursor.execute(sql.SQL("SELECT count(*), {} FROM {}").format(sizes, sql.Identifier(*table.replace('"', "").split("."))))
    ((rows, *each),) = cursor.fetchall()
    if not rows:
        return "no rows"
    told = ", ".join(f"{name} {size:.1f}" for name, size in zip(names, each, strict=True))
    return f"{rows:,} rows of {heap / rows:.1f} B: {told}, {heap / rows - sum(each):.1f} beside them"


def _asked(cursor: Any, query: str, table: str) -> list[tuple[Any, ...]]:
    cursor.execute(query, (table,))
    found: list[tuple[Any, ...]] = cursor.fetchall()
    return found
