"""Airflow's own application with the tab in it, real logins, and a real store with recorded runs."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider.store import Store
from tests.airflow.conftest import DagResult, airflow_home, dags, run_in_process  # noqa: F401
from tests.web.recorded_runs import restore, restore_flights

os.environ["AIRFLOW__API_AUTH__JWT_SECRET"] = "of the tests, " * 5
NAMES = ("judged", "reported", "again", "alone")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """As of the tests that run Airflow: its warnings are not this project's."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore"))
            item.add_marker(pytest.mark.filterwarnings("error:::airflow_lineage_provider"))


@pytest.fixture(scope="session")
def store(lineage_home: Path) -> Iterator[Store]:
    """A database of their own on the tests' server: others' runs would be in the lists."""
    with Store.open(database(lineage_home, "web")) as opened:
        yield opened


def database(home: Path, name: str) -> str:
    """The URL of a new database on the tests' server."""
    import psycopg2

    from airflow_lineage_provider.store.embedded import ensure_running
    from tests.conftest import hurry

    url = ensure_running(home).url
    hurry(url)
    connection = psycopg2.connect(url)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    connection.close()
    return url.replace("/lineage?", f"/{name}?")


@pytest.fixture(autouse=True)
def setting(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tab reads that store."""
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", store.url)


@pytest.fixture(scope="session")
def runs(store: Store) -> dict[str, str]:
    """The ids of the recorded runs, by name, in the tests' store."""
    return {name: restore(store, name) for name in NAMES}


@dataclass(frozen=True)
class Flights:
    """Runs over flights, and one over photos, in a store of their own: where the flights' files are, and the runs' ids by name."""

    store: Store
    folder: Path
    runs: dict[str, str]


@pytest.fixture(scope="session")
def flights(lineage_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flights]:
    folder = tmp_path_factory.mktemp("crossfilter") / "flights"
    with Store.open(database(lineage_home, "flights")) as opened:
        yield Flights(opened, folder, restore_flights(opened, folder) | {"photos": restore(opened, "photos")})


@pytest.fixture(scope="session")
def application(airflow_home: Any) -> Iterator[Any]:  # noqa: F811
    """Airflow's API server's application, which the plugin is mounted in."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from airflow.api_fastapi.app import create_app, purge_cached_app

        purge_cached_app()
        yield create_app(apps="core")


@pytest.fixture(scope="session")
def token(application: Any) -> Callable[[str, str], str]:
    """A real token of a user with a role of Airflow's simple auth manager."""
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    return lambda name, role: str(application.state.auth_manager.generate_jwt(SimpleAuthManagerUser(username=name, role=role)))


@pytest.fixture(scope="session")
def client(application: Any, token: Callable[[str, str], str], runs: dict[str, str]) -> Callable[..., Any]:
    """Clients that are logged in: ``client("admin")``, ``client("viewer")``, ``client(None)`` for nobody."""
    from starlette.testclient import TestClient

    def made(role: str | None = "admin", name: str | None = None) -> TestClient:
        headers = {} if role is None else {"Authorization": f"Bearer {token(name or role, role)}"}
        return TestClient(application, base_url="http://localhost", headers=headers, follow_redirects=False)

    return made


@pytest.fixture(scope="session")
def derived(dags: dict[str, Any], application: Any, store: Store, runs: dict[str, str]) -> DagResult:  # noqa: F811
    """The derivation DAG, run in Airflow as the tab would trigger it. No Spark is needed for what the run stored."""
    os.environ["AIRFLOW_LINEAGE_STORE"] = store.url
    try:
        conf = {"lineage_run_id": runs["judged"], "target": "client_id = 49"}
        return run_in_process(dags["lineage_derivation"], conf)
    finally:
        del os.environ["AIRFLOW_LINEAGE_STORE"]


@pytest.fixture(scope="session")
def derived_in_chunks(derived: DagResult, dags: dict[str, Any], store: Store, runs: dict[str, str]) -> DagResult:  # noqa: F811
    """The same about five rows, of which two have an answer of their own."""
    task = dags["lineage_derivation"].get_task("derive")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_LINEAGE_STORE", store.url)
        patch.setattr(task, "chunk_rows", 2)
        return run_in_process(dags["lineage_derivation"], {"lineage_run_id": runs["judged"], "at": "0,1,2,3,4"})


@pytest.fixture
def only_dag(application: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Airflow's auth manager with one more rule: this user may read this DAG alone, or these."""

    def restrict(name: str, *dag_ids: str) -> None:
        manager = application.state.auth_manager
        asked = manager.is_authorized_dag

        def is_authorized_dag(*, method: Any, user: Any, access_entity: Any = None, details: Any = None) -> bool:
            permitted = user.username != name or (details is not None and details.id in dag_ids)
            return permitted and bool(asked(method=method, user=user, access_entity=access_entity, details=details))

        monkeypatch.setattr(manager, "is_authorized_dag", is_authorized_dag)

    return restrict
