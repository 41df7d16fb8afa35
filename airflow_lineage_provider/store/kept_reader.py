"""Connections that are kept for statements that are asked often: prepared once, then one round trip each, and no transaction around them.

SQLAlchemy's pool asks whether a connection still lives, begins, asks and commits: four round trips, of which a small question takes one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.store import forks

if TYPE_CHECKING:
    import psycopg2.extensions

_IDLE = 6
"""As many as threads of a server look through rows at once: one that is closed after each question is made again for the next."""
_PLANNING = "; ".join(
    ["SET plan_cache_mode = force_generic_plan", *(f"SET enable_{way} = off" for way in ("seqscan", "hashjoin", "mergejoin", "material"))]
)
"""A statement that is asked often looks up a few rows, and is planned once, for whatever is asked later: of values that are lists
PostgreSQL would plan each question by itself. A plan that was made while tables were small would read them whole when they are large."""


@dataclass(frozen=True)
class Statement:
    """A SELECT of a few rows, for whose conditions and joins there are indexes.

    :ivar name: by which it is prepared. :ivar sql: with ``$1`` …. :ivar types: of these, of which there are some.
    """

    name: str
    sql: str
    types: tuple[str, ...]

    @property
    def prepare(self) -> str:
        """What prepares it."""
        return f"PREPARE {self.name} ({', '.join(self.types)}) AS {self.sql}"

    @property
    def execute(self) -> str:
        """What asks it, with a place for each value."""
        return f"EXECUTE {self.name} ({', '.join(f'%s::{kind}' for kind in self.types)})"


class _Kept:
    """A connection, and what is prepared on it."""

    def __init__(self, connection: psycopg2.extensions.connection) -> None:
        connection.set_session(readonly=True, autocommit=True)
        self._connection = connection
        self._prepared: set[str] = set()

    def rows(self, statement: Statement, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            if statement.name not in self._prepared:
                cursor.execute(f"{_PLANNING}; {statement.prepare}")
                self._prepared.add(statement.name)
            cursor.execute(statement.execute, values)
            return list(cursor.fetchall())

    @property
    def is_lost(self) -> bool:
        """Whether the server has ended it, as it was told when it was used."""
        return bool(self._connection.closed)

    def close(self) -> None:
        with suppress(Exception):
            self._connection.close()


class KeptReader:
    """A few of them, safe between threads; each is used by one question at a time.

    :param connect: makes a connection.
    """

    def __init__(self, connect: Callable[[], psycopg2.extensions.connection]) -> None:
        self._connect = connect
        self.forked()
        forks.on_fork(self)

    def forked(self) -> None:
        """Begin anew: idle connections are their process's."""
        self._idle: list[_Kept] = []
        self._lock = threading.Lock()

    def rows(self, statement: Statement, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """What the statement selects. A connection that was idle, and is lost, is another one: nothing is changed by asking twice.

        :raises psycopg2.Error: the server does not answer, or refuses.
        """
        while True:
            idle = self._taken()
            kept = _Kept(self._connect()) if idle is None else idle
            try:
                found = kept.rows(statement, values)
            except BaseException:
                is_lost = kept.is_lost
                kept.close()
                if idle is None or not is_lost:
                    raise
            else:
                self._give_back(kept)
                return found

    def _taken(self) -> _Kept | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _give_back(self, kept: _Kept) -> None:
        with self._lock:
            if len(self._idle) < _IDLE:
                self._idle.append(kept)
                return
        kept.close()

    def close(self) -> None:
        """Close those that are idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for one in idle:
            one.close()
