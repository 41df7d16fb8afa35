"""The results store's URL, from an Airflow connection: of type ``lineage_store``, or to PostgreSQL."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from airflow_lineage_provider.errors import StoreError

if TYPE_CHECKING:
    from airflow.sdk import Connection

log = logging.getLogger(__name__)

CONN_TYPE = "lineage_store"

_LIBPQ = frozenset(
    [
        "application_name",
        "channel_binding",
        "client_encoding",
        "connect_timeout",
        "gssencmode",
        "host",
        "hostaddr",
        "keepalives",
        "keepalives_count",
        "keepalives_idle",
        "keepalives_interval",
        "krbsrvname",
        "options",
        "passfile",
        "requirepeer",
        "service",
        "sslcert",
        "sslcrl",
        "sslkey",
        "sslmode",
        "sslpassword",
        "sslrootcert",
        "target_session_attrs",
        "tcp_user_timeout",
    ]
)
"""What a connection's extra may say to libpq. Airflow's PostgreSQL connections also carry options of Airflow's own hook."""


def store_url(connection: Connection) -> str:
    """A ``postgresql://`` URL with the connection's host, port, database (its schema), login, password and libpq extras.

    :raises StoreError: the connection is of another type, or is authenticated by a cloud's token (``iam``).
    """
    name, extra = connection.conn_id, connection.extra_dejson
    if connection.conn_type not in (CONN_TYPE, "postgres", "postgresql"):
        raise StoreError(
            f"connection {name!r} is of type {connection.conn_type!r}; the results store needs one of type {CONN_TYPE!r} or 'postgres'"
        )
    if extra.get("iam"):
        raise StoreError(f"connection {name!r} asks for a token (extra 'iam'), which the results store cannot renew; give it a password")
    return f"postgresql://{_authority(connection)}/{quote(connection.schema or '', safe='')}{_query(name, extra)}"


def _authority(connection: Connection) -> str:
    login = quote(connection.login or "", safe="")
    password = f":{quote(connection.password, safe='')}" if connection.password else ""
    # A host that is a folder (of the server's Unix socket) has to be encoded; an IPv6 address stands in brackets.
    host = connection.host or ""
    host = f"[{host}]" if ":" in host else quote(host, safe="")
    port = f":{connection.port}" if connection.port else ""
    return f"{login}{password}{'@' if login or password else ''}{host}{port}"


def _query(name: str, extra: dict[str, Any]) -> str:
    unused = sorted(key for key in extra if key not in _LIBPQ)
    if unused:
        log.warning("connection %r: extra %s is not used by the results store", name, ", ".join(map(repr, unused)))
    # A field of the form that was left empty.
    used = {key: str(value) for key, value in extra.items() if key in _LIBPQ and value not in (None, "")}
    return f"?{urlencode(used, quote_via=quote)}" if used else ""
