"""Which task of which DAG run this is: what a recorded run keeps of Airflow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def airflow_context(context: Mapping[str, Any]) -> dict[str, Any]:
    """``dag_id``, ``run_id``, ``task_id``, ``map_index`` (-1: not mapped), ``try_number``, ``logical_date`` (ISO, or None): JSON-able."""
    ti, logical_date = context["ti"], context.get("logical_date")
    return {
        "dag_id": ti.dag_id,
        "run_id": ti.run_id,
        "task_id": ti.task_id,
        "map_index": -1 if ti.map_index is None else ti.map_index,
        "try_number": ti.try_number,
        "logical_date": logical_date.isoformat() if logical_date else None,
    }


def earlier_tries(context: Mapping[str, Any], retries: int | None) -> list[dict[str, Any]]:
    """The contexts of the tries of which this one is a retry, the newest first: none where the task was cleared since, and is to be run
    anew."""
    ti, own = context["ti"], airflow_context(context)
    most = getattr(ti, "max_tries", None)
    if not isinstance(most, int):
        return []
    first = max(1, most - (retries or 0) + 1)  # a task that is cleared is given as many tries again
    return [{**own, "try_number": number} for number in range(ti.try_number - 1, first - 1, -1)]


def task_key(context: Mapping[str, Any]) -> str:
    """What the instances of one task, in whichever DAG run, have in common; those of a mapped task are told apart by their map index."""
    ti = context["ti"]
    return json.dumps(["airflow", ti.dag_id, ti.task_id, -1 if ti.map_index is None else ti.map_index])


def task_instance_key(context: Mapping[str, Any]) -> str:
    """What the tries of one task instance have in common, of a retry as of a task that was cleared, and no other task instance has."""
    ti = context["ti"]
    return json.dumps(["airflow", ti.dag_id, ti.run_id, ti.task_id, -1 if ti.map_index is None else ti.map_index])
