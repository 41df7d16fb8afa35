"""Drivers in processes of their own, and a standalone cluster for them, all on loopback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""JVMs that end before a better compiler pays."""


@dataclass(frozen=True)
class Cluster:
    """A standalone cluster: its master's address, and the processes of master and worker."""

    master: str
    pids: tuple[int, ...]


def environment(**further: str) -> dict[str, str]:
    """The environment of such a process: this checkout's modules, this Python for the workers."""
    return os.environ | {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"} | further


def session(master: str, conf: Mapping[str, str]) -> SparkSession:
    """A session of a driver's own."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master)
    loopback = {
        "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m", "spark.cores.max": "2", "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": SHORT_LIVED, "spark.executor.extraJavaOptions": SHORT_LIVED,
    }  # fmt: skip
    for name, value in {**loopback, **conf}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@contextmanager
def standalone(folder: Path, **further: str) -> Iterator[Cluster]:
    """A master and a worker, with two cores and the memory of two executors; ``further`` is of their environment, and their executors'."""
    variables = environment(**further)
    address = ("--host", "127.0.0.1", "--webui-port", "0")
    with _process(folder / "master.log", variables, "master.Master", *address, "--port", "0") as master:
        url = _said(folder / "master.log", master, r"Starting Spark master at (spark://\S+)\s")
        resources = ("--cores", "2", "--memory", "1g", "--work-dir", str(folder / "work"))
        with _process(folder / "worker.log", variables, "worker.Worker", *address, *resources, url) as worker:
            _said(folder / "worker.log", worker, r"Successfully registered with master")
            yield Cluster(url, (master.pid, worker.pid))


@contextmanager
def _process(log: Path, variables: Mapping[str, str], name: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    import pyspark

    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    with log.open("w") as out:
        process = subprocess.Popen(command, env=dict(variables), stdout=out, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _said(log: Path, process: subprocess.Popen[bytes], pattern: str) -> str:
    """What the process says of itself, however long a busy machine lets it take: only one that has ended will not say it any more."""
    while True:
        ended = process.poll() is not None
        found = re.search(pattern, log.read_text())
        if found:
            return found.group(found.lastindex or 0)
        assert not ended, f"{pattern} did not come up in {log.read_text()}"
        time.sleep(0.2)
