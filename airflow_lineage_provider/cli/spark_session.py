"""The Spark session of a command: started when it is needed, stopped when the command ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.cli.streams import Streams

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[*]"
_DEFAULTS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
_JVM_OPTIONS = "spark.driver.extraJavaOptions"


@contextmanager
def spark_session(master: str | None, conf: Sequence[tuple[str, str]], out: Streams) -> Iterator[SparkSession]:
    """A session on ``master``, else where ``--conf spark.master`` says, else on this machine.

    :raises EnvironmentProblem: there is no Java, or two PySpark distributions are mixed.
    """
    from airflow_lineage_provider.spark.environment import check_pyspark_once, with_java
    from airflow_lineage_provider.spark.worker_daemon import local_workers

    check_pyspark_once()
    settings = {**_DEFAULTS, "spark.master": MASTER, **dict(conf), **({"spark.master": master} if master else {})}
    if not out.traceback:
        settings.setdefault(_JVM_OPTIONS, _quiet_jvm())
    if settings["spark.master"].startswith("local"):
        # Spark would take whatever python3 comes first on the path, which need not have this package.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    out.progress(f"starting Spark on {settings['spark.master']}")
    session = with_java(lambda: _start(local_workers(settings)))
    try:
        yield session
    finally:
        session.stop()


def _quiet_jvm() -> str:
    """Spark's log would bury the progress, and what goes wrong is said in one line at the end. ``--traceback`` leaves it on."""
    return f"-Dlog4j2.configurationFile={(Path(__file__).parent / 'log4j2-quiet.properties').as_uri()}"


def _start(settings: dict[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("airflow-lineage")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
