"""Tables and columns by their names: what the newest runs of pipelines read and write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.recording import read, tables_of
from airflow_lineage_provider.records.run import RunHead, RunRecord


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A table, or one of its columns, that a run reads or makes. The result that is written nowhere is called ``result``."""

    kind: Literal["table", "column"]
    name: str
    table: str
    way: Literal["reads", "writes"]
    run_id: str
    pipeline: str


def newest_of_each(runs: Iterable[RunHead], most: int) -> list[RunHead]:
    """The newest complete run of each pipeline of a DAG; ``runs`` are newest first."""
    found: dict[tuple[str, object], RunHead] = {}
    for run in runs:
        if run.status == "complete" and len(found) < most:
            found.setdefault((run.pipeline, (run.airflow or {}).get("dag_id")), run)
    return list(found.values())


def hits(record: RunRecord, text: str) -> Iterator[Hit]:
    """The tables and columns of a run whose names have this text in them, whatever the case; hidden columns are none."""
    wanted, discretion, plan = text.casefold(), Discretion.of(), read(record)
    written = record.output.target.rstrip("/").rpartition("/")[2] if record.output is not None else "result"
    tables: list[tuple[str, Literal["reads", "writes"], Iterable[str]]] = [(written, "writes", plan.plan.names)]
    tables += [(name, "reads", leaves[0].source.columns) for name, leaves in tables_of(plan).items()]
    for table, way, columns in tables:
        of_run = {"table": table, "way": way, "run_id": record.id, "pipeline": record.pipeline}
        if wanted in table.casefold() and (record.output is not None or way == "reads"):
            yield Hit(kind="table", name=table, **of_run)  # type: ignore[arg-type]
        for column in dict.fromkeys(columns):
            if wanted in column.casefold() and not discretion.hides(column, table):
                yield Hit(kind="column", name=column, **of_run)  # type: ignore[arg-type]
