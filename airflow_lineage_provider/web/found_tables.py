"""Tables and columns by their names: what the newest runs of pipelines read and write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.recording import RecordedPlan, tables_of
from airflow_lineage_provider.records.run import RunOrigin, RunRecord

Run = TypeVar("Run", bound=RunOrigin)


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A table, or one of its columns, that a run reads or makes. The result that is written nowhere is called ``result``."""

    kind: Literal["table", "column"]
    name: str
    table: str
    way: Literal["reads", "writes"]
    run_id: str
    pipeline: str


def newest_of_each(runs: Iterable[Run]) -> Iterator[tuple[Run, Run]]:
    """The newest complete run of each pipeline of a DAG, with the run before it in the list; ``runs`` are newest first."""
    known: set[tuple[str, str | None]] = set()
    previous = None
    for run in runs:
        if run.status == "complete" and (run.pipeline, run.dag_id) not in known:
            known.add((run.pipeline, run.dag_id))
            yield run, previous or run
        previous = run


@dataclass(frozen=True)
class TableNames:
    """A table that a run reads or makes, with its columns; what is written nowhere is no table, and its columns are named all the same."""

    table: str
    way: Literal["reads", "writes"]
    columns: tuple[str, ...]
    is_table: bool = True


def names_of(record: RunRecord, plan: RecordedPlan) -> tuple[TableNames, ...]:
    """The tables of a run, which do not change any more once it is complete."""
    output = record.output.target.rstrip("/").rpartition("/")[2] if record.output is not None else "result"
    written = TableNames(output, "writes", tuple(dict.fromkeys(plan.plan.names)), record.output is not None)
    read = (TableNames(name, "reads", tuple(dict.fromkeys(leaves[0].source.columns))) for name, leaves in tables_of(plan).items())
    return (written, *read)


def hits(run: RunOrigin, tables: Iterable[TableNames], discretion: Discretion, text: str) -> Iterator[Hit]:
    """The tables and columns of a run whose names have this text in them, whatever the case; hidden columns are none."""
    wanted = text.casefold()
    for one in tables:
        of_run = {"table": one.table, "way": one.way, "run_id": run.id, "pipeline": run.pipeline}
        if one.is_table and wanted in one.table.casefold():
            yield Hit(kind="table", name=one.table, **of_run)  # type: ignore[arg-type]
        for column in one.columns:
            if wanted not in column.casefold() or discretion.hides(column, one.table) or (one.way == "writes" and discretion.hides(column)):
                continue
            yield Hit(kind="column", name=column, **of_run)  # type: ignore[arg-type]
