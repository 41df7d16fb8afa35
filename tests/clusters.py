"""Drivers in processes of their own, and a standalone cluster for them, all on loopback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.class_archive import submit_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
SHORT_LIVED = submit_options()
"""JVMs that end before a better compiler pays."""


@dataclass(frozen=True)
class Cluster:
    """A standalone cluster: its master's address, and the processes of master and workers."""

    master: str
    pids: tuple[int, ...]


def environment(**further: str) -> dict[str, str]:
    """The environment of such a process: this checkout's modules, this Python for the workers."""
    cheap = {"SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED, "SPARK_LOCAL_IP": "127.0.0.1"}
    return os.environ | {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable} | cheap | further


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
def standalone(folder: Path, workers: int = 1, variables: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """A master and workers, which share two cores and the memory of two executors; ``variables`` are their environment, and their
    executors'. Each worker is a host of its own, as far as Spark can tell: it gives a host no second attempt of a task."""
    variables = environment() if variables is None else variables
    with _process(folder / "master.log", variables, "master.Master", *_address(1), "--port", "0") as master:
        url = _said(folder / "master.log", master, r"Starting Spark master at (spark://\S+)\s")
        with ExitStack() as started:
            pids = []
            for number in range(workers):
                log = folder / f"worker-{number}.log"
                resources = ("--cores", str(2 // workers), "--memory", f"{1024 // workers}m", "--work-dir", str(folder / f"work-{number}"))
                own = {**variables, "SPARK_LOCAL_IP": _host(1 + number)}
                worker = started.enter_context(_process(log, own, "worker.Worker", *_address(1 + number), *resources, url))
                _said(log, worker, r"Successfully registered with master")
                pids.append(worker.pid)
            yield Cluster(url, (master.pid, *pids))


def _host(number: int) -> str:
    return f"127.0.0.{number}"


def _address(number: int) -> tuple[str, ...]:
    return ("--host", _host(number), "--webui-port", "0")


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
