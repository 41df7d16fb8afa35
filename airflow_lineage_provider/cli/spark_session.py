"""The Spark session of a command: started when it is needed, stopped when the command ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow_lineage_provider.cli.streams import Streams

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[*]"
_QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}


@contextmanager
def spark_session(master: str | None, conf: Sequence[tuple[str, str]], out: Streams) -> Iterator[SparkSession]:
    """A session on ``master``, else where ``--conf spark.master`` says, else on this machine.

    :raises EnvironmentProblem: there is no Java, or two PySpark distributions are mixed.
    """
    from airflow_lineage_provider.spark.environment import check_java, check_pyspark

    check_pyspark()
    check_java()
    settings = {**_QUIET, "spark.master": MASTER, **dict(conf), **({"spark.master": master} if master else {})}
    out.progress(f"starting Spark on {settings['spark.master']}")
    session = _start(settings)
    try:
        yield session
    finally:
        session.stop()


def _start(settings: dict[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("airflow-lineage")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
