"""Least privilege: the store's roles (``roles.sql`` says what each may do), and who is who."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import sqlalchemy as sa

from airflow_lineage_provider import settings
from airflow_lineage_provider.store import materialized
from airflow_lineage_provider.store.schema import HEAD
from airflow_lineage_provider.store.session import MAY_KEEP
from airflow_lineage_provider.store.sqltext import identifier, literal

if TYPE_CHECKING:
    from airflow_lineage_provider.store.materialization import ExecutorUrls
    from airflow_lineage_provider.store.selecting import Select

LOADER, READER = "lineage_load", "lineage_read"
"""The embedded server's roles that log in, for Spark's executors."""
_GROUPS = {LOADER: "lineage_loader", READER: "lineage_reader"}
_LOCK = 0x6C696E65726F6C65

_OWNER = sa.text("""
    SELECT o.rolname FROM pg_namespace n JOIN pg_roles o ON o.oid = n.nspowner
    WHERE n.nspname = 'lineage' AND o.rolname <> current_user AND pg_has_role(current_user, o.oid, 'MEMBER')""")
_MAY_DERIVE = sa.select(sa.literal_column(MAY_KEEP, sa.Boolean).label("may"))
_MARKS = sa.text("SELECT rolname, shobj_description(oid, 'pg_authid') AS mark FROM pg_roles WHERE rolname IN (:loader, :reader)")


def script() -> str:
    """The SQL text that makes the roles and grants them what they need, for a person to read and to run."""
    return (Path(__file__).parent / "roles.sql").read_text()


def apply(connection: sa.Connection) -> None:
    """Run the script in the connection's transaction; its statements all are."""
    connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    materialized.execute_text(connection, script())


def act_as_owner(connection: sa.Connection) -> str | None:
    """Act as the role that owns the store, where it is another than the user and the user may; which one that is."""
    found = connection.execute(_OWNER).scalar()
    if found is None:
        return None
    connection.execute(sa.text(f"SET ROLE {identifier(str(found))}"))
    connection.commit()
    return str(found)


def may_derive(select: Select) -> bool:
    """Whether the user may keep derivations."""
    return bool(select(_MAY_DERIVE, {})[0]["may"])


@dataclass(frozen=True)
class _Login:
    name: str
    password: str

    @property
    def mark(self) -> str:
        """What the role's comment says when it is as it should be: the release's grants, and this password."""
        return f"{HEAD}:{hashlib.sha256(self.password.encode()).hexdigest()[:16]}"


def _logins(owner_url: str) -> list[_Login]:
    """The executors' roles with passwords that follow from the owner's, and do not lead back to it."""
    secret = unquote(urlsplit(owner_url).password or "").encode()
    return [_Login(name, hmac.new(secret, name.encode(), "sha256").hexdigest()) for name in (LOADER, READER)]


def are_prepared(engine: sa.Engine, owner_url: str) -> bool:
    """Whether the embedded server's roles are there, of this release and with this password; whoever looks."""
    with engine.connect() as connection:
        found = {row.rolname: row.mark for row in connection.execute(_MARKS, {"loader": LOADER, "reader": READER})}
    return found == {login.name: login.mark for login in _logins(owner_url)}


def prepare_embedded(engine: sa.Engine, owner_url: str) -> None:
    """Make the embedded server's roles, or bring them to this release and to this password; as who may make roles."""
    with engine.begin() as connection:
        apply(connection)
        for login in _logins(owner_url):
            _make(connection, login)


def _make(connection: sa.Connection, login: _Login) -> None:
    name = identifier(login.name)
    if connection.execute(sa.text("SELECT 1 FROM pg_roles WHERE rolname = :name"), {"name": login.name}).first() is None:
        materialized.execute_text(connection, f"CREATE ROLE {name}")
    limit = settings.temp_file_limit()
    for text in (
        f"ALTER ROLE {name} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD {literal(login.password)}",
        f"ALTER ROLE {name} SET temp_file_limit = {literal('-1' if limit is None else f'{limit}kB')}",
        f"GRANT {_GROUPS[login.name]} TO {name}",
        f"COMMENT ON ROLE {name} IS {literal(login.mark)}",
    ):
        materialized.execute_text(connection, text)


def executor_urls(url: str, embedded: bool) -> ExecutorUrls:
    """The URLs by which executors reach the store: as roles that may do no more than they need, where there are any."""
    from airflow_lineage_provider.store.connection import normalise
    from airflow_lineage_provider.store.materialization import ExecutorUrls

    if embedded:
        loader, reader = (_as_login(url, login) for login in _logins(url))
        return ExecutorUrls(loader=loader, reader=reader)
    loader, reader = (normalise(given) if given else url for given in (settings.loader_store(), settings.reader_store()))
    return ExecutorUrls(loader=loader, reader=reader)


def _as_login(url: str, login: _Login) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote(login.name)}:{quote(login.password)}@{host}"))
