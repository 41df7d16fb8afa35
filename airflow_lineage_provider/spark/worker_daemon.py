"""What forks Spark's Python workers in the sessions that this package starts: ``python -m airflow_lineage_provider.spark.worker_daemon``.

Spark's own is started with the current folder first on its path, and finds the user's modules in ``PYTHONPATH``, before the standard
library: in both a file ``json.py`` stands in for Python's. This one is started without the current folder, and has the driver's path
after its own.

Spark's own also lets every worker import all that it needs by itself, about a second of work, since a library may start a thread when it
is imported, and a fork in the middle of what that thread does goes wrong. This one imports once what every worker of a run needs, keeps
the one library that would start a thread from it, and looks whether there is none: if there is, it begins anew and imports nothing.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module

from airflow_lineage_provider.named_modules import WORKERS_PATH, workers_path

MODULE = "airflow_lineage_provider.spark.worker_daemon"
IMPORT_LATE = "AIRFLOW_LINEAGE_WORKERS_IMPORT_LATE"
"""The variable that keeps the daemon from importing anything for its workers."""

_AHEAD = (
    "pyspark.worker",
    "pyarrow",
    "pandas",
    "airflow_lineage_provider.reasons.spark_function",
    "airflow_lineage_provider.spark.executing.on_executors",
    "airflow_lineage_provider.store.transport",
    "airflow_lineage_provider.store.read",
    "adbc_driver_postgresql.dbapi",
    "psycopg2",
)
_THREADS = "/proc/self/task"
# The allocator that pyarrow holds ready beside its own tidies up in a thread.
_NO_THREAD = {"JE_ARROW_MALLOC_CONF": "background_thread:false"}


def local_workers(conf: dict[str, str]) -> dict[str, str]:
    """The settings of a session to be started, with those of its workers where they will run on this machine."""
    if not conf.get("spark.master", "").startswith("local"):
        return conf
    ours = {
        "spark.python.daemon.module": MODULE,
        "spark.executorEnv.PYTHONSAFEPATH": "1",
        f"spark.executorEnv.{WORKERS_PATH}": workers_path(),
    }
    return ours | conf


def main() -> None:
    """Take the path that the driver gave, import what the workers will need, and be Spark's daemon."""
    given = dict(os.environ)
    last = os.environ.pop(WORKERS_PATH, "").split(os.pathsep)
    sys.path.extend(folder for folder in dict.fromkeys(last) if folder and folder not in sys.path)
    # For this process, not for the programs that a UDF may start.
    os.environ.pop("PYTHONSAFEPATH", None)
    late = os.environ.pop(IMPORT_LATE, None)
    # (Where threads cannot be counted, on macOS, the libraries are known to start some.)
    if late is None and os.path.isdir(_THREADS):
        _import_ahead()
        if len(os.listdir(_THREADS)) > 1:
            os.execve(sys.executable, sys.orig_argv, given | {IMPORT_LATE: "1"})
    from pyspark import daemon

    daemon.manager()


def _import_ahead() -> None:
    gc.disable()
    with _environment(_NO_THREAD):
        for name in _AHEAD:
            with suppress(Exception):  # a worker that needs it says why it cannot be imported
                import_module(name)
    gc.enable()
    # A worker tidies up after every task: not what it was born with, which would also be copied from its parent's memory by that.
    gc.freeze()


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Variables for a while, where nobody set them."""
    missing = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            del os.environ[name]


if __name__ == "__main__":
    main()
