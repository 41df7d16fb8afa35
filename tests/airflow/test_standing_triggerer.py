"""Derivations that a whole Airflow's triggerer waits for, which is killed meanwhile: `make faults`, in minutes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.store import Store
from tests.airflow.resource_manager import applications, state, submit_command
from tests.airflow.standing import WITH_TRIGGERER, Standing, standing_before_a_cluster, until

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
    with standing_before_a_cluster(tmp_path_factory.mktemp("airflow"), store.tcp_url, cluster, WITH_TRIGGERER) as made:
        yield made


@pytest.fixture(scope="module")
def run(spark: SparkSession, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One that stored nothing: a question about it takes Spark."""
    folder = tmp_path_factory.mktemp("waited")
    spark.range(9).coalesce(1).write.parquet(str(folder / "numbers"))
    spark.read.parquet(str(folder / "numbers")).createOrReplaceTempView("waited_numbers")
    made = Lineage(spark, store=store).run("SELECT id FROM waited_numbers WHERE id > 1", name="waited", strategy="rerun")
    made.close()
    return made


def task_is(airflow: Standing, dag_run: str) -> str:
    return str(airflow.asked("GET", f"/dags/deferred/dagRuns/{dag_run}/taskInstances/derive")["state"])


def waited_for(airflow: Standing, dag_run: str) -> None:
    """Until a triggerer waits: a task that is marked between its deferral and that has told nobody."""
    until(lambda: task_is(airflow, dag_run) == "deferred")
    logs = airflow.home / "logs" / "dag_id=deferred" / f"run_id={dag_run}"
    until(lambda: any("starting" in one.read_text() for one in logs.rglob("*trigger*.log")))


def test_what_is_marked_or_cleared_while_it_waits_ends_its_application(airflow: Standing, store: Store, cluster: Path, run: Run) -> None:
    """And keeps no answer; the next try asks anew."""
    before = len(applications(cluster))
    (cluster / "held").touch()
    airflow.trigger("deferred", "marked", run=run.id, target="id = 5")
    waited_for(airflow, "marked")
    airflow.asked("PATCH", "/dags/deferred/dagRuns/marked/taskInstances/derive", {"new_state": "failed"})
    until(lambda: state(cluster, applications(cluster)[-1])["state"] == "KILLED")
    assert airflow.ended("deferred", "marked") == "failed"
    airflow.trigger("deferred", "cleared", run=run.id, target="id = 6")
    waited_for(airflow, "cleared")
    (_, waited) = applications(cluster)[before:]
    body = {"dry_run": False, "dag_run_id": "cleared", "task_ids": ["derive"], "only_failed": False}
    airflow.asked("POST", "/dags/deferred/clearTaskInstances", body)
    until(lambda: state(cluster, waited)["state"] == "KILLED")
    (cluster / "held").unlink()
    assert airflow.ended("deferred", "cleared", 600) == "success"
    assert len(applications(cluster)) == before + 3
    by_dag_run = [(one.airflow or {}).get("run_id") for one in store.derivations(run.id)]
    assert (by_dag_run.count("marked"), by_dag_run.count("cleared")) == (0, 1)


def test_a_triggerer_that_is_killed_costs_nothing(airflow: Standing, store: Store, cluster: Path, run: Run) -> None:
    """The next one waits for the same application, and the answer is the one that would have been."""
    before = len(applications(cluster))
    airflow.trigger("deferred", "survives", run=run.id, target="id = 7")
    until(lambda: task_is(airflow, "survives") == "deferred")
    assert not airflow.processes() or "worker" not in str(airflow.processes())
    airflow.killed("triggerer")
    with airflow.part("triggerer"):
        assert airflow.ended("deferred", "survives", 600) == "success"
    assert len(applications(cluster)) == before + 1
    (kept,) = [one for one in store.derivations(run.id) if (one.airflow or {}).get("run_id") == "survives"]
    with Lineage(store=store) as lineage:
        found = lineage.answer(kept.id)
    assert isinstance(found, Explanation)
    assert [row["id"] for one in found.sources.values() for row in one.rows.to_pylist()] == [7]
    assert found.guarantee.level == "exact"
