"""Derivations that wait for a cluster without a worker: what is submitted, how it is waited for, and what comes of it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.asked_derivation import AskedDerivation
from airflow_lineage_provider.errors import EmptyTarget, InvalidOption, SparkRequired
from airflow_lineage_provider.hooks.elsewhere import Elsewhere
from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator
from airflow_lineage_provider.operators.releases import deferral_timeout
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.submitted import driver
from airflow_lineage_provider.submitted.job import SubmittedJob, read_job
from airflow_lineage_provider.submitted.submission import prepare_derivation
from airflow_lineage_provider.triggers.application import UNREACHABLE, ApplicationTrigger
from tests.airflow.conftest import run_in_process
from tests.airflow.dags.deferred_tasks import CONN_ID
from tests.airflow.resource_manager import applications, resource_manager, submit_command
from tests.airflow.submitting import context
from tests.in_turn import in_pairs

YARN = '{{"conn_type": "spark", "host": "yarn", "extra": {{"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": "{}"}}}}'


# --- waiting -------------------------------------------------------------------------------------------------------------


class Cluster:
    """In place of `Elsewhere`: its applications are as the test says, one status after another."""

    def __init__(self, *statuses: str | Exception) -> None:
        self.statuses, self.ended, self.submitted = list(statuses), list[str](), list[Any]()
        self.hook = SimpleNamespace(_connection={"master": "yarn", "deploy_mode": "cluster"})

    def status(self, application: str) -> str:
        found = self.statuses.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    is_active = staticmethod(lambda status: status == "RUNNING")
    is_success = staticmethod(lambda status: status == "SUCCEEDED")

    def end(self, application: str) -> None:
        self.ended.append(application)

    def submit(self, submission: Any) -> str:
        self.submitted.append(read_job(submission.files))
        return f"application_{len(self.submitted)}"


def fired(trigger: ApplicationTrigger) -> list[Any]:
    async def events() -> list[Any]:
        return [event.payload async for event in trigger.run()]

    return asyncio.run(events())


SUBMITTED = {"application": "application_1"}
AWAY = ConnectionError("the cluster does not answer")


@pytest.mark.parametrize(
    ("statuses", "status", "succeeded"),
    [
        (["RUNNING", "RUNNING", "SUCCEEDED"], "SUCCEEDED", True),
        (["FAILED"], "FAILED", False),
        ([AWAY] * 9 + ["RUNNING"] + [AWAY] * 9 + ["SUCCEEDED"], "SUCCEEDED", True),
        (["RUNNING"] + [AWAY] * 10, UNREACHABLE, False),
    ],
)
def test_the_trigger_fires_when_the_application_has_ended(
    statuses: list[Any], status: str, succeeded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(*statuses)
    monkeypatch.setattr(ApplicationTrigger, "_elsewhere", lambda _: cluster)
    made = ApplicationTrigger("spark", SUBMITTED, 0.0)
    assert fired(made) == [{"status": status, "succeeded": succeeded, "submitted": SUBMITTED}]
    assert not cluster.statuses
    path, arguments = made.serialize()
    assert path == "airflow_lineage_provider.triggers.application.ApplicationTrigger"
    assert ApplicationTrigger(**json.loads(json.dumps(arguments))).serialize() == (path, arguments)


def test_it_ends_the_application_for_who_kills_the_task_and_for_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    monkeypatch.setattr(ApplicationTrigger, "_elsewhere", lambda _: cluster)
    made = ApplicationTrigger("spark", SUBMITTED, 0.0)
    asyncio.run(made.cleanup())
    assert cluster.ended == []
    asyncio.run(made.on_kill())
    assert cluster.ended == ["application_1"]


def test_the_loop_waits_for_no_answer_of_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other triggers go on while one status is asked for."""

    asked, told = threading.Event(), threading.Event()

    class Slow(Cluster):
        def status(self, application: str) -> str:
            asked.set()
            assert told.wait(20)
            return "SUCCEEDED"

    cluster = Slow()
    monkeypatch.setattr(ApplicationTrigger, "_elsewhere", lambda _: cluster)

    async def both() -> list[Any]:
        async def other() -> None:
            while not asked.is_set():
                await asyncio.sleep(0.01)
            told.set()

        beside = asyncio.create_task(other())
        found = [event.payload["status"] async for event in ApplicationTrigger("spark", SUBMITTED, 0.0).run()]
        await beside
        return found

    assert asyncio.run(both()) == ["SUCCEEDED"]


def test_who_cancels_it_while_the_cluster_is_asked_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the message that Airflow cancels it with: without it the application would not be ended."""
    asking, answer = threading.Event(), threading.Event()

    class Slow(Cluster):
        def status(self, application: str) -> str:
            asking.set()
            answer.wait(30)
            return "RUNNING"

    monkeypatch.setattr(ApplicationTrigger, "_elsewhere", lambda _: Slow())

    async def cancelled() -> tuple[Any, ...]:
        waiting = asyncio.ensure_future(anext(ApplicationTrigger("spark", SUBMITTED, 0.0).run()))
        while not asking.is_set():
            await asyncio.sleep(0.01)
        waiting.cancel("by a user")
        asyncio.get_running_loop().call_later(0.1, answer.set)
        try:
            await waiting
        except asyncio.CancelledError as told:
            return told.args
        return ()

    assert asyncio.run(cancelled()) == ("by a user",)


# --- what a task does ----------------------------------------------------------------------------------------------------


class Kept(dict[str, Any]):
    """A task's state store, from try to try."""

    set = dict.__setitem__

    def delete(self, key: str) -> None:
        self.pop(key, None)


class Deferred(Exception):
    pass


@pytest.fixture
def derive(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A task whose question needs Spark, before a cluster (`derive.cluster`) that a test has; its store has nothing."""
    made: Any = DeriveAugmentedLineageOperator(
        task_id="derive", lineage_run_id="01a", target="id = 1", conn_id="spark", store="postgresql://me:pw@h/db", deferrable=True,
        secret_params={"key": "open sesame"}, chunk_rows=10,
    )  # fmt: skip

    def needs_spark(question: Any, *, starts_spark: bool) -> Any:
        assert not starts_spark
        made._question = made._question_about(SimpleNamespace(id="01abc"), made.given)
        raise SparkRequired("it needs Spark")

    def deferred(**how: Any) -> None:
        made.how = how
        raise Deferred

    monkeypatch.setattr(made, "asked", needs_spark)
    monkeypatch.setattr(made, "defer", deferred)
    monkeypatch.setattr(DeriveAugmentedLineageOperator, "_elsewhere", lambda self: self.cluster)
    return made


def tried(made: Any, cluster: Cluster, kept: Kept, try_number: int = 1) -> dict[str, Any]:
    """What the task is deferred with."""
    made.cluster, made.given = cluster, context(try_number, task_state_store=kept)
    with pytest.raises(Deferred):
        type(made).execute.__wrapped__(made, made.given)
    trigger = made.how["trigger"]
    assert (made.how["method_name"], trigger.conn_id) == ("execute_complete", "spark")
    return dict(trigger.submitted)


def test_what_is_submitted(derive: Any) -> None:
    cluster, kept = Cluster(), Kept()
    submitted = tried(derive, cluster, kept)
    (job,) = cluster.submitted
    assert (job.store, job.params, job.secret_params) == ("postgresql://me:pw@h/db", {"key": "open sesame"}, ("key",))
    asked = job.derivation
    assert (asked.run_id, asked.target, asked.in_chunks, asked.chunk_rows) == ("01abc", "id = 1", True, 10)
    assert asked == derive._question
    assert (submitted["application"], submitted["context"]) == ("application_1", job.context)
    assert kept == {"lineage_application": submitted}
    assert "pw" not in json.dumps(submitted) + json.dumps(derive.how["trigger"].serialize())
    assert "sesame" not in json.dumps(submitted)


def test_a_retry_waits_for_what_goes_on_and_asks_again_what_failed(derive: Any) -> None:
    cluster, kept = Cluster(), Kept()
    first = tried(derive, cluster, kept)
    cluster.statuses = ["RUNNING"]
    assert tried(derive, cluster, kept, 2) == first
    assert len(cluster.submitted) == 1
    cluster.statuses = ["FAILED"]
    again = tried(derive, cluster, kept, 3)
    assert (again["application"], again["context"]["try_number"]) == ("application_2", 3)
    derive.target = "id = 2"  # rendered to another question, the first is of no use
    cluster.statuses = ["RUNNING"]
    assert tried(derive, cluster, kept, 4)["asked"]["target"] == "id = 2"
    assert (cluster.ended, len(cluster.submitted)) == (["application_2"], 3)


def test_a_retry_has_the_answer_of_what_ended_meanwhile(derive: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, kept = Cluster(), Kept()
    tried(derive, cluster, kept)
    monkeypatch.setattr(derive, "asked", lambda question, *, starts_spark: {"counts": {"target": 1}})
    monkeypatch.setattr("airflow_lineage_provider.operators.derive.tell_derivation", lambda *_: None)
    cluster.statuses = ["SUCCEEDED"]
    derive.given = context(2, task_state_store=kept)
    assert type(derive).execute.__wrapped__(derive, derive.given) == {"counts": {"target": 1}}
    assert not kept
    assert len(cluster.submitted) == 1


@pytest.mark.parametrize(("status", "is_kept"), [("FAILED", False), (UNREACHABLE, True)])
def test_an_application_that_failed_fails_the_task(derive: Any, monkeypatch: pytest.MonkeyPatch, status: str, is_kept: bool) -> None:
    cluster, kept = Cluster(), Kept()
    submitted = tried(derive, cluster, kept)
    monkeypatch.setattr(derive, "asked", lambda question, *, starts_spark: None)
    event = {"status": status, "succeeded": False, "submitted": submitted}
    with pytest.raises(Exception, match=f"task 'derive': application_1, which derives, has ended as {status}"):
        derive.execute_complete(derive.given, event)
    assert bool(kept) is is_kept  # what may go on is found by the next try


def test_a_task_that_is_out_of_time_ends_its_application(derive: Any) -> None:
    timeout = deferral_timeout()
    error = import_module(timeout.__module__).TaskDeferralError
    cluster, kept = Cluster(), Kept()
    tried(derive, cluster, kept)
    with pytest.raises(error):  # whatever went wrong, the application may go on
        derive.resume_execution("__fail__", {"error": "Trigger failure"}, derive.given)
    assert (cluster.ended, len(kept)) == ([], 1)
    with pytest.raises(timeout):
        derive.resume_execution("__fail__", {"error": "Trigger timeout"}, derive.given)
    assert (cluster.ended, len(kept)) == (["application_1"], 0)


def test_rows_with_values_that_json_has_not_are_not_submitted(derive: Any) -> None:
    derive.target = [{"id": object()}]
    derive.cluster, derive.given = Cluster(), context(1)
    with pytest.raises(InvalidOption, match="name the rows by a predicate"):
        type(derive).execute.__wrapped__(derive, derive.given)
    assert derive.cluster.submitted == []


def test_a_job_is_read_as_it_was_written(tmp_path: Path) -> None:
    asked = AskedDerivation(
        run_id="01a", question="forward", rows=({"id": 1, "name": None},), at="0,1", table="t", since="01b", in_chunks=True, chunk_rows=3,
        asked_by="a", occasion="o", max_rows=7, verify=True, difference="data", subqueries="rows", across=False, is_onward=True,
        allow_empty=True,
    )  # fmt: skip
    job = SubmittedJob(name="d.t", derivation=asked, params={"key": "open sesame"}, secret_params=("key",), store="postgresql://h/db")
    made = prepare_derivation(job, tmp_path)
    assert read_job(str(made.files)) == job
    assert Path(str(made.files)).stat().st_mode & 0o777 == 0o600
    assert (made.application_args, Path(made.application).name) == (("lineage-job.json",), "lineage_application.py")
    assert "sesame" not in repr(job)


@pytest.mark.parametrize(
    ("given", "configured", "extra", "is_elsewhere"),
    [
        (True, "False", '{"deploy-mode": "cluster"}', True),
        (None, "True", '{"deploy-mode": "cluster"}', True),
        (None, "False", '{"deploy-mode": "cluster"}', False),
        (False, "True", '{"deploy-mode": "cluster"}', False),
        (True, "False", "{}", False),
    ],
)
def test_who_waits(given: bool | None, configured: str, extra: str, is_elsewhere: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `[operators] default_deferrable` says where nothing is given, and only for a cluster: on this machine the task derives."""
    monkeypatch.setenv("AIRFLOW__OPERATORS__DEFAULT_DEFERRABLE", configured)
    monkeypatch.setenv("AIRFLOW_CONN_OF_WHO_WAITS", json.dumps({"conn_type": "spark", "host": "yarn", "extra": json.loads(extra)}))
    made = DeriveAugmentedLineageOperator(task_id="t", lineage_run_id="01a", target="true", conn_id="of_who_waits", deferrable=given)
    assert (made._elsewhere() is not None) is is_elsewhere
    assert DeriveAugmentedLineageOperator(task_id="u", lineage_run_id="01a", target="true", deferrable=True)._elsewhere() is None


# --- with a cluster ------------------------------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What stands in for YARN: the folder in which its applications are."""
    command = submit_command(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{command.parent}:/usr/bin:/bin")
    with resource_manager(command.parent) as address:
        monkeypatch.setenv(f"AIRFLOW_CONN_{CONN_ID.upper()}", YARN.format(address))
        yield command.parent


def recorded(spark: SparkSession, store: Store, folder: Path) -> Run:
    """A run that stored nothing: a question about it takes Spark."""
    spark.createDataFrame([(one, one % 3) for one in range(9)], "id int, x int").coalesce(1).write.parquet(str(folder / "deferred"))
    spark.read.parquet(str(folder / "deferred")).createOrReplaceTempView("deferred")
    made = Lineage(spark, store=store).run("SELECT id, x * 2 AS twice FROM deferred WHERE x > 0", name="deferred", strategy="rerun")
    made.close()
    return made


@pytest.mark.spark
def test_a_task_is_derived_by_an_application_of_the_cluster(
    dags: dict[str, Any], spark: SparkSession, store: Store, tmp_path: Path, cluster: Path
) -> None:
    """As a task without a cluster derives it; what needs no Spark is asked of no cluster."""
    run = recorded(spark, store, tmp_path)
    given = {"run": run.id, "target": "id < 6", "store": store.tcp_url}
    made = run_in_process(dags["deferred_tasks"], given)
    log = "\n".join(one.read_text() for one in cluster.glob("*.log"))
    assert made.state == "success", log
    assert applications(cluster) == ["application_1700000000_0001"]
    told = made.result("derive")
    lineage = Lineage(spark, store=store)
    here = lineage.get_run(run.id).explain("id < 6")
    found = lineage.answer(told["derivation_id"])
    assert isinstance(found, Explanation)
    assert [one.to_pylist() for one in (found.target, found.sources["deferred"].rows)] == [
        one.to_pylist() for one in (here.target, here.sources["deferred"].rows)
    ]
    assert (told["counts"], told["guarantee"], told["lineage_run_id"]) == (here.counts(), "exact", run.id)
    kept = dict(store.derivation(told["derivation_id"]).airflow or {})
    assert (kept["dag_id"], kept["run_id"], kept["task_id"]) == ("deferred_tasks", made.run_id, "derive")

    stored = lineage.run("SELECT id FROM deferred", name="deferred and stored", strategy="full_materialization")
    stored.close()
    plain = run_in_process(dags["deferred_tasks"], given | {"run": stored.id, "target": "id = 1"})
    assert (plain.state, plain.result("derive")["counts"]["target"]) == ("success", 1)
    assert sorted(plain.result("derive")) == sorted(told)
    assert len(applications(cluster)) == 1


@in_pairs
@pytest.mark.spark
def test_a_question_of_the_tab_is_answered_by_an_application_and_a_failed_one_fails(
    dags: dict[str, Any], spark: SparkSession, store: Store, tmp_path: Path, cluster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", store.tcp_url)
    run = recorded(spark, store, tmp_path)
    made = run_in_process(
        dags["deferred_questions"], {"question": "why_not", "lineage_run_id": run.id, "target": "id IN (0, 1)", "table": "deferred"}
    )
    assert made.state == "success", "\n".join(one.read_text() for one in cluster.glob("*.log"))
    told = made.result("derive")
    assert (told["question"], "counts" in told) == ("why_not", False)
    assert Lineage(store=store).answer(told["derivation_id"]).counts() == {"target": 2, "surviving": 1}
    monkeypatch.setenv("JAVA_HOME", "/no/java")  # of the application alone: this process has its session
    lost = run_in_process(dags["deferred_questions"], {"lineage_run_id": run.id, "target": "id > 99"})
    assert lost.state == "failed"
    assert len(applications(cluster)) == 2
    assert "JAVA" in (cluster / f"{applications(cluster)[1]}.log").read_text()


@pytest.mark.spark
def test_what_fails_a_driver(spark: SparkSession, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, on the tests' session: no row that is meant, unless that is an answer."""
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)
    job = SubmittedJob(name="d.t", store=store.url)
    asked = AskedDerivation(run_id=recorded(spark, store, tmp_path).id, target="id > 99")
    with pytest.raises(EmptyTarget):
        driver._derive(job, asked)
    driver._derive(job, replace(asked, allow_empty=True))


def test_the_hook_of_airflow_ends_an_application(tmp_path: Path, cluster: Path) -> None:
    import subprocess

    going = subprocess.Popen(["sleep", "600"], start_new_session=True)
    (cluster / "application_1.pid").write_text(str(going.pid))
    there = Elsewhere(CONN_ID)
    assert there.is_there
    assert there.is_active(there.status("application_1"))
    there.end("application_1")
    assert going.wait(20) != 0
    assert (there.status("application_1"), there.is_active("FAILED"), there.is_success("FAILED")) == ("FAILED", False, False)
