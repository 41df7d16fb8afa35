"""Views of a source table that filter one another, as one person may see them: made once, and kept while they are brushed.

Whoever asks is judged anew at every question. What is kept says nothing of people: it is found by the table's files as they are, the views,
and the columns that may be asked about, and holds no brush.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException

from airflow_lineage_provider import settings
from airflow_lineage_provider.answers.crossfilter import Crossfilter, GivenBars
from airflow_lineage_provider.crossfilter.bars import MOST_BARS
from airflow_lineage_provider.deriving.rows_read import rows_read
from airflow_lineage_provider.deriving.run_bars import bars_of_run
from airflow_lineage_provider.errors import AnswerTooLarge, InvalidOption, InvalidTarget, SparkRequired
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.recording import discretion_of, named_table, tables_of
from airflow_lineage_provider.render.askable import SECRET, askable_columns, askable_of_source
from airflow_lineage_provider.sources.certain_columns import certain_columns
from airflow_lineage_provider.sources.kept import Kept
from airflow_lineage_provider.sources.view_values import ParquetRows, ShownRows
from airflow_lineage_provider.sql.row_expressions import NotPlain, columns_of
from airflow_lineage_provider.web.asking import Question
from airflow_lineage_provider.web.foreign import written_by
from airflow_lineage_provider.web.withheld import rows_shown

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.recording import RecordedPlan, RecordedSource

MOST_BYTES = 256 * 2**20


@dataclass(frozen=True, eq=False)
class LinkedViews:
    """Views, and a name of their bars and of the bar of each row: who brushes by the numbers of bars says which views they mean."""

    crossfilter: Crossfilter

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return self.crossfilter.nbytes

    @cached_property
    def made(self) -> str:
        """The name."""
        found = blake2b(digest_size=12)
        for name, view in self.crossfilter.views.items():
            found.update(repr((name, view.expression, view.values.to_pylist())).encode("utf-8", "surrogatepass"))
            found.update(self.crossfilter.codes(name).tobytes())
        return found.hexdigest()


_KEPT: Kept[LinkedViews] = Kept(MOST_BYTES)
os.register_at_fork(after_in_child=_KEPT.clear)


@dataclass(frozen=True)
class TableAsked:
    """A source table of a run that this person may see, and the rows of its files. What is ``unsure`` they might be told of, and
    Spark alone reads it for certain."""

    name: str
    rows: ParquetRows
    askable: tuple[str, ...]
    shown: tuple[str, ...]
    unsure: tuple[str, ...]


def table_asked(question: Question, run: Run, table: str) -> TableAsked:
    """The table.

    :raises InvalidTarget: the run has no such table. :raises SparkRequired, SourceUnavailable: `rows_read`.
    :raises HTTPException: a run of a DAG that this person may not read wrote it, or linked views are switched off (403).
    """
    if not settings.web_crossfilter_rows():
        raise HTTPException(403, "linked views are switched off here (AIRFLOW_LINEAGE_WEB_CROSSFILTER_ROWS=0)")
    tables = tables_of(run.plan)
    name = named_table(table, tables)
    for leaf in tables[name]:
        if any(writer is None or not question.rights.may_see(writer) for writer in written_by(question.lineage(), leaf, run.id)):
            raise HTTPException(403, f"the rows of {name} are withheld: a run of another DAG wrote them, which you may not read")
    rows = rows_read(name, tables[name])
    certain = certain_columns(tables[name][0].source, rows.versions, tuple(dict(run.plan.plan.conf).items()))
    return _with_columns(run.plan, tables[name][0], name, rows, certain)


def _with_columns(plan: RecordedPlan, source: RecordedSource, table: str, rows: ParquetRows, certain: frozenset[str]) -> TableAsked:
    """The table with the columns of the files that may be asked about, and those of which a row may be shown, if masked."""
    askable = {one.lower() for one in askable_of_source(source, table, plan)}
    known, discretion = {one.lower() for one in source.source.columns}, discretion_of(plan)
    shown = tuple(one for one in rows.columns if one.lower() in known and not discretion.hides(one, table))
    told = tuple(one for one in shown if one.lower() in askable and not discretion.withholds(one, table))
    sure = tuple(one for one in shown if one.lower() in certain)
    return TableAsked(
        table, replace(rows, zone=plan.zone), tuple(one for one in told if one in sure), sure, tuple(one for one in told if one not in sure)
    )


def linked_views(question: Question, table: TableAsked, views: Mapping[str, str | Run]) -> LinkedViews:
    """Views by expressions of DuckDB's SQL over a row, and by runs that read this table.

    :raises AnswerTooLarge: the table has more rows, or a view more bars, than a server is to hold.
    :raises InvalidTarget: a view has a column that is withheld. :raises InvalidOption: it cannot be one.
    :raises SparkRequired: the lineage of a run is not to be had without.
    """
    most = settings.web_crossfilter_rows()
    if table.rows.count > most:
        bound = f"the {most:,} of linked views here (AIRFLOW_LINEAGE_WEB_CROSSFILTER_ROWS)"
        raise AnswerTooLarge(f"{table.name} has {table.rows.count:,} rows, more than {bound}")
    for name, view in views.items():
        check_view(name, view, table)
    # (With the table's name in this run: it is the title, and masks go by it.)
    key = (
        table.name,
        table.rows.versions,
        table.rows.zone,
        table.askable,
        table.shown,
        tuple((name, *_named(view)) for name, view in views.items()),
    )
    return _KEPT.found(key, partial(_made, question, table, views))


def check_view(name: str, view: str | Run, table: TableAsked) -> None:
    """See that a view tells nothing of what is withheld.

    :raises InvalidTarget: it has such a column, or is a run of whose result no value may be shown.
    :raises InvalidOption: it is no plain expression over a row. :raises SparkRequired: Spark alone reads a column of it for certain.
    """
    if isinstance(view, Run):
        if not askable_columns(view.plan):
            raise InvalidTarget(f"view {name}: {SECRET}")
        return
    try:
        read = columns_of(view)
    except NotPlain as problem:
        raise InvalidOption(f"view {name}: {problem}") from problem
    unsure = {one.lower() for one in table.unsure}
    if read & {one.lower() for one in table.rows.columns} - {one.lower() for one in table.askable} - unsure:
        raise InvalidTarget(f"view {name}: {SECRET}")
    if read & unsure:
        columns = ", ".join(one for one in table.unsure if one.lower() in read)
        raise SparkRequired(f"view {name}: Spark alone reads {columns} of {table.name} for certain (an old calendar, say)")


def _named(view: str | Run) -> tuple[Any, ...]:
    """What a view depends on beside the table: of a run also which of its columns are told."""
    if isinstance(view, str):
        return (view,)
    discretion, names = discretion_of(view.plan), view.plan.plan.names
    told = tuple((discretion.hides(name), discretion.withholds(name)) for name in names)
    return view.id, told, tuple(askable_columns(view.plan))


def _made(question: Question, table: TableAsked, views: Mapping[str, str | Run]) -> LinkedViews:
    """Each view by itself, so that none is made that there is no room for."""
    bars: dict[str, str | GivenBars] = {}
    taken = 0
    for name, view in views.items():
        question.in_time()
        bars[name], size = _bars(question, table, name, view, MOST_BYTES - taken)
        taken += size
        if taken > MOST_BYTES:
            raise AnswerTooLarge(f"the views up to {name} take {taken:,} bytes, more than the {MOST_BYTES:,} of a server: choose fewer")
    made = Crossfilter(table.name, _rows(question, table, MOST_BYTES), bars)
    table.rows.check()
    return LinkedViews(made)


def _rows(question: Question, table: TableAsked, most_bytes: int) -> ShownRows:
    return ShownRows(table.rows, table.askable, table.shown, question.ends, most_values=MOST_BARS, most_bytes=most_bytes)


def _bars(question: Question, table: TableAsked, name: str, view: str | Run, most_bytes: int) -> tuple[GivenBars, int]:
    """The bars of one view, and how much memory they take."""
    try:
        given = _of_run(question, table, view) if isinstance(view, Run) else view
    except InvalidOption as problem:
        raise InvalidOption(f"view {name}: {problem}") from problem
    try:
        alone = Crossfilter(table.name, _rows(question, table, most_bytes), {name: given})
    except AnswerTooLarge as problem:
        raise AnswerTooLarge(f"view {name}: {problem}") from problem
    found = alone.views[name]
    if len(found.values) > MOST_BARS:
        raise AnswerTooLarge(f"view {name} has {len(found.values):,} bars, more than the {MOST_BARS:,} that are drawn: bin it")
    return GivenBars(found.expression, found.values, alone.codes(name), found.of_result), alone.nbytes


def _of_run(question: Question, table: TableAsked, run: Run) -> GivenBars:
    find = partial(bars_of_run, rows=table.rows, shown=partial(rows_shown, discretion=discretion_of(run.plan)))
    return run._asking.answered("finding the bars of", None, question.in_time, find)


def rows_under(views: LinkedViews, brushes: Sequence[Sequence[int] | None], offset: int, limit: int, ends: float) -> tuple[pa.Table, int]:
    """Rows that all brushes leave, from ``offset`` on, with all columns that are not hidden; and how many there are.

    :raises SourceUnavailable: a file is not what it was. :raises QueryTooSlow: it was not done when this question ``ends``.
    """
    found = views.crossfilter.brush_bars(by_view(views, brushes), alone=True)
    numbers = views.crossfilter.numbers(found.counted)
    rows = views.crossfilter.source
    assert isinstance(rows, ShownRows)
    # (These were made for a question of their own, which ended.)
    return replace(rows, ends=ends).take(numbers[offset : offset + limit]), len(numbers)


def by_view(views: LinkedViews, brushes: Sequence[Sequence[int] | None]) -> dict[str, Sequence[int]]:
    """The brushes that there are, by view.

    :raises InvalidOption: it is no list of bars, or None, for each view.
    """
    names = list(views.crossfilter.views)
    if len(brushes) != len(names):
        raise InvalidOption(f"what is brushed is a list of {len(names)}: for each view a list of its bars' numbers, or null")
    return {name: one for name, one in zip(names, brushes, strict=True) if one is not None}
