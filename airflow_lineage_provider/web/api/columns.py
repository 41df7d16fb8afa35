"""Column lineage of a run's result, read from its plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from airflow_lineage_provider.errors import AnswerTooLarge
from airflow_lineage_provider.recording import discretion_of
from airflow_lineage_provider.render.column_document import columns_dict
from airflow_lineage_provider.web.api.formats import FILES, Wanted, as_file
from airflow_lineage_provider.web.asking import Asked, Question
from airflow_lineage_provider.web.lines import columns_lines
from airflow_lineage_provider.web.problems import Refused

router = APIRouter(tags=["columns"])
MOST_INPUTS = 50_000
_FILE = ("column", "column_type", "source", "source_column", "type", "subtype")


@router.get("/runs/{run_id}/columns", response_model=dict[str, Any], responses=FILES)
async def columns(run_id: str, question: Asked, form: Wanted, across: Annotated[bool, Query()] = False) -> dict[str, Any] | Response:
    """For each column of the result the columns of the sources that it is computed from, and those that influence it.

    With ``across`` the sources are those behind the runs that wrote what the run read, as far as this person may read them. Hidden columns
    are left out. As a file: a line for each pair of a column and one that it comes from, or that influences it.
    """
    found = await question.answered(lambda: _columns(question, run_id, across))
    return found if form == "json" else as_file(_table(found), form, f"columns-{run_id}")


def _columns(question: Question, run_id: str, across: bool) -> dict[str, Any]:
    run = question.run(run_id)
    discretion = discretion_of(run.plan)
    found = columns_dict(run.summary, run.columns(across=across))

    def kept(inputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [one for one in inputs if not discretion.hides(one["column"] or "", one["source"] or "")]

    shown = [one | {"inputs": kept(one["inputs"])} for one in found["columns"] if not discretion.hides(one["name"])]
    lines = columns_lines(run.record.id, across=across)
    pairs = sum(len(one["inputs"]) for one in shown) + len(found["rows"])
    if pairs > MOST_INPUTS:
        raise Refused(
            AnswerTooLarge(f"the columns come from {pairs:,} others in all, and no more than {MOST_INPUTS:,} are told here"), lines
        )
    ask = {"python": lines.python, "command": lines.command}
    return {"document": found["document"], "version": found["version"], "columns": shown, "rows": kept(found["rows"]), "ask": ask}


def _table(found: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    lines = list(_lines(found))
    return pa.table({name: pa.array([line[at] for line in lines], pa.string()) for at, name in enumerate(_FILE)})


def _lines(found: Mapping[str, Any]) -> Iterator[tuple[str | None, ...]]:
    for one in found["columns"]:
        for given in [*one["inputs"], *found["rows"]]:
            yield one["name"], one["type"], given["source"], given["column"], given["type"], given["subtype"]
