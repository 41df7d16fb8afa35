"""Questions that tasks are answering, with Spark where it needs that: those that wait, those that run, those that failed of late."""

from __future__ import annotations

from typing import Annotated, get_args

from fastapi import APIRouter, Query

from airflow_lineage_provider.errors import RunNotFound
from airflow_lineage_provider.records.run import RunHead
from airflow_lineage_provider.render.withheld import text_shown
from airflow_lineage_provider.web.api.derivations import chunk_of, target_shown
from airflow_lineage_provider.web.api.models import ChunkAnswer, QuestionAnswer, QuestionsAnswer
from airflow_lineage_provider.web.asked_tasks import MOST, AskedTask, asked_tasks
from airflow_lineage_provider.web.asking import Asked, AskedLineage, Question
from airflow_lineage_provider.words import QuestionKind

router = APIRouter(tags=["derivations"])
Text = Annotated[str | None, Query(max_length=500)]


@router.get("/questions")
async def questions(question: Asked, dag_id: Text = None, dag_run_id: Text = None) -> QuestionsAnswer:
    """The tasks that derive, newest first, of DAGs whose task instances this person may read; one that is asked about a run that is not for
    them is not told of. What is answered is among the stored answers."""
    return await question.answered(lambda: _listed(question, dag_id, dag_run_id))


def _listed(question: Question, dag_id: str | None, dag_run_id: str | None) -> QuestionsAnswer:
    found, lineage = asked_tasks(dag_id, dag_run_id), question.lineage()
    told = [_told(question, lineage, one) for one in found if question.rights.may_see_tasks(one.dag_id)]
    return QuestionsAnswer(questions=[one for one in told if one is not None], more=len(found) == MOST)


def _told(question: Question, lineage: AskedLineage, one: AskedTask) -> QuestionAnswer | None:
    """None where its run is not for this person, or is not there."""
    bare = QuestionAnswer(
        dag_id=one.dag_id, dag_run_id=one.dag_run_id, task_id=one.task_id, map_index=one.map_index, state=one.state,
        since=one.since.isoformat(timespec="seconds") if one.since else "", stage=text_shown(one.stage) if one.stage else None,
    )  # fmt: skip
    if one.conf is None:
        return bare
    try:
        run = question.head(str(one.conf.get("lineage_run_id")))
    except RunNotFound:
        return None
    kind = one.conf.get("question", "explain")
    asked = target_shown(_target(one), lambda: lineage.get_run(run.id, whole=True))
    of_run = {"run_id": run.id, "pipeline": run.pipeline, "chunk": _chunk(lineage, run, one)}
    return bare.model_copy(update={"question": kind if kind in get_args(QuestionKind) else None, "asked": asked, **of_run})


def _target(one: AskedTask) -> str:
    """The rows that are asked about."""
    conf = one.conf or {}
    if isinstance(place := conf.get("row"), dict) and isinstance(place.get("row"), int):
        return f"row {place['row'] + 1:,} of {conf.get('table')}"
    rows = str(conf["target"]) if conf.get("target") else f"rows {conf.get('at')}"
    return f"{rows} of {conf['table']}" if conf.get("table") else rows


def _chunk(lineage: AskedLineage, run: RunHead, one: AskedTask) -> ChunkAnswer | None:
    """The chunk that was stored last, of a question that is answered in chunks."""
    if one.state == "waiting":
        return None
    stored = lineage.lasting(lambda: lineage.store.derivations(run.id))
    return next((chunk_of(each) for each in stored if (each.airflow or {}).get("run_id") == one.dag_run_id), None)
