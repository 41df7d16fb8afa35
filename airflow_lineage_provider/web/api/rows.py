"""A run's result, page by page: asked by POST, so that no predicate, which is data, stands in a URL and its logs; it changes nothing."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from airflow_lineage_provider.answers.values import jsonable, rows_of, type_name
from airflow_lineage_provider.deriving.result_page import PageWanted, ResultPage
from airflow_lineage_provider.deriving.target import target_expression
from airflow_lineage_provider.errors import LineageError
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.web.api.models import ColumnAnswer, RowsAnswer, RowsAsked
from airflow_lineage_provider.web.asking import Asked, Question
from airflow_lineage_provider.web.lines import explain_lines, rows_lines
from airflow_lineage_provider.web.problems import Refused
from airflow_lineage_provider.web.withheld import check_askable, redaction_of, rows_shown

router = APIRouter(tags=["rows"])
_LARGEST = 2**53 - 1


@router.post("/runs/{run_id}/rows")
async def rows(run_id: str, asked: RowsAsked, question: Asked) -> RowsAnswer:
    """A page of the result's rows, from the store or from local files."""
    return await question.answered(lambda: _rows(question, run_id, asked))


def _rows(question: Question, run_id: str, asked: RowsAsked) -> RowsAnswer:
    run = question.run(run_id)
    question.note("rows", run.id)
    wanted = PageWanted(
        where=asked.where, order=[(one.column, one.descending) for one in asked.sort], offset=asked.offset, limit=asked.limit
    )
    redaction = redaction_of(run.plan)
    try:
        check_askable([*(one.column for one in asked.sort), *columns_of(run, asked.where)], run.plan)
        return _answer(run, asked, run.page(wanted))
    except LineageError as problem:
        lines = rows_lines(run.id) if asked.where is None else explain_lines(run.id, asked.where, ())
        raise Refused(problem, lines, redaction) from problem


def columns_of(run: Run, where: str | None) -> list[str]:
    """The columns of the result that a predicate reads.

    :raises InvalidTarget: it does not parse, or names another column.
    """
    if where is None:
        return []
    plan = run.plan
    asked = {one.id for one in references(target_expression(where, plan)[0])}
    return [name for name, one in zip(plan.plan.names, plan.plan.output, strict=True) if one.id in asked]


def _answer(run: Run, asked: RowsAsked, page: ResultPage) -> RowsAnswer:
    shown, discretion = rows_shown(page.rows), Discretion.of()
    return RowsAnswer(
        columns=[ColumnAnswer(name=one.name, type=type_name(one), masked=discretion.masks(one.name)) for one in shown.schema],
        rows=[[_exact(jsonable(value)) for value in row] for row in rows_of(shown)],
        # Larger than what JavaScript's numbers hold exactly.
        numbers=[str(one) for one in page.numbers],
        offset=asked.offset,
        more=page.more,
        total=run.summary.rows if asked.where is None else None,
    )


def _exact(value: Any) -> Any:
    """A value as a browser can hold it: of larger whole numbers JavaScript loses the last digits, and they come as text."""
    if isinstance(value, int) and abs(value) > _LARGEST:
        return str(value)
    if isinstance(value, list):
        return [_exact(one) for one in value]
    return {name: _exact(one) for name, one in value.items()} if isinstance(value, dict) else value
