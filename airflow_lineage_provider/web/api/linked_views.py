"""Linked views of a source table: their bars, what a brush leaves of them, and the rows under it. Who brushes sends all of the brushes, and
nothing of them is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from airflow_lineage_provider.answers.crossfilter import View
from airflow_lineage_provider.crossfilter.axis import axis_of
from airflow_lineage_provider.errors import InvalidOption, LineageError, StoreUnavailable
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.recording import discretion_of, redaction_of
from airflow_lineage_provider.records.run import RunHead
from airflow_lineage_provider.render.crossfilter_page import labels
from airflow_lineage_provider.running.files_as_read import files_now, files_read
from airflow_lineage_provider.store.run_list import RunsWanted
from airflow_lineage_provider.web.api.formats import FILES, Format, Wanted, as_file, columns_told, values_told
from airflow_lineage_provider.web.api.linked_models import (
    AxisAnswer,
    BrushedRowsAnswer,
    BrushedRowsAsked,
    BrushesAsked,
    CrossfilterAsked,
    LinkedViewAnswer,
    LinkedViewsAnswer,
    ViewsOfferedAnswer,
)
from airflow_lineage_provider.web.api.models import LinesAnswer
from airflow_lineage_provider.web.api.runs import run_answer
from airflow_lineage_provider.web.asking import Asked, Question
from airflow_lineage_provider.web.found_tables import newest_of_each
from airflow_lineage_provider.web.lines import Lines, crossfilter_lines, crossfilter_lines_of
from airflow_lineage_provider.web.linked_views import LinkedViews, TableAsked, by_view, linked_views, rows_under, table_asked
from airflow_lineage_provider.web.problems import Refused
from airflow_lineage_provider.web.withheld import rows_shown

router = APIRouter(tags=["linked views"])
_RUNS_LOOKED_AT, _MOST_PIPELINES = 500, 100
_PACKED: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
}


@router.get("/runs/{run_id}/crossfilter")
async def views_offered(run_id: str, question: Asked, table: Annotated[str, Query(max_length=500)]) -> ViewsOfferedAnswer:
    """What can be a view of a source table of the run, where its rows are in files that are read here."""
    return await question.answered(lambda: _offered(question, run_id, table), about="rows")


@router.post("/runs/{run_id}/crossfilter")
async def crossfilter(run_id: str, asked: CrossfilterAsked, question: Asked) -> LinkedViewsAnswer:
    """Views of a source table of the run, without brushes."""
    return await question.answered(lambda: _views(question, run_id, asked), about="rows")


@router.post("/runs/{run_id}/crossfilter/counts", response_class=Response, responses=_PACKED)
async def brushed_counts(run_id: str, asked: BrushesAsked, question: Asked) -> Response:
    """What brushes leave: 32-bit numbers, the least significant byte first. How many rows all of them leave, and then for each bar of each
    view how many of its rows the brushes on the *other* views leave."""
    return await question.answered(lambda: _counts(question, run_id, asked), about="rows")


@router.post("/runs/{run_id}/crossfilter/rows", response_model=BrushedRowsAnswer, responses=FILES)
async def brushed_rows(run_id: str, asked: BrushedRowsAsked, question: Asked, form: Wanted) -> BrushedRowsAnswer | Response:
    """A page of the table's rows that all brushes leave."""
    return await question.answered(lambda: _rows(question, run_id, asked, form), about="rows")


def _offered(question: Question, run_id: str, table: str) -> ViewsOfferedAnswer:
    run = question.run(run_id)
    with _refused(run, crossfilter_lines_of(run.id, table, {"NAME": ("EXPRESSION", None)})):
        found = table_asked(question, run, table)
    own = question.head(run_id)
    others = [one for one in _newest(question) if one.id != run.id and one.pipeline != run.record.pipeline]
    runs = [one for one in (own, *others) if _has_read(question, one, found)]
    return ViewsOfferedAnswer(
        table=found.name, rows=found.rows.count, columns=list(found.askable), runs=[run_answer(one, 0) for one in runs]
    )  # fmt: skip


def _newest(question: Question) -> list[RunHead]:
    lineage = question.lineage()
    wanted = RunsWanted(status="complete")
    listed = lineage.lasting(lambda: lineage.store.list_runs(wanted, question.rights.may_see, _RUNS_LOOKED_AT))
    return [run for run, _ in islice(newest_of_each(listed.runs), _MOST_PIPELINES)]


def _has_read(question: Question, head: RunHead, table: TableAsked) -> bool:
    """Whether a run read the table's files as they are, row by row; a record that cannot be read tells of none."""
    question.in_time()
    lineage, now = question.lineage(), files_now(table.rows.versions)
    try:
        inputs = lineage.lasting(lambda: lineage.store.run(head.id)).inputs
    except StoreUnavailable:
        raise
    except LineageError:
        return False
    return any(one.identity.kind == "file_position" and files_read(one.version) == now for one in inputs)


def _views(question: Question, run_id: str, asked: CrossfilterAsked) -> LinkedViewsAnswer:
    found, lines = _made(question, run_id, asked)
    made = found.crossfilter
    views = [
        LinkedViewAnswer(
            name=name, expression=view.expression, labels=labels(view.values), totals=made.totals(name).tolist(),
            axis=_axis(view), run=view.of_result.run_id if view.of_result else None,
            numbers=[str(one) for one in view.of_result.numbers] if view.of_result else [],
        )
        for name, view in made.views.items()
    ]  # fmt: skip
    ask = LinesAnswer(python=lines.python, command=lines.command)
    return LinkedViewsAnswer(table=made.title, rows=made.rows, made=found.made, views=views, ask=ask)


def _axis(view: View) -> AxisAnswer | None:
    axis = axis_of(view.values)
    return None if axis is None else AxisAnswer(left=list(axis.left), wide=axis.wide, ticks=list(axis.ticks))


def _counts(question: Question, run_id: str, asked: BrushesAsked) -> Response:
    found = _brushed(question, run_id, asked)
    packed = found.crossfilter.brush_bars(by_view(found, asked.brushes), alone=True).packed
    return Response(packed, media_type="application/octet-stream")


def _rows(question: Question, run_id: str, asked: BrushedRowsAsked, form: Format) -> BrushedRowsAnswer | Response:
    found = _brushed(question, run_id, asked)
    rows, total = rows_under(found, asked.brushes, asked.offset, asked.limit, question.ends)
    table = found.crossfilter.title
    discretion = discretion_of(question.run(run_id).plan)
    told = rows_shown(rows, discretion, table)
    if form != "json":
        return as_file(told, form, f"brushed-{table}")
    return BrushedRowsAnswer(columns=columns_told(told, discretion, table), rows=values_told(told), offset=asked.offset, total=total)


def _brushed(question: Question, run_id: str, asked: BrushesAsked) -> LinkedViews:
    """The views that are brushed.

    :raises InvalidOption: they are others than those whose bars were numbered.
    """
    found, _ = _made(question, run_id, asked)
    if found.made != asked.made:
        raise InvalidOption("these views were made anew, and their bars are others: ask for the views again")
    return found


def _made(question: Question, run_id: str, asked: CrossfilterAsked) -> tuple[LinkedViews, Lines]:
    run = question.run(run_id)
    told = {one.name: (one.expression, one.run) for one in asked.views}
    with _refused(run, crossfilter_lines_of(run.id, asked.table, told)):
        table = table_asked(question, run, asked.table)
    lines = crossfilter_lines([str(path) for path in table.rows.paths], told)
    with _refused(run, lines):
        # (A run of a DAG that this person may not read is not there.)
        views = {one.name: one.expression if one.run is None else question.other_run(one.run) for one in asked.views}
        return linked_views(question, table, {name: one for name, one in views.items() if one is not None}), lines


@contextmanager
def _refused(run: Run, lines: Lines) -> Iterator[None]:
    """What goes wrong within is told with how the same is asked elsewhere."""
    try:
        yield
    except LineageError as problem:
        raise Refused(problem, lines, redaction_of(run.plan)) from problem
