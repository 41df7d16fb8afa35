"""Why rows of a result are as they are: what PostgreSQL and local files answer; where Spark is needed, how to ask with it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from airflow_lineage_provider.answers.answer import Answer
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.deriving.target import target_columns
from airflow_lineage_provider.deriving.target_rows import RowNumbers
from airflow_lineage_provider.errors import InvalidTarget, LineageError
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.recording import redaction_of
from airflow_lineage_provider.render.answer_files import saved_tables, table_names
from airflow_lineage_provider.render.askable import check_askable
from airflow_lineage_provider.render.withheld import shown
from airflow_lineage_provider.web.api.formats import FILES, Format, Wanted, as_file
from airflow_lineage_provider.web.api.models import MOST_ROWS, ExplainAsked, ExplanationAnswer, ExplanationForm, LinesAnswer, RowsMeant
from airflow_lineage_provider.web.asking import MOST_TARGET_ROWS, Asked, Question
from airflow_lineage_provider.web.lines import Lines, explain_lines, letters_lines
from airflow_lineage_provider.web.problems import Refused

router = APIRouter(tags=["explanations"])


@router.post("/runs/{run_id}/explanation", response_model=ExplanationAnswer, responses=FILES)
async def explanation(run_id: str, asked: ExplainAsked, question: Asked, form: Wanted) -> ExplanationAnswer | Response:
    """The explanation of some rows. Nothing is kept of it, and no UDF is called, unless `AIRFLOW_LINEAGE_WEB_UDFS` says so.

    As a file it is one of its tables (``table``).
    """
    return await question.answered(lambda: _answered(question, run_id, asked, form), about="rows")


def _answered(question: Question, run_id: str, asked: ExplainAsked, form: Format) -> ExplanationAnswer | Response:
    run = question.run(run_id)
    found, lines = explained(question, run, asked)
    return explanation_answer(found, asked.form, lines, asked.udf) if form == "json" else table_file(found, asked.table, form)


def explained(question: Question, run: Run, asked: RowsMeant) -> tuple[Explanation, Lines]:
    """The explanation of rows of a run's result, and the lines that ask the same.

    :raises Refused: it cannot be had so, with the error that says why.
    """
    redaction, lines = redaction_of(run.plan), None
    try:
        target = _target(run, asked)
        lines = explain_lines(run.id, asked.where, target.positions if isinstance(target, RowNumbers) else ())
        return run.explain(target, max_rows=MOST_TARGET_ROWS, save=False, progress=question.in_time), lines
    except LineageError as problem:
        raise Refused(problem, lines, redaction) from problem


def _target(run: Run, asked: RowsMeant) -> Any:
    if asked.where is not None:
        check_askable(target_columns(asked.where, run.plan), run.plan)
        return asked.where
    return run.numbered([int(one) for one in asked.numbers])


def explanation_answer(found: Explanation, form: ExplanationForm, lines: Lines | None, udf: str | None = None) -> ExplanationAnswer:
    """An explanation in the form that is asked for, shown under the settings that withhold columns.

    :raises InvalidOption: letters are asked for, and there are none of this UDF's decisions.
    """
    told = shown(found)
    page = found.to_html() if form == "page" else None
    document = found.to_dict() if form == "json" else None
    if form == "letters":
        letters = found.letters(udf)
        page, document, lines = letters.to_html(), letters.to_dict(), None if lines is None else letters_lines(lines, udf)
    return ExplanationAnswer(
        asked=told.asked,
        document=document,
        page=page,
        tables=table_names(found),
        letters=[name for name, one in told.reasons.items() if one.names.outcome.favourable],
        ask=None if lines is None else LinesAnswer(python=lines.python, command=lines.command, conf=lines.conf),
    )


def table_file(found: Answer, table: str | None, form: Format) -> Response:
    """One table of an answer as a file, shown under the same settings; the first where none is named. Of a longer one it has the first
    rows (`MOST_ROWS`), and says so.

    :raises InvalidTarget: the answer has no such table.
    """
    assert form != "json"
    tables = saved_tables(found)
    name = next(iter(tables)) if table is None else table
    if name not in tables:
        raise InvalidTarget(f"the answer has no table {name!r}: it has {', '.join(tables)}")
    rows = tables[name].rows
    return as_file(rows.slice(0, MOST_ROWS), form, name, tables[name].guarantee, rows.num_rows)
