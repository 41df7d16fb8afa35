"""What happens to the runs of the dead, and how runs are ended, dropped and retired."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from airflow_lineage_provider.errors import StoreError
from airflow_lineage_provider.records.appends import KnownBy
from airflow_lineage_provider.records.run import RunRecord
from airflow_lineage_provider.store import (
    append_notes,
    catalog,
    discarded,
    kept_arrays,
    materialized,
    outputs,
    run_lock,
    schema,
    shared_plans,
    shared_tables,
)
from airflow_lineage_provider.store.connection import sqlstate, store_errors
from airflow_lineage_provider.store.load import application_name

log = logging.getLogger(__name__)

Appended = Sequence[tuple[str, KnownBy, str]]
"""What a run has appended: where, how its rows there are known, and the append's key."""

DEAD = "the driver ended before the run was complete"
_STANDS = "; what it may have appended stays, as it was to keep its result whatever the store does (on_store_failure='keep_result')"
_LOCK_NOT_AVAILABLE = "55P03"
_DEADLOCK = "40P01"
_TRIES = 10
_A_MOMENT = "500ms"
_CLEANING_SECONDS = 2.0
_MAY_CLEAN_UP = sa.text(
    "SELECT has_table_privilege('lineage.runs', 'UPDATE') AND NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off'"
)
_KEPT = {"id", "pipeline", "status", "started", "finished", "strategy", "reasons"}
_DETAILS = [field.name for field in fields(RunRecord) if field.name not in _KEPT]


def fail(engine: sa.Engine, run_id: str, error: str) -> None:
    """Mark a run failed and drop its tables; a run that was dropped meanwhile stays dropped.

    :raises RunNotFound: there is no such run.
    :raises StoreError: it is complete.
    """

    def change(connection: sa.Connection) -> None:
        found = catalog.state(connection, run_id, lock=True)
        if found.status == "complete":
            raise StoreError(f"run {run_id} is complete and cannot fail any more; drop_run removes it")
        if found.status == "running":
            catalog.update_run(connection, run_id, status="failed", finished=datetime.now(UTC), error=error)
            materialized.drop_data(connection, run_id)

    _against_loads(engine, run_id, change)
    _sweep(engine)


def incomplete(engine: sa.Engine, record: RunRecord, places: Mapping[str, str], appended: Appended) -> None:
    """Say of a run that its result stands and its lineage does not; a run that was never entered is entered. What was loaded is dropped.

    A run that is complete after all (its publishing was not seen to end), or that was dropped, is left as it is.
    """

    def change(connection: sa.Connection) -> None:
        found = catalog.find(connection, record.id, lock=True)
        if found is None:
            catalog.insert_run(connection, record)
        elif found.status in ("complete", "incomplete", "dropped"):
            return
        materialized.drop_data(connection, record.id)
        append_notes.stay(connection, record.id)
        for place, how, key in appended:
            append_notes.enter(connection, record.id, place, how, key)
        outputs.enter(connection, record.id, places)
        values = catalog.run_values(record)
        said = {name: values[name] for name in ("finished", "error", "output", "timings", "row_counts")}
        catalog.update_run(connection, record.id, status="incomplete", **said)

    _against_loads(engine, record.id, change)
    _sweep(engine)


def drop(engine: sa.Engine, run_id: str) -> None:
    """Drop a run's tables, derivations and details; pipeline, times and the status ``dropped`` stay.

    :raises RunNotFound: there is no such run.
    :raises StoreError: it is still running under a live driver.
    """

    def change(connection: sa.Connection) -> None:
        found = catalog.state(connection, run_id, lock=True)
        if found.status == "running" and not run_lock.owner_is_dead(connection, run_id):
            raise StoreError(f"run {run_id} is still running: it can be dropped when it has ended")
        _make_tombstone(connection, run_id)
        append_notes.forget(connection, run_id)  # whoever drops it has seen to its rows
        run_lock.forget(connection, run_id)

    _against_loads(engine, run_id, change)
    _sweep(engine)


def _sweep(engine: sa.Engine) -> None:
    """Remove what runs that are gone have left to be removed."""
    discarded.sweep(engine)
    shared_tables.sweep(engine)


def _make_tombstone(connection: sa.Connection, run_id: str) -> None:
    materialized.drop_data(connection, run_id)
    kept_arrays.forget(connection, run_id)
    for table in (schema.derivations, schema.derivation_sets, schema.reasons):
        connection.execute(table.delete().where(table.c.run_id == run_id))
    finished = sa.func.coalesce(schema.runs.c.finished, sa.func.now())
    blank = catalog.run_values(RunRecord(pipeline=""))
    catalog.update_run(connection, run_id, status="dropped", finished=finished, **{name: blank[name] for name in _DETAILS})
    shared_plans.forget(connection, run_id)


def _against_loads(engine: sa.Engine, run_id: str, change: Callable[[sa.Connection], None]) -> None:
    """Run a change in a transaction, ending the loads (of tasks that outlived their driver) that stand in its way."""
    for attempt in range(_TRIES):
        try:
            with engine.begin() as connection:
                # Longer than deadlock_timeout (1 s), after which PostgreSQL has its own vacuuming of a large table give way.
                connection.execute(sa.text("SET LOCAL lock_timeout = '3s'"))
                change(connection)
                return
        except Exception as error:  # SQLAlchemy's, or the driver's own from SQL texts
            if sqlstate(error) not in (_LOCK_NOT_AVAILABLE, _DEADLOCK) or attempt == _TRIES - 1:
                raise
            _end_loads(engine, run_id)


def _end_loads(engine: sa.Engine, run_id: str) -> None:
    with engine.begin() as connection:
        query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = :name AND datname = current_database()"
        connection.execute(sa.text(query), {"name": application_name(run_id)})


def end_if_dead(engine: sa.Engine, run_id: str) -> None:
    """Fail a running run whose driver has died.

    :raises StoreError: it has, and another transaction holds the run's record.
    """
    if _fail_if_dead(engine, run_id):
        return
    with engine.begin() as connection:
        dead = run_lock.owner_is_dead(connection, run_id) and catalog.state(connection, run_id).status == "running"
    if dead:
        raise StoreError(f"the driver of run {run_id} died, and another transaction holds the run's record: try again when it has ended")


def tidy(engine: sa.Engine, days: int | None) -> list[str]:
    """Clean up after dead drivers and retire old runs, as far as that is this user's to do and nobody stands in the way; the ids of these.

    Whoever only reads does not depend on it: what cannot be done now is left to the next opening.
    """
    with engine.connect() as connection:
        if not connection.execute(_MAY_CLEAN_UP).scalar():
            return []
    retired: list[str] = []
    try:
        with store_errors("cleaning up"):
            clean_up(engine)
            retired += retire(engine, days) if days is not None else []
            _sweep(engine)
    except StoreError as error:
        log.warning("the results store was not cleaned up, which is tried again at the next opening: %s", error)
    return retired


def clean_up(engine: sa.Engine) -> list[str]:
    """Fail the running runs whose driver has died and drop their tables; their ids. Nobody is waited for longer than a moment."""
    with engine.connect() as connection:
        running = list(connection.execute(sa.select(schema.runs.c.id).where(schema.runs.c.status == "running")).scalars())
    deadline = time.monotonic() + _CLEANING_SECONDS
    return [run_id for run_id in running if time.monotonic() < deadline and _fail_if_dead(engine, run_id)]


def _fail_if_dead(engine: sa.Engine, run_id: str) -> bool:
    """Whether the run was failed. A row or a table that another transaction holds is left for later, once the run's own loads are ended."""
    for last in (False, True):
        try:
            with engine.begin() as connection:
                connection.execute(sa.text(f"SET LOCAL lock_timeout = '{_A_MOMENT}'"))
                if not run_lock.owner_is_dead(connection, run_id):
                    return False
                if catalog.take_running(connection, run_id, wait=last):
                    told = DEAD + _STANDS if append_notes.let_stand(connection, run_id) else DEAD
                    catalog.update_run(connection, run_id, status="failed", finished=datetime.now(UTC), error=told)
                    materialized.drop_data(connection, run_id)
                    run_lock.forget(connection, run_id)
                    log.warning("run %s: %s", run_id, told)
                    return True
        except Exception as error:
            if sqlstate(error) not in (_LOCK_NOT_AVAILABLE, _DEADLOCK):
                raise
        if not last:
            _end_loads(engine, run_id)
    log.info("run %s is dead, and held by another transaction: it is cleaned up later", run_id)
    return False


def retire(engine: sa.Engine, days: int) -> list[str]:
    """Drop the runs that ended more than so many days ago; their ids. One whose appended rows are still to be taken out waits for that.

    Arrays that are as old, and belong to no run, are dropped as well.
    """
    runs = schema.runs
    before = datetime.now(UTC) - timedelta(days=days)
    with engine.begin() as connection:
        kept_arrays.retire(connection, before)
    old = (runs.c.finished < before) & ~append_notes.is_noted()
    with engine.connect() as connection:
        query = sa.select(runs.c.id).where(runs.c.status.in_(("complete", "incomplete", "failed")), old).order_by(runs.c.id)
        found = list(connection.execute(query).scalars())
    dropped = [run_id for run_id in found if _drop_unless_in_use(engine, run_id)]
    shared_tables.sweep(engine)
    return dropped


def _drop_unless_in_use(engine: sa.Engine, run_id: str) -> bool:
    """Someone may be reading the run: it is dropped next time then."""
    try:
        with engine.begin() as connection, store_errors(f"retiring run {run_id}"):
            connection.execute(sa.text(f"SET LOCAL lock_timeout = '{_A_MOMENT}'"))
            _make_tombstone(connection, run_id)
            return True
    except StoreError as error:
        if error.__cause__ is None or sqlstate(error.__cause__) != _LOCK_NOT_AVAILABLE:
            raise
        log.info("run %s is in use and is retired later", run_id)
        return False
