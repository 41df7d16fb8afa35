"""What a store's server was asked, by its own log: statements, transactions and connections, however they came."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

import psycopg2

from airflow_lineage_provider.store.embedded import Server

_SETTINGS = {"log_statement": "all", "log_connections": "authorization", "log_line_prefix": "%p %v %d ", "log_min_error_statement": "panic"}
_TIMED = _SETTINGS | {"log_statement": "none", "log_min_duration_statement": "0"}
_LINE = re.compile(r"(?P<process>\d+) (?P<transaction>\S*) (?P<database>\S*) LOG:  (?P<said>.*)", re.DOTALL)
_STATEMENT = re.compile(r"(?:duration: (?P<took>[\d.]+) ms  )?(?P<step>statement|parse|bind|execute)(?: [^:]*)?: (?P<text>.*)", re.DOTALL)
_PATIENCE = 20.0


@dataclass(frozen=True)
class Statement:
    """One statement: the server's process that ran it, the (virtual) transaction that it was part of, and its text.

    ``milliseconds`` that it took, where they were asked for.
    """

    process: int
    transaction: str
    text: str
    milliseconds: float = 0.0


@dataclass
class Asked:
    """What was asked while it was noted; empty before the end."""

    statements: list[Statement] = field(default_factory=list)
    connected: int = 0

    @property
    def texts(self) -> list[str]:
        return [one.text for one in self.statements]

    @property
    def transactions(self) -> int:
        return len({(one.process, one.transaction) for one in self.statements})

    @property
    def connections(self) -> int:
        """Connections that were used, made before or just now."""
        return len({one.process for one in self.statements})

    def __str__(self) -> str:
        said = f"{len(self.statements)} statements, {self.transactions} transactions, {self.connections} connections ({self.connected} new)"
        return "\n".join([said, *(f"  {one.process} {one.transaction} {one.text}" for one in self.statements)])


@contextmanager
def noted(server: Server, url: str = "", *, timed: bool = False) -> Iterator[Asked]:
    """Notes what is asked of one database of an embedded server, or of all, by anybody.

    :param timed: with what each took, and as often as the server worked on it: it parses some, and binds parameters, by themselves.
    """
    settings = _TIMED if timed else _SETTINGS
    with closing(psycopg2.connect(server.url)) as other:
        other.autocommit = True
        with other.cursor() as cursor:
            try:
                for name, value in settings.items():
                    cursor.execute(f"ALTER SYSTEM SET {name} = %s", (value,))
                _reload(cursor, settings)
                begins = _marked(server, cursor)
                found = Asked()
                yield found
                ends = _marked(server, cursor)
            finally:
                for name in settings:
                    cursor.execute(f"ALTER SYSTEM RESET {name}")
                cursor.execute("SELECT pg_reload_conf()")
        database = psycopg2.extensions.parse_dsn(url)["dbname"] if url else ""
        _read(found, server, begins, ends, database=database, but=other.info.backend_pid)


def _reload(cursor: psycopg2.extensions.cursor, settings: Mapping[str, str]) -> None:
    cursor.execute("SELECT pg_reload_conf()")
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        cursor.execute("SELECT name, setting FROM pg_settings WHERE name IN ('log_statement', 'log_min_duration_statement')")
        if dict(cursor.fetchall()).items() <= {"log_min_duration_statement": "-1", **settings}.items():
            return
        time.sleep(0.01)
    raise TimeoutError("the server does not take its new settings")


def _marked(server: Server, cursor: psycopg2.extensions.cursor) -> str:
    """A text that stands in the log from now on."""
    mark = f"mark {uuid.uuid4()}"
    cursor.execute("SELECT %s", (mark,))
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if mark in _log(server):
            return mark
        time.sleep(0.01)
    raise TimeoutError("the server does not write its log")


def _log(server: Server) -> str:
    return "".join(piece.read_text(errors="replace") for piece in sorted((server.home / "log").glob("postgres-*.log")))


def _read(found: Asked, server: Server, begins: str, ends: str, *, database: str, but: int) -> None:
    between = _log(server).partition(begins)[2].partition(ends)[0]
    for entry in re.split(r"\n(?!\t)", between):
        line = _LINE.fullmatch(entry)
        if line is None or (database and line["database"] != database) or int(line["process"]) == but:
            continue
        said = _STATEMENT.fullmatch(line["said"])
        if said is not None:
            text, took = " ".join(said["text"].split()), float(said["took"] or 0)
            found.statements.append(Statement(int(line["process"]), line["transaction"], text, took))
        elif line["said"].startswith("connection authorized"):
            found.connected += 1
