"""Airflow for the tests: a home and a database of its own, and the embedded PostgreSQL as results store.

Set before anything imports Airflow, which reads its configuration while it is imported.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider.store import Store, embedded

ROOT = Path(__file__).resolve().parents[2]
HOME = Path(tempfile.mkdtemp(prefix="lineage-airflow-"))

os.environ.update(
    {
        "AIRFLOW_HOME": str(HOME),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{HOME}/airflow.db",
    }
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These tests run Airflow's own code, whose warnings are not this project's to answer for."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.airflow)
            item.add_marker(pytest.mark.filterwarnings("ignore"))


@pytest.fixture(scope="session")
def airflow_home() -> Iterator[Path]:
    """Airflow's home, its database migrated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from airflow.utils.db import initdb

        initdb()
    yield HOME
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(scope="session")
def store_home() -> Iterator[Path]:
    """The home of an embedded store, which the settings name while the tests run; stopped at the end."""
    home = Path(tempfile.mkdtemp(prefix="lineage-airflow-store-"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_LINEAGE_HOME", str(home))
        patch.delenv("AIRFLOW_LINEAGE_STORE", raising=False)
        yield home
    embedded.stop(home)
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def store_url(store_home: Path) -> str:
    return embedded.ensure_running(store_home).url


@pytest.fixture(scope="session")
def store(store_url: str) -> Iterator[Store]:
    with Store.open(store_url) as opened:
        yield opened


@pytest.fixture(scope="session")
def dagbag(airflow_home: Path) -> Any:
    """The example DAGs, as Airflow finds them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from airflow.dag_processing.dagbag import DagBag

        return DagBag(ROOT / "dags")
