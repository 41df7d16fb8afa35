"""Which Python the workers of a Spark session run.

Spark starts ``python3``, whatever that is on the PATH, unless ``PYSPARK_PYTHON`` was set before the session began: in a virtual environment
that is not activated, and in a notebook, that is another Python, without this package. A setting of the session's own decides for every
UDF, also those made before it was set.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTING = "spark.sql.execution.pyspark.python"
_SPARKS_DEFAULT = "python3"


def choose_workers_python(spark: SparkSession) -> str:
    """Let the workers run what was chosen (`_chosen`), else, where they are on this machine, this process's Python; what they will run."""
    if not hasattr(spark, "_jsparkSession"):
        return _SPARKS_DEFAULT  # a Spark Connect session: its server decides
    sparks_own = spark.sparkContext.pythonExec
    set_before = spark.conf.get(SETTING, "")
    python = set_before or _chosen(spark) or (sys.executable if on_this_machine(spark) else "") or sparks_own
    if python != (set_before or sparks_own):
        spark.conf.set(SETTING, python)
    return python


def on_this_machine(spark: SparkSession) -> bool:
    """Do the executors run on the driver's machine (``local[…]``, ``local-cluster[…]``)?"""
    return str(spark.sparkContext.master).startswith("local")


def _chosen(spark: SparkSession) -> str | None:
    """What somebody set: Spark itself overlooks ``spark.pyspark.python`` without spark-submit, and a variable set after its start."""
    context = spark.sparkContext
    # (From the session's settings, which have the context's: a copy of those costs Java hundreds of calls.)
    told = spark.conf.get("spark.pyspark.python", "")
    return told or (context.pythonExec if context.pythonExec != _SPARKS_DEFAULT else os.environ.get("PYSPARK_PYTHON"))
