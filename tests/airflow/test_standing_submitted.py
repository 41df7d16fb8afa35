"""Tasks of a whole Airflow whose applications run on a cluster, and which are killed or marked meanwhile: `make faults`, in minutes.

The cluster is what the driver and Airflow's hook notice of YARN (`yarn_like`, `resource_manager`). On a standalone cluster Spark runs no
Python application in cluster mode.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from tests.airflow.resource_manager import applications, state, submit_command
from tests.airflow.standing import Standing, standing_before_a_cluster, until
from tests.airflow.submitting import tables

pytestmark = [
    pytest.mark.skipif("FAULTS" not in os.environ, reason="make faults"),
    pytest.mark.timeout(0),
    pytest.mark.spark,
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return submit_command(tmp_path_factory.mktemp("cluster") / "bin").parent


@pytest.fixture(scope="module")
def airflow(store: Store, cluster: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    with standing_before_a_cluster(tmp_path_factory.mktemp("airflow"), store.tcp_url, cluster) as made:
        yield made


def numbers(folder: Path, what: str) -> list[int]:
    return sorted(int(one.name.removeprefix(f"{what}-")) for one in folder.glob(f"{what}-*"))


def recorded(store: Store, dag_run: str) -> list[Any]:
    """The runs of a DAG run of this DAG, the first first."""
    made = {"dag_id": "submitted", "run_id": dag_run}
    return sorted((one for one in store.runs(limit=1_000) if made.items() <= (one.airflow or {}).items()), key=lambda one: one.id)


def test_the_next_try_finds_the_application_of_a_task_that_was_killed(
    airflow: Standing, store: Store, cluster: Path, tmp_path: Path
) -> None:
    """It waits for it, submits nothing, and its runs are those that the first try has begun."""
    before, there = len(applications(cluster)), tables(store)
    airflow.trigger("submitted", "killed", folder=str(tmp_path))
    (driver,) = until(lambda: numbers(tmp_path, "going"))
    (task,) = numbers(tmp_path, "task")
    os.kill(task, signal.SIGKILL)
    until(lambda: len(numbers(tmp_path, "task")) == 2)
    (tmp_path / "go").touch()
    assert airflow.ended("submitted", "killed", 600) == "success"
    assert (len(applications(cluster)), numbers(tmp_path, "going")) == (before + 1, [driver])
    made = recorded(store, "killed")
    assert [(one.status, (one.airflow or {})["try_number"]) for one in made] == [("complete", 1)] * 2
    assert sorted(row["judged"] for row in pq.read_table(tmp_path / "out").to_pylist()) == [2 * at for at in range(8)]
    kept = {one.table.split(".", 1)[1].strip('"') for run in made for one in store.materializations(run.id).values()}
    assert set(tables(store)) == {*there, *kept}
    with Lineage(store=store) as lineage:
        found = lineage.get_run(made[-1].id).explain("id = 7", save=False, across=False)
    assert [row["id"] for row in found.sources["numbers"].rows.to_pylist()] == [7]
    assert found.guarantee.level == "exact"


def test_a_task_that_is_marked_ends_its_application(airflow: Standing, store: Store, cluster: Path, tmp_path: Path) -> None:
    there = tables(store)
    airflow.trigger("submitted", "marked", folder=str(tmp_path))
    until(lambda: numbers(tmp_path, "going"))
    airflow.asked("PATCH", "/dags/submitted/dagRuns/marked/taskInstances/judge", {"new_state": "failed"})
    until(lambda: state(cluster, applications(cluster)[-1])["state"] == "KILLED")
    assert airflow.ended("submitted", "marked") == "failed"
    with Lineage(store=store.tcp_url):  # who opens a store tidies up
        pass
    assert [one.status for one in recorded(store, "marked")] == ["complete"]  # the write that it had made stands, and is recorded
    (written,) = recorded(store, "marked")
    kept = {one.table.split(".", 1)[1].strip('"') for one in store.materializations(written.id).values()}
    assert set(tables(store)) == {*there, *kept}
    assert not (tmp_path / "out").exists()
