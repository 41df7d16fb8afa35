"""What a task hands on of a recorded run: the XCom that names it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.storage import StoredTable
    from airflow_lineage_provider.recorded_run import Run

RUNS = "lineage_runs"
"""The XCom key of all runs of a task, in order: those of its writes, and last that of the DataFrame that its function returned."""


def not_recorded(pipeline: str, output: dict[str, str] | None) -> dict[str, Any]:
    """The same of a DataFrame that was written with lineage off: there is no run."""
    return {
        "lineage_run_id": None, "run_id": None, "pipeline": pipeline, "rows": None, "output": output, "seconds": None, "lineage": "off",
        "lineage_lost": None, "lineage_cost": None, "sketches": {"used": 0, "rows_skipped": 0},
    }  # fmt: skip


def run_result(run: Run) -> dict[str, Any]:
    """``{"lineage_run_id", "pipeline", "rows", "output", "seconds", "lineage", "lineage_lost", "lineage_cost", "sketches"}``: JSON-able,
    and without a password."""
    summary, output, lost = run.summary, run.record.output, run.lineage_lost
    return {
        "lineage_run_id": summary.id, "run_id": summary.id, "pipeline": summary.pipeline, "rows": summary.rows,
        "output": None if output is None else written(replace(output, version=None)),
        "seconds": summary.seconds,
        "lineage": "incomplete" if lost else "complete", "lineage_lost": lost or None,
        "lineage_cost": None if summary.lineage_cost is None else asdict(summary.lineage_cost),
        "sketches": _sketches(run),
    }  # fmt: skip


def log_stored(run: Run, tell: Callable[[str], object]) -> None:
    """Tell a task's log what a run stored, how large it is, and what took how long; while its store is open. (Whose lineage was lost, or
    whose store is away, stored nothing to be told of.)"""
    from airflow_lineage_provider.answers.values import bytes_text, visible
    from airflow_lineage_provider.errors import LineageError

    try:
        stored = () if run.lineage_lost else run.stored
    except LineageError as problem:
        tell(f"what {run.id} stored is not known: {problem}")
        return
    for one in stored:
        rows = "" if one.rows is None else f"{one.rows:,} rows, "
        place = "in PostgreSQL" if one.folder is None else f"in files in {one.folder}"
        tell(visible(f"stored {one.name} ({_whose(one)}): {rows}{bytes_text(one.bytes)} {place}"))
    seconds = sorted(run.record.timings.items(), key=lambda each: -each[1])
    tell(f"seconds of {run.id}: " + ", ".join(f"{name} {taken:.2f}" for name, taken in seconds))


def _whose(one: StoredTable) -> str:
    return "of a source" if one.segment is None else f"segment {one.segment}"


def _sketches(run: Run) -> dict[str, int]:
    """How many sources were read through a sketch, and how many of their rows were not."""
    used = [one for one in run.sketches if one.state == "used"]
    return {"used": len(used), "rows_skipped": sum((one.total or 0) - (one.rows or 0) for one in used)}
