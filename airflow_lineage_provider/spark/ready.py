"""Whether a Spark session is one that pipelines can be run in with lineage: asked when it is handed in, and again before every run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import EnvironmentProblem, PySparkConflict, SparkRequired
from airflow_lineage_provider.spark.environment import check_pyspark_once
from airflow_lineage_provider.spark.function_registry import hidden_functions
from airflow_lineage_provider.spark.session import require_classic
from airflow_lineage_provider.spark.workers import check_workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def require_ready(spark: SparkSession) -> None:
    """A session that works, of one whole PySpark, whose workers have this package.

    :raises SparkRequired: it has been stopped, or is no session at all. :raises SparkConnectUnsupported: it has no plan to read.
    :raises PySparkConflict, EnvironmentProblem: PySpark is not whole, or not the session's; a function of the session hides a built-in one.
    :raises WorkersPythonProblem: see `check_workers`.
    """
    if not hasattr(spark, "sparkContext") and not type(spark).__module__.startswith("pyspark."):
        raise SparkRequired(f"Lineage(spark) needs a Spark session, and was given {spark!r}; a results store goes to Lineage(store=…)")
    check_pyspark_once()
    require_classic(spark)
    if is_stopped(spark):
        raise SparkRequired("the Spark session has been stopped: start another, and make a new Lineage(spark) of it")
    _same_version(spark)
    _no_hidden_functions(spark)
    check_workers(spark)


def _no_hidden_functions(spark: SparkSession) -> None:
    """A derivation says in SQL what the pipeline computed: it would call another function, and give other rows."""
    hidden = hidden_functions(spark)
    if hidden:
        raise EnvironmentProblem(
            f"in Spark {spark.version} a function of the session takes the place of a built-in one of the same name ({', '.join(hidden)}), "
            "also in what lineage asks: register it under another name, in a new session (this one has lost the built-in function)"
        )


def is_stopped(spark: SparkSession) -> bool:
    """Has the session's Spark ended, be it that somebody stopped it or that its Java process died?"""
    from py4j.protocol import Py4JError

    java: Any = spark.sparkContext._jsc
    try:
        return java is None or bool(java.sc().isStopped())
    except (Py4JError, OSError):
        return True


def _same_version(spark: SparkSession) -> None:
    """Python's side and Java's may come from two places (SPARK_HOME)."""
    import pyspark

    if pyspark.__version__.split(".")[:2] != spark.version.split(".")[:2]:
        raise PySparkConflict(
            f"Python's PySpark is {pyspark.__version__} ({pyspark.__path__[0]}), and the session's Spark is {spark.version}: start a Spark "
            "of the same release (SPARK_HOME says which one is started), or install the PySpark of that one"
        )
