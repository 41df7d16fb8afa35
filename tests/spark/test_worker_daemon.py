"""The daemon of the sessions that this package starts: its workers are born with what they need, of a process without threads."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from airflow_lineage_provider.named_modules import WORKERS_PATH
from airflow_lineage_provider.spark.worker_daemon import IMPORT_LATE, MODULE, local_workers

SECRET = "of the test"
SAYS_WHAT_IT_HAS = """
import json, os, sys
def main(infile, outfile):
    wanted = ["pyarrow", "pandas", "airflow_lineage_provider.spark.executing.on_executors", "sqlglot", "sqlalchemy", "threads_at_import"]
    said = {"has": [name for name in wanted if name in sys.modules], "environment": dict(os.environ)}
    outfile.write(json.dumps(said).encode() + b"\\n")
    outfile.flush()
"""

pytestmark = [pytest.mark.processes, pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted by /proc")]


@contextmanager
def daemon(folder: Path, **environment: str) -> Iterator[tuple[int, int]]:
    """The process and the port of a daemon, started as Spark's Java starts it; its worker is one that says what it has."""
    (folder / "pyspark_said.py").write_text(SAYS_WHAT_IT_HAS)
    given = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHON_WORKER_FACTORY_SECRET": SECRET, "PYTHONPATH": str(folder), **environment}
    process = subprocess.Popen([sys.executable, "-m", MODULE, "pyspark_said"], env=given, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    try:
        (port,) = struct.unpack("!i", process.stdout.read(4))
        yield process.pid, port
    finally:
        process.stdin.close()
        process.wait(20)
        process.stdout.close()


def threads(process: int) -> int:
    return len(os.listdir(f"/proc/{process}/task"))


def said(port: int) -> dict[str, object]:
    """What a new worker of the daemon says."""
    import json

    with socket.create_connection(("127.0.0.1", port), 20) as connection, connection.makefile("rwb") as stream:
        assert struct.unpack("!i", stream.read(4))[0] > 0
        stream.write(struct.pack("!i", len(SECRET)) + SECRET.encode())
        stream.flush()
        assert stream.read(struct.unpack("!i", stream.read(4))[0]) == b"ok"
        answer: dict[str, object] = json.loads(stream.readline())
        return answer


def test_workers_are_born_with_what_they_need(tmp_path: Path) -> None:
    with daemon(tmp_path) as (process, port):
        assert threads(process) == 1
        worker = said(port)
    assert worker["has"] == ["pyarrow", "pandas", "airflow_lineage_provider.spark.executing.on_executors"]
    assert "JE_ARROW_MALLOC_CONF" not in worker["environment"]  # type: ignore[operator]


def test_a_library_that_starts_a_thread(tmp_path: Path) -> None:
    """Then nothing is imported before the fork; the path and the variables are those of a daemon that begins."""
    (tmp_path / "threads_at_import.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    )
    # It comes in by way of a library that the daemon imports.
    (tmp_path / "numpy.py").write_text("import threads_at_import\nraise ImportError('a numpy of the test')\n")
    (tmp_path / "last").mkdir()
    given = {WORKERS_PATH: str(tmp_path / "last"), "PYTHONSAFEPATH": "1"}
    with daemon(tmp_path, **given) as (process, port):
        assert threads(process) == 1
        worker = said(port)
    assert worker["has"] == []
    assert not {IMPORT_LATE, WORKERS_PATH, "PYTHONSAFEPATH"} & set(worker["environment"])  # type: ignore[call-overload]


def test_only_where_workers_run_on_this_machine() -> None:
    assert local_workers({"spark.master": "yarn"}) == {"spark.master": "yarn"}
    assert local_workers({"spark.master": "local[2]"})["spark.python.daemon.module"] == MODULE
    assert local_workers({"spark.master": "local[2]", "spark.python.daemon.module": "theirs"})["spark.python.daemon.module"] == "theirs"
