"""Executors in processes of their own: Spark's local cluster, and a standalone cluster."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

ROOT = Path(__file__).parents[2]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


def drive(master: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.pipeline.cluster_driver", master, str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=200, check=False)
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
    with standalone(tmp_path) as master:
        check(drive(master, tmp_path / "data"))


@contextmanager
def standalone(folder: Path) -> Iterator[str]:
    """A master and a worker on loopback."""
    with spark_process(folder / "master.log", "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0") as log:
        master = wait_for(log, r"Starting Spark master at (spark://\S+)")
        worker = (
            "worker.Worker",
            "--host",
            "127.0.0.1",
            "--webui-port",
            "0",
            "--cores",
            "2",
            "--memory",
            "1g",
            "--work-dir",
            str(folder / "work"),
        )
        with spark_process(folder / "worker.log", *worker, master) as worker_log:
            wait_for(worker_log, r"Successfully registered with master")
            yield master


@contextmanager
def spark_process(log: Path, name: str, *arguments: str) -> Iterator[Path]:
    import pyspark

    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    with log.open("w") as out:
        process = subprocess.Popen(
            [str(spark_class), f"org.apache.spark.deploy.{name}", *arguments], env=environment(), stdout=out, stderr=subprocess.STDOUT
        )
        try:
            yield log
        finally:
            process.terminate()
            process.wait(timeout=30)


def wait_for(log: Path, pattern: str) -> str:
    for _ in range(300):
        found = re.search(pattern, log.read_text())
        if found:
            return found.group(found.lastindex or 0)
        time.sleep(0.2)
    raise AssertionError(f"{pattern} did not come up in {log.read_text()}")
