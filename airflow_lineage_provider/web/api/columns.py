"""Column lineage of a run's result, read from its plan."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.render.column_document import columns_dict
from airflow_lineage_provider.web.asking import Asked, Question

router = APIRouter(tags=["columns"])


@router.get("/runs/{run_id}/columns")
async def columns(run_id: str, question: Asked) -> dict[str, Any]:
    """For each column of the result the columns of the sources that it is computed from, and those that influence it.

    Hidden columns are left out.
    """
    return await question.answered(lambda: _columns(question, run_id))


def _columns(question: Question, run_id: str) -> dict[str, Any]:
    run, discretion = question.run(run_id), Discretion.of()
    found = columns_dict(run.summary, run.columns())

    def kept(inputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [one for one in inputs if not discretion.hides(one["column"] or "", one["source"] or "")]

    shown = [one | {"inputs": kept(one["inputs"])} for one in found["columns"] if not discretion.hides(one["name"])]
    return {"document": found["document"], "version": found["version"], "columns": shown, "rows": kept(found["rows"])}
