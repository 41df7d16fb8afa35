"""Questions that tasks are answering, with Spark where it needs that: those that wait, those that run, those that failed of late."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import Annotated, get_args

from fastapi import APIRouter, Query

from airflow_lineage_provider.records.run import RunHead
from airflow_lineage_provider.render.withheld import text_shown
from airflow_lineage_provider.web.api.derivations import chunk_of, target_shown
from airflow_lineage_provider.web.api.models import QuestionAnswer, QuestionsAnswer
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
    found = asked_tasks(dag_id, dag_run_id)
    mine = [one for one in found if question.rights.may_see_tasks(one.dag_id)]
    runs = _runs(question, mine)
    told = [one for one in mine if one.conf is None or _about(one) in runs]
    return QuestionsAnswer(questions=_told(question.lineage(), told, runs), more=len(found) == MOST)


def _runs(question: Question, tasks: Iterable[AskedTask]) -> Mapping[str, RunHead]:
    asked = {_about(one) for one in tasks if one.conf is not None}
    return question.heads(asked) if asked else {}


def _about(one: AskedTask) -> str:
    """The id of the run that is asked about."""
    return str((one.conf or {}).get("lineage_run_id"))


def _told(lineage: AskedLineage, tasks: Iterable[AskedTask], runs: Mapping[str, RunHead]) -> list[QuestionAnswer]:
    begun = {(_about(one), one.dag_run_id) for one in tasks if one.conf is not None and one.state != "waiting"}
    chunks = lineage.lasting(lambda: lineage.store.last_chunks(begun)) if begun else {}
    read = cache(partial(lineage.get_run, whole=True))
    made = []
    for one in tasks:
        bare = QuestionAnswer(
            dag_id=one.dag_id, dag_run_id=one.dag_run_id, task_id=one.task_id, map_index=one.map_index, state=one.state,
            since=one.since.isoformat(timespec="seconds") if one.since else "", stage=text_shown(one.stage) if one.stage else None,
        )  # fmt: skip
        if one.conf is not None:
            run, kind = runs[_about(one)], one.conf.get("question", "explain")
            bare.run_id, bare.pipeline, bare.question = run.id, run.pipeline, kind if kind in get_args(QuestionKind) else None
            bare.asked = target_shown(_target(one), partial(read, run.id))
            bare.chunk = chunk_of(chunks.get((run.id, one.dag_run_id)))
        made.append(bare)
    return made


def _target(one: AskedTask) -> str:
    """The rows that are asked about."""
    conf = one.conf or {}
    if isinstance(place := conf.get("row"), dict) and isinstance(place.get("row"), int):
        return f"row {place['row'] + 1:,} of {conf.get('table')}"
    rows = str(conf["target"]) if conf.get("target") else f"rows {conf.get('at')}"
    return f"{rows} of {conf['table']}" if conf.get("table") else rows
