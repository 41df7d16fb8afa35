"""The package as executors are sent it: in a process that has nothing of it, and few libraries, what a run needs there can be imported."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from airflow_lineage_provider.spark.shipping import PACKAGE, write_archive

ON_EXECUTORS = """
import importlib, sys

class Few:
    absent = "sqlalchemy sqlglot airflow rich duckdb psycopg2 adbc_driver_manager yaml pydantic packaging shap lime numba".split()

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Few())
sys.path = [sys.argv[1], *(one for one in sys.path if one not in (sys.argv[2], ""))]
needed = "spark.executing.on_executors spark.executing.by_driver spark.reach store.load store.read reasons reasons.spark_function"
for name in needed.split():
    module = importlib.import_module(f"airflow_lineage_provider.{name}")
    assert module.__file__.startswith(sys.argv[1]), module.__file__
from airflow_lineage_provider.spark.reach import problem_with
print(problem_with("postgresql://nobody:secret@127.0.0.1:1/none", "psycopg2"))
"""


@pytest.mark.processes
def test_what_executors_import(tmp_path: Path) -> None:
    with zipfile.ZipFile(write_archive(tmp_path / "package.zip")) as archive:
        assert not [name for name in archive.namelist() if name.startswith(("web/", "operators/"))]
        archive.extractall(tmp_path / PACKAGE)
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", ON_EXECUTORS, str(tmp_path), root]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["No module named 'psycopg2'"], done.stderr
