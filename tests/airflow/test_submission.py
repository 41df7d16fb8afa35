"""What is submitted: which programs, what is sent where, and what is refused before anything is."""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from airflow_lineage_provider import CaptureTable, called
from airflow_lineage_provider.called import Called
from airflow_lineage_provider.errors import EnvironmentProblem, InvalidOption
from airflow_lineage_provider.operators.deployment import Deployment
from airflow_lineage_provider.operators.lineage_spark_submit import LineageSparkSubmitOperator
from airflow_lineage_provider.operators.lineage_task import LineageTask
from airflow_lineage_provider.running.output import Output
from airflow_lineage_provider.secrecy import Secret
from airflow_lineage_provider.sketches.wanted import SketchOn
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.submitted import driver
from airflow_lineage_provider.submitted.job import SubmittedJob, read_job, take_job, write_job
from airflow_lineage_provider.submitted.program import Program
from airflow_lineage_provider.submitted.sent_sketches import received, sent
from airflow_lineage_provider.submitted.submission import prepare
from airflow_lineage_provider.typed_json import written
from tests.airflow.submitting import PROGRAMS, context, execute, operator

URL = "postgresql://lineage:hunter2@db/lineage"


def job(**fields: Any) -> SubmittedJob:
    return SubmittedJob(**{"application": "judge.py", "name": "d.t", "store": URL, **fields})


@pytest.mark.parametrize(
    ("application", "place", "function"),
    [
        ("jobs/judge.py", "jobs/judge.py", None),
        ("hdfs://name:8020/jobs/judge.py", "hdfs://name:8020/jobs/judge.py", None),
        ("s3a://bank/judge.py:judge", "s3a://bank/judge.py", "judge"),
        ("bank.models:judge", "bank.models", "judge"),
    ],
)
def test_programs(application: str, place: str, function: str | None) -> None:
    assert Program.of(application) == Program(place=place, function=function)


@pytest.mark.parametrize("application", ["", "judge.jar", "bank.models", "judge.py:", ":judge", "a b:judge", "judge.py:a b", "judge.R"])
def test_what_is_no_program_of_pythons(application: str) -> None:
    with pytest.raises(InvalidOption, match=r"is no Python program; it can be FILE.py \(a script\), FILE.py:FUNCTION or MODULE:FUNCTION"):
        Program.of(application)


@pytest.mark.parametrize(
    ("application", "is_here", "found_by", "sent"),
    [
        ("/jobs/judge.py", True, "/jobs/judge.py", None),
        ("file:///jobs/the%20judge.py", True, "/jobs/the judge.py", None),
        ("/jobs/judge.py", False, "judge.py", "/jobs/judge.py"),
        ("/jobs/judge.py:judge", True, "judge.py", "/jobs/judge.py"),
        ("hdfs:///jobs/judge.py", True, "judge.py", "hdfs:///jobs/judge.py"),
        ("hdfs:///jobs/judge.py:judge", False, "judge.py", "hdfs:///jobs/judge.py"),
        ("local:///opt/judge.py", False, "/opt/judge.py", None),
        ("bank.models:judge", False, "bank.models", None),
    ],
)
def test_what_is_sent_and_how_the_driver_finds_it(tmp_path: Path, application: str, is_here: bool, found_by: str, sent: str | None) -> None:
    made = prepare(job(), Program.of(application), tmp_path, is_here=is_here, arguments=[7], py_files="a.zip", files="data.csv")
    assert made.application == f"{tmp_path}/lineage_application.py"
    assert made.py_files.split(",") == [f"{tmp_path}/airflow_lineage_provider.zip", *([sent] if sent else []), "a.zip"]
    description = tmp_path / "lineage-job.json"
    assert made.application_args == (str(description) if is_here else "lineage-job.json", "7")
    assert made.files == ("data.csv" if is_here else f"{description},data.csv")
    assert description.stat().st_mode & 0o777 == 0o600
    read = read_job(str(description))
    assert (read.application, read.function, read.store) == (found_by, Program.of(application).function, URL)


def test_a_job_is_read_as_it_was_written(tmp_path: Path) -> None:
    full = job(
        function="judge", name_of_writes="n", lineage=False, params={"rows": 3, "of": [None, 1.5]}, clear_params=("rows",),
        secret_params=("of",), output=Output.postgres("postgresql://me:pw@h/db", "t", "append"), strategy="rerun", reasons="eager",
        keys={"loans": ("id", "month")}, on_store_failure="keep_result", on_unsupported="incomplete", append_key="k",
        capture_direction="forward", capture_tables=("loans",),
        capture_of={"loans": CaptureTable(where="debt > 0", partition_by=("occ",)), "clients": CaptureTable(granularity=())},
        capture_subqueries="rows", capture_difference="rows",
        capture_mode="inject", sketches="auto", verify_sketches=True, witness=True,
        sketch_on=sent({"loans": "id", "rates": SketchOn(column="day", cuts=CUTS, fragments=7), "sales": SALES}),
        settings={"AIRFLOW_LINEAGE_HIDE": "x"}, context={"map_index": -1},
    )  # fmt: skip
    write_job(full, tmp_path / "job")
    read = read_job(str(tmp_path / "job"))
    assert read == full
    assert take_job(str(tmp_path / "job")) == full
    assert not (tmp_path / "job").exists()
    with pytest.raises(EnvironmentProblem, match="is not on this machine: does the driver run in cluster mode"):
        read_job(str(tmp_path / "job"))
    rates = SketchOn(column="day", cuts=CUTS, fragments=7)
    assert received(read.sketch_on) == {"loans": SketchOn(column="id"), "rates": rates, "sales": SALES}
    assert "hunter2" not in repr(full)
    assert "pw" not in repr(full)


def test_every_option_of_lineage_is_sent_to_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is added later, and is not sent, would be dropped without a word."""
    given: dict[str, Any] = {
        "strategy": "rerun", "reasons": "eager", "output": "/data/x", "keys": {"loans": ["id"]}, "on_store_failure": "keep_result",
        "on_unsupported": "incomplete", "append_key": "k", "index": ["id"], "capture": "eager", "sketches": "auto",
        "sketch_on": {"loans": "id"}, "verify_sketches": True, "witness": True,
    }  # fmt: skip
    plain, made = (operator(application="judge.py:judge", store=URL, **options) for options in ({}, given))
    assert set(given) == set(LineageTask._options(made))
    deployment = Deployment(master="local[2]", is_here=True, conf={}, env_vars={})
    jobs = [written(one._job(context(), deployment, lineage=True)) for one in (plain, made)]
    same = {name for name in jobs[1] if jobs[0].get(name) == jobs[1][name]}
    unsent = {name for name in given if not any(field.startswith(name) and field not in same for field in jobs[1])}
    assert unsent == set()
    taken: dict[str, Any] = {}
    monkeypatch.setattr(called, "call", lambda *_, **options: taken.update(options))
    monkeypatch.setattr(driver, "_opened", lambda *_: nullcontext(Mock()))
    driver._record(made._job(context(), deployment, lineage=True), lambda spark: None)
    assert set(given) - {"on_store_failure"} <= set(taken)  # the opened store has that
    assert (taken["sketches"], taken["sketch_on"], taken["verify_sketches"]) == ("auto", {"loans": SketchOn(column="id")}, True)


def test_cuts_of_no_column_are_refused() -> None:
    with pytest.raises(InvalidOption, match=r"sketch_on of loans: b'x' is of type bytes, by which no column is cut"):
        sent({"loans": SketchOn(column="id", cuts=[b"x"])})


CUTS = (1, Decimal("2.50"), 3.5, "four", date(2026, 1, 5), datetime(2026, 1, 6, 7, tzinfo=UTC), True)
SALES = SketchOn(column=["store", "day"], cuts=[("a", date(2026, 1, 5)), ("b", None)])

REFUSED = [
    ({"application": "judge.py", "sketches": "auto", "verify_sketches": True}, "sketches, verify_sketches: for a function that is called"),
    ({"application": "judge.jar"}, "application='judge.jar' is no Python program"),
    ({"application": "judge.py", "java_class": "bank.Judge"}, "java_class='bank.Judge': lineage is of Python programs"),
    ({"application": "judge.py", "output": "/data/x"}, "output: for a function that is called, and 'judge.py' is a script"),
    ({"application": "judge.py", "op_kwargs": {"a": 1}, "capture": "eager"}, "op_kwargs, capture: for a function that is called"),
    ({"application": "judge.py:judge", "op_kwargs": {"by": object()}}, "op_kwargs: 'by' is a object, which is not sent to a driver"),
    ({"application": "judge.py:judge", "op_kwargs": {"by": float("nan")}}, "op_kwargs: 'by' is a float"),
    ({"application": "judge.py:judge", "op_kwargs": 7}, "op_kwargs is of type int"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_cannot_be_is_refused_when_the_dag_is_read(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"task 'submitted': {message}"):
        operator(**arguments)


def test_templates_are_looked_at_when_the_task_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    made = operator(application="{{ params.application }}", op_kwargs={"day": "{{ ds }}"}, output="{{ params.output }}", store=URL)
    made.application, made.result_output = "judge.py", "/data/x"
    monkeypatch.setattr(LineageSparkSubmitOperator, "_submit", lambda *_, **__: pytest.fail("it was submitted"))
    with pytest.raises(InvalidOption, match="op_kwargs, output: for a function"):
        execute(made, context())


@pytest.mark.parametrize(
    ("master", "fields", "conf", "said"),
    [
        ("spark://h:7077", {}, {}, "Spark runs no Python application there in that mode. Use deploy_mode='client'"),
        ("local[2]", {}, {}, "Spark runs no Python application there"),
        ("yarn", {"store": None}, {}, "the embedded results store is of this machine"),
        ("yarn", {"store": None}, {"spark.yarn.appMasterEnv.AIRFLOW_LINEAGE_STORE": "x"}, None),
        ("yarn", {"secret_params": ("key",)}, {}, None),
        ("k8s://h", {}, {}, "the results store's password would be left in spark.kubernetes.file.upload.path"),
        ("k8s://h", {"store": "postgresql://me@h/db", "secret_params": ("key",)}, {}, "the secret parameter key would be left"),
        ("k8s://h", {"store": None, "settings": {"AIRFLOW_LINEAGE_DIGEST_KEY": "x"}}, {}, "the embedded results store"),
        ("k8s://h", {"store": "postgresql://me@h/db", "settings": {"AIRFLOW_LINEAGE_DIGEST_KEY": "x"}}, {}, "DIGEST_KEY would be left"),
        (
            "k8s://h",
            {"output": Output.postgres("postgresql://me:pw@h/db", "t"), "lineage": False, "store": None},
            {},
            "the output's password",
        ),
        ("k8s://h", {"store": None}, {"spark.kubernetes.driver.secretKeyRef.AIRFLOW_LINEAGE_STORE": "lineage:url"}, None),
    ],
)
def test_what_a_cluster_cannot_run_or_would_tell_is_refused(
    master: str, fields: dict[str, Any], conf: dict[str, str], said: str | None
) -> None:
    there = Deployment(master=master, is_here=False, conf=conf, env_vars={})
    Deployment(master=master, is_here=True, conf={}, env_vars={}).check("t", job(**fields))
    if said is None:
        there.check("t", job(**fields))
        return
    with pytest.raises(InvalidOption, match=f"task 't': deploy_mode='cluster' on .*{said}") as refused:
        there.check("t", job(**fields))
    assert "hunter2" not in str(refused.value)


def test_a_standalone_cluster_in_cluster_mode_is_refused_before_anything_is_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", '{"conn_type": "spark", "host": "spark://h:7077", "extra": {"deploy-mode": "cluster"}}')
    monkeypatch.setenv("PATH", "/nothing")
    monkeypatch.setattr("airflow_lineage_provider.operators.task_runs.clean_up", lambda _: None)
    with pytest.raises(InvalidOption, match="Spark runs no Python application there in that mode"):
        execute(operator(application="judge.py", conn_id="cluster", store=URL), context())


def test_settings_go_with_a_driver_elsewhere_and_its_own_variables_win(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HIDE", "HOME", "STORE", "ENABLED", "WEB_UDFS", "DATA"):
        monkeypatch.setenv(f"AIRFLOW_LINEAGE_{name}", name)
    conf = {"spark.yarn.appMasterEnv.AIRFLOW_LINEAGE_DATA": "/d", "spark.yarn.appMasterEnv.AIRFLOW_LINEAGE_STORE": "s"}
    there = Deployment(master="yarn", is_here=False, conf=conf, env_vars={})
    assert there.sent_settings() == {"AIRFLOW_LINEAGE_HIDE": "HIDE"}
    assert there.sent_store(URL) is None
    here = Deployment(master="yarn", is_here=True, conf=conf, env_vars={})
    assert (here.sent_settings(), here.sent_store(URL)) == ({}, URL)


@pytest.mark.spark
def test_in_cluster_mode_what_the_driver_needs_is_sent_and_its_runs_come_back(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "bin" / "spark-submit"
    command.parent.mkdir()
    body = (Path(__file__).parent / "yarn_like.py").read_text().partition("\n")[2]
    command.write_text(f"#!{sysconfig.get_path('scripts')}/python\n{body}")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:/usr/bin:/bin")
    monkeypatch.setenv("AIRFLOW_LINEAGE_CLEAR_PARAMS", "limit")
    monkeypatch.setenv("AIRFLOW_CONN_YARN_OF_THE_TEST", '{"conn_type": "spark", "host": "yarn"}')
    data = tmp_path / "data"
    made = operator(
        application=f"{PROGRAMS}/judging.py:judge", conn_id="yarn_of_the_test", deploy_mode="cluster", durable=False, store=store.tcp_url,
        op_kwargs={"rows": 4, "limit": 2, "folder": str(data), "key": Secret("open sesame")}, files=f"{PROGRAMS}/beside.py",
        output=f"{data}/judged", conf={"spark.executor.memory": "1g"},
    )  # fmt: skip
    result = execute(made, context(try_number=3))
    assert (result["rows"], result["lineage"]) == (4, "complete")
    record = store.run(result["lineage_run_id"])
    assert record.airflow is not None
    assert record.airflow["try_number"] == 3
    assert record.params["limit"] == 2  # the setting went along
    assert str(record.params["key"]).startswith("secret:")

    given = json.loads((command.parent / "given.json").read_text())
    folder = Path(given["at"]).parent
    assert given["arguments"] == [
        "--master", "yarn", "--conf", "spark.executor.memory=1g", "--files", f"{folder}/lineage-job.json,{PROGRAMS}/beside.py",
        "--py-files", f"{folder}/airflow_lineage_provider.zip,{PROGRAMS}/judging.py", "--name", "arrow-spark", "--deploy-mode", "cluster",
        f"{folder}/lineage_application.py", "lineage-job.json",
    ]  # fmt: skip
    assert (given["modes"]["lineage-job.json"], given["folder"]) == ("-rw-------", "drwx------")
    assert not folder.exists()
    assert (made.application, made.application_args, made.py_files) == (f"{PROGRAMS}/judging.py:judge", None, None)


def test_a_try_that_finds_an_earlier_ones_application_finds_that_ones_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """So it does when that fails. What it submits itself, or fails to submit, is its own, whatever was kept."""

    class Kept(dict[str, Any]):
        set = dict.__setitem__

    def try_of(made: Any, number: int) -> int:
        """Of which runs the lineage of a task that failed is asked for."""
        asked: list[Mapping[str, Any]] = []

        def runs_of(_store: None, of_try: Mapping[str, Any], _on_store_failure: str) -> Called:
            asked.append(of_try)
            return Called(written=())

        monkeypatch.setattr("airflow_lineage_provider.operators.task_runs.runs_of", runs_of)
        made._store_of_runs = (None,)
        assert made.get_openlineage_facets_on_failure(context(number)["ti"]) is None
        return int(asked[0]["try_number"])

    def refused(*_: Any) -> str:
        raise RuntimeError("no cluster")

    own = "airflow.providers.apache.spark.operators.spark_submit.SparkSubmitOperator"
    kept = Kept()
    monkeypatch.setattr(f"{own}.submit_job", lambda *_: "application_1")
    monkeypatch.setattr(f"{own}.poll_until_complete", lambda *_: None)
    first, polling, done, failing = (operator(application="judge.py") for _ in range(4))
    assert first.submit_job(context(2, task_state_store=kept)) == "application_1"
    first.poll_until_complete("application_1", context(2, task_state_store=kept))
    polling.poll_until_complete("application_1", context(3, task_state_store=kept))
    done.get_job_result("application_1", context(4, task_state_store=kept))
    assert [try_of(one, number) for one, number in ((first, 2), (polling, 3), (done, 4))] == [2, 2, 2]
    monkeypatch.setattr(f"{own}.submit_job", refused)
    with pytest.raises(RuntimeError, match="no cluster"):
        failing.submit_job(context(5, task_state_store=kept))
    unkept = operator(application="judge.py")
    unkept.poll_until_complete("application_1", context(6))
    assert [try_of(failing, 5), try_of(unkept, 6)] == [5, 6]
