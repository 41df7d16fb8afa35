"""Staging tables in a user's database: held by a lock for as long as their writer lives, and dropped by the next one when it died."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from airflow_lineage_provider.store.connection import psycopg2_connect
from airflow_lineage_provider.store.sqltext import literal, qualified

if TYPE_CHECKING:
    import psycopg2.extensions

log = logging.getLogger(__name__)

_PREFIX = "lineage_staging_"
MARK = "a result that is being written; its writer holds an advisory lock"
"""The comment of a staging table: those of releases that held no lock are left alone."""

_LEFT = f"""
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relname LIKE '{_PREFIX.replace("_", "!_")}%%' ESCAPE '!' AND c.relkind = 'r'
    AND obj_description(c.oid, 'pg_class') = %s AND pg_has_role(c.relowner, 'MEMBER')"""
_KEY = "hashtextextended(%s, 0)"


@contextmanager
def staging_name(url: str, schema: str) -> Iterator[str]:
    """The name of a new staging table, whose lock is held meanwhile; the table is dropped at the end, where it still is.

    What dead writers left in the schema is dropped before.

    :raises psycopg2.Error: the database does not answer.
    """
    name = f"{_PREFIX}{secrets.token_hex(8)}"
    with closing(psycopg2_connect(url, "lineage-staging")) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT pg_advisory_lock({_KEY})", (name,))
        _drop_left(connection, schema)
        try:
            yield name
        finally:
            _drop(connection, schema, name, "10s")


def _drop_left(connection: psycopg2.extensions.connection, schema: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_LEFT, (schema, MARK))
        for (name,) in cursor.fetchall():
            cursor.execute(f"SELECT pg_try_advisory_lock({_KEY})", (name,))
            if cursor.fetchone() == (True,):
                log.warning("dropping %s, which a writer that died left behind", name)
                _drop(connection, schema, name, "500ms")
                cursor.execute(f"SELECT pg_advisory_unlock({_KEY})", (name,))


def _drop(connection: psycopg2.extensions.connection, schema: str, name: str, patience: str) -> None:
    """Drop a staging table; where a task that outlived its driver still loads it, or the server is gone, the next writer does."""
    import psycopg2

    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, false)", (patience,))
            cursor.execute(f"DROP TABLE IF EXISTS {qualified(schema, name)}")
    except psycopg2.Error as error:
        log.info("%s is left to the next writer: %s", name, error)


def mark(table: str) -> str:
    """The statement that marks a staging table."""
    return f"COMMENT ON TABLE {table} IS {literal(MARK)}"
