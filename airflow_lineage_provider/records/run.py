"""A run's record. `typed_json` writes and reads it; the fields that JSON keeps are columns of the catalog's table of runs.

Records of earlier releases have fewer fields: what has a default here was not always there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from airflow_lineage_provider.capture.recorded import RecordedIndex
from airflow_lineage_provider.plan.lineage_keys import MaterializedSegment, SourceIdentity
from airflow_lineage_provider.reasons.description import UdfDescription
from airflow_lineage_provider.records.sketches import SketchUse
from airflow_lineage_provider.records.versions import OutputVersion, SourceVersion
from airflow_lineage_provider.tracing.strategies import Choice
from airflow_lineage_provider.words import RecordedKind

RunStatus = Literal["running", "complete", "incomplete", "failed", "dropped"]


@dataclass(frozen=True, kw_only=True)
class RowsOfLineage:
    """Rows of a table that were the answer to a question about a run, and that alone another run read of the table.

    :ivar run: the run that was asked.
    :ivar table: the table, as that run calls it.
    :ivar asked: what was asked.
    :ivar rows: how many they are.
    :ivar stored: what their lineage keys are stored as.
    """

    run: str
    table: str
    asked: str
    rows: int
    stored: str


@dataclass(frozen=True, kw_only=True)
class RecordedInput:
    """A source leaf of the plan as it was read.

    :ivar leaf: its number in the plan.
    :ivar name: what a person calls it.
    :ivar identity: how its rows are told apart.
    :ivar version: what was read.
    :ivar files: the paths behind the file hashes of its lineage keys, by the hashes.
    :ivar paths: its paths, where the plan leaves them out, as it does for files of a stream (other batches share the plan, not the files),
        or where there is no plan.
    :ivar rows_of: the rows that alone were read of it, where it was not all.
    """

    leaf: int
    name: str
    identity: SourceIdentity
    version: SourceVersion
    files: Mapping[str, str] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    rows_of: RowsOfLineage | None = None


@dataclass(frozen=True, kw_only=True)
class RecordedOutput:
    """Where the result was written, without passwords, and which version of it that made.

    :ivar database: of a database's table the URL (``jdbc:…``), without a login; None where nobody knows it, and of runs of releases that
        did not record it.
    :ivar table: of a catalog's table the name with its catalog and database, as who reads it has it; None where nobody knows it, and of
        runs of releases that did not record it. :ivar location: its folder, where it has one.
    :ivar options: with which of its writer's options (their names in small letters) values became text, or rows files' lines; None
        where it had none of these, and of runs of releases that did not record them.
    """

    kind: RecordedKind
    target: str
    format: str = "parquet"
    mode: str = "error"
    version: OutputVersion | None = None
    database: str | None = None
    table: str | None = None
    location: str | None = None
    options: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class RunOrigin:
    """Whose a run is: what a look through many runs reads of each.

    :ivar id: sortable by time; empty until `Store.begin_run` gives one.
    :ivar pipeline: its name.
    :ivar status: ``running``, ``complete``, ``incomplete`` (the result stands, its lineage does not), ``failed`` or ``dropped``.
    :ivar airflow: dag_id, run_id, task_id, map_index and try_number, where Airflow ran it; else what the caller gave, any JSON.
    """

    id: str = ""
    pipeline: str
    status: RunStatus = "running"
    airflow: Mapping[str, object] | None = None

    @property
    def dag_id(self) -> str | None:
        """The DAG that made the run; None for one that no DAG made (a notebook's, the command's)."""
        return self._of_airflow("dag_id")

    @property
    def dag_run_id(self) -> str | None:
        """The DAG run that it is of."""
        return self._of_airflow("run_id")

    @property
    def task_id(self) -> str | None:
        """The task that it is of."""
        return self._of_airflow("task_id")

    @property
    def map_index(self) -> int | None:
        """Which of the instances of a mapped task; None of a task that is not mapped (Airflow says -1)."""
        found = (self.airflow or {}).get("map_index")
        return found if isinstance(found, int) and found >= 0 else None

    def _of_airflow(self, name: str) -> str | None:
        found = (self.airflow or {}).get(name)
        return found if isinstance(found, str) and found else None


@dataclass(frozen=True, kw_only=True)
class RunHead(RunOrigin):
    """A run at a glance: what lists of runs show.

    :ivar started, finished: with time zone.
    :ivar strategy, reasons: as the run was asked for.
    :ivar params: the pipeline's parameters, as they are recorded: any JSON.
    :ivar row_counts: by the names of what is stored; ``result`` is the result's.
    :ivar timings: seconds, by what took them (`records.cost` knows two of them).
    :ivar error: why it failed, or is incomplete.
    :ivar plan_digest: of its plan (`plan.digest.plan_digest`, secrets sealed); None for runs of releases that did not record it.
    :ivar indexes: the columns of its result that were declared to be asked by, those together that are asked for together.
    """

    started: datetime | None = None
    finished: datetime | None = None
    strategy: str = "function_materialization"
    reasons: str = "lazy"
    params: Mapping[str, object] = field(default_factory=dict)
    row_counts: Mapping[str, int] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    error: str | None = None
    plan_digest: str | None = None
    indexes: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class RunRecord(RunHead):
    """One execution of a pipeline.

    :ivar plan: JSON text of the plan's codec; secrets in it are sealed.
    :ivar segments: what was stored of it.
    :ivar inputs, output: what the run read and wrote; of a run whose plan could not be recorded the inputs are tables by their names.
    :ivar udfs: those that it called, one for each function operator.
    :ivar conf: the session's settings that the plan means.
    :ivar versions: of this library, Python and Spark.
    :ivar choices: which segments were stored, and why; empty for runs of releases that did not record it.
    :ivar captured: the lineage of its rows that was captured, if it was.
    :ivar sketches: for each source, the sketch that the run read it through, or that was captured of it, or why there is none; empty where
        nobody asked for sketches.
    """

    plan: str = ""
    segments: tuple[MaterializedSegment, ...] = ()
    inputs: tuple[RecordedInput, ...] = ()
    udfs: tuple[UdfDescription, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)
    output: RecordedOutput | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    captured: RecordedIndex | None = None
    sketches: tuple[SketchUse, ...] = ()
