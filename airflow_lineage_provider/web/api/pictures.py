"""The picture of a DAG run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from airflow_lineage_provider.deriving.known_runs import KnownRuns
from airflow_lineage_provider.records.run import RunHead
from airflow_lineage_provider.store.run_list import RunsWanted
from airflow_lineage_provider.web.api.models import EdgeAnswer, NodeAnswer, PictureAnswer
from airflow_lineage_provider.web.asking import Asked, AskedLineage, Question
from airflow_lineage_provider.web.foreign import readable_record
from airflow_lineage_provider.web.picture import Picture, last_tries, picture

router = APIRouter(tags=["pictures"])
MOST_RUNS = 500

Text = Annotated[str, Query(min_length=1, max_length=500)]


@router.get("/picture")
async def picture_of(question: Asked, dag_id: Text, dag_run_id: Text) -> PictureAnswer:
    """A DAG run's pipelines joined at the tables that pass between them, with segments; the runs that wrote what they read, and those
    that read what they wrote."""
    return await question.answered(lambda: _drawn(question, dag_id, dag_run_id))


def _drawn(question: Question, dag_id: str, dag_run_id: str) -> PictureAnswer:
    lineage = question.lineage()
    wanted = RunsWanted(context=(("dag_id", dag_id), ("run_id", dag_run_id)))
    found = lineage.lasting(lambda: lineage.store.list_runs(wanted, question.rights.may_see, MOST_RUNS))
    made = lineage.lasting(lambda: _picture(question, lineage, last_tries(found.runs)))
    if found.last is not None:
        made.problems.append(f"the picture has the newest {MOST_RUNS} runs; others are left out")
    return PictureAnswer(
        nodes=[NodeAnswer(**asdict(node)) for node in made.nodes.values()],
        edges=[EdgeAnswer(source=source, target=target) for source, target in made.edges],
        problems=made.problems,
    )


def _picture(question: Question, lineage: AskedLineage, runs: list[RunHead]) -> Picture:
    with lineage.store.session(lineage.query_seconds) as session:
        known = KnownRuns(lineage.store, session)
        found = {run.id: readable_record(known, run.id) for run in runs}
        records = [one for one in found.values() if one is not None]
        made = picture(records, known, question.rights, question.in_time)
    lost = [run_id for run_id, one in found.items() if one is None]
    made.problems += [f"the record of run {run_id} cannot be read" for run_id in lost]
    return made
