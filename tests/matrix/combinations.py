"""What the core of the suite is run on: releases of PySpark, Python and Airflow, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_EXTRAS = ("shap", "lime", "embedded", "duckdb", "arrays", "capture", "sketches")
_WITH_AIRFLOW = (*_EXTRAS, "airflow", "openlineage")


@dataclass(frozen=True)
class Combination:
    """Releases that go together.

    :ivar python: its version, as "3.11".
    :ivar releases: requirements of one release each (``pyspark==4.1.4``).
    :ivar extras: those of the package that are installed.
    :ivar tests: what is run of the suite, as paths below ``tests``.
    :ivar let: warnings of the libraries themselves, which are no errors there.
    :ivar bounds: requirements of libraries whose later releases these releases do not go with, and do not say so.
    """

    name: str
    python: str
    releases: tuple[str, ...]
    extras: tuple[str, ...]
    tests: tuple[str, ...]
    let: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()


# What needs no Airflow: plans read and written, lineage traced, in Spark and without it; pipelines with all that they are asked, and random
# ones against the oracle; the store.
SPARK = (
    "plan", "catalyst", "rewrite", "tracing",
    "spark/test_acceptance.py", "spark/test_capture.py", "spark/test_environment.py", "spark/test_few_calls.py", "spark/test_functions.py",
    "spark/test_operators.py", "spark/test_ready.py", "spark/test_row_by_row.py", "spark/test_sources.py", "spark/test_sql_script.py",
    "spark/test_streamed_plan.py", "spark/test_worker_daemon.py",
    "sql/test_spark_queries.py", "oracle/test_fuzz.py", "reasons/test_spark_udf.py",
    "pipeline/test_called.py", "pipeline/test_inserting.py", "pipeline/test_lineage.py", "pipeline/test_outputs.py",
    "pipeline/test_paper.py", "pipeline/test_python_functions.py", "pipeline/test_recording.py", "pipeline/test_strategies.py",
    "pipeline/test_streams.py", "pipeline/test_subqueries.py", "pipeline/test_values.py", "pipeline/test_why_not.py",
    "store/test_lifecycle.py", "store/test_load.py", "store/test_types.py",
)  # fmt: skip
# What Python itself can change: code that is hashed, and pickled for workers; and pipelines with what they are asked.
PYTHON = (
    "plan", "catalyst", "rewrite", "tracing", "reasons", "spark/test_capture.py", "spark/test_row_by_row.py", "spark/test_worker_daemon.py",
    "oracle/test_fuzz.py", "pipeline/test_lineage.py", "pipeline/test_python_functions.py", "pipeline/test_why_not.py",
    "store/test_lifecycle.py", "store/test_load.py", "store/test_types.py",
)  # fmt: skip
# That the provider is one, that each operator stands in for Airflow's own, and pipelines in tasks; what OpenLineage is told; the tab's
# views before Airflow's own API server, and who may see what in them.
AIRFLOW = (
    "airflow/test_connections.py", "airflow/test_deferred.py", "airflow/test_derivations.py", "airflow/test_enabled.py",
    "airflow/test_killing.py", "airflow/test_mapped_dags.py", "airflow/test_masking.py", "airflow/test_openlineage.py",
    "airflow/test_options.py", "airflow/test_provider.py", "airflow/test_rejections.py", "airflow/test_replaced_runs.py",
    "airflow/test_retention.py", "airflow/test_sketch_task.py", "airflow/test_spark_sql.py", "airflow/test_spark_submit.py",
    "airflow/test_submission.py", "airflow/test_submitter.py", "airflow/test_tasks_in_airflow.py", "airflow/test_tries.py",
    "web",
)  # fmt: skip

# The newest that has all of it: PySpark 4.2.0 is what Airflow's Spark provider goes with.
_BESIDE_AIRFLOW = "pyspark==4.2.0"
# PySpark before 4.2 leaves the sockets open over which rows come, for the garbage collector to close.
_OPEN_SOCKETS = ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning")
# Airflow's own providers look for an operator where only 3.1 says that it is to be found elsewhere.
_OLD_IMPORTS = ("FutureWarning",)
# What there was when Airflow 3.2.2 came, which bounds none of it: with a later FastAPI pydantic refuses the classes of its API of tasks
# ("needs a discriminator field"), and 3.3 bounds that.
_OF_ITS_TIME = ("fastapi<0.137", "cadwyn<7", "starlette<1.3", "svcs<26")
# Their releases of Starlette use a name that later ones warn of.
_BEFORE_IT = ("anyio<4.13",)

COMBINATIONS = (
    Combination("pyspark-4.0", "3.11", ("pyspark==4.0.2",), _EXTRAS, SPARK, _OPEN_SOCKETS),
    Combination("pyspark-4.1", "3.11", ("pyspark==4.1.4",), _EXTRAS, SPARK, _OPEN_SOCKETS),
    Combination("pyspark-4.2", "3.11", ("pyspark==4.2.1",), _EXTRAS, SPARK),
    Combination("pyspark-4.3", "3.11", ("pyspark==4.3.0",), _EXTRAS, SPARK),
    Combination("python-3.12", "3.12", ("pyspark==4.3.0",), _EXTRAS, PYTHON),
    Combination("python-3.13", "3.13", ("pyspark==4.3.0",), _EXTRAS, PYTHON),
    Combination("airflow-3.1", "3.11", ("apache-airflow==3.1.8", _BESIDE_AIRFLOW), _WITH_AIRFLOW, AIRFLOW, _OLD_IMPORTS, _BEFORE_IT),
    Combination(
        "airflow-3.2", "3.11", ("apache-airflow==3.2.2", _BESIDE_AIRFLOW), _WITH_AIRFLOW, AIRFLOW, bounds=(*_OF_ITS_TIME, *_BEFORE_IT)
    ),
    Combination("airflow-3.3", "3.11", ("apache-airflow==3.3.2", _BESIDE_AIRFLOW), _WITH_AIRFLOW, AIRFLOW),
)


def chosen(names: Sequence[str]) -> tuple[Combination, ...]:
    """The combinations of these names; all, where there is none.

    :raises ValueError: there is no such combination; the message has those that there are.
    """
    known = {one.name: one for one in COMBINATIONS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"there is no combination {', '.join(unknown)}; there are {', '.join(known)}")
    return tuple(known[name] for name in names) or COMBINATIONS
