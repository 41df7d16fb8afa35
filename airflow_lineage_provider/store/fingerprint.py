"""Which PostgreSQL table this is, however its server is addressed, and which rows it holds: one place and one version of it.

The version is the number of rows and a sum of hashes of their values, as PostgreSQL keeps them: no setting and no order changes it.
"""

from __future__ import annotations

from contextlib import closing

from airflow_lineage_provider.store.connection import normalise, psycopg2_connect
from airflow_lineage_provider.store.sqltext import literal, qualified


def place_query(table: str) -> str:
    """The table's place: server, database, schema and name; no row where there is no such table."""
    return (
        "SELECT 'postgresql:' || s.system_identifier || '/' || current_database() || '/' || n.nspname || '.' || c.relname AS place "
        "FROM pg_control_system() s, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        f"WHERE c.oid = to_regclass({literal(table)})"
    )


def version_query(table: str) -> str:
    """The number of rows, and their checksum as text. ``table`` is SQL text."""
    return f"SELECT count(*) AS row_count, coalesce(sum(hash_record_extended(t, 0)), 0)::text AS checksum FROM {table} t"


def version_text(rows: int, checksum: str) -> str:
    """The version as runs and readers compare it."""
    return f"{rows}:{checksum}"


def table_place(url: str, name: str) -> str | None:
    """The place of ``table`` or ``schema.table``; None where there is none.

    :raises psycopg2.Error: the server does not answer or refuses.
    """
    schema, _, table = name.rpartition(".")
    with closing(psycopg2_connect(normalise(url))) as connection, connection.cursor() as cursor:
        cursor.execute(place_query(qualified(schema or "public", table)))
        place = cursor.fetchone()
    return None if place is None else str(place[0])


def table_fingerprint(url: str, name: str) -> tuple[str, str] | None:
    """Place and version of ``table`` or ``schema.table``; None where there is none.

    :raises psycopg2.Error: the server does not answer or refuses.
    """
    schema, _, table = name.rpartition(".")
    target = qualified(schema or "public", table)
    with closing(psycopg2_connect(normalise(url))) as connection, connection.cursor() as cursor:
        cursor.execute(place_query(target))
        place = cursor.fetchone()
        if place is None:
            return None
        cursor.execute(version_query(target))
        row = cursor.fetchone()
        assert row is not None
        return str(place[0]), version_text(*row)
