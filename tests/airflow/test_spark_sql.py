"""SQL as a task: what it takes of Airflow's own operator, what is recorded, and what it is with lineage off."""

from __future__ import annotations

import json
import logging
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from airflow.providers.apache.spark.operators.spark_sql import SparkSqlOperator
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import UdfUnavailable
from airflow_lineage_provider.hooks.lineage import LineageHook
from airflow_lineage_provider.operators.lineage_spark_sql import LineageSparkSqlOperator
from airflow_lineage_provider.reasons import reasoned_udf
from airflow_lineage_provider.reasons.named_udfs import named_udfs
from airflow_lineage_provider.store import Store

if TYPE_CHECKING:
    from tests.airflow.conftest import DagResult

pytestmark = pytest.mark.spark

UDFS = "tests.airflow.sql_udfs"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sql")


@pytest.fixture(scope="module")
def tasks(run_dag: Callable[..., DagResult], folder: Path) -> DagResult:
    return run_dag("sql_tasks", folder=str(folder))


def test_what_a_statement_writes_is_explained_with_reasons(tasks: DagResult, folder: Path, spark: SparkSession, store: Store) -> None:
    assert tasks.state == "success"
    (written,) = tasks.result("writes", key="lineage_runs")
    assert (written["pipeline"], written["rows"], written["lineage"]) == ("sql/writes", 6, "complete")
    assert written["output"] == {"kind": "path", "target": f"{folder}/halves", "format": "parquet", "mode": "overwrite"}
    assert pq.read_table(folder / "halves").num_rows == 6
    assert store.run(written["lineage_run_id"]).airflow["task_id"] == "writes"
    with Lineage(spark) as lineage:
        answer = lineage.get_run(written["lineage_run_id"]).explain("id = 5", progress=False)
    (decision,) = answer.reasons["halved"].to_pylist()
    assert (decision["value"], json.loads(decision["reason"])["value"]) == (2, {"of": 5})


def test_the_last_query_is_the_result(tasks: DagResult, folder: Path, spark: SparkSession) -> None:
    asked = tasks.result("asks")
    assert asked == tasks.result("asks", key="lineage_runs")[-1]
    assert (asked["pipeline"], asked["rows"]) == ("sql_tasks.asks", 3)
    assert sorted(pq.read_table(folder / "asked").to_pydict()["half"]) == [0, 1, 2]
    with Lineage(spark) as lineage:
        answer = lineage.get_run(asked["lineage_run_id"]).explain("half = 1", progress=False)
    assert sorted(row["id"] for row in answer.sources["range"].rows.to_pylist()) == [2, 3]  # through the run that wrote the halves


def test_mapped_tasks_and_those_without_lineage(tasks: DagResult, folder: Path) -> None:
    assert [tasks.result("mapped", map_index=at)["rows"] for at in (0, 1)] == [1, 1]
    assert tasks.result("plain")["lineage"] == "off"
    assert sorted(pq.read_table(folder / "plain").to_pydict()["half"]) == [0, 0, 1, 1]


def test_arguments_are_settings_as_spark_submit_makes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    everything: dict[str, Any] = {
        "conf": {"spark.sql.ansi.enabled": False, "spark.executor.memory": "9g"}, "conn_id": "spark_of_the_test", "total_executor_cores": 4,
        "executor_cores": 2, "executor_memory": "3g", "keytab": "/k", "principal": "bank", "name": "judging", "num_executors": 7,
        "verbose": False, "yarn_queue": "night",
    }  # fmt: skip
    monkeypatch.setenv(
        "AIRFLOW_CONN_SPARK_OF_THE_TEST", '{"conn_type": "spark_sql", "host": "spark://h", "port": 7077, "extra": {"queue": "q"}}'
    )
    operator = LineageSparkSqlOperator(task_id="judge", sql="SELECT 1", **everything)
    conf = _conf_of(operator, monkeypatch)
    assert conf == {
        "spark.app.name": "judging", "spark.master": "spark://h:7077", "spark.ui.showConsoleProgress": "false",
        "spark.sql.catalogImplementation": "hive", "spark.sql.ansi.enabled": "false", "spark.executor.memory": "3g", "spark.cores.max": "4",
        "spark.executor.cores": "2", "spark.kerberos.keytab": "/k", "spark.kerberos.principal": "bank", "spark.executor.instances": "7",
        "spark.yarn.queue": "night",
    }  # fmt: skip
    plain = SparkSqlOperator(task_id="plain", sql="SELECT 1", **everything)._get_hook()._prepare_command("")
    assert plain == operator._get_hook()._prepare_command("")  # what it is with lineage off

    text = LineageSparkSqlOperator(task_id="judge", sql="SELECT 1", conf="spark.a=1, spark.b=x=y", conn_id="none_of_the_test")
    conf = _conf_of(text, monkeypatch)
    assert (conf["spark.a"], conf["spark.b"], conf["spark.master"]) == ("1", "x=y", "yarn")
    local = LineageSparkSqlOperator(
        task_id="judge", sql="SELECT 1", master="local[2]", conf={"spark.sql.catalogImplementation": "in-memory"}
    )
    conf = _conf_of(local, monkeypatch)
    assert (conf["spark.master"], conf["spark.sql.catalogImplementation"]) == ("local[2]", "in-memory")
    assert conf["spark.app.name"].endswith("-judge")


def _conf_of(operator: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    found: list[dict[str, str]] = []

    @contextmanager
    def session(conf: dict[str, str]) -> Iterator[None]:
        found.append(conf)
        yield

    monkeypatch.setattr("airflow_lineage_provider.hooks.lineage.spark_session", session)
    with operator._lineage_hook().spark(operator._app_name()):
        return found[0]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"conf": "spark.a"}, "conf has 'spark.a'; as a text it is key=value,key=value"),
        ({"udfs": ["bank models"]}, "udfs has 'bank models'; it can have 'module:name'"),
        ({"strategy": "fastest"}, "strategy='fastest' is not known"),
    ],
)
def test_what_an_argument_cannot_be_is_refused_when_the_dag_is_read(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=f"task 'judge': {said}"):
        LineageSparkSqlOperator(task_id="judge", sql="SELECT 1", **wrong)


def test_udfs_are_named_by_their_modules() -> None:
    @reasoned_udf("bigint", name="of_no_module")
    def own(number: int) -> int:
        return number

    assert [udf.name for udf in named_udfs([f"{UDFS}:halved", own, UDFS])] == ["halved", "of_no_module", "halved"]
    wrong: list[Any] = [f"{UDFS}:NOT_ONE", f"{UDFS}:none", "tests.airflow.nowhere", "tests.airflow.conftest", len]
    told = [
        "is a int and no reasoned UDF",
        "the reasoned UDFs of tests.airflow.sql_udfs are halved",
        "ModuleNotFoundError",
        "are none",
        "builtin",
    ]
    for given, said in zip(wrong, told, strict=True):
        with pytest.raises(UdfUnavailable, match=said):
            named_udfs([given])


def test_with_lineage_off_it_is_airflows_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    command = tmp_path / "spark-sql"
    command.write_text('#!/bin/sh\necho "$@" > "$(dirname "$0")/given"\n')
    command.chmod(command.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(LineageHook, "spark", lambda *_: pytest.fail("a session was started"))
    operator: Any = LineageSparkSqlOperator(task_id="judge", sql="SELECT 1", lineage=False, master="local[1]", verbose=False)
    with caplog.at_level(logging.INFO):
        assert type(operator).execute.__wrapped__(operator, {}) is None
    assert (tmp_path / "given").read_text().strip() == "-e SELECT 1 --master local[1] --name default-name --queue default"
    operator.on_kill()
    LineageSparkSqlOperator(task_id="never", sql="SELECT 1").on_kill()  # no hook is made while a task ends
