"""Runs: a list that can be searched, and one run with what it stored and cost."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from airflow_lineage_provider.answers.storage import StoredTable
from airflow_lineage_provider.answers.summary import summary_of
from airflow_lineage_provider.answers.values import jsonable
from airflow_lineage_provider.errors import RunNotComplete
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.recording import redaction_of, tables_of
from airflow_lineage_provider.records.run import RunHead
from airflow_lineage_provider.render.askable import askable_columns, askable_of_source
from airflow_lineage_provider.render.withheld import error_shown
from airflow_lineage_provider.store.run_list import RunsWanted
from airflow_lineage_provider.web.api.models import (
    CostAnswer,
    RunAnswer,
    RunDetails,
    RunsAnswer,
    SearchAsked,
    SegmentAnswer,
    SourceAnswer,
    StoredAnswer,
)
from airflow_lineage_provider.web.asking import Asked, Question

router = APIRouter(tags=["runs"])

Text = Annotated[str | None, Query(max_length=500)]


@router.get("/runs")
async def list_runs(
    question: Asked,
    dag_id: Text = None,
    dag_run_id: Text = None,
    task_id: Text = None,
    map_index: int | None = None,
    pipeline: Text = None,
    status: Text = None,
    search: Text = None,
    before: Text = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> RunsAnswer:
    """The newest runs that this person may see. ``search`` is a part of a pipeline's name, of an id, or of a DAG's or task's id."""
    wanted = _wanted({"dag_id": dag_id, "run_id": dag_run_id, "task_id": task_id, "map_index": map_index}, pipeline, status, search, before)
    return await question.answered(lambda: _listed(question, wanted, limit))


@router.post("/runs")
async def search_runs(
    question: Asked,
    asked: SearchAsked,
    dag_id: Text = None,
    before: Text = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> RunsAnswer:
    """The same of a search that is in no address."""
    wanted = _wanted({"dag_id": dag_id}, None, None, asked.search, before)
    return await question.answered(lambda: _listed(question, wanted, limit))


def _wanted(
    asked: dict[str, str | int | None], pipeline: str | None, status: str | None, search: str | None, before: str | None
) -> RunsWanted:
    context = tuple((name, value) for name, value in asked.items() if value is not None)
    return RunsWanted(pipeline=pipeline, status=status, context=context, text=search or None, before=before)


def _listed(question: Question, wanted: RunsWanted, limit: int) -> RunsAnswer:
    lineage = question.lineage()
    found = lineage.lasting(lambda: lineage.store.list_runs(wanted, question.rights.may_see, limit))
    sizes = lineage.store.stored_bytes([one.id for one in found.runs])
    return RunsAnswer(runs=[run_answer(one, sizes.get(one.id, 0)) for one in found.runs], next=found.last)


@router.get("/runs/{run_id}")
async def one_run(run_id: str, question: Asked) -> RunDetails:
    """One run, by its whole id."""
    return await question.answered(lambda: _details(question, run_id))


def run_answer(run: RunHead, stored_bytes: int) -> RunAnswer:
    """A run at a glance."""
    one, context = summary_of(run), run.airflow or {}
    return RunAnswer(
        id=one.id, pipeline=one.pipeline, status=one.status, started=one.started, seconds=one.seconds, strategy=one.strategy,
        reasons=one.reasons, rows=one.rows, error=error_shown(one.error), dag_id=run.dag_id, dag_run_id=run.dag_run_id,
        task_id=run.task_id, stored_bytes=stored_bytes,
        map_index=_number(context.get("map_index")), try_number=_number(context.get("try_number")),
        lineage_cost=None if one.lineage_cost is None else CostAnswer(**asdict(one.lineage_cost)),
    )  # fmt: skip


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _details(question: Question, run_id: str) -> RunDetails:
    """Of a run that is not complete, or whose plan cannot be read, there is its record alone; of one whose plan could not be recorded also
    which tables it read."""
    head = question.head(run_id)
    sizes = question.lineage().store.stored_bytes([head.id])
    bare = RunDetails(
        run=run_answer(head, sizes.get(head.id, 0)), params=jsonable(dict(head.params)), output=None, timings={}, stored=[],
        segments=[], udfs=[], columns=[], sources=[],
        has_result=False,
    )  # fmt: skip
    if head.status == "incomplete":
        record = question.run(run_id).record
        reads = [] if record.plan else [one.name for one in record.inputs]
        return bare.model_copy(update={"reads": reads, "output": record.output.target if record.output else None})
    if head.status != "complete":
        return bare
    run = question.run(run_id)
    try:
        return bare.model_copy(update=_of_complete(run))
    except RunNotComplete:  # it was dropped meanwhile
        return bare


def _of_complete(run: Run) -> dict[str, object]:
    plan, record = run.plan, run.record
    tell, because = redaction_of(plan).text, {one.segment: one.because for one in record.choices}
    return {
        "output": tell(record.output.target) if record.output else None,
        "timings": dict(record.timings),
        "stored": [_stored(one) for one in run.stored],
        "segments": [
            SegmentAnswer(
                number=one.number, kind=one.kind, operator=tell(operator_text(one.plan)), stored=one.number in plan.materialized,
                because=tell(because.get(one.number, "")),
            )
            for one in plan.plan.segments
        ],
        "udfs": sorted({one.name for one in run.udfs}),
        "columns": askable_columns(plan),
        "sources": [
            SourceAnswer(name=name, columns=askable_of_source(leaves[0], name, plan)) for name, leaves in tables_of(plan).items()
        ],
        "has_result": 0 in plan.materialized,
    }  # fmt: skip


def _stored(one: StoredTable) -> StoredAnswer:
    kind = "source" if one.segment is None else "result" if one.segment == 0 else "segment"
    return StoredAnswer(name=one.name, kind=kind, rows=one.rows, bytes=one.bytes, because=one.because, in_files=one.folder is not None)
