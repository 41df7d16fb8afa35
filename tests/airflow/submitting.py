"""A task that submits, and its context, outside of a DAG run."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from airflow_lineage_provider.operators.lineage_spark_submit import LineageSparkSubmitOperator
from airflow_lineage_provider.store import Store

PROGRAMS = Path(__file__).parent / "programs"


def operator(**arguments: Any) -> Any:
    return LineageSparkSubmitOperator(task_id="submitted", **arguments)


def context(try_number: int = 1, **further: Any) -> dict[str, Any]:
    """That of a task instance of a DAG run of its own; ``pushed`` has its XCom."""
    pushed: dict[str, Any] = {}
    ti = SimpleNamespace(
        dag_id="d", run_id=f"r{time.time_ns()}", task_id="submitted", map_index=-1, try_number=try_number,
        xcom_push=lambda key, value: pushed.update({key: value}),
    )  # fmt: skip
    return {"ti": ti, "pushed": pushed, **further}


def execute(made: Any, given: dict[str, Any]) -> Any:
    return type(made).execute.__wrapped__(made, given)


def tables(store: Store) -> list[str]:
    """The tables of stored rows, those of runs that are going on among them."""
    found = store.query("SELECT tablename::text FROM pg_tables WHERE schemaname = 'lineage_data' ORDER BY 1")
    return [row["tablename"] for row in found.to_pylist()]
