"""Applications that are submitted, by the command ``spark-submit`` itself: on this machine, and to a standalone cluster."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import sysconfig
import threading
import time
import venv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow.parquet as pq
import pytest
from airflow.providers.common.compat.sdk import AirflowException
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.submitted import driver
from airflow_lineage_provider.submitted.job import SubmittedJob, read_job
from tests.airflow.submitting import PROGRAMS, context, execute, operator, tables
from tests.clusters import environment, standalone
from tests.in_turn import in_pairs

if TYPE_CHECKING:
    from tests.airflow.conftest import DagResult

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]

SESAME = "open sesame"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("submitted")


@pytest.fixture(scope="module")
def ran(request: pytest.FixtureRequest, run_dag: Callable[..., DagResult], folder: Path, store: Store) -> tuple[DagResult, str]:
    """The DAG run, and all that it has said."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    capture.read_global_capture()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{sysconfig.get_path('scripts')}:/usr/bin:/bin")
        patch.setenv("AIRFLOW_CONN_SPARK_TO_SUBMIT_TO", '{"conn_type": "spark", "host": "local[2]"}')
        found = run_dag("submit_tasks", folder=str(folder), store=store.tcp_url)
    return found, "".join(capture.read_global_capture())


@pytest.fixture(scope="module")
def tasks(ran: tuple[DagResult, str]) -> DagResult:
    return ran[0]


def test_a_script_is_recorded_with_nothing_changed_in_it(tasks: DagResult, folder: Path, spark: SparkSession, store: Store) -> None:
    assert set(tasks.states.values()) == {"success"}
    halves, counts = tasks.result("script", key="lineage_runs")
    assert tasks.result("script") == counts
    assert [(each["pipeline"], each["rows"], each["lineage"]) for each in (halves, counts)] == [
        ("halves", 6, "complete"),
        ("counts", 3, "complete"),
    ]
    assert counts["output"] == {"kind": "path", "target": f"{folder}/script/counts", "format": "parquet", "mode": "overwrite"}
    assert sorted(pq.read_table(folder / "script" / "counts").to_pydict()["half"]) == [0, 1, 2]
    assert store.run(counts["lineage_run_id"]).airflow["task_id"] == "script"
    assert tasks.result("script", key="_link_LineageTabLink").endswith("/tasks/script/plugin/lineage_task_instance")
    with Lineage(spark) as lineage:
        answer = lineage.get_run(counts["lineage_run_id"]).explain("half = 1", progress=False)
    assert sorted(row["id"] for row in answer.sources["range"].rows.to_pylist()) == [2, 3]  # through the run that wrote the halves


def test_a_function_is_called_with_its_parameters_and_explained_with_reasons(
    tasks: DagResult, folder: Path, spark: SparkSession, store: Store
) -> None:
    numbers, judged = tasks.result("function", key="lineage_runs")
    assert tasks.result("function") == judged
    assert [(each["pipeline"], each["rows"]) for each in (numbers, judged)] == [("submitted/function", 5)] * 2
    assert sorted(pq.read_table(folder / "function" / "judged").to_pydict()["large"]) == [False, False, False, True, True]
    with Lineage(spark) as lineage:
        answer = lineage.get_run(judged["lineage_run_id"]).explain("id = 4", progress=False, params={"key": SESAME})
    (decision,) = answer.reasons["is_large"].to_pylist()
    assert (decision["value"], json.loads(decision["reason"])["value"]) == (True, {"above": 1})
    record = store.run(judged["lineage_run_id"])
    assert str(record.params["key"]).startswith("secret:")
    assert SESAME not in str(record)


def test_the_log_says_what_was_stored_and_how_large_it_is(ran: tuple[DagResult, str]) -> None:
    assert re.search(r"stored \w+ \(segment \d\): 5 rows, [\d.,]+ \w+ in PostgreSQL", ran[1])
    assert re.search(r"seconds of [\w-]+: total \d", ran[1])


def handed_over(made: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[SubmittedJob, Any]:
    """What a task gives ``spark-submit`` to do, which does nothing here, and the task's result."""
    command = folder / "bin" / "spark-submit"
    command.parent.mkdir(parents=True)
    command.write_text('#!/bin/sh\nfor last; do :; done\ncp "$last" "$(dirname "$0")/job"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:/usr/bin:/bin")
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_TO_SUBMIT_TO", '{"conn_type": "spark", "host": "local[2]"}')
    result = execute(made, context())
    return read_job(str(command.parent / "job")), result


def test_with_lineage_off_nothing_is_recorded(spark: SparkSession, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the driver does it does here, on the tests' session."""
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)
    made = operator(
        application=f"{PROGRAMS}/judging.py:judge", conn_id="spark_to_submit_to", store=store.tcp_url, lineage=False,
        op_kwargs={"rows": 2, "limit": 1, "folder": str(tmp_path)}, output=f"{tmp_path}/judged+overwrite",
    )  # fmt: skip
    before = [run.id for run in store.runs(limit=1_000)]
    job, result = handed_over(made, tmp_path, monkeypatch)
    assert (job.function, job.lineage, result["lineage"]) == ("judge", False, "off")
    driver._call_function(replace(job, application=f"{PROGRAMS}/judging.py"), "judge")
    assert pq.read_table(tmp_path / "judged").num_rows == 2
    assert [run.id for run in store.runs(limit=1_000)] == before


def test_what_a_program_that_fails_has_written_is_recorded(
    spark: SparkSession, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its driver fails with it, and so does the task (below)."""
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)
    job = SubmittedJob(name="d.t", application=f"{PROGRAMS}/judging.py", params={"folder": str(tmp_path)}, store=store.url)
    with pytest.raises(ValueError, match="it is not to be"):
        driver._call_function(job, "fail")
    assert [run.status for run in store.runs("before_it_fails")] == ["complete"]


@in_pairs  # (`tests.pipeline.test_captured` and `test_called` have retries of other tasks)
def test_a_retry_captures_what_an_earlier_try_lacks(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lineage has to be captured, and was not: the application that is submitted again runs nothing, and its runs are the earlier ones."""
    monkeypatch.setenv("PATH", f"{sysconfig.get_path('scripts')}:/usr/bin:/bin")
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_TO_SUBMIT_TO", '{"conn_type": "spark", "host": "local[2]"}')

    def tried(number: int, **settings: str) -> Any:
        made = operator(
            application=f"{PROGRAMS}/judging.py:judge", conn_id="spark_to_submit_to", store=store.tcp_url, retries=1, capture="eager",
            op_kwargs={"rows": 4, "limit": 2, "folder": str(tmp_path)}, output=f"{tmp_path}/judged",
            env_vars={"AIRFLOW_LINEAGE_CAPTURE_REQUIRED": "1", **settings},
        )  # fmt: skip
        given = context(number)
        vars(given["ti"]).update(run_id="lineage is required", max_tries=1)
        return execute(made, given)

    with pytest.raises(AirflowException):
        tried(1, AIRFLOW_LINEAGE_CAPTURE_LIMIT="1")
    result = tried(2)  # which could not write once more: the place exists
    record = store.run(result["lineage_run_id"])
    assert record.airflow is not None
    assert record.captured is not None
    assert (record.airflow["try_number"], record.captured.problem, result["rows"]) == (1, "", 4)
    assert pq.read_table(tmp_path / "judged").num_rows == 4


def test_no_secret_is_told(ran: tuple[DagResult, str], store: Store) -> None:
    from airflow.models.renderedtifields import RenderedTaskInstanceFields
    from airflow.utils.session import create_session

    tasks, said = ran
    password = store.tcp_url.partition("://")[2].partition(":")[2].partition("@")[0]
    with create_session() as session:
        rendered = str([one.rendered_fields for one in session.query(RenderedTaskInstanceFields).filter_by(run_id=tasks.run_id)])
    assert "judging.py:judge" in rendered
    handed_on = str([tasks.result(name, key="lineage_runs") for name in ("script", "function")])
    for secret in (password, SESAME):
        assert [secret in text for text in (said, rendered, handed_on)] == [False] * 3


def without_airflow_and_the_package(folder: Path) -> str:
    """A Python that has all that this one has, but for what is installed by a path (as this checkout is), and Airflow."""
    venv.create(folder, with_pip=False)
    there = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    (there / "others.pth").write_text(sysconfig.get_path("purelib"))
    (there / "sitecustomize.py").write_text("import sys\nsys.modules['airflow'] = None\n")
    return str(folder / "bin" / "python")


def test_on_a_cluster_neither_driver_nor_executors_have_the_package_or_airflow(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = without_airflow_and_the_package(tmp_path / "bare")
    for missing in ("airflow_lineage_provider", "airflow"):
        assert subprocess.run([python, "-c", f"import {missing}"], cwd=tmp_path, capture_output=True, check=False).returncode == 1
    executors = environment(PYSPARK_PYTHON=python)
    del executors["PYTHONPATH"]
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PATH", f"{sysconfig.get_path('scripts')}:/usr/bin:/bin")
    conf = {"spark.executor.memory": "512m", "spark.cores.max": "1", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    with standalone(tmp_path, 1, executors) as cluster:
        monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", json.dumps({"conn_type": "spark", "host": cluster.master, "extra": {}}))
        made = operator(
            application=f"{PROGRAMS}/judging.py:judge", op_kwargs={"rows": 5, "limit": 3, "folder": str(tmp_path / "data")},
            conn_id="cluster", conf=conf, env_vars={"PYSPARK_PYTHON": python}, store=store.tcp_url, reasons="eager",
            output=f"{tmp_path}/data/judged",
        )  # fmt: skip
        result = execute(made, context())
    assert (result["rows"], result["lineage"]) == (5, "complete")
    with Lineage(store=store) as lineage:
        answer = lineage.get_run(result["lineage_run_id"]).explain("large", progress=False, across=False)
    assert sorted(row["id"] for row in answer.sources["numbers"].rows.to_pylist()) == [3, 4]
    assert answer.guarantee.level == "exact"
    assert [json.loads(one["reason"])["value"] for one in answer.reasons["is_large"].to_pylist()] == [{"above": 0}, {"above": 1}]


def test_a_task_that_is_killed_ends_its_application_and_leaves_no_running_run(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{sysconfig.get_path('scripts')}:/usr/bin:/bin")
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_TO_SUBMIT_TO", '{"conn_type": "spark", "host": "local[2]"}')
    made = operator(application=f"{PROGRAMS}/endless.py", conn_id="spark_to_submit_to", store=store.tcp_url)
    failed: list[BaseException] = []
    before = tables(store)

    def task() -> None:
        try:
            execute(made, given)
        except BaseException as error:
            failed.append(error)

    made.application_args = [str(tmp_path / "data"), str(tmp_path / "going")]
    given = context()
    thread = threading.Thread(target=task)
    thread.start()
    while not (tmp_path / "going").exists():
        time.sleep(0.1)
        assert thread.is_alive()
    (run,) = [one for one in store.runs("data") if one.status == "running"]
    driver = psutil.Process(int((tmp_path / "going").read_text()))
    made.on_kill()
    thread.join(timeout=120)
    assert not thread.is_alive()
    assert isinstance(failed[0], AirflowException)
    psutil.wait_procs([driver], timeout=60)
    assert not driver.is_running()
    assert store.run(run.id).status == "failed"
    assert tables(store) == before
    assert not list(Path(tmp_path / "data").glob("*.parquet"))


KILLED = """
import sys
from tests.airflow.submitting import PROGRAMS, context, execute, operator
given = {"conn_id": "spark_to_submit_to", "store": sys.argv[1], "application_args": sys.argv[2:]}
execute(operator(application=f"{PROGRAMS}/endless.py", **given), context())
"""


def test_a_task_that_is_killed_outright_takes_its_application_with_it(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody ends anything then; and a driver that went on would write beside that of the next try."""
    monkeypatch.setenv("PATH", f"{sysconfig.get_path('scripts')}:/usr/bin:/bin")
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_TO_SUBMIT_TO", '{"conn_type": "spark", "host": "local[2]"}')
    before = tables(store)
    with subprocess.Popen([sys.executable, "-c", KILLED, store.tcp_url, str(tmp_path / "data"), str(tmp_path / "going")]) as task:
        while not (tmp_path / "going").exists():
            time.sleep(0.1)
            assert task.poll() is None
        application = psutil.Process(task.pid).children(recursive=True)
        assert int((tmp_path / "going").read_text()) in [one.pid for one in application]
        task.kill()
    assert psutil.wait_procs(application, timeout=60)[1] == []
    (run,) = store.runs("data", limit=1)
    with Lineage(store=store.tcp_url):  # who opens a store tidies up
        pass
    assert store.run(run.id).status == "failed"
    assert tables(store) == before
    assert not list(Path(tmp_path / "data").glob("*.parquet"))


def test_with_a_jar_and_lineage_off_it_is_airflows_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    command = tmp_path / "spark-submit"
    command.write_text('#!/bin/sh\necho "$@" > "$(dirname "$0")/given"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    made = operator(application="/jobs/judge.jar", conn_id="none_of_the_test", application_args=["7"], lineage=False)
    with caplog.at_level(logging.INFO):
        assert execute(made, context()) is None
    assert (tmp_path / "given").read_text().strip() == "--master yarn --name arrow-spark /jobs/judge.jar 7"
