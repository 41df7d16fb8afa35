"""A driver that was submitted: it runs the script, or calls the function, and records what that writes or gives."""

from __future__ import annotations

import logging
import os
import runpy
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import EmptyTarget, EnvironmentProblem, PlanError
from airflow_lineage_provider.submitted.job import SubmittedJob, take_job
from airflow_lineage_provider.submitted.submitter import end_with

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.asked_derivation import AskedDerivation
    from airflow_lineage_provider.pipeline import Lineage

_NEEDED = {
    "pyarrow": "pyarrow", "pandas": "pandas", "sqlglot": "sqlglot", "sqlalchemy": "sqlalchemy", "alembic": "alembic",
    "psycopg2": "psycopg2-binary", "cloudpickle": "cloudpickle", "rich": "rich", "jinja2": "jinja2",
}  # fmt: skip
"""The modules that a driver needs beside PySpark, by what is installed to have them."""


def main(arguments: Sequence[str]) -> None:
    """Do the job that the first argument names; the others are the script's.

    :raises LineageError: it cannot be done, or failed. What the program itself raises is raised as it is.
    """
    job = take_job(arguments[0])
    for name, value in job.settings.items():
        os.environ.setdefault(name, value)
    logging.basicConfig(format="%(message)s")
    logging.getLogger("airflow_lineage_provider").setLevel(logging.INFO)
    check_libraries()
    if job.submitter is not None:
        end_with(job.submitter)
    if job.derivation is not None:
        _derive(job, job.derivation)
    elif job.function is None:
        _run_script(job, arguments[1:])
    else:
        _call_function(job, job.function)


def check_libraries() -> None:
    """:raises EnvironmentProblem: the driver's Python lacks libraries that recording needs."""
    missing = [library for module, library in _NEEDED.items() if find_spec(module) is None]
    if missing:
        raise EnvironmentProblem(
            f"the driver's Python ({sys.executable}) lacks {', '.join(missing)}, which recording lineage needs (this package itself is "
            "sent): install them, name another Python (PYSPARK_DRIVER_PYTHON, spark.pyspark.python), or send an environment (archives=)"
        )


def located(file: str) -> Path:
    """A Python file: by its path, or by its name where Spark has put what was sent to the driver.

    :raises PlanError: it is nowhere.
    """
    places = [Path(file)] if os.path.isabs(file) else [Path(folder or ".", file) for folder in ("", *sys.path)]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise PlanError(f"there is no {file!r} on the driver; it has looked in {', '.join(str(place.parent) for place in places)}")
    return found.resolve()


def _told(stage: str) -> None:
    print(stage, flush=True)


def _opened(job: SubmittedJob, start_spark: Callable[[str], SparkSession] | None = None) -> Lineage:
    from airflow_lineage_provider.pipeline import Lineage

    return Lineage(store=job.store, on_store_failure=job.on_store_failure, start_spark=start_spark)


def _run_script(job: SubmittedJob, arguments: Sequence[str]) -> None:
    """The script as Python runs it, which makes its session by itself."""
    script = located(job.application)
    sys.argv = [str(script), *arguments]
    sys.path[0] = str(script.parent)  # in place of the folder of this application
    if not job.lineage:
        runpy.run_path(str(script), run_name="__main__")
        return
    from airflow_lineage_provider.writes import recording_of_program

    recording = {
        "name": job.name_of_writes, "strategy": job.strategy, "reasons": job.reasons, "keys": job.keys, "index": job.index,
        "on_unsupported": job.on_unsupported, "context": job.context, "progress": _told,
    }  # fmt: skip
    with _opened(job) as lineage, recording_of_program(lineage, **recording):
        runpy.run_path(str(script), run_name="__main__")


def _call_function(job: SubmittedJob, function: str) -> None:
    from airflow_lineage_provider.cli.pipelines import load_pipeline

    is_file = job.application.endswith(".py")
    place = str(located(job.application)) if is_file else job.application
    called, _ = load_pipeline(f"{place}:{function}")
    assert callable(called)
    if job.lineage:
        _record(job, called)
    else:
        _call(job, called)


def _record(job: SubmittedJob, function: Callable[..., Any]) -> None:
    from airflow_lineage_provider.called import call
    from airflow_lineage_provider.submitted.sent_sketches import received

    with _opened(job, lambda _: _session()) as lineage:
        lineage.start("a pipeline is to be run")
        assert lineage.spark is not None
        try:
            call(
                lineage, lineage.spark, function, name=job.name, name_of_writes=job.name_of_writes, params=job.params,
                clear_params=job.clear_params, secret_params=job.secret_params, output=job.output, strategy=job.strategy,
                reasons=job.reasons, keys=job.keys, on_unsupported=job.on_unsupported, append_key=job.append_key, index=job.index,
                capture=job.capture or "lazy", sketches=job.sketches, sketch_on=received(job.sketch_on),
                verify_sketches=job.verify_sketches, witness=job.witness, context=job.context, earlier_tries=job.earlier_tries,
                progress=_told,
            )  # fmt: skip
        finally:
            lineage.spark.stop()


def _derive(job: SubmittedJob, asked: AskedDerivation) -> None:
    """Have the answer kept. (A driver that makes no session has failed, as YARN sees it.)"""
    with _opened(job, lambda _: _session()) as lineage:
        lineage.start("a derivation was submitted")
        assert lineage.spark is not None
        try:
            asked.answered(lineage.get_run(asked.run_id, whole=True), params=job.params, context=job.context, progress=_told)
        except EmptyTarget as nothing:
            if not asked.may_be_empty(nothing):
                raise
            _told(f"nothing to derive: {nothing}")
        finally:
            lineage.spark.stop()


def _call(job: SubmittedJob, function: Callable[..., Any]) -> None:
    from airflow_lineage_provider.running.plain import called

    session = _session()
    try:
        called(session, function, job.params, job.output, job.name)
    finally:
        session.stop()


def _session() -> SparkSession:
    """The session, as spark-submit has set it up."""
    from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate()
