"""Logs of a store, for tests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.arrays import Log
from tests.store.conftest import sql

SUM = [(0, 0, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1), (2, 2, 0), (2, 2, 1)]
"""Of a sum along the rows of an array of shape (3, 2)."""


def another(lineage: Lineage) -> Lineage:
    """The same store, as another process has it."""
    return Lineage(store=lineage.store.url)


def task(dag: str = "etl", name: str = "load", run: str = "manual__2026-01-01", map_index: int = -1) -> dict[str, Any]:
    """The context of a task, as far as it is looked at."""
    return {"ti": SimpleNamespace(dag_id=dag, task_id=name, run_id=run, map_index=map_index)}


def make(log: Log, **shapes: tuple[int, ...]) -> None:
    for name, shape in shapes.items():
        log.array(name, shape)


def in_store(url: str) -> tuple[int, ...]:
    """How many arrays, relations and operations there are."""
    tables = ("arrays", "array_relations", "array_operations")
    return tuple(int(str(sql(url, f"SELECT count(*) FROM lineage.{table}")[0][0])) for table in tables)
