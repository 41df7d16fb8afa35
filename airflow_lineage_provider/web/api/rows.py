"""A run's result, page by page: asked by POST, so that no predicate, which is data, stands in a URL and its logs; it changes nothing."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from airflow_lineage_provider import settings
from airflow_lineage_provider.deriving.result_page import PageWanted, ResultPage
from airflow_lineage_provider.deriving.target import target_columns
from airflow_lineage_provider.errors import LineageError, ResultNotStored
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.recording import discretion_of, redaction_of
from airflow_lineage_provider.render.askable import check_askable
from airflow_lineage_provider.web.api.formats import FILES, Format, Wanted, as_file, columns_told, values_told
from airflow_lineage_provider.web.api.models import MOST_BYTES, LinesAnswer, RowsAnswer, RowsAsked
from airflow_lineage_provider.web.asking import Asked, Question
from airflow_lineage_provider.web.lines import Lines, explain_lines, rows_lines
from airflow_lineage_provider.web.problems import Refused
from airflow_lineage_provider.web.withheld import rows_shown

router = APIRouter(tags=["rows"])


@router.post("/runs/{run_id}/rows", response_model=RowsAnswer, responses=FILES)
async def rows(run_id: str, asked: RowsAsked, question: Asked, form: Wanted) -> RowsAnswer | Response:
    """A page of the result's rows, from the store or from local files. A page that is not found soon is refused (504), with the lines that
    have it explained elsewhere: ``longer``, and a file, takes as long as any answer may."""
    return await question.answered(lambda: _rows(question, run_id, asked, form), about="rows")


def _rows(question: Question, run_id: str, asked: RowsAsked, form: Format) -> RowsAnswer | Response:
    run = question.run(run_id, None if asked.longer or form != "json" else settings.web_seconds_to_look())
    order = [(one.column, one.descending) for one in asked.sort]
    wanted = PageWanted(where=asked.where, order=order, offset=asked.offset, limit=asked.limit, most_bytes=MOST_BYTES)
    redaction = redaction_of(run.plan)
    try:
        read = [] if asked.where is None else target_columns(asked.where, run.plan)
        check_askable([*(one.column for one in asked.sort), *read], run.plan)
        page = run.page(wanted)
    except LineageError as problem:
        lines: Lines | None
        if asked.where is not None:
            lines = explain_lines(run.id, asked.where, ())
        else:  # (of a result that is not stored, rows are explained alone: those that one can name)
            lines = None if isinstance(problem, ResultNotStored) else rows_lines(run.id)
        raise Refused(problem, lines, redaction) from problem
    return _answer(run, asked, page) if form == "json" else as_file(rows_shown(page.rows, discretion_of(run.plan)), form, f"rows-{run.id}")


def _answer(run: Run, asked: RowsAsked, page: ResultPage) -> RowsAnswer:
    discretion = discretion_of(run.plan)
    shown, lines = rows_shown(page.rows, discretion), rows_lines(run.id, asked.where, [(one.column, one.descending) for one in asked.sort])
    return RowsAnswer(
        columns=columns_told(shown, discretion),
        rows=values_told(shown),
        # Larger than what JavaScript's numbers hold exactly.
        numbers=[str(one) for one in page.numbers],
        offset=asked.offset,
        more=page.more,
        total=run.summary.rows if asked.where is None else None,
        ask=LinesAnswer(python=lines.python, command=None),  # (the command shows runs, and no rows of a result)
    )
