"""A session that no pipeline could run in is refused when it is handed in; workers run a Python that has the package."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import (
    EnvironmentProblem,
    PySparkConflict,
    SparkConnectUnsupported,
    SparkRequired,
    WorkersPythonProblem,
)
from airflow_lineage_provider.spark import workers
from airflow_lineage_provider.spark.ready import require_ready
from airflow_lineage_provider.spark.workers import check_workers, is_this_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]


def test_what_is_no_session() -> None:
    with pytest.raises(SparkRequired, match=r"was given 'postgresql://somewhere/store'; a results store goes to Lineage\(store=…\)"):
        Lineage("postgresql://somewhere/store")  # type: ignore[arg-type]


def test_a_connect_session() -> None:
    client: Any = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(SparkConnectUnsupported, match=r"without \.remote"):
        Lineage(client)


@pytest.mark.spark
def test_a_session_of_another_release(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    another = "4.1.0" if spark.version.startswith("4.0") else "4.0.0"
    monkeypatch.setattr("pyspark.__version__", another)
    with pytest.raises(PySparkConflict, match=rf"PySpark is {another} .* and the session's Spark is 4\."):
        require_ready(spark)


@pytest.mark.spark
def test_a_function_in_the_place_of_a_built_in_one(spark: SparkSession) -> None:
    """Since Spark 4.2 the built-in one is called all the same."""
    session = spark.newSession()
    require_ready(session)
    session.udf.register("upper", lambda text: f"not {text}")
    if session.sql("SELECT upper('a')").head()[0] == "A":  # type: ignore[index]
        require_ready(session)
        return
    with pytest.raises(EnvironmentProblem, match=r"a function of the session takes the place of a built-in one .*\(upper\)"):
        require_ready(session)


def test_one_interpreter_has_several_names_and_another_environment_is_another(tmp_path: Path) -> None:
    assert is_this_python(sys.executable)
    assert is_this_python(str(Path(sys.executable).with_name("python3")))
    (tmp_path / "python3").symlink_to(Path(sys.executable).resolve())
    assert not is_this_python(str(tmp_path / "python3"))
    assert not is_this_python("/nowhere/python3")


@pytest.mark.spark
def test_workers_elsewhere_are_asked_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[SparkSession] = []
    real = workers._problem

    def noted(session: SparkSession, *, ships: bool) -> str | None:
        asked.append(session)
        return real(session, ships=ships)

    monkeypatch.setattr(workers, "on_this_machine", lambda _: False)
    monkeypatch.setattr(workers, "_FOUND_GOOD", set())
    monkeypatch.setattr(workers, "_problem", noted)
    check_workers(spark)
    check_workers(spark)
    assert asked == [spark]


@pytest.mark.spark
def test_workers_with_another_release_of_the_package(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "on_this_machine", lambda _: False)
    monkeypatch.setattr(workers, "_FOUND_GOOD", set())
    monkeypatch.setattr(workers, "__version__", "9.9")
    with pytest.raises(WorkersPythonProblem, match=r"and this process 9\.9.* Every executor needs a Python 3.*\(spark\.archives\)"):
        check_workers(spark)


SCRIPT = """
import os, sys
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.errors import SparkRequired, WorkersPythonProblem
from tests.answers import sources_of

@reasoned_udf("boolean")
def is_big(x):
    return x > 2

@is_big.with_reason
def _(x):
    return x > 2, {"x": x}

other = os.environ["OTHER_PYTHON"]
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
is_big.register(spark)
print("before", [row[0] for row in spark.sql("SELECT is_big(id) FROM range(1, 4)").collect()])
jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))
lineage = Lineage(spark)
print("jobs", len(spark.sparkContext.statusTracker().getJobIdsForGroup(None)) - jobs)
pq.write_table(pa.table({"id": range(5)}), "ids.parquet")
run = lineage.run(f"SELECT id, is_big(id) AS big FROM parquet.`{os.path.abspath('ids.parquet')}`")
print("reasons", run.explain("id = 4").reasons["is_big"].num_rows)

wrong = spark.newSession()
wrong.conf.set("spark.sql.execution.pyspark.python", other)
try:
    Lineage(wrong)
except WorkersPythonProblem as problem:
    print("refused", other in str(problem), "cannot import" in str(problem), repr(sys.executable) in str(problem))
wrong.conf.set("spark.sql.execution.pyspark.python", "/nowhere/python3")
try:
    Lineage(wrong)
except WorkersPythonProblem as problem:
    print("refused", 'do not work: Cannot run program "/nowhere/python3"' in str(problem))

spark.stop()
for use in (lambda: Lineage(spark), lambda: lineage.run("SELECT 1")):
    try:
        use()
    except SparkRequired as problem:
        print("stopped", "has been stopped" in str(problem))
print("without", [table.to_pylist() for table in sources_of(run.explain("id = 4")).values()])
"""


@pytest.mark.spark
def test_an_environment_that_is_not_activated(lineage_home: Path, tmp_path: Path) -> None:
    """``python3`` on the path is another Python, without the package, as in a notebook, and nobody set PYSPARK_PYTHON."""
    venv.create(tmp_path / "other", with_pip=False)
    (tmp_path / "driver.py").write_text(SCRIPT)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    environment |= {"PATH": f"{tmp_path}/other/bin:{os.environ['PATH']}", "OTHER_PYTHON": f"{tmp_path}/other/bin/python3"}
    command = [sys.executable, str(tmp_path / "driver.py")]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.stdout.splitlines() == [
        "before [False, False, True]",
        "jobs 0",
        "reasons 1",
        "refused True True True",
        "refused True",
        "stopped True",
        "stopped True",
        "without [[{'id': 4}]]",
    ], done.stderr[-3000:]
