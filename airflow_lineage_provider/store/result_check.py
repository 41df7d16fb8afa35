"""Whether a result can become a PostgreSQL table of the user's: asked of the database itself, in a transaction that is taken back."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from airflow_lineage_provider.errors import LoadFailed
from airflow_lineage_provider.secrecy import redact
from airflow_lineage_provider.store.connection import normalise, store_errors
from airflow_lineage_provider.store.layout import Column
from airflow_lineage_provider.store.result_table import result_layout
from airflow_lineage_provider.store.sqltext import identifier, literal, qualified
from airflow_lineage_provider.store.transport import Transport, open_transport
from airflow_lineage_provider.words import OutputMode


def check_result_table(url: str, name: str, columns: Sequence[Column], mode: OutputMode) -> None:
    """Make the table for rows like these, and append its rows, which are none; nothing of it stays.

    :raises LoadFailed: the table exists (``error``), has other columns (``append``), or its schema takes no new table.
    :raises StoreUnavailable: the database does not answer.
    """
    url = normalise(url)
    schema, _, table = name.rpartition(".")
    target, trial = qualified(schema or "public", table), qualified(schema or "public", f"lineage_trial_{secrets.token_hex(8)}")
    layout = result_layout(name, columns)
    doing = f"trying whether table {name} can be written in {redact(url)}"
    with store_errors(doing, LoadFailed), open_transport(url, "lineage-result") as transport:
        exists = transport.scalar(f"SELECT to_regclass({literal(target)})::text") is not None
        if exists and mode == "error":
            raise LoadFailed(f"table {name} exists already in {redact(url)}; use +overwrite or +append, or another name")
        transport.execute("SET LOCAL lock_timeout = '5s'")
        transport.execute(f"CREATE TABLE {trial} ({', '.join(layout.ddl())})")
        if exists and mode == "overwrite":
            _check_owner(transport, target, name, url)
        if exists and mode == "append":
            names = ", ".join(identifier(column.name) for column in layout.columns)
            transport.execute(f"INSERT INTO {target} ({names}) SELECT {names} FROM {trial}")
        # Not committed: whoever looks sees nothing of it.


def _check_owner(transport: Transport, target: str, name: str, url: str) -> None:
    """Only its owner may replace a table."""
    own = transport.scalar(f"SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass({literal(target)})")
    if not own:
        raise LoadFailed(f"table {name} in {redact(url)} belongs to another user: it cannot be overwritten")
