"""Names and values as SQL text. Every name or string that reaches SQL text passes through here; nothing else quotes."""

from __future__ import annotations

from airflow_lineage_provider.errors import StoreError

CATALOG_SCHEMA = "lineage"
DATA_SCHEMA = "lineage_data"


def identifier(name: str) -> str:
    """A quoted PostgreSQL identifier.

    :raises StoreError: PostgreSQL has no such identifier (empty, a NUL character, or over 63 bytes: it would be cut silently).
    """
    if not name or "\x00" in name or len(name.encode()) > 63:
        raise StoreError(f"not a possible PostgreSQL identifier: {name!r}")
    return '"' + name.replace('"', '""') + '"'


def literal(value: str | int | None) -> str:
    """A PostgreSQL literal; relies on ``standard_conforming_strings``, which every connection of ours sets.

    :raises StoreError: the text has a NUL character, which no PostgreSQL text can hold.
    """
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(int(value))
    if "\x00" in value:
        raise StoreError(f"PostgreSQL text cannot hold a NUL character: {value!r}")
    return "'" + value.replace("'", "''") + "'"


def qualified(schema: str, name: str) -> str:
    """A quoted, schema-qualified name."""
    return f"{identifier(schema)}.{identifier(name)}"
