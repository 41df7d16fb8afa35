"""Connections to PostgreSQL: one reading of URLs for SQLAlchemy, psycopg2 and ADBC, and one translation of their errors."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import LineageError, StoreError, StoreNotPermitted, StoreTooSlow, StoreUnavailable
from airflow_lineage_provider.secrecy import redact
from airflow_lineage_provider.secrecy.urls import odd_store_url
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.store import forks
from airflow_lineage_provider.store.adbc import AdbcConnection

if TYPE_CHECKING:
    import psycopg2.extensions
    import sqlalchemy as sa

_SCHEMES = ("postgresql", "postgres")
_SESSION_SETTINGS = (
    "-c standard_conforming_strings=on -c TimeZone=UTC -c DateStyle=ISO -c search_path=public -c client_min_messages=warning"
)
_DEFAULTS = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "4"}
_RECYCLED = 3600
"""Seconds after which an engine makes another connection: the server's process behind one remembers each table that it was asked about."""
# ADBC gives no SQLSTATE for a lost connection, only libpq's words.
_LOST = re.compile(
    r"failed to connect|server closed the connection|terminating connection|connection to server|no connection to the server"
    r"|connection not open|could not (?:receive|send) data|connection (?:reset|refused|timed out|already closed)"
    r"|broken pipe|SSL (?:SYSCALL|connection)"
    r"|no COPY in progress|connection is closed|connection pointer is NULL",
    re.IGNORECASE,
)
_NOT_PERMITTED = "42501"
_LOCK_NOT_AVAILABLE = "55P03"
_UNAVAILABLE_STATES = {"57P01", "57P02", "57P03", "57P05", "53300", "3D000", "28P01", "28000", "58P01"}


def normalise(url: str) -> str:
    """A libpq URL: the driver's name is taken out of the scheme (``postgresql+psycopg2://``).

    :raises StoreError: it is no PostgreSQL URL, or can be read in several ways: libpq's message would have pieces of the password.
    """
    if not isinstance(url, str):
        raise StoreError(f"the results store is given by its URL, postgresql://…, not by a {type(url).__name__}")
    _check_url(url)
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.split("+")[0] not in _SCHEMES:
        given = shown(redact(url))
        raise StoreError(f"the results store is PostgreSQL: expected postgresql://user:password@host:5432/database, got {given}")
    odd = odd_store_url(url)
    if odd is not None:
        raise StoreError(f"the URL {redact(url)!r} of the results store cannot be read: {odd}")
    return f"postgresql://{rest}"


def _check_url(url: str) -> None:
    """Refuse what libpq and Python read differently, or not at all. No part of the URL is in the message: it may be a password."""
    if any(character <= " " or character == "\x7f" or "\ud800" <= character <= "\udfff" for character in url):
        raise StoreError("the URL of the results store has a blank in it, or what is no character; write %20 for a blank")
    if re.search(r"%(?![0-9A-Fa-f]{2})|%00", url):
        raise StoreError("the URL of the results store has a '%' that begins no character's code; write %25 for the sign itself")
    try:
        parts = urlsplit(url)
        several = "," in parts.netloc.rpartition("@")[2]
        valid = several or parts.port is None or parts.port > 0
    except ValueError:
        valid = False
    if not valid:
        raise StoreError(
            "the URL of the results store cannot be read: its host or port is none. In a user name or password write special characters "
            "with their codes, such as %40 for '@' and %2F for '/'"
        )


def tcp_form(url: str) -> str:
    """The URL with the loopback in place of a Unix socket, for JDBC; any other URL as it is."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    if not query.get("host", "").startswith("/"):
        return url
    del query["host"]
    port = query.pop("port", "5432")
    credentials, at, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{credentials}{at}127.0.0.1:{port}", query=urlencode(query)))


def connect_url(url: str, application: str, role: str | None = None) -> str:
    """The URL with our session's settings, the ones that the caller gave left as they are; ``role`` is one to act as."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    options = f"{_limits()} {query.pop('options', '')} {_SESSION_SETTINGS}".strip()
    if role is not None:
        options += " -c role=" + re.sub(r"([\\ ])", r"\\\1", role)
    timeout = {"connect_timeout": str(settings.connect_timeout())}
    query = {**timeout, **_DEFAULTS, **query, "options": options, "application_name": application[:63]}
    return f"{url.partition('?')[0]}?{urlencode(query, quote_via=quote)}"


def with_connect_timeout(url: str) -> str:
    """The URL with this process's connect timeout in it, for other processes, whose settings may be others."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    query.setdefault("connect_timeout", str(settings.connect_timeout()))
    return f"{url.partition('?')[0]}?{urlencode(query, quote_via=quote)}"


def with_lock_timeout(url: str, seconds: float) -> str:
    """The URL with the most seconds that a statement waits for a lock, where it does not say so itself."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    query["options"] = f"-c lock_timeout={round(seconds * 1000)} {query.get('options', '')}".strip()
    return f"{url.partition('?')[0]}?{urlencode(query, quote_via=quote)}"


def _limits() -> str:
    seconds = settings.idle_timeout()
    return f"-c idle_in_transaction_session_timeout={round((seconds or 0) * 1000)}"


def psycopg2_connect(url: str, application: str = "airflow-lineage", role: str | None = None) -> psycopg2.extensions.connection:
    """A psycopg2 connection with our session's settings; this process's alone, should it fork."""
    import psycopg2

    connection = psycopg2.connect(connect_url(url, application, role))
    alive = weakref.ref(connection)
    forks.own(connection, lambda: _descriptors(alive()))
    return connection


def silence_of(url: str) -> str:
    """Why a server that says nothing takes no new connection either; empty where it takes one, or refuses it by a word of its own (it has
    too many, say): then it lives, and is slow at most."""
    try:
        psycopg2_connect(url).close()
    except Exception as error:
        told = redact(str(error)).strip() or type(error).__name__
        return "" if any(word in told for word in _LIVES) else told.splitlines()[0]
    return ""


_LIVES = ("FATAL", "ERROR")
"""What a server says that is there and refuses."""


def _descriptors(connection: psycopg2.extensions.connection | None) -> tuple[int, ...]:
    return () if connection is None or connection.closed else (connection.fileno(),)


def adbc_connect(url: str, application: str = "airflow-lineage") -> AdbcConnection:
    """An ADBC connection with our session's settings; this process's alone, should it fork."""
    return AdbcConnection(connect_url(url, application))


class Connector:
    """Makes the connections of an engine. ``role`` may be set later: one to act as. Each that is made is told to ``made``."""

    def __init__(self, url: str, made: Callable[[Any], object] | None = None) -> None:
        self.url = url
        self.role: str | None = None
        self._made = made

    def __call__(self) -> psycopg2.extensions.connection:
        """One connection."""
        connection = psycopg2_connect(self.url, role=self.role)
        if self._made is not None:
            self._made(connection)
        return connection


def make_engine(connect: Callable[[], psycopg2.extensions.connection]) -> sa.Engine:
    """A SQLAlchemy engine over psycopg2 that reads URLs as libpq does."""
    import sqlalchemy as sa

    # (As many stay as a server has threads that look through rows: one that is closed after each question is made again for the next.)
    options = {"pool_size": 6, "max_overflow": 4, "pool_pre_ping": True, "pool_recycle": _RECYCLED}
    # (Each connection would be asked for a type that nothing here has.)
    return sa.create_engine("postgresql+psycopg2://", creator=connect, use_native_hstore=False, **options)


@contextmanager
def store_errors(doing: str, kind: type[LineageError] = StoreError) -> Iterator[None]:
    """Translate errors of SQLAlchemy, psycopg2 and ADBC: a lost connection to StoreUnavailable, the rest to ``kind``.

    :param doing: what was being done, for the message: ``"opening the store postgresql://…"``.
    :param kind: the error for what is not a connection's failure.
    """
    try:
        yield
    except Exception as error:
        if _is_about_text(error):
            raise kind(redact(f"{doing}: a text has a character that PostgreSQL cannot hold: NUL, or half of a pair")) from error
        if not _from_a_driver(error):
            raise
        made = translate(error, doing, kind)
        # A driver's message with a password in it would be printed with the traceback.
        raise made from (error if redact(str(error)) == str(error) else None)


def translate(error: BaseException, doing: str, kind: type[LineageError] = StoreError) -> LineageError:
    """Our error for a driver's error."""
    cause = getattr(error, "orig", None) or error
    text = redact(f"{doing}: {str(cause).strip() or type(cause).__name__}")
    if sqlstate(cause) == _NOT_PERMITTED:
        return StoreNotPermitted(
            f"this user of the results store may not do that, {text} ('airflow-lineage store grant' shows what each role may do)"
        )
    if sqlstate(cause) == _LOCK_NOT_AVAILABLE:
        return StoreTooSlow(f"somebody holds a lock in the results store, {text}")
    if _unavailable(cause):
        return StoreUnavailable(f"the results store does not answer, {text}")
    return kind(f"the results store refused, {text}")


def sqlstate(error: BaseException) -> str | None:
    """PostgreSQL's five-character code of a driver's error, where it gives one."""
    cause = getattr(error, "orig", None) or error
    return getattr(cause, "pgcode", None) or getattr(cause, "sqlstate", None)


def _is_about_text(error: Exception) -> bool:
    """psycopg2 says by an error of Python's own that a text cannot be sent."""
    return isinstance(error, UnicodeEncodeError) or (type(error) is ValueError and "NUL" in str(error))


def _from_a_driver(error: BaseException) -> bool:
    return type(error).__module__.split(".")[0] in ("psycopg2", "sqlalchemy", "adbc_driver_manager")


def _unavailable(cause: BaseException) -> bool:
    state = sqlstate(cause)
    if state is not None:
        return state.startswith("08") or state in _UNAVAILABLE_STATES
    if type(cause).__module__.startswith("psycopg2") and type(cause).__name__ in ("OperationalError", "InterfaceError"):
        return True
    # psycopg2, too, has a bare DatabaseError where libpq has told of the end, and the connection's status does not tell it yet.
    return bool(_LOST.search(str(cause)))


def password_of(url: str) -> str | None:
    """The password in a URL, for programs that take it apart (JDBC)."""
    password = urlsplit(url).password
    return None if password is None else unquote(password)
