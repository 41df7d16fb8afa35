"""Why rows of a result are as they are: what PostgreSQL and local files answer; where Spark is needed, how to ask with it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.deriving.target_rows import RowNumbers
from airflow_lineage_provider.errors import LineageError
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.render.withheld import shown
from airflow_lineage_provider.web.api.models import ExplainAsked, ExplanationAnswer, LinesAnswer
from airflow_lineage_provider.web.api.rows import columns_of
from airflow_lineage_provider.web.asking import MOST_TARGET_ROWS, Asked, Question
from airflow_lineage_provider.web.lines import Lines, explain_lines
from airflow_lineage_provider.web.problems import Refused
from airflow_lineage_provider.web.withheld import check_askable, redaction_of

router = APIRouter(tags=["explanations"])


@router.post("/runs/{run_id}/explanation")
async def explanation(run_id: str, asked: ExplainAsked, question: Asked) -> ExplanationAnswer:
    """The explanation of some rows. Nothing is kept of it, and no UDF is called, unless `AIRFLOW_LINEAGE_WEB_UDFS` says so."""
    return await question.answered(lambda: _explained(question, run_id, asked))


def _explained(question: Question, run_id: str, asked: ExplainAsked) -> ExplanationAnswer:
    run = question.run(run_id)
    question.note("an explanation", run.id)
    redaction, lines = redaction_of(run.plan), None
    try:
        target = _target(run, asked)
        lines = explain_lines(run.id, asked.where, target.positions if isinstance(target, RowNumbers) else ())
        found = run.explain(target, max_rows=MOST_TARGET_ROWS, save=False, progress=question.in_time)
    except LineageError as problem:
        raise Refused(problem, lines, redaction) from problem
    return explanation_answer(found, asked.form, lines)


def _target(run: Run, asked: ExplainAsked) -> Any:
    if asked.where is not None:
        check_askable(columns_of(run, asked.where), run.plan)
        return asked.where
    return run.numbered([int(one) for one in asked.numbers])


def explanation_answer(found: Explanation, form: str, lines: Lines | None) -> ExplanationAnswer:
    """An explanation in the form that is asked for, shown under the settings that withhold columns."""
    document = found.to_dict() if form == "json" else None
    return ExplanationAnswer(
        asked=shown(found).asked,
        document=document,
        page=found.to_html() if form == "page" else None,
        ask=None if lines is None else LinesAnswer(python=lines.python, command=lines.command),
    )
