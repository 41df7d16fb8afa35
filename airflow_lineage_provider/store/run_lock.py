"""Who owns a running run, and whether its owner still lives.

The owner of a run holds an advisory lock on a connection of its own for as long as the run goes on. PostgreSQL releases the lock when the
connection dies, however it dies; whoever can take the lock of a running run knows that its owner is gone.

A server that dies forgets its locks, while the drivers live. So the owner of a run in the embedded store also holds the lock of a file in
the server's home folder, which the kernel releases when the owner's process ends: its run is its own until it has taken the other lock
again. Whoever uses the embedded server knows the folder from the server, by whatever URL it came.

While a run writes its output it also holds the output's place, on the same connection: runs that write to one place take turns.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from airflow_lineage_provider.errors import EnvironmentProblem, StoreError
from airflow_lineage_provider.secrecy.urls import shown_place
from airflow_lineage_provider.store import forks, server_life
from airflow_lineage_provider.store.connection import psycopg2_connect, store_errors
from airflow_lineage_provider.store.home_files import open_private, try_lock

if TYPE_CHECKING:
    import psycopg2.extensions

log = logging.getLogger(__name__)

_FOLDER = "runs"
_APPLICATION = "lineage-run:"
# Advisory locks with a number of 64 bits are listed by its two halves.
_HOLDER = """SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid)
    WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND datname = current_database()
    AND (classid::bigint << 32) | objid::bigint = %s"""
_HOME = f"SELECT current_setting('{server_life.HOME_SETTING}', true)"


def lock_key(run_id: str) -> int:
    """The advisory lock's number for a run: 64 bits, so that two runs do not meet."""
    return _key(f"airflow-lineage run {run_id}")


def _place_key(place: str) -> int:
    return _key(f"airflow-lineage output {place}")


def _key(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()[:8], "big", signed=True)


class RunLock:
    """The locks of a running run."""

    def __init__(self, url: str, run_id: str) -> None:
        self.run_id = run_id
        self._taking = threading.Lock()
        self._places: set[str] = set()
        self._connection, home = _take(url, run_id)
        self._sign = _sign_of_life(home, run_id)

    def ensure(self, url: str) -> None:
        """Take the lock again when its connection was lost (the server was restarted, say).

        :raises StoreError: another process has found the owner dead, and is ending the run.
        """
        import psycopg2

        with self._taking:
            try:
                with self._connection.cursor() as cursor:
                    cursor.execute("SELECT 1")
            except psycopg2.Error:
                _hang_up(self._connection)
                self._connection, _ = _take(url, self.run_id)
                for place in self._places:
                    if not self._try(_place_key(place)):
                        told = "while the store was away another run has begun to write to %s, where run %s writes"
                        log.warning(told, shown_place(place), self.run_id)

    def take_place(self, place: str) -> str | None:
        """Hold a place that the run is going to write to; where another one writes there, what it is (a run's id, if that can be known).

        :raises StoreUnavailable: the connection is lost.
        """
        key = _place_key(place)
        with self._taking, store_errors(f"waiting to write to {shown_place(place)}"):
            if place in self._places or self._try(key):  # the answer to the first time may have been lost
                self._places.add(place)
                return None
            with self._connection.cursor() as cursor:
                cursor.execute(_HOLDER, (key,))
                (name,) = cursor.fetchone() or (None,)
        return f"run {name.removeprefix(_APPLICATION)}" if name and name.startswith(_APPLICATION) else "another run"

    def leave_place(self, place: str) -> None:
        """Others may write there. (A connection that is lost holds nothing any more.)"""
        import psycopg2

        with self._taking, contextlib.suppress(psycopg2.Error):
            self._places.discard(place)
            with self._connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", (_place_key(place),))

    def _try(self, key: int) -> bool:
        with self._connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", (key,))
            return bool(cursor.fetchone() == (True,))

    def release(self) -> None:
        """Give the run up, even while another thread waits on the connection for a server that has stopped."""
        _hang_up(self._connection)
        sign, self._sign = self._sign, None
        if sign is not None:
            sign.take_down()


def _take(url: str, run_id: str) -> tuple[psycopg2.extensions.connection, str | None]:
    """A connection that holds the run's lock, and the home of the server."""
    connection = psycopg2_connect(url, f"{_APPLICATION}{run_id}")
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(f"{_HOME}, pg_try_advisory_lock(%s)", (lock_key(run_id),))
        home, taken = cursor.fetchone() or (None, False)
    if not taken:
        connection.close()
        raise StoreError(f"run {run_id} is being ended by another process")
    return connection, home


def _hang_up(connection: psycopg2.extensions.connection) -> None:
    import psycopg2

    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)
    except (OSError, psycopg2.Error):
        log.debug("a run's lock has no connection any more")
    try:
        connection.close()
    except psycopg2.Error:
        log.debug("the connection of a run's lock was lost before")


# The file


class _Sign:
    """A file that is locked for as long as this process lives and owns the run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = descriptor = open_private(path)
        try_lock(descriptor)
        forks.own(self, lambda: (descriptor,))

    def take_down(self) -> None:
        """Remove the file, and unlock it: whoever has opened it meanwhile finds it free."""
        with contextlib.suppress(OSError):
            self._path.unlink()
        forks.disown(self)
        os.close(self._descriptor)


def _sign_of_life(home: str | None, run_id: str) -> _Sign | None:
    """None where the server is no embedded one, or one that this process cannot reach by its home."""
    path = _path(home, run_id)
    if path is None:
        return None
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        return _Sign(path)
    except (OSError, EnvironmentProblem) as error:
        log.debug("run %s shows no sign of life in %s: %s", run_id, path.parent, error)
        return None


def _path(home: str | None, run_id: str) -> Path | None:
    if not home or not os.path.exists(os.path.join(home, "postgres.alive")):  # false, too, where this user may not look
        return None
    return Path(home) / _FOLDER / f"{lock_key(run_id) & (1 << 64) - 1:016x}"


def owner_is_dead(connection: sa.Connection, run_id: str) -> bool:
    """Whether nobody owns a run; until the transaction ends nobody can."""
    home = connection.execute(sa.text(_HOME)).scalar()
    if _is_held(_path(home, run_id)):
        return False
    return bool(connection.execute(sa.text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": lock_key(run_id)}).scalar())


def _is_held(path: Path | None) -> bool:
    if path is None:
        return False
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    with forks.owned_descriptor(descriptor):
        return not try_lock(descriptor)


def forget(connection: sa.Connection, run_id: str) -> None:
    """Remove the file that a dead owner left."""
    path = _path(connection.execute(sa.text(_HOME)).scalar(), run_id)
    if path is not None:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
