"""A real PostgreSQL for the store's tests: the embedded server in a temporary home, stopped at the end."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg2
import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import RunRecord, Store, embedded, server_data
from tests.store.copied_homes import homes_are_copied

_databases = itertools.count(1)
_users = itertools.count(1)


@pytest.fixture(scope="session", autouse=True)
def unsafe_disks() -> Iterator[None]:
    """Servers that do not wait for the disk: a test's data need not survive a power cut."""
    configuration = server_data._configuration()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_data, "_INITDB_OPTIONS", [*server_data._INITDB_OPTIONS, "--no-sync"])
        patch.setattr(server_data, "_configuration", lambda: f"{configuration}fsync = off\n")
        with homes_are_copied():
            yield


@pytest.fixture(scope="session")
def server() -> Iterator[embedded.Server]:
    """The embedded server of the whole test session."""
    home = Path(tempfile.mkdtemp(prefix="lineage-tests-"))
    yield embedded.ensure_running(home)
    embedded.stop(home)
    shutil.rmtree(home)


@pytest.fixture
def empty_url(server: embedded.Server) -> str:
    """URL of a new, empty database."""
    return _database(server, "")


@pytest.fixture(scope="session")
def schema(server: embedded.Server) -> str:
    """The name of a database that has the schema, and which nobody uses: making a schema by its migrations takes half a second."""
    url = _database(server, "")
    Store.open(url).close()
    return urlsplit(url).path.removeprefix("/")


@pytest.fixture
def own_url(server: embedded.Server, schema: str) -> str:
    """URL of a new database that has the schema."""
    return _database(server, f"TEMPLATE {schema}")


def _database(server: embedded.Server, how: str) -> str:
    name = f"test_{next(_databases)}"
    sql(server.url, f"CREATE DATABASE {name} {how}")
    return server.url.replace("/lineage?", f"/{name}?")


@pytest.fixture
def lineage(own_url: str) -> Iterator[Lineage]:
    with Lineage(store=own_url) as opened:
        yield opened


@pytest.fixture(scope="session")
def store(server: embedded.Server) -> Iterator[Store]:
    """One store for tests that only add runs of their own."""
    with Store.open(server.url) as opened:
        yield opened


@pytest.fixture
def begin(store: Store, request: pytest.FixtureRequest) -> Callable[[], str]:
    """Begins runs of a pipeline named after the test."""
    return lambda: store.begin_run(RunRecord(pipeline=request.node.name))


def sql(url: str, text: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
    """Run a statement as another client would; its rows."""
    connection = psycopg2.connect(url)
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            cursor.execute(text, values or None)
            return cursor.fetchall() if cursor.description else []
    finally:
        connection.close()


def known(store: Store, run_id: str, function: str, digests: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The reasons that a store has, by digest."""
    found = store.cached_reasons(run_id, function, digests)
    return {row["digest"]: (row["value"], row["reason"]) for row in found.to_pylist()}


def as_user(url: str, name: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{name}:pass@"))


@dataclass
class Granted:
    """A store whose roles are granted, and the URL of a user of each role."""

    url: str

    def user(self, *granted: str) -> str:
        name = f"user_{next(_users)}"
        sql(self.url, f"CREATE ROLE {name} LOGIN PASSWORD 'pass'")
        for role in granted:
            sql(self.url, f"GRANT {role} TO {name}")
        return as_user(self.url, name)


@pytest.fixture(scope="session")
def granted(server: embedded.Server) -> Granted:
    sql(server.url, "CREATE DATABASE roles")
    url = server.url.replace("/lineage?", "/roles?")
    Store.open(url).close()
    Store.grant(url)
    Store.grant(url)
    return Granted(url)
