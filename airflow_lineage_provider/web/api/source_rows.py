"""Source rows followed forwards: what else they touched, here and in later runs, and why they are not in the result, as far as it is
known without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fastapi import APIRouter
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from airflow_lineage_provider.answers.descendants import Descendants
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.answers.keyed_rows import KeyedRows
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.deriving.why_not.question import asked_of, columns_read
from airflow_lineage_provider.errors import InvalidTarget, LineageError, SparkRequired
from airflow_lineage_provider.plan.guarantees import Guarantee, weakest
from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.recording import discretion_of, redaction_of, tables_of
from airflow_lineage_provider.render.askable import check_source_askable
from airflow_lineage_provider.render.lineage_rows_page import to_html
from airflow_lineage_provider.render.source_row import RowPlace, SourceRow, seal_of, source_row
from airflow_lineage_provider.render.withheld import lineage_rows_shown, remarks_shown
from airflow_lineage_provider.web.api.derivations import answer_for
from airflow_lineage_provider.web.api.explanations import explained
from airflow_lineage_provider.web.api.formats import FILES, Format, Wanted, as_file, columns_told, values_told
from airflow_lineage_provider.web.api.models import (
    MOST_SHOWN,
    DescendantsAnswer,
    ForwardAnswer,
    ForwardAsked,
    GuaranteeAnswer,
    LinesAnswer,
    SourceRowsAsked,
    TableAnswer,
    WhyNotAnswer,
)
from airflow_lineage_provider.web.api.runs import run_answer
from airflow_lineage_provider.web.asking import MOST_TARGET_ROWS, Asked, Question
from airflow_lineage_provider.web.foreign import written_by
from airflow_lineage_provider.web.lines import Lines, forward_lines, why_not_lines
from airflow_lineage_provider.web.problems import Refused
from airflow_lineage_provider.web.withheld import rows_shown

if TYPE_CHECKING:
    import pyarrow as pa

router = APIRouter(tags=["source rows"])
_BY_VALUES = Guarantee(level="superset", cause="the row is known by its values: whatever has the same is followed with it")
_TABLES = 2
"""Of each run: the rows, and which of them descend from which."""


@dataclass(frozen=True)
class _Meant:
    """Source rows that a run read, to be followed in it: by a predicate that people can ask with, and by key where it is known; a row that
    nobody has typed has its ``place``."""

    run: Run
    table: str
    like: str
    keyed: KeyedRows | None = None
    worth: Guarantee | None = None
    place: RowPlace | None = None

    @property
    def target(self) -> KeyedRows | str:
        return self.keyed if self.keyed is not None else self.like

    def asked_by(self, lines: Lines) -> Lines:
        """The lines; nothing asks by itself about all rows in place of one of which no value can be said."""
        return replace(lines, conf=None) if self.keyed is not None and self.like == "true" else lines


@dataclass(frozen=True)
class _Followed:
    """What became of them, and the lines that ask the same."""

    meant: _Meant
    found: Descendants
    lines: Lines

    @property
    def here(self) -> LineageRows:
        return self.found.here


@router.post("/runs/{run_id}/forward", response_model=ForwardAnswer, responses=FILES)
async def forward(run_id: str, asked: ForwardAsked, question: Asked, form: Wanted) -> ForwardAnswer | Response:
    """The rows of the result that source rows touched. As a file it is one of the tables that the answer names (``table``): where these are
    of several runs, one has to be named."""
    return await question.answered(lambda: _forward(question, run_id, asked, form), about="rows")


@router.post("/runs/{run_id}/why-not")
async def why_not(run_id: str, asked: SourceRowsAsked, question: Asked) -> WhyNotAnswer:
    """That source rows are in the result, where they are; which operator dropped the others Spark finds out (409, with the lines)."""
    return await question.answered(lambda: _why_not(question, run_id, asked), about="rows")


def _forward(question: Question, run_id: str, asked: ForwardAsked, form: Format) -> ForwardAnswer | Response:
    run = question.run(run_id)
    rows, meant = _meant(question, run, asked)
    lines = [one.asked_by(forward_lines(one.run.id, one.like, one.table, across=asked.across, place=one.place)) for one in meant]
    found = [_followed(question, one, asks, across=asked.across) for one, asks in zip(meant, lines, strict=True)]
    if form != "json":
        return _file(question, found, asked.saved, form)
    answer = _answer(question, asked, rows, found)
    return answer.model_copy(update={"page": _page(question, found)}) if asked.form == "page" else answer


def _page(question: Question, found: Sequence[_Followed]) -> str:
    """The page of the rows of all runs, under the same settings as `_descendants`, and what they are worth there."""
    rows = [lineage_rows_shown(_as_shown(question, part)) for part in _parts(found)]
    return to_html(rows, remarks_shown([*dict.fromkeys(remark for one in found for remark in one.found.remarks)]))


def _as_shown(question: Question, part: _Part) -> LineageRows:
    plan, worth = _run(question, part).plan, _worth(part.followed, part.rows)
    return part.rows.replaced(
        rows=rows_shown(part.rows.rows, discretion_of(plan)), guarantee=replace(worth, cause=redaction_of(plan).text(worth.cause))
    )


def _file(question: Question, found: Sequence[_Followed], wanted: str | None, form: Format) -> Response:
    """:raises InvalidTarget: there is no such table, or there are tables of several runs, and none is named."""
    assert form != "json"
    tables = {name: part for part in _parts(found) for name in part.tables}
    named = next(iter(tables)) if wanted is None and len(tables) == _TABLES else wanted
    if named not in tables:
        which = "is of several runs: name a table" if wanted is None else f"has no table {wanted!r}"
        raise InvalidTarget(f"the answer {which}; it has {', '.join(tables)}")
    part = tables[named]
    rows = rows_shown(part.rows.rows, discretion_of(_run(question, part).plan)) if named == part.tables[0] else part.rows.links
    return as_file(rows, form, f"touched-{part.rows.run.id}", _worth(part.followed, part.rows))


@dataclass(frozen=True)
class _Part:
    """The rows of one run's result, and what these and their links are called as files."""

    followed: _Followed
    rows: LineageRows
    tables: tuple[str, str]


def _parts(found: Sequence[_Followed]) -> list[_Part]:
    """Those of each run, named as in stored answers: the first ``result``, and those of others by their runs, each name once."""
    parts: list[_Part] = []
    for followed in found:
        for rows in followed.found:
            of = f".{rows.run.id}" if parts else ""
            again = sum(rows.run.id == one.rows.run.id for one in parts)
            of += f".{again + 1}" if again else ""
            parts.append(_Part(followed, rows, (f"result{of}", f"links{of}")))
    return parts


def _why_not(question: Question, run_id: str, asked: SourceRowsAsked) -> WhyNotAnswer:
    import pyarrow.compute as pc

    run = question.run(run_id)
    rows, meant = _meant(question, run, asked)
    found = []
    for one in meant:
        lines = one.asked_by(why_not_lines(one.run.id, one.like, one.table, place=one.place))
        followed = _followed(question, one, lines)
        here = followed.here
        lost = one.keyed is None and pc.count_distinct(here.links.column("asked")).as_py() < here.asked_rows
        if lost or not len(here):
            text = (
                "not all of these source rows are in the result; which operator dropped them is found by running the pipeline's operators"
            )
            raise Refused(SparkRequired(f"{text} again: that needs Spark"), lines, redaction_of(run.plan))
        found.append(followed)
    return WhyNotAnswer(found=_answer(question, asked, rows, found))


def _meant(question: Question, run: Run, asked: SourceRowsAsked) -> tuple[TableAnswer | None, list[_Meant]]:
    """The rows that are asked about, as they are shown, and in which runs they are followed."""
    if asked.where is not None:
        redaction = redaction_of(run.plan)
        try:
            return None, [_meeting(question, run, asked.table, asked.where)]
        except LineageError as problem:
            raise Refused(problem, None, redaction) from problem
    if asked.derivation is not None:
        return _stored(question, run, asked, asked.derivation)
    assert asked.behind is not None
    found, lines = explained(question, run, asked.behind)
    told, meant = _row_of(found, run, asked)
    conf = lines.conf or {}
    place = _placed(run, asked, meant, where=conf.get("target"), at=conf.get("at"))
    source = found.sources[asked.table]
    keyed = [only for one in source.keyed if asked.row is not None and (only := one.only(asked.row)) is not None]
    return told, [_Meant(question.run(one.run_id), one.table, meant.predicate, one, source.guarantee, place) for one in keyed]


def _row_of(found: Explanation, run: Run, asked: SourceRowsAsked) -> tuple[TableAnswer, SourceRow]:
    """The row, as it is shown.

    :raises Refused: there is no such row.
    """
    assert asked.row is not None
    try:
        meant = source_row(found, asked.table, asked.row)
    except InvalidTarget as problem:
        raise Refused(problem, None, redaction_of(run.plan)) from problem
    return _table(meant.shown, Discretion.of().following(found.carried or {}), asked.table), meant


def _placed(run: Run, asked: SourceRowsAsked, meant: SourceRow, **behind: str | None) -> RowPlace:
    assert asked.row is not None
    return RowPlace(run_id=run.id, table=asked.table, row=asked.row, seal=seal_of(run.record, meant.predicate), **behind)


def _stored(question: Question, run: Run, asked: SourceRowsAsked, derivation_id: str) -> tuple[TableAnswer, list[_Meant]]:
    """A source row of a stored explanation, which does not have its key: it is followed by its values, in the run that was explained.

    :raises Refused: the stored answer is no explanation of this run, has no such row, or nothing can be said of the row's values.
    """
    found = answer_for(question, derivation_id)
    if not isinstance(found, Explanation) or found.run.id != run.id:
        raise Refused(InvalidTarget(f"the stored answer {derivation_id} is no explanation of rows of run {run.id}"))
    told, meant = _row_of(found, run, asked)
    redaction = redaction_of(run.plan)
    if asked.table not in tables_of(run.plan):
        text = f"{asked.table} was read by an earlier run on the way, and not by this one: ask anew why, and follow the row from there"
        raise Refused(InvalidTarget(text), None, redaction)
    if meant.predicate == "true":
        raise Refused(
            InvalidTarget("the row has no value that a predicate can say: ask anew why, and follow it from there"), None, redaction
        )
    worth, place = weakest(found.sources[asked.table].guarantee, _BY_VALUES), _placed(run, asked, meant, derivation=derivation_id)
    return told, [replace(_meeting(question, run, asked.table, meant.predicate), worth=worth, place=place)]


def _meeting(question: Question, run: Run, table: str, where: str) -> _Meant:
    """:raises InvalidTarget: there is no such table, or the predicate reads what it has not, or what is withheld."""
    asked = asked_of(where, table, run.plan)
    check_source_askable(columns_read(asked), asked.table, run.plan)
    for leaf in asked.leaves:
        if any(writer is None or not question.rights.may_see(writer) for writer in written_by(question.lineage(), leaf, run.id)):
            raise HTTPException(403, f"the rows of {asked.table} are withheld: a run of another DAG wrote them, which you may not read")
    return _Meant(run, asked.table, where)


def _followed(question: Question, one: _Meant, lines: Lines, *, across: bool = False) -> _Followed:
    try:
        if across:
            found = one.run.forward(one.target, one.table, max_rows=MOST_TARGET_ROWS, progress=question.in_time, across=True)
        else:
            found = Descendants(here=one.run.forward(one.target, one.table, max_rows=MOST_TARGET_ROWS, progress=question.in_time), later={})
    except LineageError as problem:
        raise Refused(problem, lines, redaction_of(one.run.plan)) from problem
    return _Followed(one, found, lines)


def _answer(question: Question, asked: SourceRowsAsked, rows: TableAnswer | None, found: Sequence[_Followed]) -> ForwardAnswer:
    meant = f"row {asked.row + 1:,} of {asked.table}" if asked.row is not None else f"rows of {asked.table}"
    remarks = remarks_shown([*dict.fromkeys(remark for one in found for remark in one.found.remarks)])
    return ForwardAnswer(
        asked=meant,
        rows=rows,
        results=[_descendants(question, one) for one in _parts(found)],
        remarks=[GuaranteeAnswer(level=one.level, cause=one.cause) for one in remarks],
    )


def _run(question: Question, part: _Part) -> Run:
    """The run whose result these rows are of."""
    return part.followed.meant.run if part.rows is part.followed.here else question.run(part.rows.run.id)


def _descendants(question: Question, part: _Part) -> DescendantsAnswer:
    one, found = part.followed, part.rows
    run, worth = _run(question, part), _worth(one, found)
    discretion = discretion_of(run.plan)
    return DescendantsAnswer(
        run=run_answer(run.record, 0),
        table=one.meant.table if found is one.here else None,
        decides=bool(run.record.udfs),
        result=_table(rows_shown(found.rows, discretion), discretion),
        tables=list(part.tables),
        numbers=[str(number) for number in found.numbers[:MOST_SHOWN]],
        guarantee=GuaranteeAnswer(level=worth.level, cause=redaction_of(run.plan).text(worth.cause)),
        seconds=found.seconds,
        ask=LinesAnswer(python=one.lines.python, command=one.lines.command, conf=one.lines.conf),
    )


def _worth(one: _Followed, found: LineageRows) -> Guarantee:
    """A key that several rows share, or a source that has changed, makes the question itself worth less."""
    return weakest(found.guarantee, one.meant.worth)


def _table(shown: pa.Table, discretion: Discretion, table: str = "") -> TableAnswer:
    return TableAnswer(columns=columns_told(shown, discretion, table), rows=values_told(shown.slice(0, MOST_SHOWN)), total=shown.num_rows)
