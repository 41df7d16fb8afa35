"""Executors in processes of their own, of a standalone cluster: two workers, dynamic allocation, speculation, one that is killed."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from airflow_lineage_provider.store import Store
from tests.clusters import ROOT, environment, standalone
from tests.pipeline.cluster_driver import HANGS, ROWS
from udfs.paper_credit_exam import credit_exam

# Three JVMs start one after the other: how long that takes says what else the machine does, and nothing of this package.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]


def without_the_package(folder: Path) -> str:
    """A Python that has all that this one has, but for what is installed by a path (as this checkout is)."""
    venv.create(folder, with_pip=False)
    there = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    (there / "others.pth").write_text(sysconfig.get_path("purelib"))
    return str(folder / "bin" / "python")


def test_executors_without_the_package(store: Store, tmp_path: Path) -> None:
    python = without_the_package(tmp_path / "bare")
    missing = subprocess.run([python, "-c", "import airflow_lineage_provider"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "No module named 'airflow_lineage_provider'" in missing.stderr
    executors = environment(PYSPARK_PYTHON=python)
    del executors["PYTHONPATH"]
    with standalone(tmp_path, 2, executors) as cluster:
        command = [sys.executable, "-m", "tests.pipeline.cluster_driver", cluster.master, str(tmp_path / "data"), store.url]
        done = subprocess.run(command, cwd=ROOT, env=environment(PYSPARK_PYTHON=python), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "they are sent it" in done.stderr
    assert "rows go by way of the driver" in done.stderr
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    assert answer["kept out"] == [True, False]
    assert answer["read"] == ROWS
    amounts = [(200 * (n % 40), credit_exam(1000 + n % 700, n % 31, 200 * (n % 40))) for n in range(ROWS)]
    assert answer["stored"] == [list(one) for one in sorted(set(amounts))]
    assert answer["same"]
    assert answer["guarantees"] == ["exact"]
    assert answer["lost"] == 0
    assert answer["executors"] >= 2
    assert answer["rejected"] == [answer["sources"]] == [answer["reasons"]] == [sum(judge == "Reject" for _, judge in amounts)]
    expected = sum(amount == 7800 and judge == "Reject" for amount, judge in amounts)
    assert expected > 0
    # A second attempt, of a task that did not fail: it was the first to end, and what it loaded stands alone.
    assert {one.split()[0] for one in answer["attempts"]} == {"0", "1"}
    assert answer["seconds"] < HANGS
    assert set(answer["ways"]) == {"loading_partitions"}
    *counts, worth = answer["hanging"]
    assert counts == [ROWS, expected, expected]
    assert [one.split(":")[0] for one in worth] == ["reasons.hangs_once"]  # a UDF of Spark's own, which has no reasoning mode
    assert answer["compared"]
    assert answer["then lost"] == 1
    assert answer["struck"] == [ROWS, expected, expected, []]
