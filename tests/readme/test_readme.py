"""Every snippet and command of the README is run, in its order, over its own data and the demo's; what cannot be is named."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.class_archive import submit_options
from tests.readme.conftest import README, ROOT
from tests.readme.reader import ELSEWHERE, Reader, check_printed
from tests.readme.snippets import documents, snippets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEMO = "Two commands"
"""The section whose last commands work on what the demo leaves."""


def test_it_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


def test_what_is_not_run_here_is_run_elsewhere() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    lines = [line for path in documents(ROOT) for one in snippets(path) if one.kind in ("block", "command") for line in one.commands()]
    assert {line for line in lines if line.startswith("pip ")} == ELSEWHERE
    made = {shlex.split(line, comments=True)[1] for line in lines if line.startswith("make ")}
    assert {"demo", "test", "test-install"} <= made <= targets


@pytest.fixture
def demo(spark: SparkSession, folder: Path) -> None:
    """The demo's examination, as its DAG runs it."""
    from airflow_lineage_provider import Lineage
    from dags.loan_data import prepare

    places = prepare(folder / ".demo" / "airflow" / "loan_examination")
    with Lineage(spark) as lineage:
        run = lineage.run(_examined, params={"places": places, "month": 12}, name="loan_examination.examine")
        run.close()


def _examined(spark: SparkSession, places: dict[str, str], month: int) -> Any:
    """As `dags.loan_examination.examined`, whose module needs Airflow."""
    source = (ROOT / "dags" / "loan_examination.py").read_text()
    query = re.search(r'EXAMINED = """(.*?)"""', source, re.DOTALL)
    assert query is not None
    from udfs import credit_exam

    for name in ("client", "debt", "loan"):
        spark.read.parquet(places[name]).createOrReplaceTempView(name)
    credit_exam.load(places["model"]).register(spark)
    return spark.sql(query[1].format(month=month))


@pytest.mark.spark
def test_the_commands_about_the_demo_work_on_what_it_leaves(demo: None, folder: Path) -> None:
    """In a shell, as they stand there, on a session with Spark's own settings."""
    (block,) = [one for one in snippets(README) if one.section == DEMO and "export " in one.text]
    (printed,) = [one.text for one in snippets(README) if one.section == DEMO and one.kind == "text"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW_LINEAGE", "PYTHONPATH"))}
    environment["SPARK_SUBMIT_OPTS"] = submit_options()
    script = "\n".join(["set -e", *block.commands()])
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    check_printed(printed, done.stdout)


@pytest.mark.spark
def test_everything_else_works_in_its_order(newcomer: Reader, capsys: pytest.CaptureFixture[str]) -> None:
    own = [one for one in snippets(README) if one.section != DEMO]
    reader = replace(newcomer, names=dict(newcomer.names), printed=lambda: capsys.readouterr().out)
    capsys.readouterr()
    reader.write("examination.py", next(one.text for one in own if one.kind == "python"))
    reader.read(README, own)
    assert (reader.folder / "why.html").is_file()
    assert [row["client_id"] for row in reader.names["explanation"].sources["loans"].to_pylist()] == [7]
