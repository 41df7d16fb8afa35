"""What a driver that was submitted is to do, written into a file that only its owner reads: it may hold passwords."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from airflow_lineage_provider.asked_derivation import AskedDerivation
from airflow_lineage_provider.capture.wanted import Capture, CaptureTable
from airflow_lineage_provider.errors import EnvironmentProblem
from airflow_lineage_provider.running.output import Output
from airflow_lineage_provider.submitted.sent_sketches import SentSketchOn
from airflow_lineage_provider.submitted.submitter import Submitter
from airflow_lineage_provider.typed_json import read, written
from airflow_lineage_provider.words import (
    CaptureDirection,
    CaptureMode,
    Difference,
    OnStoreFailure,
    OnUnsupported,
    Reasons,
    SketchesWhen,
    Strategy,
    Subqueries,
)


@dataclass(frozen=True, kw_only=True)
class SubmittedJob:
    """One job of a driver's.

    :ivar application: the program: a Python file, as the driver finds it (`driver.located`), or with a ``function`` the name of a module.
    :ivar function: of this file or module, ``(spark, **params)``; None: the file is run as a script.
    :ivar derivation: in place of a program: a question about a recorded run, with its secret parameters as ``params``.
    :ivar name: the pipeline's. :ivar name_of_writes: that of runs of writes; None: they are called after their places.
    :ivar lineage: whether anything is recorded.
    :ivar store: the results store's URL, with its password; None: the driver's settings decide.
    :ivar settings: environment variables that the driver gets where it has none of the name.
    :ivar context: Airflow's task instance, as a run keeps it. :ivar earlier_tries: the same of tries of which this is a retry.
    :ivar submitter: the process without which the driver has nothing to do; None: it is its own master.
    :ivar capture_direction, capture_tables: of `Capture`; no direction: nothing is captured. :ivar capture_of: what of each table.
    """

    application: str = ""
    function: str | None = None
    derivation: AskedDerivation | None = None
    name: str
    name_of_writes: str | None = None
    lineage: bool = True
    params: Mapping[str, object] = field(default_factory=dict, repr=False)
    clear_params: tuple[str, ...] = ()
    secret_params: tuple[str, ...] = ()
    output: Output | None = None
    strategy: Strategy = "function_materialization"
    reasons: Reasons = "lazy"
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    on_store_failure: OnStoreFailure = "fail"
    on_unsupported: OnUnsupported = "fail"
    append_key: str | None = None
    index: tuple[tuple[str, ...], ...] = ()
    capture_direction: CaptureDirection | None = None
    capture_tables: tuple[str, ...] | None = None
    capture_of: Mapping[str, CaptureTable] = field(default_factory=dict)
    capture_subqueries: Subqueries = "partners"
    capture_witnesses: bool = False
    capture_mode: CaptureMode = "defer"
    capture_difference: Difference = "control"
    sketches: SketchesWhen = "off"
    sketch_on: Mapping[str, SentSketchOn] = field(default_factory=dict)
    verify_sketches: bool = False
    witness: bool = False
    store: str | None = field(default=None, repr=False)
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    context: Mapping[str, object] = field(default_factory=dict)
    earlier_tries: tuple[Mapping[str, object], ...] = ()
    submitter: Submitter | None = None

    @property
    def capture(self) -> Capture | None:
        if self.capture_direction is None:
            return None
        return Capture(
            direction=self.capture_direction,
            tables=self.capture_of or self.capture_tables,
            subqueries=self.capture_subqueries,
            witnesses=self.capture_witnesses,
            mode=self.capture_mode,
            difference=self.capture_difference,
        )


def write_job(job: SubmittedJob, file: Path) -> None:
    """Write a new file, which its owner alone may read."""
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
        json.dump(written(job), opened)


def read_job(place: str) -> SubmittedJob:
    """The job of a file that the driver was sent.

    :raises EnvironmentProblem: it is not there: the driver runs on another machine than whoever submitted it thought.
    :raises RecordDamaged: it is not what `write_job` wrote, or wrote it in another release.
    """
    try:
        document = json.loads(Path(place).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EnvironmentProblem(
            f"the job's description {place!r} is not on this machine: does the driver run in cluster mode because a properties file or "
            "spark-defaults.conf says so? Then give the task deploy_mode='cluster', so that it is sent"
        ) from None
    return read(SubmittedJob, document, "the job")


def take_job(place: str) -> SubmittedJob:
    """The job of `read_job`, whose file is removed where it is this driver's alone (a path, and not the name of a file that was sent): when
    whoever submitted it is killed, and removes nothing any more, no password is left there.

    :raises EnvironmentProblem, RecordDamaged: as `read_job`.
    """
    job = read_job(place)
    if os.path.isabs(place):
        os.unlink(place)
    return job
