"""Who owns a running run, what happens to the runs of the dead, and how runs are ended, dropped and retired.

The owner of a run holds an advisory lock on a connection of its own for as long as the run goes on. PostgreSQL releases the lock when the
connection dies, however it dies; whoever can take the lock of a running run knows that its owner is gone.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from airflow_lineage_provider.errors import StoreError
from airflow_lineage_provider.store import catalog, schema
from airflow_lineage_provider.store.connection import psycopg2_connect, sqlstate, store_errors
from airflow_lineage_provider.store.load import application_name
from airflow_lineage_provider.store.records import RunRecord

if TYPE_CHECKING:
    import psycopg2.extensions

log = logging.getLogger(__name__)

DEAD = "the driver ended before the run was complete"
_LOCK_NOT_AVAILABLE = "55P03"
_DEADLOCK = "40P01"
_TRIES = 10
_KEPT = {"id", "pipeline", "status", "started", "finished", "strategy", "reasons"}
_DETAILS = [field.name for field in fields(RunRecord) if field.name not in _KEPT]


def lock_key(run_id: str) -> int:
    """The advisory lock's number for a run: 64 bits, so that two runs do not meet."""
    return int.from_bytes(hashlib.sha256(f"airflow-lineage run {run_id}".encode()).digest()[:8], "big", signed=True)


class RunLock:
    """The lock of a running run, on a connection of its own."""

    def __init__(self, url: str, run_id: str) -> None:
        self._url = url
        self._key = lock_key(run_id)
        self.run_id = run_id
        self._connection = self._take()

    def _take(self) -> psycopg2.extensions.connection:
        connection = psycopg2_connect(self._url, f"lineage-run:{self.run_id}")
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", (self._key,))
            row = cursor.fetchone()
        if not row or not row[0]:
            connection.close()
            raise StoreError(f"run {self.run_id} is being ended by another process")
        return connection

    def ensure(self) -> None:
        """Take the lock again when its connection was lost (the server was restarted, say)."""
        import psycopg2

        try:
            with self._connection.cursor() as cursor:
                cursor.execute("SELECT 1")
        except psycopg2.Error:
            self.release()
            self._connection = self._take()

    def release(self) -> None:
        """Give the lock up."""
        import psycopg2

        try:
            self._connection.close()
        except psycopg2.Error:
            log.debug("the connection of run %s's lock was lost before", self.run_id)


def fail(engine: sa.Engine, run_id: str, error: str) -> None:
    """Mark a run failed and drop its tables; a run that was dropped meanwhile stays dropped.

    Raises:
        RunNotFound: there is no such run.
        StoreError: it is complete.
    """

    def change(connection: sa.Connection) -> None:
        record = catalog.run(connection, run_id, lock=True)
        if record.status == "complete":
            raise StoreError(f"run {run_id} is complete and cannot fail any more; drop_run removes it")
        if record.status == "running":
            catalog.update_run(connection, run_id, status="failed", finished=datetime.now(UTC), error=error)
            catalog.drop_data(connection, run_id)

    _against_loads(engine, run_id, change)


def drop(engine: sa.Engine, run_id: str) -> None:
    """Drop a run's tables, derivations and details; pipeline, times and the status ``dropped`` stay.

    Raises:
        RunNotFound: there is no such run.
        StoreError: it is still running under a live driver.
    """

    def change(connection: sa.Connection) -> None:
        record = catalog.run(connection, run_id, lock=True)
        if record.status == "running" and not _owner_is_dead(connection, run_id):
            raise StoreError(f"run {run_id} is still running: it can be dropped when it has ended")
        _make_tombstone(connection, run_id)

    _against_loads(engine, run_id, change)


def _make_tombstone(connection: sa.Connection, run_id: str) -> None:
    catalog.drop_data(connection, run_id)
    for table in (schema.derivations, schema.reasons):
        connection.execute(table.delete().where(table.c.run_id == run_id))
    finished = sa.func.coalesce(schema.runs.c.finished, sa.func.now())
    blank = RunRecord(pipeline="")
    catalog.update_run(connection, run_id, status="dropped", finished=finished, **{name: getattr(blank, name) for name in _DETAILS})


def _against_loads(engine: sa.Engine, run_id: str, change: Callable[[sa.Connection], None]) -> None:
    """Run a change in a transaction, ending the loads (of tasks that outlived their driver) that stand in its way."""
    for attempt in range(_TRIES):
        try:
            with engine.begin() as connection:
                connection.execute(sa.text("SET LOCAL lock_timeout = '1s'"))
                change(connection)
                return
        except sa.exc.DBAPIError as error:
            if sqlstate(error) not in (_LOCK_NOT_AVAILABLE, _DEADLOCK) or attempt == _TRIES - 1:
                raise
            _end_loads(engine, run_id)


def _end_loads(engine: sa.Engine, run_id: str) -> None:
    with engine.begin() as connection:
        query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = :name AND datname = current_database()"
        connection.execute(sa.text(query), {"name": application_name(run_id)})


def _owner_is_dead(connection: sa.Connection, run_id: str) -> bool:
    return bool(connection.execute(sa.text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": lock_key(run_id)}).scalar())


def clean_up(engine: sa.Engine) -> list[str]:
    """Fail the running runs whose driver has died and drop their tables; their ids."""
    with engine.connect() as connection:
        running = list(connection.execute(sa.select(schema.runs.c.id).where(schema.runs.c.status == "running")).scalars())
    return [run_id for run_id in running if _fail_if_dead(engine, run_id)]


def _fail_if_dead(engine: sa.Engine, run_id: str) -> bool:
    found = False

    def change(connection: sa.Connection) -> None:
        nonlocal found
        if not _owner_is_dead(connection, run_id) or catalog.run(connection, run_id, lock=True).status != "running":
            return
        catalog.update_run(connection, run_id, status="failed", finished=datetime.now(UTC), error=DEAD)
        catalog.drop_data(connection, run_id)
        found = True

    _against_loads(engine, run_id, change)
    if found:
        log.warning("run %s: %s", run_id, DEAD)
    return found


def retire(engine: sa.Engine, days: int) -> list[str]:
    """Drop the complete and failed runs that ended more than so many days ago; their ids."""
    runs = schema.runs
    old = runs.c.finished < datetime.now(UTC) - timedelta(days=days)
    with engine.connect() as connection:
        query = sa.select(runs.c.id).where(runs.c.status.in_(("complete", "failed")), old).order_by(runs.c.id)
        found = list(connection.execute(query).scalars())
    return [run_id for run_id in found if _drop_unless_in_use(engine, run_id)]


def _drop_unless_in_use(engine: sa.Engine, run_id: str) -> bool:
    """Someone may be reading the run: it is dropped next time then."""
    try:
        with engine.begin() as connection, store_errors(f"retiring run {run_id}"):
            connection.execute(sa.text("SET LOCAL lock_timeout = '200ms'"))
            _make_tombstone(connection, run_id)
            return True
    except StoreError as error:
        if error.__cause__ is None or sqlstate(error.__cause__) != _LOCK_NOT_AVAILABLE:
            raise
        log.info("run %s is in use and is retired later", run_id)
        return False
