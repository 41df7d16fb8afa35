"""Airflow for the tests: a home and a database of its own, the example DAGs and the tests' own as bundles.

Set before anything imports Airflow, which reads its configuration while it is imported.
"""

from __future__ import annotations

import atexit
import copy
import json
import logging
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider.store import Store

ROOT = Path(__file__).resolve().parents[2]
HOME = Path(tempfile.mkdtemp(prefix="lineage-airflow-"))
FOLDERS = {"examples": ROOT / "dags", "tests": Path(__file__).parent / "dags"}

atexit.register(shutil.rmtree, HOME, ignore_errors=True)


def _bundle(name: str, folder: Path) -> dict[str, Any]:
    return {"name": name, "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle", "kwargs": {"path": str(folder)}}


os.environ.update(
    {
        "AIRFLOW_HOME": str(HOME),
        "AIRFLOW__CORE__DAGS_FOLDER": str(FOLDERS["examples"]),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{HOME}/airflow.db",
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps([_bundle(name, folder) for name, folder in FOLDERS.items()]),
    }
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These tests run Airflow's own code, whose warnings are not this project's to answer for; its own still are errors."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.airflow)
            item.add_marker(pytest.mark.filterwarnings("ignore"))
            item.add_marker(pytest.mark.filterwarnings("error:::airflow_lineage_provider"))


@pytest.fixture(scope="session")
def airflow_home() -> Path:
    """Airflow's home, its database migrated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from airflow.utils.db import initdb

        initdb()
    # Airflow lets every library write its news; py4j's last would go to a stream that pytest has closed.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    return HOME


def dag_bag(place: Path) -> Any:
    """The DAGs of a file or a folder, as Airflow reads them; once there is its home."""
    try:
        from airflow.dag_processing.dagbag import DagBag
    except ImportError:  # Airflow 3.1
        from airflow.models.dagbag import DagBag  # type: ignore[no-redef]
    return DagBag(place)


@pytest.fixture(scope="session")
def dags(airflow_home: Path) -> dict[str, Any]:
    """The example DAGs and the tests' own, as Airflow reads them from their files."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bags = [dag_bag(folder) for folder in FOLDERS.values()]
    assert [bag.import_errors for bag in bags] == [{}, {}]
    return {dag_id: dag for bag in bags for dag_id, dag in bag.dags.items()}


class _Command(subprocess.Popen[str]):
    """A command whose pipe is closed once it has been waited for."""

    def wait(self, timeout: float | None = None) -> int:
        code = super().wait(timeout)
        if self.stdout is not None:
            self.stdout.close()
        return code


@pytest.fixture(scope="session", autouse=True)
def closed_pipes() -> Iterator[None]:
    """Airflow's hook leaves its end of a command's output open, which would be told of whichever test runs when it is collected."""
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        from airflow.providers.apache.spark.hooks import spark_submit

        patch.setattr(spark_submit, "subprocess", SimpleNamespace(**vars(subprocess) | {"Popen": _Command}))
        yield


class DagResult:
    """A DAG run that has ended: its tasks' states and XCom results, by (task id, map index)."""

    def __init__(self, run: Any) -> None:
        self.state = str(run.state)
        self.run_id = run.run_id
        self.states = {(ti.task_id, ti.map_index): str(ti.state) for ti in run.get_task_instances()}
        self.tries = {(ti.task_id, ti.map_index): ti.try_number for ti in run.get_task_instances()}
        self._dag_id = run.dag_id

    def result(self, task_id: str, map_index: int = -1, key: str = "return_value") -> Any:
        from airflow.models.xcom import XComModel
        from airflow.utils.session import create_session

        with create_session() as session:
            found = session.scalars(XComModel.get_many(run_id=self.run_id, key=key, task_ids=task_id, dag_ids=self._dag_id))
            values = {one.map_index: XComModel.deserialize_value(one) for one in found}
        return values[map_index]


@pytest.fixture(scope="session")
def run_dag(dags: dict[str, Any], spark: SparkSession, store: Store) -> Callable[..., DagResult]:
    """Runs a DAG in Airflow, in this process, on the tests' Spark session and results store."""

    def run(dag_id: str, logical_date: datetime = datetime(1990, 12, 1, tzinfo=UTC), **conf: Any) -> DagResult:
        return run_in_process(dags[dag_id], conf, logical_date)

    return run


def run_in_process(dag: Any, conf: dict[str, Any], logical_date: datetime | None = None) -> DagResult:
    """A run of a DAG, now or as of a date; the conf that it writes into the parameters of the DAG and of its tasks is gone after it.

    A date that is passed as None would be every date: `dag.test` clears all earlier runs of the DAG for it, and their XComs go.
    """
    kept = [(owner, copy.deepcopy(owner.params)) for owner in (dag, *dag.tasks)]
    dated = {} if logical_date is None else {"logical_date": logical_date}
    try:
        return DagResult(dag.test(**dated, run_conf=conf))
    finally:
        for owner, params in kept:
            owner.params = params
