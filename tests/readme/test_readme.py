"""Every snippet and command of the README is run, in its order, over the demo's data and a small table; what cannot be is named."""

from __future__ import annotations

import datetime as dt
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_lineage_provider.cli import main
from airflow_lineage_provider.cli.arguments import EPILOG, parser
from tests.readme.snippets import Snippet, snippets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"

ELSEWHERE = {
    'pip install ".[airflow,shap,lime,embedded]"',
    "pip wheel --no-deps --wheel-dir dist .",
    'pip install "dist/airflow_provider_lineage-0.1.0-py3-none-any.whl[airflow,shap,lime,embedded]"',
}
"""Commands that install: tests/install runs them, as they stand there. Those of ``make`` are named in the Makefile."""

AIRFLOW = "In Airflow"
"""The section whose Python is a DAG file: read in tests/airflow/test_readme_dag.py."""


def test_what_is_not_run_here_is_run_elsewhere() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    lines = [line for one in snippets(README) if one.kind != "python" for line in one.commands()]
    assert {line for line in lines if line.startswith("pip ")} == ELSEWHERE
    made = {shlex.split(line, comments=True)[1] for line in lines if line.startswith("make ")}
    assert {"demo", "test", "test-install"} <= made <= targets


def test_the_examples_of_the_help_are_understood() -> None:
    examples = [line for line in EPILOG.splitlines() if line.strip().startswith("airflow-lineage")]
    assert len(examples) > 5
    for line in examples:
        parser().parse_args(shlex.split(line)[1:])


@pytest.fixture
def folder(tmp_path: Path, lineage_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone after ``make demo``: its store is the tests' own."""
    (tmp_path / ".demo").mkdir()
    (tmp_path / ".demo" / "store").symlink_to(lineage_home)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    for part in ("udfs", "dags"):
        (tmp_path / part).symlink_to(ROOT / part)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr("airflow_lineage_provider.named_modules._FOLDERS", [])
    return tmp_path


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


@pytest.fixture
def names(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """What the README's Python takes for granted: a session with a table ``loans``, a fitted model, and some rows of its background."""
    import pandas as pd
    from sklearn.tree import DecisionTreeClassifier

    amounts = range(10, 130, 10)
    sample = pd.DataFrame([(30.0, 10.0, float(amount)) for amount in amounts], columns=["income", "debt", "amount"])
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(sample, ["Reject" if amount > 60 else "Accept" for amount in amounts])
    dates = [dt.date(2025, 11, 30), dt.date(2025, 12, 1), dt.date(2025, 12, 24)]
    rows = [(client, 30.0, 10.0, amount, date) for client, amount, date in zip([7, 7, 8], [20.0, 120.0, 20.0], dates, strict=True)]
    pd.DataFrame(rows, columns=["client_id", *sample.columns, "date"]).to_parquet(folder / "loans.parquet", index=False)
    spark.read.parquet(str(folder / "loans.parquet")).createOrReplaceTempView("loans")
    return {"__name__": "__main__", "spark": spark, "model": model, "sample": sample}


@pytest.fixture
def shell(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """The console command, in this process and on this session."""

    @contextmanager
    def session(*_: Any) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr("airflow_lineage_provider.cli.verbs.spark_session", session)

    def run(line: str) -> None:
        words = shlex.split(line, comments=True)
        assert words[0] == "airflow-lineage", f"{line!r} is neither run here nor named in ELSEWHERE"
        assert main(words[1:]) == 0

    return run


@pytest.mark.spark
def test_the_first_command_works_on_what_the_demo_leaves(demo: None, folder: Path) -> None:
    """In a shell, as it stands there, after the line that says where the demo's store is."""
    (first,) = [one for one in snippets(README) if not one.section]
    (setting,) = [one.text for one in snippets(README) if one.text.startswith("export ")]
    script = "\n".join(["set -e", setting, *first.commands()])
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW_LINEAGE", "PYTHONPATH"))}
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert "557" in done.stdout
    assert "Reject" in done.stdout
    assert "credit_history" in done.stdout


@pytest.mark.spark
def test_everything_else_works_in_its_order(names: dict[str, Any], folder: Path, shell: Callable[[str], None]) -> None:
    own = [one for one in snippets(README) if one.section and one.section != AIRFLOW]
    _write_module(own, folder)
    for one in own:
        try:
            _try(one, names, folder, shell)
        except Exception as error:
            error.add_note(f"at line {one.line} of {README.name}")
            raise
    kept = names["explanation"].id
    shell(next(one.text for one in snippets(README) if one.text.startswith("airflow-lineage derivation")).replace("ID", kept))
    _check_what_the_comments_say(names)


def _try(one: Snippet, names: dict[str, Any], folder: Path, shell: Callable[[str], None]) -> None:
    if one.kind == "python":
        exec(compile(one.text.replace("/data/", f"{folder}/data/"), f"{README.name}:{one.line}", "exec"), names)
        return
    for line in one.commands():
        if line not in ELSEWHERE and not line.startswith(("make ", "export ")):
            shell(line)


def _write_module(own: list[Snippet], folder: Path) -> None:
    """The first UDF and the pipeline of the README, in the file that its command names."""
    udf, pipeline = (next(one.text for one in own if mark in one.text) for mark in ("# normal mode", "def pipeline("))
    function = pipeline[pipeline.index("def pipeline(") : pipeline.index("run = ")]
    (folder / "pipeline.py").write_text(f"{udf}\n\n{function}")


def _check_what_the_comments_say(names: dict[str, Any]) -> None:
    assert [row["client_id"] for row in names["run"].explain("judge = 'Reject' AND client_id = 7").source["loans"].to_pylist()] == [7]
    assert [(one.table, one.column) for one in names["judge"].computed_from] == [("loans", name) for name in ("income", "debt", "amount")]
    assert "(month(date) = 12) is false (date = 2025-11-30)" in names["fate"].drop.text
    assert names["explanation"].intermediate["judged"].rows.num_rows == 1
    assert list(names["explanation"].source) == ["loans"]
