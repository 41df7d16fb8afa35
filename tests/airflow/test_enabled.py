"""With lineage off a task is the plain operator: no store is opened, nothing is recorded, and what asks about runs is skipped."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pyspark
import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException
from pyspark.sql import SparkSession

from airflow_lineage_provider.errors import InvalidOption, InvalidOutput, InvalidSetting
from airflow_lineage_provider.hooks.enabled import lineage_enabled
from airflow_lineage_provider.hooks.lineage import LineageHook
from airflow_lineage_provider.operators.capture import CaptureLineageOperator
from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator
from airflow_lineage_provider.operators.derive_sketch import DeriveSketchOperator
from airflow_lineage_provider.operators.lineage_pyspark import LineagePySparkOperator
from airflow_lineage_provider.reasons import reasoned_udf


@pytest.mark.parametrize(
    ("variable", "configured", "given", "enabled"),
    [
        ("", None, None, True),
        ("", None, False, False),
        ("", "false", None, False),
        ("", "false", True, False),
        ("1", "false", None, True),
        ("0", "true", None, False),
        ("0", None, True, False),
    ],
)
def test_who_decides(variable: str, configured: str | None, given: bool | None, enabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_ENABLED", variable)
    if configured is not None:
        monkeypatch.setenv("AIRFLOW__LINEAGE__ENABLED", configured)
    assert lineage_enabled(given) is enabled


def test_a_wrong_word_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_ENABLED", "perhaps")
    with pytest.raises(InvalidSetting, match="AIRFLOW_LINEAGE_ENABLED"):
        lineage_enabled()
    wrong: Any = "no"
    with pytest.raises(ValueError, match="task 'examine': lineage='no' is not known; it can be True, False"):
        LineagePySparkOperator(task_id="examine", python_callable=print, lineage=wrong)


@pytest.mark.parametrize(
    "operator",
    [
        DeriveAugmentedLineageOperator(task_id="why", pipeline="p", target="true"),
        CaptureLineageOperator(task_id="capture", pipeline="p"),
        DeriveSketchOperator(task_id="sketch", pipeline="p"),
    ],
)
def test_what_asks_about_runs_is_skipped(operator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_ENABLED", "0")
    with pytest.raises(AirflowSkipException, match="lineage is switched off"):
        operator.asked(lambda lineage: pytest.fail("the store was opened"))


@pytest.fixture
def off(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def session(self: LineageHook, app_name: str) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr(LineageHook, "plain_spark", session)
    monkeypatch.setattr(LineageHook, "lineage", lambda *_, **__: pytest.fail("the store was opened"))
    monkeypatch.setenv("AIRFLOW_LINEAGE_ENABLED", "0")


def executed(function: Any, **options: Any) -> Any:
    operator: Any = LineagePySparkOperator(task_id="examine", python_callable=function, **options)
    return type(operator).execute.__wrapped__(operator, {})


@reasoned_udf("bigint", name="doubled_without_lineage")
def doubled(number: int) -> int:
    return 2 * number


def test_reasoned_udfs_decide_and_the_result_is_written(off: None, tmp_path: Path) -> None:
    def pipeline(spark: Any, rows: int) -> Any:
        doubled.register(spark)
        return spark.sql(f"SELECT doubled_without_lineage(id) AS two FROM range({rows})")

    result = executed(pipeline, output=f"{tmp_path}/out", op_kwargs={"rows": 3}, lineage_name="doubles")
    place = {"kind": "path", "target": f"{tmp_path}/out", "format": "parquet", "mode": "error"}
    assert (result["lineage"], result["pipeline"], result["output"]) == ("off", "doubles", place)
    assert sorted(pq.read_table(tmp_path / "out").column("two").to_pylist()) == [0, 2, 4]
    with pytest.raises(InvalidOutput, match="exists"):
        executed(pipeline, output=f"{tmp_path}/out", op_kwargs={"rows": 3})
    assert executed(pipeline, op_kwargs={"rows": 3})["output"] is None


@pytest.fixture
def connect_server() -> Iterator[int]:
    """The port of a server of Spark Connect."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Path(pyspark.__file__).parent
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    conf = [f"spark.connect.grpc.binding.port={port}", "spark.ui.enabled=false", "spark.connect.grpc.binding.address=127.0.0.1"]
    command = [
        str(home / "bin/spark-submit"),
        "--class",
        server,
        "--master",
        "local[1]",
        *(part for one in conf for part in ("--conf", one)),
    ]
    environment = {**os.environ, "SPARK_HOME": str(home)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            _wait_for(port, process)
            yield port
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def _wait_for(port: int, process: Any) -> None:
    ends = time.monotonic() + 120
    while time.monotonic() < ends and process.poll() is None:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail("the server of Spark Connect did not begin")


@pytest.mark.skipif(find_spec("zstandard") is None, reason="the client of Spark Connect is not installed whole: zstandard is missing")
def test_on_spark_connect_it_is_the_plain_operator(connect_server: int) -> None:
    """With lineage it is refused before anything is started; without, it is called there, with the connection's configuration."""
    connection = {"conn_type": "spark_connect", "host": "127.0.0.1", "port": connect_server, "extra": {"spark.sql.shuffle.partitions": "3"}}
    environment = {**os.environ, "AIRFLOW_CONN_CONNECT": json.dumps(connection)}
    command = [sys.executable, "-m", "tests.airflow.programs.connecting"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("found ")).removeprefix("found "))
    assert (found["session"].split(".")[:3], found["rows"], found["extra"]) == (["pyspark", "sql", "connect"], 3, "3")
    assert "Spark Connect has not" in found["refused"]
    assert "Spark Connect" in found["with lineage"]


def test_what_the_function_returns_is_the_xcom(off: None, tmp_path: Path) -> None:
    def writes(spark: Any, folder: str) -> int:
        spark.range(5).write.parquet(folder)
        return 5

    assert executed(writes, op_kwargs={"folder": f"{tmp_path}/written"}) == 5
    assert pq.read_table(tmp_path / "written").num_rows == 5
    with pytest.raises(InvalidOutput, match="it returned"):
        executed(writes, op_kwargs={"folder": f"{tmp_path}/again"}, output=f"{tmp_path}/out")
    with pytest.raises(InvalidOption, match="append_key='k' replaces what a recorded run appended, and lineage is off"):
        executed(writes, op_kwargs={"folder": f"{tmp_path}/more"}, output=f"{tmp_path}/out+append", append_key="k")
    assert not (tmp_path / "more").exists()
