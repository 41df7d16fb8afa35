"""Spark's Python workers: do they run a Python that has this package? Asked once a session, of a worker, unless it is obvious.

To executors that have all but the package it is sent (`shipping`).
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import __version__
from airflow_lineage_provider.errors import WorkersPythonProblem
from airflow_lineage_provider.reasons.workers_python import SETTING, choose_workers_python, on_this_machine
from airflow_lineage_provider.spark.shipping import PACKAGE, ship

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_FOUND_GOOD: set[tuple[str, str]] = set()


def check_workers(spark: SparkSession) -> None:
    """The workers can do the work: they run this interpreter, or one that has this release of the package.

    Costs a job of one task for a session whose workers run another Python, or on other machines; the answer is kept for its application.
    Workers on other machines that miss nothing but the package are sent it.

    :raises WorkersPythonProblem: they cannot; the message says what to set.
    """
    python = choose_workers_python(spark)
    here = on_this_machine(spark)
    if here and is_this_python(python):
        return
    asked = (spark.sparkContext.applicationId, python)
    if asked in _FOUND_GOOD:
        return
    problem = _problem(spark, ships=not here)
    if problem is not None:
        raise WorkersPythonProblem(f"Spark's Python workers ({python}, {spark.sparkContext.master}) {problem}. {_remedy(here)}")
    _FOUND_GOOD.add(asked)


def is_this_python(python: str) -> bool:
    """Is it this process's interpreter? One environment has several names for it; two environments may link to the same file."""
    found = shutil.which(python)
    return found is not None and _place(found) == _place(sys.executable)


def _place(python: str) -> tuple[str, str]:
    return os.path.realpath(os.path.dirname(python)), os.path.realpath(python)


def _problem(spark: SparkSession, *, ships: bool) -> str | None:
    """What is wrong with a worker, as a worker says it, or as Spark does where none came up."""
    from pyspark.sql.functions import udf

    ask = udf(_question(), "string", useArrow=False)  # Arrow may be what is missing
    try:
        row = spark.range(0, 1, 1, 1).select(ask("id")).first()
    except Exception as error:
        return f"do not work: {_told(error)}"
    answer = json.loads(row[0]) if row else {}
    if answer.get("name") == PACKAGE and ships:
        log.info("the executors of %s have no %s: they are sent it", spark.sparkContext.master, PACKAGE)
        ship(spark)
        return _problem(spark, ships=False)
    if "missing" in answer:
        return f"cannot import what lineage needs ({answer['missing']}; it is Python {answer['version']} at {answer['python']})"
    if answer.get("package") != __version__:
        return f"have airflow-provider-lineage {answer.get('package')}, and this process {__version__}"
    return None


def _question() -> Callable[[Any], str]:
    def about(_: Any) -> str:  # pickled by value: the worker need not have this module
        import json
        import platform
        import sys

        answer = {"python": sys.executable, "version": platform.python_version()}
        try:
            import pyarrow  # noqa: F401

            import airflow_lineage_provider

            answer["package"] = airflow_lineage_provider.__version__
        except ImportError as error:
            answer |= {"missing": str(error), "name": error.name or ""}
        return json.dumps(answer)

    return about


def _told(error: Exception) -> str:
    """Of Java's and Python's stack traces, the line that says why."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for word in ("PYTHON_VERSION_MISMATCH", "Cannot run program", "ModuleNotFoundError", "No module named"):
        for line in lines:
            if word in line:
                return line[line.index(word) :]
    return lines[0] if lines else type(error).__name__


def _remedy(here: bool) -> str:
    if here:
        return (
            f"Set PYSPARK_PYTHON={sys.executable} before the session starts (and no other spark.pyspark.python), or at once: "
            f"spark.conf.set({SETTING!r}, {sys.executable!r})"
        )
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return (
        f"Every executor needs a Python {version} with pyarrow, pandas and what the UDFs import: set PYSPARK_PYTHON to its path there "
        "before the session starts, or send an environment with the session (spark.archives). To executors that have no "
        f"airflow-provider-lineage at all {__version__} is sent"
    )
