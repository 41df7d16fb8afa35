"""Queries over stored tables through ADBC: read-only transactions, with temporary tables for targets uploaded before."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import QueryTooSlow, StoreError
from airflow_lineage_provider.secrecy import redact
from airflow_lineage_provider.store import convert, forks
from airflow_lineage_provider.store.adbc import AdbcConnection
from airflow_lineage_provider.store.connection import adbc_connect, sqlstate, store_errors
from airflow_lineage_provider.store.given_tables import layout_of, rows_sql
from airflow_lineage_provider.store.layout import Column, Layout, make_layout, physical_names
from airflow_lineage_provider.store.reading import LookUp, Reading
from airflow_lineage_provider.store.result import typed_result
from airflow_lineage_provider.store.sqltext import identifier, literal
from airflow_lineage_provider.store.watchdog import Watchdog

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

_IDLE = 4
_USES = 1_000
"""How often a connection is taken before it is closed: the server's process behind it remembers each table that it has read, in some 9 kB,
and who asks about many runs reads other tables for each."""
_READS = "lineage_reads"
MAY_KEEP = (
    "has_table_privilege('lineage.derivations', 'INSERT') AND has_function_privilege('lineage.hold_run(text)', 'EXECUTE')"
    " AND NOT pg_is_in_recovery()"
)
"""Whether the user may keep answers, as an expression of PostgreSQL's."""


class ConnectionPool:
    """A few idle ADBC connections, so that a query of a millisecond does not pay for a connection; safe between threads."""

    def __init__(self, url: str, watchdog: Watchdog) -> None:
        self._url = url
        self.watchdog = watchdog
        self.forked()
        forks.on_fork(self)

    def forked(self) -> None:
        """Begin anew: idle connections are their process's."""
        self._idle: list[AdbcConnection] = []
        self._lock = threading.Lock()

    def move(self, url: str) -> None:
        """The server is to be reached by another URL from now on."""
        self._url = url

    def take(self, begin: Callable[[AdbcConnection], None]) -> AdbcConnection:
        """A connection on which this could be begun: an idle one that was lost meanwhile cannot, and is another one then."""
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                connection = adbc_connect(self._url)
                self.watchdog.own(connection)
                return _begun(connection, begin)
            try:
                return _begun(connection, begin)
            except Exception:
                log.info("an idle connection to the results store was lost; another one is made")

    def give_back(self, connection: AdbcConnection) -> None:
        """Return a connection that has no open transaction and no temporary tables."""
        connection.uses += 1
        with self._lock:
            if len(self._idle) < _IDLE and connection.uses < _USES:
                self._idle.append(connection)
                return
        discard(connection)

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            discard(connection)


def _kilobytes() -> int:
    limit = settings.temp_file_limit()
    return -1 if limit is None else limit


def discard(connection: AdbcConnection) -> None:
    """Close a connection that may be lost already."""
    with suppress(Exception):
        connection.close()


def _begun(connection: AdbcConnection, begin: Callable[[AdbcConnection], None]) -> AdbcConnection:
    try:
        begin(connection)
    except BaseException:
        discard(connection)
        raise
    return connection


@dataclass(frozen=True)
class Upload:
    """A temporary table of a session.

    :ivar table: its quoted name.
    :ivar layout: its columns.
    """

    table: str
    layout: Layout

    def sql_column(self, name: str, table: str | None = None) -> str:
        """A PostgreSQL expression that yields a column, stored as a materialization's column of the same Spark type is."""
        return self.layout.sql_column(name, table)


class Session(Reading):
    """One connection, for queries that belong together. Use it in a ``with`` block; temporary tables end with it.

    Queries are one read-only transaction from the first of them to the next `rest`. Where what they find is kept (``keeps``), they are the
    read-only part of a transaction that `keep` ends: a part that only reads cannot be turned into one that writes, and ends as a whole.

    :ivar looked_up: what rows of results were looked for by, for `Store.index_looked_up`.
    """

    def __init__(self, pool: ConnectionPool, url: str, timeout: float | None, *, keeps: bool = False) -> None:
        self.url = url
        self.keeps = keeps
        self._pool = pool
        self._timeout = timeout
        self.looked_up: list[LookUp] = []
        self._may_keep = False
        self._is_guarded = False
        self._connection: AdbcConnection | None = None
        self._watching: AbstractContextManager[None] = pool.watchdog.watching()
        self._process = 0
        self._zone: str | None = None
        self._uploads: dict[str, str] = {}

    def __enter__(self) -> Session:
        self._process = os.getpid()
        self._watching = self._pool.watchdog.watching()
        self._watching.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        process, self._process = self._process, 0
        connection, self._connection = self._connection, None
        with ExitStack() as watching:
            watching.push(self._watching)
            if connection is not None and process == os.getpid():
                self._give_back(connection)

    def _give_back(self, connection: AdbcConnection) -> None:
        try:
            connection.rollback()
            if self._uploads:
                with connection.cursor() as cursor:
                    cursor.executescript(f"DROP TABLE {', '.join(self._uploads.values())}")
        except Exception:
            discard(connection)
        else:
            self._pool.give_back(connection)

    def query(
        self,
        sql: str,
        types: Mapping[str, str] | None = None,
        timezone: str = "UTC",
        tables: Mapping[str, pa.Table] | None = None,
        parts: Mapping[str, str] | None = None,
    ) -> pa.Table:
        """The rows of one SELECT, in a read-only transaction.

        :param sql: PostgreSQL text in which every name and string is quoted already.
        :param types: Spark types of output columns; those columns come as the exact Arrow type. Others come as PostgreSQL gives them.
        :param timezone: of the SQL session, Spark's ``spark.sql.session.timeZone``.
        :param tables: what the query reads by these names, with their columns, stored as a materialization's of the same types are.
        :param parts: SELECTs that the query reads by these names.
        :raises StoreUnavailable: the store does not answer.
        :raises StoreError: the store refuses the query, it took longer than the statement timeout, or a table is gone (its run was
            dropped).
        :raises LoadFailed: a value of ``tables`` cannot be stored as its Spark type. :raises PlanError: an Arrow type has no Spark type.
        """
        texts = dict(parts or {}) | {name: self._given(name, table) for name, table in (tables or {}).items()}
        given = ", ".join(f"{identifier(name)} AS NOT MATERIALIZED ({text})" for name, text in texts.items())
        with store_errors(f"querying {redact(self.url)}"):
            return typed_result(self.fetch(f"WITH {given} ({sql})" if given else sql, timezone), types or {})

    def _given(self, name: str, table: pa.Table) -> str:
        """A SELECT of a table's rows: its text has them, or, where they are many, a temporary table."""
        layout = layout_of(table)
        return rows_sql(table, layout) or f"SELECT {_names(layout)} FROM {self.upload(name, table).table}"

    def fetch(self, sql: str, timezone: str = "UTC", values: Sequence[str] = ()) -> pa.Table:
        """`query` with PostgreSQL's types as ADBC gives them, and ADBC's errors; ``values`` are those of ``$1`` … in it."""
        try:
            with self._reading(timezone).cursor() as cursor:
                cursor.execute(sql, tuple(values) or None)
                return cursor.fetch_arrow_table()
        except Exception as error:
            self._end()
            raise self._explained(error) from error

    def may_keep(self, timezone: str = "UTC") -> bool:
        """Whether this user may `keep` answers; of a session that ``keeps`` it is known when the transaction has begun."""
        with store_errors(f"asking what this user may do in {redact(self.url)}"):
            self._reading(timezone)
        return self._may_keep

    def keep(self, sql: str, values: Sequence[str | bytes]) -> list[dict[str, Any]]:
        """Run one statement that writes, after what was read and in the same transaction, which ends with it; the statement's rows.

        ADBC's errors, and nothing written then. After a `rest` it is a transaction of its own.
        """
        if not self._is_guarded:
            self._end()
        connection = self._open() or self._pool.take(lambda one: one.begin())
        self._connection, self._zone = connection, None
        try:
            connection.begin()
            with connection.cursor() as cursor:
                if self._is_guarded:
                    cursor.executescript(f"ROLLBACK TO SAVEPOINT {_READS}")
                cursor.execute(sql, tuple(values))
                found: list[dict[str, Any]] = cursor.fetch_arrow_table().to_pylist()
            connection.commit()
        except Exception as error:
            self._end()
            raise self._explained(error) from error
        self._is_guarded = False
        return found

    def rest(self) -> None:
        """Before something that takes its time: until the next query the store is not held up by an open transaction."""
        self._end()
        if self._connection is not None and not self._uploads:
            self._pool.give_back(self._connection)
            self._connection = None

    def _reading(self, timezone: str) -> AdbcConnection:
        """The connection, in a read-only transaction."""
        connection = self._open()
        if connection is None:
            connection = self._connection = self._pool.take(lambda one: self._begin(one, timezone))
        elif self._zone != timezone:
            self._end()
            self._begin(connection, timezone)
        self._zone = timezone
        return connection

    def _begin(self, connection: AdbcConnection, timezone: str) -> None:
        milliseconds = round((self._timeout or 0) * 1000)
        limits = (
            f"SELECT set_config('transaction_read_only', 'on', true), set_config('TimeZone', {literal(timezone)}, true),"
            f" set_config('statement_timeout', '{milliseconds}', true)"
            # A superuser's to set; other users have what an administrator gave them.
            f", CASE WHEN current_setting('is_superuser') = 'on' THEN set_config('temp_file_limit', '{_kilobytes()}', true) END"
        )
        if self.keeps:
            connection.begin(f"SAVEPOINT {_READS}")
            with connection.cursor() as cursor:
                cursor.execute(f"{limits}, {MAY_KEEP}")
                ((*_, self._may_keep),) = cursor.fetchall()
        else:
            connection.begin(limits)
        self._is_guarded = self.keeps

    def _end(self) -> None:
        """End the transaction; a connection on which that fails is lost, and so are its temporary tables."""
        self._zone, self._is_guarded = None, False
        if self._connection is not None and self._process == os.getpid():
            with suppress(Exception):
                self._connection.rollback()

    def _explained(self, error: Exception) -> Exception:
        match sqlstate(error):
            case "57014":
                return QueryTooSlow(f"the query took longer than {self._timeout} s (AIRFLOW_LINEAGE_STATEMENT_TIMEOUT) and was ended")
            case "53400":
                return StoreError(
                    f"the query needed more temporary space than the limit (AIRFLOW_LINEAGE_TEMP_FILE_LIMIT): {redact(str(error))}"
                )
            case "42P01":
                return StoreError(f"a table of the query is gone, its run was probably dropped: {redact(str(error))}")
        return error

    def _open(self) -> AdbcConnection | None:
        if not self._process:
            raise StoreError("this session of the results store is closed; use it inside its 'with' block")
        if self._process != os.getpid():
            raise StoreError("this session of the results store was opened by the process that this one was forked from; open another")
        return self._connection

    def upload(self, name: str, table: pa.Table, columns: Sequence[Column] | None = None) -> Upload:
        """A temporary table that this session's queries can join.

        :param name: what the table's name begins with.
        :param table: the rows.
        :param columns: their Spark types; taken from the Arrow types by default.
        :raises StoreUnavailable: the store does not answer.
        :raises LoadFailed: a value cannot be stored as its Spark type.
        :raises PlanError: an Arrow type has no Spark type.
        """
        layout = layout_of(table) if columns is None else make_layout(columns)
        chosen = physical_names([f"{name[:20]}_{len(self._uploads) + 1}"])[0]
        quoted = f"pg_temp.{identifier(chosen)}"
        batches = [convert.to_storage(table, layout, 0)[0]]
        with store_errors(f"uploading {name!r} to {redact(self.url)}"):
            self._create(chosen, quoted, layout, batches)
        self._uploads[chosen] = quoted
        return Upload(quoted, layout)

    def _create(self, name: str, quoted: str, layout: Layout, batches: list[pa.RecordBatch]) -> None:
        self._end()
        writes = "SET LOCAL transaction_read_only = off"  # a user may be read-only by default
        connection = self._connection = self._open() or self._pool.take(lambda one: one.begin(writes))
        try:
            connection.begin(writes)
            with connection.cursor() as cursor:
                cursor.executescript(f"CREATE TEMPORARY TABLE {identifier(name)} ({', '.join(layout.ddl())})")
                if batches[0].num_rows:
                    cursor.adbc_ingest(name, batches[0], mode="append", temporary=True)
                cursor.executescript(f"ANALYZE {quoted}")
            connection.commit()
        except Exception:
            with suppress(Exception):
                connection.rollback()
            raise


def _names(layout: Layout) -> str:
    return ", ".join(f"{layout.sql_column(column.name)} AS {identifier(column.name)}" for column in layout.columns)
