"""A local Spark session with the workers that the package gives it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def local_session(name: str, settings: Mapping[str, str]) -> SparkSession:
    """On two threads; Spark says errors alone."""
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.spark.worker_daemon import local_workers

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    for setting, value in local_workers({"spark.master": "local[2]", **settings}).items():
        builder = builder.config(setting, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
