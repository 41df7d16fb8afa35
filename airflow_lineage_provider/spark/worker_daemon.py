"""What forks Spark's Python workers in the sessions that this package starts: ``python -m airflow_lineage_provider.spark.worker_daemon``.

Spark's own is started with the current folder first on its path, and finds the user's modules in ``PYTHONPATH``, before the standard
library: in both a file ``json.py`` stands in for Python's. This one is started without the current folder, and has the driver's path
after its own.
"""

from __future__ import annotations

import os
import sys

from airflow_lineage_provider.named_modules import WORKERS_PATH, workers_path

MODULE = "airflow_lineage_provider.spark.worker_daemon"


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
    """Take the path that the driver gave, and be Spark's daemon."""
    last = os.environ.pop(WORKERS_PATH, "").split(os.pathsep)
    sys.path.extend(folder for folder in dict.fromkeys(last) if folder and folder not in sys.path)
    # For this process, not for the programs that a UDF may start.
    os.environ.pop("PYTHONSAFEPATH", None)
    from pyspark import daemon

    daemon.manager()


if __name__ == "__main__":
    main()
