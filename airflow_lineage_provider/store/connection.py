"""Connections to PostgreSQL: one reading of URLs for SQLAlchemy, psycopg2 and ADBC, and one translation of their errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from airflow_lineage_provider.errors import LineageError, StoreError, StoreUnavailable

if TYPE_CHECKING:
    import psycopg2.extensions
    import sqlalchemy as sa

_SCHEMES = ("postgresql", "postgres")
_SESSION_SETTINGS = (
    "-c standard_conforming_strings=on -c TimeZone=UTC -c DateStyle=ISO -c search_path=public -c client_min_messages=warning"
)
_DEFAULTS = {"connect_timeout": "10", "keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "4"}
# ADBC gives no SQLSTATE for a lost connection, only libpq's words.
_LOST = re.compile(
    r"failed to connect|server closed the connection|terminating connection|connection to server|no connection to the server"
    r"|connection not open|could not (?:receive|send) data|connection (?:reset|refused|timed out|already closed)"
    r"|broken pipe|SSL (?:SYSCALL|connection)"
    r"|no COPY in progress|connection is closed|connection pointer is NULL",
    re.IGNORECASE,
)
_UNAVAILABLE_STATES = {"57P01", "57P02", "57P03", "57P05", "53300", "3D000", "28P01", "28000", "58P01"}


def normalise(url: str) -> str:
    """A libpq URL: the driver's name is taken out of the scheme (``postgresql+psycopg2://``).

    Raises:
        StoreError: it is no PostgreSQL URL.
    """
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.split("+")[0] not in _SCHEMES:
        raise StoreError(f"the results store is PostgreSQL: expected postgresql://user:password@host:5432/database, got {redact(url)!r}")
    return f"postgresql://{rest}"


def redact(text: str) -> str:
    """The text without the passwords of the URLs in it."""
    without = re.sub(r"(://[^:/@\s]*:)\S*(@)", r"\1***\2", text)
    return re.sub(r"(password=)[^&\s]+", r"\1***", without)


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


def connect_url(url: str, application: str) -> str:
    """The URL with our session's settings, the ones that the caller gave left as they are."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    options = f"{query.pop('options', '')} {_SESSION_SETTINGS}".strip()
    query = {**_DEFAULTS, **query, "options": options, "application_name": application[:63]}
    return f"{url.partition('?')[0]}?{urlencode(query, quote_via=quote)}"


def psycopg2_connect(url: str, application: str = "airflow-lineage") -> psycopg2.extensions.connection:
    """A psycopg2 connection with our session's settings."""
    import psycopg2

    return psycopg2.connect(connect_url(url, application))


def adbc_connect(url: str, application: str = "airflow-lineage") -> Any:
    """An ADBC connection (DBAPI, a transaction is begun by the first statement) with our session's settings."""
    import adbc_driver_postgresql.dbapi as adbc

    return adbc.connect(connect_url(url, application))


def make_engine(url: str) -> sa.Engine:
    """A SQLAlchemy engine over psycopg2 that reads the URL as libpq does."""
    import sqlalchemy as sa

    options = {"pool_size": 2, "max_overflow": 8, "pool_pre_ping": True}
    return sa.create_engine("postgresql+psycopg2://", creator=lambda: psycopg2_connect(url), **options)


@contextmanager
def store_errors(doing: str, kind: type[LineageError] = StoreError) -> Iterator[None]:
    """Translate errors of SQLAlchemy, psycopg2 and ADBC: a lost connection to StoreUnavailable, the rest to ``kind``.

    Args:
        doing: what was being done, for the message: ``"opening the store postgresql://…"``.
        kind: the error for what is not a connection's failure.
    """
    try:
        yield
    except Exception as error:
        if not _from_a_driver(error):
            raise
        raise translate(error, doing, kind) from error


def translate(error: BaseException, doing: str, kind: type[LineageError] = StoreError) -> LineageError:
    """Our error for a driver's error."""
    cause = getattr(error, "orig", None) or error
    text = redact(f"{doing}: {str(cause).strip() or type(cause).__name__}")
    if _unavailable(cause):
        return StoreUnavailable(f"the results store does not answer, {text}")
    return kind(f"the results store refused, {text}")


def sqlstate(error: BaseException) -> str | None:
    """PostgreSQL's five-character code of a driver's error, where it gives one."""
    cause = getattr(error, "orig", None) or error
    return getattr(cause, "pgcode", None) or getattr(cause, "sqlstate", None)


def _from_a_driver(error: BaseException) -> bool:
    return type(error).__module__.split(".")[0] in ("psycopg2", "sqlalchemy", "adbc_driver_manager")


def _unavailable(cause: BaseException) -> bool:
    state = sqlstate(cause)
    if state is not None:
        return state.startswith("08") or state in _UNAVAILABLE_STATES
    if type(cause).__module__.startswith("psycopg2"):
        return type(cause).__name__ in ("OperationalError", "InterfaceError")
    return bool(_LOST.search(str(cause)))


def password_of(url: str) -> str | None:
    """The password in a URL, for programs that take it apart (JDBC)."""
    password = urlsplit(url).password
    return None if password is None else unquote(password)
