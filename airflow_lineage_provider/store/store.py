"""The results store, as the rest of the package sees it."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import RunNotFound
from airflow_lineage_provider.store import catalog, derivations, embedded, lifecycle, migrate, outputs, publish
from airflow_lineage_provider.store.connection import make_engine, normalise, redact, store_errors, tcp_form
from airflow_lineage_provider.store.convert import from_storage
from airflow_lineage_provider.store.ids import new_id
from airflow_lineage_provider.store.layout import Column
from airflow_lineage_provider.store.materialization import Kind, Materialization
from airflow_lineage_provider.store.read import select_sql
from airflow_lineage_provider.store.records import DerivationRecord, RunRecord
from airflow_lineage_provider.store.session import ConnectionPool, Session

if TYPE_CHECKING:
    import pyarrow as pa
    import sqlalchemy as sa


class Store:
    """PostgreSQL with the catalog and the materializations. Open it with `Store.open`; it may be shared between threads.

    Every method raises StoreUnavailable when the server does not answer and StoreError when it refuses.

    Attributes:
        url: libpq URL, with the password: executors connect by it. `redact` it before it is shown.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._engine = make_engine(url)
        self._pool = ConnectionPool(url)
        self._locks: dict[str, lifecycle.RunLock] = {}
        self._finalizer = weakref.finalize(self, _close, os.getpid(), self._locks, self._pool, self._engine)

    @staticmethod
    def open(url: str | None = None) -> Store:
        """Connect, make the schema in an empty database, clean up after dead drivers, and retire old runs.

        Args:
            url: ``postgresql://…``; else the setting ``AIRFLOW_LINEAGE_STORE``; else the embedded server, started when it is not running.

        Raises:
            StoreUnavailable: the server does not answer or start.
            StoreSchemaTooOld, StoreSchemaTooNew: the schema is not this code's.
            StoreError: the URL is not PostgreSQL's, or the user may not make the schema.
            EnvironmentProblem: the embedded server cannot run here.
        """
        store = Store(_resolve(url))
        try:
            with store_errors(f"opening {redact(store.url)}"):
                migrate.ensure_schema(store._engine, redact(store.url))
                lifecycle.clean_up(store._engine)
                days = settings.retention_days()
                if days is not None:
                    lifecycle.retire(store._engine, days)
        except BaseException:
            store.close()
            raise
        return store

    @staticmethod
    def upgrade(url: str | None = None) -> None:
        """Bring the schema of a store to this code's version (``airflow-lineage store upgrade``).

        Raises:
            StoreUnavailable: the server does not answer or start.
            StoreSchemaTooNew: the schema is newer than this code.
        """
        resolved = _resolve(url)
        engine = make_engine(resolved)
        try:
            with store_errors(f"upgrading {redact(resolved)}"):
                migrate.upgrade(engine, redact(resolved))
        finally:
            engine.dispose()

    @property
    def tcp_url(self) -> str:
        """The URL over TCP, for programs that know no Unix sockets (JDBC)."""
        return tcp_form(self.url)

    def close(self) -> None:
        """Close every connection. Runs that this store still has running are failed by the next `open`."""
        _close(os.getpid(), self._locks, self._pool, self._engine)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({redact(self.url)!r})"

    @contextmanager
    def _transaction(self, doing: str) -> Iterator[sa.Connection]:
        with store_errors(f"{doing} in {redact(self.url)}"), self._engine.begin() as connection:
            yield connection

    # Runs

    def begin_run(self, record: RunRecord) -> str:
        """Enter a run as running, owned by this store until it is published, failed, or this process ends; its id.

        Raises:
            StoreError: a run of this id exists, or a field cannot be written as JSON.
        """
        made = replace(record, id=record.id or new_id())
        doing = f"beginning run {made.id}"
        with store_errors(doing):
            lock = lifecycle.RunLock(self.url, made.id)
        try:
            with self._transaction(doing) as connection:
                catalog.insert_run(connection, made)
        except BaseException:
            lock.release()
            raise
        self._locks[made.id] = lock
        return made.id

    def create_materialization(
        self, run_id: str, name: str, kind: Kind, columns: Sequence[Column], row_count_hint: int | None = None
    ) -> Materialization:
        """Make the table of a materialization, which nobody sees before `publish_run`.

        Raises:
            LoadFailed: the run is not running, the name is taken, or two columns have one name.
            RunNotFound: there is no such run.
            PlanError: a type is not one of Spark's.
        """
        with self._transaction(f"creating materialization {name!r}") as connection:
            return catalog.create_materialization(connection, self.url, run_id, name, kind, columns, row_count_hint)

    def publish_run(
        self,
        run_id: str,
        *,
        output: Any = None,
        places: Mapping[str, str] | None = None,
        timings: Any = None,
        row_counts: Any = None,
        indexes: publish.Indexes | None = None,
    ) -> None:
        """Complete a run, in one transaction: indexes, statistics, row counts, status.

        Args:
            run_id: the run.
            output, timings, row_counts: kept as JSON in the run's record.
            places: what the run wrote, each place with its version: `written` finds the run by it.
            indexes: for materializations, by name, lists of columns that are looked up together.

        Raises:
            RunNotComplete: the run is not running any more (another process found its lock free and failed it).
            StoreError: an index names an unknown materialization or column; nothing is published.
        """
        doing = f"publishing run {run_id}"
        if run_id in self._locks:
            with store_errors(doing):
                self._locks[run_id].ensure()
        with self._transaction(doing) as connection:
            arguments = {"output": output, "timings": timings, "row_counts": row_counts}
            publish.publish(connection, self.url, run_id, places=places or {}, indexes=indexes or {}, **arguments)
        self._release(run_id)

    def fail_run(self, run_id: str, error: str) -> None:
        """Mark a run failed, drop its tables and end its loads; the record keeps the error.

        Raises:
            RunNotFound: there is no such run.
            StoreError: it is complete.
        """
        with store_errors(f"failing run {run_id} in {redact(self.url)}"):
            lifecycle.fail(self._engine, run_id, error)
        self._release(run_id)

    def drop_run(self, run_id: str) -> None:
        """Drop a run's tables, derivations and details; pipeline, times and the status ``dropped`` stay.

        Raises:
            RunNotFound: there is no such run.
            StoreError: it is still running.
        """
        with store_errors(f"dropping run {run_id} in {redact(self.url)}"):
            lifecycle.drop(self._engine, run_id)

    def _release(self, run_id: str) -> None:
        lock = self._locks.pop(run_id, None)
        if lock is not None:
            lock.release()

    def run(self, run_id: str) -> RunRecord:
        """One run.

        Raises:
            RunNotFound: there is no such run.
        """
        with self._transaction(f"reading run {run_id}") as connection:
            return catalog.run(connection, run_id)

    def runs(self, pipeline: str | None = None, limit: int = 100) -> list[RunRecord]:
        """The newest runs of a pipeline or of all, newest first."""
        with self._transaction("listing runs") as connection:
            return catalog.runs(connection, pipeline, limit)

    def latest_run(self, pipeline: str) -> RunRecord:
        """The newest complete run of a pipeline.

        Raises:
            RunNotFound: it has none.
        """
        with self._transaction(f"finding the latest run of {pipeline!r}") as connection:
            found = catalog.runs(connection, pipeline, 1, "complete")
        if not found:
            raise RunNotFound(f"pipeline {pipeline!r} has no complete run in the results store {redact(self.url)}")
        return found[0]

    def written(self, places: Iterable[str]) -> list[outputs.WrittenPlace]:
        """What runs are known to have written to these places (files, database tables), the newest run first."""
        with self._transaction("finding the runs that wrote a table") as connection:
            return outputs.written(connection, places)

    # Materializations

    def materializations(self, run_id: str) -> dict[str, Materialization]:
        """The materializations of a complete run, by name.

        Raises:
            RunNotFound: there is no such run.
            RunNotComplete: it failed, was dropped, or is still going.
        """
        with self._transaction(f"reading run {run_id}") as connection:
            return catalog.materializations(connection, self.url, run_id)

    def table_sizes(self, run_id: str) -> dict[str, int]:
        """The bytes of a run's materializations on disk, with their indexes, by name; of a dropped or unknown run none."""
        with self._transaction(f"measuring the tables of run {run_id}") as connection:
            return catalog.table_sizes(connection, run_id)

    def read(
        self,
        materialization: Materialization,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        order_by: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> pa.Table:
        """Rows of a materialization with their exact Spark types.

        Args:
            materialization: from `materializations` (or, for the run's own driver, from `create_materialization`).
            columns: names; all by default.
            where: a PostgreSQL condition in which every name and string is quoted already, over `Materialization.sql_column` expressions.
            order_by: column names.
            limit: the most rows.

        Raises:
            StoreError: a column is unknown, or the run was dropped.
        """
        names = [column.name for column in materialization.columns] if columns is None else list(columns)
        sql = select_sql(materialization.table, materialization.layout, names, where, order_by, limit)
        with self.session() as session, store_errors(f"reading {materialization.name!r} in {redact(self.url)}"):
            return from_storage(session.fetch(sql), materialization.layout, names)

    def partitions(self, materialization: Materialization) -> list[tuple[int, int]]:
        """The loaded partitions of a materialization that have rows: number and rows."""
        with self._transaction(f"reading the partitions of {materialization.name!r}") as connection:
            return catalog.partitions(connection, materialization)

    def session(self, timeout: float | None = None) -> Session:
        """A connection for queries that belong together, and for temporary tables; use it in a ``with`` block.

        Args:
            timeout: the most seconds of one query; `settings.statement_timeout` by default.
        """
        return Session(self._pool, self.url, settings.statement_timeout() if timeout is None else timeout)

    def query(self, sql: str, types: Mapping[str, str] | None = None, timezone: str = "UTC", timeout: float | None = None) -> pa.Table:
        """The rows of one SELECT, in a read-only transaction: `Session.query` in a session of its own."""
        with self.session(timeout) as session:
            return session.query(sql, types, timezone)

    # Derivations and reasons

    def save_derivation(self, record: DerivationRecord) -> str:
        """Keep a derivation and its tables; its id.

        Raises:
            RunNotFound: there is no such run.
            RunNotComplete: the run was dropped.
        """
        with self._transaction(f"saving a derivation of run {record.run_id}") as connection:
            return derivations.save(connection, record)

    def derivation(self, derivation_id: str) -> DerivationRecord:
        """One derivation with its tables.

        Raises:
            StoreError: there is no such derivation.
        """
        with self._transaction(f"reading derivation {derivation_id}") as connection:
            return derivations.load(connection, derivation_id)

    def derivations(self, run_id: str) -> list[DerivationRecord]:
        """A run's derivations, newest first, without their tables."""
        with self._transaction(f"listing the derivations of run {run_id}") as connection:
            return derivations.of_run(connection, run_id)

    def cached_reasons(self, run_id: str, function: str, digests: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Known calls of a function, by digest of their arguments: (value's JSON, reason's JSON)."""
        with self._transaction(f"reading reasons of run {run_id}") as connection:
            return derivations.cached_reasons(connection, run_id, function, digests)

    def save_reasons(self, run_id: str, function: str, rows: Mapping[str, tuple[str, str]]) -> None:
        """Keep calls of a function, in the form of `cached_reasons`; a digest that is known already keeps its reason.

        Raises:
            RunNotComplete: the run was dropped.
        """
        with self._transaction(f"saving reasons of run {run_id}") as connection:
            derivations.save_reasons(connection, run_id, function, rows)


def _close(pid: int, locks: dict[str, lifecycle.RunLock], pool: ConnectionPool, engine: sa.Engine) -> None:
    """Also for a store that is forgotten; but a forked child must not say goodbye on its parent's connections."""
    if os.getpid() != pid:
        return
    for lock in locks.values():
        lock.release()
    locks.clear()
    pool.close()
    engine.dispose()


def _resolve(url: str | None) -> str:
    given = url or settings.store_url()
    return normalise(given) if given else embedded.ensure_running().url
