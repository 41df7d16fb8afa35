"""A file in the current folder stands in for no library, neither in the command nor in Spark's workers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_lineage_provider.named_modules import hidden_by, named_module, put_last

ROOT = Path(__file__).parents[2]
PLANTED = (
    "__future__", "argparse", "json", "typing", "sitecustomize", "usercustomize",
    "sqlalchemy", "psycopg2", "pandas", "pyarrow", "numpy", "rich", "pyspark", "cloudpickle", "sqlglot", "jinja2",
)  # fmt: skip
PIPELINE = """
import json
from airflow_lineage_provider import reasoned_udf
from helper import LIMIT

@reasoned_udf("boolean")
def is_big(x):
    import json
    return json.loads(str(x)) > LIMIT

@is_big.with_reason
def _(x):
    return x > LIMIT, {"x": x}

def pipeline(spark):
    is_big.register(spark)
    return spark.read.parquet("ids.parquet").selectExpr("id", "is_big(id) AS big")
"""

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A folder with a pipeline, and files that leave a mark when they are run."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    for name in PLANTED:
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write('{name} ')\n")
    return folder


@pytest.fixture
def command(planted: Path, lineage_home: Path) -> Command:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        # As a user has it: the package is installed, and nothing is on PYTHONPATH.
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH", "PYSPARK_PYTHON")}
        return subprocess.run(
            [sys.executable, *arguments], cwd=planted, env=environment, capture_output=True, text=True, timeout=200, check=False
        )

    return run


def marks(planted: Path) -> str:
    ran = planted.parent / "ran"
    return ran.read_text() if ran.exists() else ""


def test_the_planted_files_would_run(planted: Path, command: Command) -> None:
    assert "json" in command("-c", "import json").stderr + marks(planted)


@pytest.mark.parametrize("console", [False, True])
def test_commands_without_spark(planted: Path, command: Command, console: bool) -> None:
    start = [str(Path(sys.executable).with_name("airflow-lineage"))] if console else ["-m", "airflow_lineage_provider.cli"]
    done = command(*start, "list", "--json")
    assert done.returncode == 0, done.stderr
    assert '"runs"' in done.stdout
    assert marks(planted) == ""


@pytest.mark.spark
def test_a_pipeline_of_the_folder_and_its_reasons(planted: Path, command: Command) -> None:
    """Its own modules are found there, by the command and by the workers; the planted ones are not."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (planted / "judged.py").write_text(PIPELINE)
    (planted / "helper.py").write_text("LIMIT = 2\n")
    pq.write_table(pa.table({"id": range(5)}), planted / "ids.parquet")
    start = ("-m", "airflow_lineage_provider.cli")
    ran = command(*start, "run", "judged.py:pipeline", "--name", "planted", "--master", "local[1]", "--json")
    assert ran.returncode == 0, ran.stderr
    assert marks(planted) == ""
    # The UDF of a lazy reason is found in the current folder by the name of its module, which the run recorded.
    explained = command(*start, "explain", "latest", "id = 4", "--pipeline", "planted", "--json")
    assert explained.returncode == 0, explained.stderr
    assert '"is_big"' in explained.stdout
    assert marks(planted) == ""


def test_a_folder_comes_last_and_only_when_it_has_what_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = list(sys.path)
    with pytest.raises(ModuleNotFoundError):
        named_module("named_by_nobody", str(tmp_path))
    assert named_module("json", str(tmp_path)).__name__ == "json"
    assert sys.path == before
    (tmp_path / "named_in_a_test.py").write_text("FOUND = True\n")
    assert named_module("named_in_a_test", str(tmp_path)).FOUND
    assert sys.path == [*before, str(tmp_path)]
    put_last(str(tmp_path))
    assert sys.path == [*before, str(tmp_path)]
    del sys.modules["named_in_a_test"]


def test_a_name_that_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("")
    (tmp_path / "of_nobody_else.py").write_text("")
    assert str(hidden_by("json", str(tmp_path))).endswith("json")
    assert hidden_by("of_nobody_else", str(tmp_path)) is None
    assert hidden_by("not_there", str(tmp_path)) is None
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert hidden_by("of_nobody_else", str(tmp_path)) is None
