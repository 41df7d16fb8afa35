"""The results store, as the rest of the package sees it."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import RunNotComplete, RunNotFound, StoreError
from airflow_lineage_provider.store import (
    catalog,
    derivations,
    embedded,
    finding,
    forks,
    kept_udfs,
    lifecycle,
    migrate,
    outputs,
    pending,
    publish,
    roles,
)
from airflow_lineage_provider.store.connection import Connector, make_engine, normalise, redact, store_errors, tcp_form
from airflow_lineage_provider.store.convert import from_storage
from airflow_lineage_provider.store.handover import Patience, bounded
from airflow_lineage_provider.store.ids import new_id
from airflow_lineage_provider.store.layout import Column
from airflow_lineage_provider.store.materialization import Kind, Materialization
from airflow_lineage_provider.store.read import select_sql
from airflow_lineage_provider.store.records import DerivationRecord, RunRecord
from airflow_lineage_provider.store.revival import Revival
from airflow_lineage_provider.store.run_lock import RunLock
from airflow_lineage_provider.store.session import ConnectionPool, Session

if TYPE_CHECKING:
    import pyarrow as pa
    import sqlalchemy as sa

    from airflow_lineage_provider.reasons.kept import KeptUdf


class Store:
    """PostgreSQL with the catalog and the materializations. Open it with `Store.open`; it may be shared between threads.

    Every method raises StoreUnavailable when the server does not answer and StoreError when it refuses.

    Attributes:
        url: libpq URL, with the password; executors have others (`roles`). `redact` it before it is shown.
    """

    def __init__(self, url: str, server: embedded.Server | None = None) -> None:
        self.url = url
        self._revival = None if server is None else Revival(server)
        self._connector = Connector(url)
        self._engine = make_engine(self._connector)
        self._executors = roles.executor_urls(url, server is not None)
        self._pool = ConnectionPool(url)
        self._locks: dict[str, RunLock] = {}
        self._owner = [os.getpid()]
        self._finalizer = weakref.finalize(self, _close, self._owner, self._locks, self._pool, self._engine)
        forks.on_fork(self)

    def forked(self) -> None:
        """In a forked child: the connections are the parent's, and so are the runs that it has running."""
        self._locks.clear()
        self._engine.dispose(close=False)
        self._owner[0] = os.getpid()
        if self._revival is not None:
            self._revival.forked()

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
        store = Store(*_resolve(url))
        try:
            patience = Patience(store.url, settings.store_silence(), settings.store_limit())
            bounded(lambda: store._begin(pending.place_of(url or settings.store_url())), patience, "opening it")
        except BaseException:
            store.close()
            raise
        return store

    def _begin(self, place: str) -> None:
        with store_errors(f"opening {redact(self.url)}"):
            self._prepare()
            lifecycle.tidy(self._engine, settings.retention_days())
            pending.deliver(place, self.mark_incomplete)

    @staticmethod
    def upgrade(url: str | None = None) -> None:
        """Bring the schema of a store to this code's version (``airflow-lineage store upgrade``).

        Raises:
            StoreUnavailable: the server does not answer or start.
            StoreSchemaTooNew: the schema is newer than this code.
        """
        store = Store(*_resolve(url))
        try:
            with store_errors(f"upgrading {redact(store.url)}"):
                store._act_as_owner()
                migrate.upgrade(store._engine, redact(store.url))
                store._grant_executors()
        finally:
            store.close()

    @staticmethod
    def grant(url: str | None = None) -> None:
        """Make the roles of `roles.script` and grant them what they need (``airflow-lineage store grant --apply``).

        Raises:
            StoreNotPermitted: the user may not make roles.
        """
        store = Store(*_resolve(url))
        try:
            with store_errors(f"granting roles in {redact(store.url)}"):
                migrate.ensure_schema(store._engine, redact(store.url))
                with store._engine.begin() as connection:
                    roles.apply(connection)
        finally:
            store.close()

    def _prepare(self) -> None:
        self._act_as_owner()
        migrate.ensure_schema(self._engine, redact(self.url))
        self._grant_executors()

    def _act_as_owner(self) -> None:
        """Where the store belongs to a role that the user may act as: what is made from now on belongs to it, too."""
        with self._engine.connect() as connection:
            self._connector.role = roles.owner(connection)
        if self._connector.role is not None:
            self._engine.dispose()

    def _grant_executors(self) -> None:
        if self._revival is None:
            return
        administrator = make_engine(Connector(self.url))
        try:
            roles.prepare_embedded(administrator, self.url)
        finally:
            administrator.dispose()
        if self._connector.role is None:
            self._act_as_owner()

    @property
    def is_started_again(self) -> bool:
        """Whether a server that dies is started again (`start_again`): the embedded one is, and none that was given by its URL."""
        return self._revival is not None

    @property
    def home(self) -> Path:
        """The folder of the embedded server that this process starts."""
        if self._revival is None:
            raise StoreError(f"{redact(self.url)} is no embedded server of this process's")
        return self._revival.home

    def is_ended_by(self, error: BaseException) -> bool:
        """Whether an error may come of the end of a server that is started again."""
        return self._revival is not None and self._revival.concerns(error)

    def start_again(self, error: BaseException) -> embedded.Server:
        """The embedded server, started after the error that came of its end; `go_over` to it.

        Raises:
            StoreUnavailable: it does not start.
            StoreError: this process starts no server.
        """
        if self._revival is None:
            raise StoreError(f"{redact(self.url)} is no embedded server of this process's: it is not started again") from error
        return self._revival.start(error)

    def go_over(self, server: embedded.Server) -> None:
        """Connect to a server that was started again; the runs of this store are its own again.

        Raises:
            StoreUnavailable: it died again.
            StoreError: another process has ended a run of this store meanwhile.
        """
        assert self._revival is not None
        with self._revival.lock, store_errors(f"opening {redact(self.url)} again"):
            self._revival.pid = server.pid
            self._move(server.url)
            self._prepare()
            for lock in list(self._locks.values()):
                lock.ensure(self.url)

    def _move(self, url: str) -> None:
        """The server may have another port and another socket than before."""
        self.url = self._connector.url = url
        self._pool.move(url)
        self._executors = roles.executor_urls(url, True)
        self._engine.dispose()

    def reached(self, materialization: Materialization) -> Materialization:
        """A materialization, as the executors reach it now."""
        return replace(materialization, urls=self._executors)

    def may_derive(self) -> bool:
        """Whether this user may keep derivations and reasons."""
        with self._transaction("asking what this user may do") as connection:
            return roles.may_derive(connection)

    @property
    def tcp_url(self) -> str:
        """The URL over TCP, for programs that know no Unix sockets (JDBC)."""
        return tcp_form(self.url)

    def close(self) -> None:
        """Close every connection. Runs that this store still has running are failed by the next `open`."""
        _close(self._owner, self._locks, self._pool, self._engine)

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

    def begin_run(self, record: RunRecord, *, again: bool = False) -> str:
        """Enter a run as running, owned by this store until it is published, failed, or this process ends; its id.

        ``again``, here and elsewhere: this was asked for before, and the answer was lost; it may have been done.

        Raises:
            StoreError: a run of this id exists, or a field cannot be written as JSON.
        """
        made = replace(record, id=record.id or new_id())
        doing = f"beginning run {made.id}"
        with store_errors(doing):
            lock = (self._locks.get(made.id) if again else None) or RunLock(self.url, made.id)
        try:
            with self._transaction(doing) as connection:
                if not (again and catalog.find(connection, made.id)):
                    catalog.insert_run(connection, made)
        except BaseException:
            lock.release()
            raise
        self._locks[made.id] = lock
        return made.id

    def create_materialization(
        self, run_id: str, name: str, kind: Kind, columns: Sequence[Column], row_count_hint: int | None = None, *, again: bool = False
    ) -> Materialization:
        """Make the table of a materialization, which nobody sees before `publish_run`.

        Raises:
            LoadFailed: the run is not running, the name is taken, or two columns have one name.
            RunNotFound: there is no such run.
            PlanError: a type is not one of Spark's.
        """
        with self._transaction(f"creating materialization {name!r}") as connection:
            return catalog.create_materialization(connection, self._executors, run_id, name, kind, columns, row_count_hint, again)

    def publish_run(
        self,
        run_id: str,
        *,
        output: Any = None,
        places: Mapping[str, str] | None = None,
        timings: Any = None,
        row_counts: Any = None,
        indexes: publish.Indexes | None = None,
        udfs: Iterable[KeptUdf] = (),
        again: bool = False,
    ) -> None:
        """Complete a run, in one transaction: indexes, statistics, row counts, status.

        Args:
            run_id: the run.
            output, timings, row_counts: kept as JSON in the run's record.
            places: what the run wrote, each place with its version: `written` finds the run by it.
            indexes: for materializations, by name, lists of columns that are looked up together.
            udfs: those that are kept with the run.

        Raises:
            RunNotComplete: the run is not running any more (another process found its lock free and failed it).
            StoreError: an index names an unknown materialization or column; nothing is published.
        """
        doing = f"publishing run {run_id}"
        self._ensure_lock(run_id, doing)
        with self._transaction(doing) as connection:
            arguments = {"output": output, "timings": timings, "row_counts": row_counts, "again": again}
            publish.publish(connection, self._executors, run_id, places=places or {}, indexes=indexes or {}, udfs=udfs, **arguments)
        self._release(run_id)

    def fail_run(self, run_id: str, error: str) -> None:
        """Mark a run failed, drop its tables and end its loads; the record keeps the error.

        Raises:
            RunNotFound: there is no such run.
            StoreError: it is complete.
        """
        try:
            with store_errors(f"failing run {run_id} in {redact(self.url)}"):
                lifecycle.fail(self._engine, run_id, error)
        finally:  # where that could not be said, it can be seen
            self._release(run_id)

    def mark_incomplete(self, record: RunRecord, places: Mapping[str, str]) -> None:
        """Say of a run that its result stands (at these places, each with its version) and its lineage does not.

        What was loaded is dropped. A run that was never begun is entered. One that is complete after all, or was dropped, is left as it is.
        """
        try:
            with store_errors(f"marking run {record.id} incomplete in {redact(self.url)}"):
                lifecycle.incomplete(self._engine, record, places)
        finally:
            self._release(record.id)

    def drop_run(self, run_id: str) -> None:
        """Drop a run's tables, derivations and details; pipeline, times and the status ``dropped`` stay.

        Raises:
            RunNotFound: there is no such run.
            StoreError: it is still running.
        """
        with store_errors(f"dropping run {run_id} in {redact(self.url)}"):
            lifecycle.drop(self._engine, run_id)

    def _ensure_lock(self, run_id: str, doing: str) -> None:
        if run_id in self._locks:
            with store_errors(doing):
                self._locks[run_id].ensure(self.url)

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

    def find_run(self, run_id: str, pipeline: str | None = None, *, whole: bool = False) -> RunRecord:
        """One run by its id, or by an unambiguous beginning of it unless the ``whole`` id is asked for.

        Raises:
            RunNotFound: there is no such run, or it is of another pipeline.
            AmbiguousRun: the ids of several runs begin like that.
        """
        with self._transaction("finding a run") as connection:
            return finding.find(connection, run_id, pipeline, whole=whole)

    def runs(self, pipeline: str | None = None, limit: int = 100) -> list[RunRecord]:
        """The newest runs of a pipeline or of all, newest first."""
        with self._transaction("listing runs") as connection:
            return catalog.runs(connection, pipeline, limit)

    def latest_run(self, pipeline: str | None) -> RunRecord:
        """The newest complete run of a pipeline, or (None) of all.

        Raises:
            RunNotFound: there is none.
        """
        with self._transaction("finding the latest run" + ("" if pipeline is None else f" of {pipeline!r}")) as connection:
            found = catalog.runs(connection, pipeline, 1, "complete")
        if not found and pipeline is None:
            raise RunNotFound(f"the results store {redact(self.url)} has no complete run; run a pipeline first")
        if not found:
            raise RunNotFound(f"pipeline {pipeline!r} has no complete run in the results store {redact(self.url)}")
        return found[0]

    def written(self, places: Iterable[str]) -> list[outputs.WrittenPlace]:
        """What runs are known to have written to these places (files, database tables), the newest run first."""
        with self._transaction("finding the runs that wrote a table") as connection:
            return outputs.written(connection, places)

    def kept_udf(self, run_id: str, version: str) -> KeptUdf | None:
        """A UDF that was kept with a run, by its version; None where there is none. Its code is not executed here."""
        with self._transaction(f"reading a UDF kept with run {run_id}") as connection:
            return kept_udfs.load(connection, run_id, version)

    def intend_append(self, run_id: str, place: str, how: Any, *, keeps_result: bool = False) -> None:
        """Note that a run is going to append to a place, and how its rows there are known (JSON), until it is published.

        ``keeps_result``: the run may end well without telling the store, so that its rows stay, unless it says that it failed.

        Raises:
            RunNotComplete: the run is not running any more (another process found its lock free and failed it).
        """
        doing = f"noting where run {run_id} appends"
        self._ensure_lock(run_id, doing)
        with self._transaction(doing) as connection:
            if not catalog.take_running(connection, run_id, wait=True):
                raise RunNotComplete(f"run {run_id} cannot append: it is not running any more")
            outputs.intend(connection, run_id, place, how, keeps_result=keeps_result)

    def unfinished_appends(self, place: str) -> list[tuple[str, Any]]:
        """The runs that may have appended to a place and failed or died before they were published: id, and how their rows are known.

        A run that is dropped is not among them: whoever drops it has seen to its rows.
        """
        doing = "finding runs that failed while they appended"
        with self._transaction(doing) as connection:
            running = [run_id for run_id, status, _ in outputs.intended(connection, place) if status == "running"]
        with store_errors("ending runs that died while they appended"):
            for run_id in running:
                lifecycle.end_if_dead(self._engine, run_id)
        with self._transaction(doing) as connection:
            return [(run_id, how) for run_id, status, how in outputs.intended(connection, place) if status == "failed"]

    def intended_append(self, run_id: str, place: str) -> Any:
        """How the rows that a run may have appended to a place are known; None where that is settled."""
        with self._transaction(f"reading where run {run_id} appends") as connection:
            return outputs.intended_by(connection, run_id, place)

    def amend_append(self, run_id: str, place: str, how: Any) -> None:
        """Note how the rows that a run may have appended are known by now."""
        with self._transaction(f"noting where run {run_id} appends") as connection:
            outputs.amend(connection, run_id, place, how)

    def settle_append(self, run_id: str, place: str) -> None:
        """What a failed run has appended to a place is gone."""
        with self._transaction(f"settling what run {run_id} appended") as connection:
            outputs.settle(connection, run_id, place)

    # Materializations

    def materializations(self, run_id: str) -> dict[str, Materialization]:
        """The materializations of a complete run, by name.

        Raises:
            RunNotFound: there is no such run.
            RunNotComplete: it failed, was dropped, or is still going.
        """
        with self._transaction(f"reading run {run_id}") as connection:
            return catalog.materializations(connection, self._executors, run_id)

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
            DerivationNotFound: there is no such derivation.
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


def _close(owner: list[int], locks: dict[str, RunLock], pool: ConnectionPool, engine: sa.Engine) -> None:
    """Also for a store that is forgotten; but a forked child must not say goodbye on its parent's connections."""
    if os.getpid() not in owner:
        return
    for lock in locks.values():
        lock.release()
    locks.clear()
    pool.close()
    engine.dispose()


def _resolve(url: str | None) -> tuple[str, embedded.Server | None]:
    """The store's URL, and the embedded server where it is this process's to start."""
    if isinstance(url, str) and not url.strip():
        raise StoreError("the URL of the results store is empty; leave it out where the settings should decide, or give postgresql://…")
    given = settings.store_url() if url is None else url
    if given is not None:
        return normalise(given), None
    server = embedded.ensure_running()
    return server.url, server
