"""What spark-submit is given in place of a program: our application, which runs it, and all that the driver and executors lack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from airflow_lineage_provider.submitted.application import ARCHIVE
from airflow_lineage_provider.submitted.job import SubmittedJob, write_job
from airflow_lineage_provider.submitted.program import Program

_APPLICATION = "lineage_application.py"
_JOB = "lineage-job.json"


@dataclass(frozen=True, kw_only=True)
class Submission:
    """The arguments of spark-submit that differ.

    :ivar py_files, files: separated by commas, as spark-submit takes them.
    """

    application: str
    application_args: tuple[str, ...]
    py_files: str
    files: str | None


def prepare(
    job: SubmittedJob,
    program: Program,
    folder: Path,
    *,
    is_here: bool,
    arguments: Sequence[object],
    py_files: str | None,
    files: str | None,
) -> Submission:
    """Write what is sent into a folder that nobody else may read, for as long as the job runs.

    ``is_here``: the driver runs on this machine (client mode): it reads the job's description, which may hold passwords, where it lies.
    Else that is among the files that are sent to it.
    """
    from airflow_lineage_provider.spark.shipping import write_package

    application = _written(replace(job, application=program.on_driver(is_here), function=program.function), folder)
    described = folder / _JOB
    here = program.on_submitting_machine()
    # The file of a script that lies here is the driver's alone, as it is without lineage.
    is_sent = not program.is_on_driver and not (is_here and here is not None and program.function is None)
    python = (str(write_package(folder / ARCHIVE)), *([here or program.place] if is_sent else ()), py_files)
    return Submission(
        application=str(application),
        application_args=(str(described) if is_here else _JOB, *map(str, arguments)),
        py_files=_joined(*python) or "",
        files=files if is_here else _joined(str(described), files),
    )


def prepare_derivation(job: SubmittedJob, folder: Path) -> Submission:
    """The same of a job that has a question in place of a program, for a driver elsewhere."""
    from airflow_lineage_provider.spark.shipping import write_package

    application = _written(job, folder)
    package = str(write_package(folder / ARCHIVE))
    return Submission(application=str(application), application_args=(_JOB,), py_files=package, files=str(folder / _JOB))


def _written(job: SubmittedJob, folder: Path) -> Path:
    """Write the job's description, and our application, whose path it is."""
    application = folder / _APPLICATION
    write_job(job, folder / _JOB)
    application.write_bytes((resources.files("airflow_lineage_provider.submitted") / "application.py").read_bytes())
    return application


def _joined(*files: str | None) -> str | None:
    return ",".join(each for each in files if each) or None
