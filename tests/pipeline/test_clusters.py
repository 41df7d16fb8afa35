"""Executors in processes of their own: Spark's local cluster, and a standalone cluster."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.clusters import ROOT, environment, standalone

# Three JVMs start one after the other: how long that takes says what else the machine does, and nothing of this package.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]


def drive(master: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.pipeline.cluster_driver", master, str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def check(answer: dict[str, Any]) -> None:
    assert answer["same"]
    assert answer["executors"] > 1, "the work was done in the driver's process"
    assert answer["guarantees"] == ["exact"]
    assert answer["rejected"] == [answer["sources"]]
    assert answer["reasons"] == answer["sources"] > 0


def test_local_cluster(lineage_home: Path, tmp_path: Path) -> None:
    check(drive("local-cluster[2,1,1024]", tmp_path))


def test_standalone_cluster(lineage_home: Path, tmp_path: Path) -> None:
    with standalone(tmp_path) as cluster:
        check(drive(cluster.master, tmp_path / "data"))
