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

    Attributes:
        id: sortable by time; empty until `Store.begin_run` gives one.
        pipeline: its name.
        status: ``running``, ``complete``, ``incomplete`` (the result stands, its lineage does not), ``failed`` or ``dropped``.
        started, finished: with time zone.
        strategy, reasons: as the run was asked for.
        params: the pipeline's parameters.
        plan: JSON text of the plan's codec.
        segments, inputs, udfs, conf, timings, row_counts, output, versions, choices: anything that Python's ``json`` can write.
        error: why it failed, or is incomplete.
        airflow: dag_id, run_id, task_id, map_index and try_number, where Airflow ran it.
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

    Attributes:
        kind: ``source``, ``intermediate``, ``reasons``, ``target``, or ``links`` between them.
        table: the rows.
        guarantee: ``exact``, ``superset`` or ``unavailable``.
        cause: why it is not exact.
    """

    kind: Literal["source", "intermediate", "reasons", "target", "links"]
    table: pa.Table
    guarantee: str
    cause: str | None = None


@dataclass(frozen=True, kw_only=True)
class DerivationRecord:
    """One request for augmented lineage and its answer.

    Attributes:
        id: sortable by time; empty until `Store.save_derivation` gives one.
        run_id: the run that is explained.
        target: the target's text.
        created: with time zone.
        status: as the caller names it.
        seconds: how long it took.
        counts, guarantees, details, airflow: anything that Python's ``json`` can write.
        tables: by name; empty in the answers of `Store.derivations`, which lists derivations without their rows.
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
