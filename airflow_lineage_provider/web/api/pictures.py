"""The picture of a DAG run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from airflow_lineage_provider.errors import RunNotFound
from airflow_lineage_provider.render.segment_text import KINDS
from airflow_lineage_provider.web.api.models import EdgeAnswer, LinesAnswer, NodeAnswer, PictureAnswer
from airflow_lineage_provider.web.asking import Asked, Question
from airflow_lineage_provider.web.lines import picture_lines

router = APIRouter(tags=["pictures"])

Text = Annotated[str, Query(min_length=1, max_length=500)]


@router.get("/picture")
async def picture_of(question: Asked, dag_id: Text, dag_run_id: Text) -> PictureAnswer:
    """A DAG run's pipelines joined at the tables that pass between them, with segments; the runs that wrote what they read, and those
    that read what they wrote."""
    return await question.answered(lambda: _drawn(question, dag_id, dag_run_id))


def _drawn(question: Question, dag_id: str, dag_run_id: str) -> PictureAnswer:
    lines = picture_lines(dag_id, dag_run_id)
    ask = LinesAnswer(python=lines.python, command=lines.command)
    try:
        made = question.lineage().dag_plan(dag_id, dag_run_id, progress=question.in_time)
    except RunNotFound:  # (None that this person may see: whether there are others is not told.)
        return PictureAnswer(nodes=[], edges=[], problems=[], ask=ask)
    return PictureAnswer(
        nodes=[NodeAnswer(**asdict(node), kind_name=KINDS.get(node.segment_kind or "", "")) for node in made.nodes.values()],
        edges=[EdgeAnswer(source=source, target=target) for source, target in made.edges],
        problems=list(made.problems),
        ask=ask,
    )
