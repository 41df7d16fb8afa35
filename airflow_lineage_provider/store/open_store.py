"""A store's connections: made, lent, closed, let go of in a forked child, and made anew when the embedded server was started again."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import StoreError
from airflow_lineage_provider.secrecy import redact
from airflow_lineage_provider.store import embedded, forks, migrate, roles
from airflow_lineage_provider.store.connection import Connector, make_engine, store_errors, tcp_form
from airflow_lineage_provider.store.kept_reader import KeptReader, Statement
from airflow_lineage_provider.store.materialization import Materialization
from airflow_lineage_provider.store.revival import Revival
from airflow_lineage_provider.store.run_lock import RunLock
from airflow_lineage_provider.store.selecting import Select, by_connection, by_session, by_statement
from airflow_lineage_provider.store.session import ConnectionPool, Session
from airflow_lineage_provider.store.watchdog import Watchdog

if TYPE_CHECKING:
    import pyarrow as pa
    import sqlalchemy as sa


class OpenStore:
    """A store's connections. It may be shared between threads, and outlives forks and the end of an embedded server.

    :ivar url: libpq URL, with the password; executors have others (`roles`). `redact` it before it is shown.
    """

    def __init__(self, url: str, server: embedded.Server | None = None) -> None:
        self.url = url
        self._revival = None if server is None else Revival(server)
        self._watchdog = Watchdog(url)
        self._connector = Connector(url, self._watchdog.own)
        self._engine = make_engine(self._connector)
        self._executors = roles.executor_urls(url, server is not None)
        self._pool = ConnectionPool(url, self._watchdog)
        self._reader = KeptReader(self._connector)
        self._locks: dict[str, RunLock] = {}
        self._made: dict[str, dict[str, Materialization]] = {}
        self._looked_up: set[tuple[int, frozenset[str]]] = set()
        self._owner = [os.getpid()]
        self._finalizer = weakref.finalize(self, _close, self._owner, self._locks, self._pool, self._reader, self._engine)
        forks.on_fork(self)

    def forked(self) -> None:
        """In a forked child: the connections are the parent's, and so are the runs that it has running."""
        self._locks.clear()
        self._made.clear()
        self._engine.dispose(close=False)
        self._owner[0] = os.getpid()
        if self._revival is not None:
            self._revival.forked()

    def _prepare(self) -> None:
        self._act_as_owner()
        migrate.ensure_schema(self._engine, redact(self.url))
        self._grant_executors()

    def _act_as_owner(self) -> None:
        """Where the store belongs to a role that the user may act as: what is made from now on belongs to it, too."""
        with self._engine.connect() as connection:
            # This connection, which is the only one so far, acts so at once: connecting anew is the most of what opening a store costs.
            self._connector.role = roles.act_as_owner(connection)

    def _grant_executors(self) -> None:
        if self._revival is None or roles.are_prepared(self._engine, self.url):
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

        :raises StoreUnavailable: it does not start.
        :raises StoreError: this process starts no server.
        """
        if self._revival is None:
            raise StoreError(f"{redact(self.url)} is no embedded server of this process's: it is not started again") from error
        return self._revival.start(error)

    def go_over(self, server: embedded.Server) -> None:
        """Connect to a server that was started again; the runs of this store are its own again.

        :raises StoreUnavailable: it died again.
        :raises StoreError: another process has ended a run of this store meanwhile.
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
        self._connector.role = None  # who the owner is, is asked as the user
        self._pool.move(url)
        self._watchdog.url = url
        self._reader.close()
        self._executors = roles.executor_urls(url, True)
        self._engine.dispose()

    def reached(self, materialization: Materialization) -> Materialization:
        """A materialization, as the executors reach it now."""
        return replace(materialization, urls=self._executors)

    @property
    def tcp_url(self) -> str:
        """The URL over TCP, for programs that know no Unix sockets (JDBC)."""
        return tcp_form(self.url)

    def close(self) -> None:
        """Close every connection. Runs that this store still has running are failed by the next `open`."""
        _close(self._owner, self._locks, self._pool, self._reader, self._engine)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({redact(self.url)!r})"

    @contextmanager
    def _transaction(self, doing: str) -> Iterator[sa.Connection]:
        with store_errors(f"{doing} in {redact(self.url)}"), self._watchdog.watching(), self._engine.begin() as connection:
            yield connection

    def _asked_often(self, doing: str, statement: Statement, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """What a statement selects, in one round trip (`kept_reader`)."""
        try:
            with self._watchdog.watching():
                return self._reader.rows(statement, values)
        except Exception:
            with store_errors(f"{doing} in {redact(self.url)}"):
                raise

    def _select_often(self, doing: str) -> Select:
        """The same for selections of rows that are looked up."""
        return by_statement(lambda statement, values: self._asked_often(doing, statement, values))

    @contextmanager
    def _statements(self, doing: str) -> Iterator[sa.Connection]:
        """A connection on which each statement is a transaction of its own."""
        with store_errors(f"{doing} in {redact(self.url)}"), self._watchdog.watching(), self._engine.connect() as connection:
            # (SQLAlchemy's way to say so sends a statement before and after.)
            driver: Any = connection.connection.dbapi_connection
            driver.autocommit = True
            try:
                yield connection
            finally:
                with suppress(Exception):  # of a connection that is lost, which goes with it
                    driver.autocommit = False

    @contextmanager
    def _selecting(self, doing: str, session: Session | None) -> Iterator[Select]:
        if session is None:
            with self._transaction(doing) as connection:
                yield by_connection(connection)
        else:
            with store_errors(f"{doing} in {redact(self.url)}"):
                yield by_session(session)

    def _ensure_lock(self, run_id: str, doing: str) -> None:
        if run_id in self._locks:
            with store_errors(doing):
                self._locks[run_id].ensure(self.url)

    def _release(self, run_id: str) -> None:
        self._made.pop(run_id, None)
        lock = self._locks.pop(run_id, None)
        if lock is not None:
            lock.release()

    @contextmanager
    def _looking_up(self, doing: str, session: Session | None) -> Iterator[Select]:
        """The same for rows that are looked up by values."""
        if session is None:
            yield self._select_often(doing)
        else:
            with self._selecting(doing, session) as select:
                yield select

    def session(self, timeout: float | None = None, *, keeps: bool = False) -> Session:
        """A connection for queries that belong together, and for temporary tables; use it in a ``with`` block.

        :param timeout: the most seconds of one query; `settings.statement_timeout` by default.
        :param keeps: whether what is found is kept in the same transaction (`Session.keep`).
        """
        return Session(self._pool, self.url, settings.statement_timeout() if timeout is None else timeout, keeps=keeps)

    def query(self, sql: str, types: Mapping[str, str] | None = None, timezone: str = "UTC", timeout: float | None = None) -> pa.Table:
        """The rows of one SELECT, in a read-only transaction: `Session.query` in a session of its own."""
        with self.session(timeout) as session:
            return session.query(sql, types, timezone)


def _close(owner: list[int], locks: dict[str, RunLock], pool: ConnectionPool, reader: KeptReader, engine: sa.Engine) -> None:
    """Also for a store that is forgotten; but a forked child must not say goodbye on its parent's connections."""
    if os.getpid() not in owner:
        return
    for lock in locks.values():
        lock.release()
    locks.clear()
    pool.close()
    reader.close()
    engine.dispose()
