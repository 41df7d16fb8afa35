"""Tables that batches of a stream share: a small batch has its rows in one that earlier batches have made, and none of its own.

A load finds the table (the catalog's function `make_table`), where its rows get the number of their materialization. What is dropped is
taken out by that number, and the table goes with the last that had rows in it.
"""

from __future__ import annotations

import logging

import sqlalchemy as sa

from airflow_lineage_provider.errors import StoreError
from airflow_lineage_provider.store import schema
from airflow_lineage_provider.store.connection import sqlstate, store_errors
from airflow_lineage_provider.store.layout import MATERIALIZATION
from airflow_lineage_provider.store.sqltext import DATA_SCHEMA, identifier, qualified

log = logging.getLogger(__name__)

_A_MOMENT = "500ms"
_LOCK_NOT_AVAILABLE = "55P03"
_M, _T = schema.materializations, schema.shared_tables
_IS_USED = sa.exists().where(_M.c.shared == _T.c.id)

SIZES = sa.text(f"""
    WITH asked AS (SELECT m.* FROM {_M.fullname} m WHERE m.run_id = ANY (:runs)),
    parts AS (
        SELECT m.shared, sum(coalesce(m.rows, 0) + 1) AS rows FROM {_M.fullname} m
        WHERE m.shared IN (SELECT shared FROM asked) GROUP BY m.shared
    )
    SELECT m.run_id, m.name,
        trunc(pg_total_relation_size(c.oid) * CASE WHEN m.shared IS NULL THEN 1 ELSE (coalesce(m.rows, 0) + 1) / parts.rows END) AS bytes
    FROM asked m JOIN pg_class c ON c.relname = m.table_name JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN parts ON parts.shared = m.shared WHERE n.nspname = :data ORDER BY m.id""")
"""The bytes of the tables of runs, with oversized values and indexes; of a shared table what falls to the rows, and to being there."""


def take_out(connection: sa.Connection, table: str, materialization: int) -> None:
    """Take the rows of a materialization out of a shared table, in the transaction that forgets it."""
    own = f"{identifier(MATERIALIZATION)} = {int(materialization)}"
    connection.exec_driver_sql(f"DELETE FROM {qualified(DATA_SCHEMA, table)} WHERE {own}".replace("%", "%%"))


def sweep(engine: sa.Engine) -> list[str]:
    """Drop the shared tables that nobody has rows in any more; their names. One that is in use is left for another time."""
    with engine.connect() as connection:
        found = connection.execute(sa.select(_T.c.id).where(~_IS_USED)).scalars().all()
    return [name for name in (_dropped(engine, one) for one in found) if name is not None]


def _dropped(engine: sa.Engine, number: int) -> str | None:
    try:
        with engine.begin() as connection, store_errors("dropping a table that batches shared"):
            connection.execute(sa.text(f"SET LOCAL lock_timeout = '{_A_MOMENT}'"))
            # Held against loads that would go there: one that holds it is going to have rows in it.
            held = sa.select(_T.c.table_name).where(_T.c.id == number).with_for_update(skip_locked=True)
            name = connection.execute(held).scalar()
            if name is None or connection.execute(sa.select(_IS_USED).where(_T.c.id == number)).scalar():
                return None
            connection.exec_driver_sql(f"DROP TABLE {qualified(DATA_SCHEMA, name)}".replace("%", "%%"))
            connection.execute(_T.delete().where(_T.c.id == number))
            return str(name)
    except StoreError as error:
        if error.__cause__ is None or sqlstate(error.__cause__) != _LOCK_NOT_AVAILABLE:
            raise
        log.info("a table that batches shared is in use, and is dropped later")
        return None
