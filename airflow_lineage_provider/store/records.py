"""What the catalog keeps of a run and of a derivation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pyarrow as pa

RunStatus = Literal["running", "complete", "incomplete", "failed", "dropped"]


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """One execution of a pipeline.

    :ivar id: sortable by time; empty until `Store.begin_run` gives one.
    :ivar pipeline: its name.
    :ivar status: ``running``, ``complete``, ``incomplete`` (the result stands, its lineage does not), ``failed`` or ``dropped``.
    :ivar started, finished: with time zone.
    :ivar strategy, reasons: as the run was asked for.
    :ivar params: the pipeline's parameters.
    :ivar plan: JSON text of the plan's codec.
    :ivar segments, inputs, udfs, conf, timings, row_counts, output, versions, choices: anything that Python's ``json`` can write.
    :ivar error: why it failed, or is incomplete.
    :ivar airflow: dag_id, run_id, task_id, map_index and try_number, where Airflow ran it.
    """

    id: str = ""
    pipeline: str
    status: RunStatus = "running"
    started: datetime | None = None
    finished: datetime | None = None
    strategy: str = "function_materialization"
    reasons: str = "lazy"
    params: Any = field(default_factory=dict)
    plan: str = ""
    segments: Any = field(default_factory=list)
    inputs: Any = field(default_factory=list)
    udfs: Any = field(default_factory=list)
    conf: Any = field(default_factory=dict)
    timings: Any = field(default_factory=dict)
    row_counts: Any = field(default_factory=dict)
    output: Any = None
    error: str | None = None
    airflow: Any = None
    versions: Any = field(default_factory=dict)
    choices: Any = None


@dataclass(frozen=True)
class DerivationTable:
    """One table of a stored derivation, kept losslessly.

    :ivar kind: ``source``, ``intermediate``, ``reasons``, ``target``, or ``links`` between them.
    :ivar table: the rows.
    :ivar guarantee: ``exact``, ``superset`` or ``unavailable``.
    :ivar cause: why it is not exact.
    """

    kind: Literal["source", "intermediate", "reasons", "target", "links"]
    table: pa.Table
    guarantee: str
    cause: str | None = None


@dataclass(frozen=True, kw_only=True)
class DerivationRecord:
    """One request for augmented lineage and its answer.

    :ivar id: sortable by time; empty until `Store.save_derivation` gives one.
    :ivar run_id: the run that is explained.
    :ivar target: the target's text.
    :ivar created: with time zone.
    :ivar status: as the caller names it.
    :ivar seconds: how long it took.
    :ivar counts, guarantees, details, airflow: anything that Python's ``json`` can write.
    :ivar tables: by name; empty in the answers of `Store.derivations`, which lists derivations without their rows.
    """

    id: str = ""
    run_id: str
    target: str
    created: datetime | None = None
    status: str = "complete"
    seconds: float | None = None
    counts: Any = field(default_factory=dict)
    guarantees: Any = field(default_factory=dict)
    details: Any = field(default_factory=dict)
    tables: Mapping[str, DerivationTable] = field(default_factory=dict)
    airflow: Any = None
