"""One ADBC connection: transactions that we begin and end ourselves, and sockets that a forked child lets go of."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from airflow_lineage_provider.store import forks

_DEFAULT_PORT = "5432"
_OWN_TYPES = {"adbc.postgresql.type_resolver_mode": "builtin"}
"""The driver knows PostgreSQL's own types, and asks nothing when it connects (from 1.13 on). Else it reads all columns of all tables of the
database, which takes a second where ten thousand runs are kept; tables of the store have no other types."""
_options = _OWN_TYPES


class AdbcConnection:
    """A connection of ADBC's PostgreSQL driver.

    The driver's own transactions are not used: after a COPY it has forgotten that it is in one, and begins another, of which PostgreSQL
    warns in its log at every load. Outside of `begin` and `commit` or `rollback` every statement is a transaction of its own.

    :ivar uses: how often it was taken from a pool, and given back.
    """

    def __init__(self, url: str) -> None:
        opened: list[int] = []
        with forks.sockets_opened(opened, server_ports(url)):
            self._inner = _connected(url)
        self._pid = os.getpid()
        self._begun = False
        self.uses = 0
        sockets = tuple(opened)
        forks.own(self, lambda: sockets)

    def cursor(self) -> Any:
        """A cursor of the driver."""
        return self._inner.cursor()

    def begin(self, *then: str) -> None:
        """Begin a transaction, unless one is begun, with these commands in the same message: of what they give nothing is told."""
        if not self._begun:
            self._begun = True  # also where one of the commands fails
            self._execute("; ".join(["BEGIN", *then]))

    def commit(self) -> None:
        """End the transaction for good."""
        if self._begun:
            self._execute("COMMIT")
            self._begun = False

    def rollback(self) -> None:
        """End the transaction as if it had not been."""
        if self._begun:
            self._execute("ROLLBACK")
            self._begun = False

    def close(self) -> None:
        """Close it; in a forked child nothing is said on the parent's connection."""
        if self._pid != os.getpid():
            forks.keep_unused(self._inner)
            return
        forks.disown(self)
        self._inner.close()

    def __del__(self) -> None:
        if hasattr(self, "_pid"):
            with suppress(Exception):
                self.close()

    def _execute(self, sql: str) -> None:
        with self._inner.cursor() as cursor:
            cursor.executescript(sql)  # at once: what gives rows is prepared and described first, in messages of their own


def _connected(url: str) -> Any:
    import adbc_driver_postgresql.dbapi as adbc

    global _options
    try:
        return adbc.connect(url, autocommit=True, db_kwargs=_options)
    except adbc.NotSupportedError:
        if not _options:
            raise
        _options = {}  # an older driver, which does not know the option
        return adbc.connect(url, autocommit=True)


def server_ports(url: str) -> set[int]:
    """The ports of the hosts in a URL."""
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query)).get("port")
    texts = given.split(",") if given else [one.rpartition(":")[2] for one in parts.netloc.rpartition("@")[2].split(",")]
    return {int(text) for text in [*texts, os.environ.get("PGPORT", _DEFAULT_PORT)] if text.isdecimal()}
