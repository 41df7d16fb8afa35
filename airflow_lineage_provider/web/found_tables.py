"""Tables and columns by their names: what the newest runs of pipelines read and write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

from airflow_lineage_provider.recording import RecordedPlan, discretion_of, tables_of
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


def hits(record: RunRecord, plan: RecordedPlan, text: str) -> Iterator[Hit]:
    """The tables and columns of a run whose names have this text in them, whatever the case; hidden columns are none."""
    wanted, discretion = text.casefold(), discretion_of(plan)
    written = record.output.target.rstrip("/").rpartition("/")[2] if record.output is not None else "result"
    tables: list[tuple[str, Literal["reads", "writes"], Iterable[str]]] = [(written, "writes", plan.plan.names)]
    tables += [(name, "reads", leaves[0].source.columns) for name, leaves in tables_of(plan).items()]
    for table, way, columns in tables:
        of_run = {"table": table, "way": way, "run_id": record.id, "pipeline": record.pipeline}
        if wanted in table.casefold() and (record.output is not None or way == "reads"):
            yield Hit(kind="table", name=table, **of_run)  # type: ignore[arg-type]
        for column in dict.fromkeys(columns):
            if wanted in column.casefold() and not discretion.hides(column, table) and not (way == "writes" and discretion.hides(column)):
                yield Hit(kind="column", name=column, **of_run)  # type: ignore[arg-type]
