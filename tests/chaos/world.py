"""The world of a chaos test: a home folder with its embedded PostgreSQL, a source, and drivers that are started in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from airflow_lineage_provider.store import stop_embedded
from airflow_lineage_provider.store.data_place import IN_STORE
from tests.chaos.plans import Workload
from tests.chaos.work import write_source
from tests.clusters import ROOT, Cluster, environment, standalone

MARK = "LINEAGE_CHAOS"
PAUSE = 0.08
DISK_MB = 400


@dataclass
class World:
    """``home`` holds the store, ``source`` the Parquet files, ``data`` what is stored in files; ``disk`` where the home is a small file
    system of its own.
    """

    home: Path
    source: Path
    data: Path
    disk: bool = False
    cluster: Cluster | None = None
    drivers: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, workload: Workload, *, in_files: bool = False) -> subprocess.Popen[str]:
        """A driver; one with Spark may store its rows ``in_files``."""
        folders = [str(self.source), str(self.data) if in_files else IN_STORE]
        arguments = {
            "store": ["tests.chaos.store_driver", str(PAUSE)],
            "local": ["tests.chaos.spark_driver", "local[2,4]", *folders],
            "cluster": ["tests.chaos.spark_driver", self.cluster.master if self.cluster else "", *folders],
        }[workload]
        log = (self.source.parent / f"driver-{len(self.drivers)}.log").open("w")
        command = [sys.executable, "-m", *arguments]
        with log:
            made = subprocess.Popen(command, cwd=ROOT, env=_environment(self.home), stdout=subprocess.PIPE, stderr=log, text=True)
        self.drivers.append(made)
        return made

    def processes(self) -> list[psutil.Process]:
        """What the drivers started and is still there: they, and the cluster, hand a variable of the environment on. PostgreSQL has none
        of it.
        """
        servers = self.cluster.pids if self.cluster else ()
        found = []
        for process in (one for one in psutil.process_iter() if one.pid not in servers):
            try:
                if process.environ().get(MARK) == str(self.home) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def end(self) -> None:
        """End what is left of the drivers."""
        for process in self.processes():
            try:
                process.kill()
            except psutil.Error:
                continue
        for driver in self.drivers:
            driver.wait()


def _environment(home: Path) -> dict[str, str]:
    made = environment(AIRFLOW_LINEAGE_HOME=str(home), AIRFLOW_LINEAGE_DATA_ROWS="0", **{MARK: str(home)})
    made.pop("AIRFLOW_LINEAGE_STORE", None)
    return made


@contextmanager
def world(*, disk: bool = False, cluster: bool = False) -> Iterator[World]:
    """A new world, with a standalone cluster where one is asked for; it is taken down at the end.

    Not below pytest's own temporary folder: PostgreSQL does not run as root.

    :raises OSError: ``disk``, and no file system can be mounted here.
    """
    folder = Path(tempfile.mkdtemp(prefix="lineage-chaos-"))
    folder.chmod(0o755)
    home = folder / "home"
    home.mkdir()
    if disk:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "chaos", str(home)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            folder.rmdir() if not any(folder.iterdir()) else shutil.rmtree(folder)
            raise OSError(f"a small disk cannot be mounted here: {done.stderr.strip()}")
    made = World(home, write_source(folder / "numbers"), folder / "data", disk)
    made.data.mkdir()
    before = os.environ.get("AIRFLOW_LINEAGE_HOME")
    os.environ["AIRFLOW_LINEAGE_HOME"] = str(home)
    try:
        if cluster:
            with standalone(folder, variables=environment(**{MARK: str(home)})) as made.cluster:
                yield made
        else:
            yield made
    finally:
        made.end()
        stop_embedded(home)
        if disk:
            subprocess.run(["umount", str(home)], check=True)
        shutil.rmtree(folder)
        if before is None:
            del os.environ["AIRFLOW_LINEAGE_HOME"]
        else:
            os.environ["AIRFLOW_LINEAGE_HOME"] = before
