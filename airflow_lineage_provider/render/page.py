"""What the HTML page shows of an explanation, and how much of it: the template only sets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.explanation import Guarantee
from airflow_lineage_provider.plan.text import plan_text
from airflow_lineage_provider.reasons.payload import Attributions, Boxes, Json, Mask, TextSpans
from airflow_lineage_provider.render import reason_text as words
from airflow_lineage_provider.render.decisions import Decision, decisions, links_by_row, value_counts
from airflow_lineage_provider.render.diagram import Diagram, diagram
from airflow_lineage_provider.render.pictures import box_picture, marked_text, mask_picture, text_for
from airflow_lineage_provider.render.segment_text import SegmentLine, segment_label, segment_lines
from airflow_lineage_provider.render.tables import Cell, TableView, cell, table_view
from airflow_lineage_provider.render.values import count, seconds_text, shortened, visible
from airflow_lineage_provider.render.wording import (
    MARKS,
    called_text,
    control_text,
    control_title,
    facts,
    guarantee_meaning,
    guarantee_of,
    made_from,
    more,
    queries_of,
    question,
    rows_text,
    verification_text,
    whole_table_text,
    worth,
    written_text,
)  # fmt: skip

if TYPE_CHECKING:
    from airflow_lineage_provider.explanation import Control, Explanation
    from airflow_lineage_provider.tracing.trace import TracingQuery

DECISIONS = 200
OPEN_DECISIONS = 6
FEATURES = 12
ALL_FEATURES = 200
LINKED_ROWS = 3
LINKED_COLUMNS = 12
LINKED_CELLS = 20_000
CONTROLLED_ROWS = 50
QUERY_CHARACTERS = 20_000
SUMMARIZED = 5_000
"""Decisions beyond this many are left out of "what counted most"; the page says so."""


@dataclass(frozen=True, kw_only=True)
class Badge:
    """A guarantee as a mark, a word and why."""

    level: str
    mark: str
    cause: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class SourceView:
    """A source table of the answer; ``anchor`` is the prefix of its ids in the page."""

    name: str
    anchor: str
    badge: Badge
    rows: str
    table: TableView
    whole: str


@dataclass(frozen=True, kw_only=True)
class ThroughView:
    """Rows that another recorded run wrote, between the target and the sources; ``behind`` says what each was made from."""

    name: str
    anchor: str
    badge: Badge
    text: str
    table: TableView
    behind: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ControlView:
    """A table that decided as a whole: its target rows as (number, anchor), its source tables as (name, anchor)."""

    title: str
    text: str
    operator: str
    rows: tuple[tuple[str, str], ...]
    more_rows: str
    sources: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class DecisionView:
    """One decision as a card. ``kind`` chooses how the template draws ``drawing``."""

    number: int
    value: str
    sentence: str
    arguments: tuple[tuple[str, Cell], ...]
    kind: str
    drawing: Any
    method: str
    behind: tuple[tuple[SourceView, TableView], ...]
    is_open: bool


@dataclass(frozen=True, kw_only=True)
class UdfView:
    """All decisions of one UDF; ``called`` is the run that called it, where it is another than the one asked about."""

    name: str
    called: str
    badge: Badge
    decided: str
    values: tuple[tuple[str, str], ...]
    overall: tuple[words.Overall, ...]
    overall_note: str
    decisions: tuple[DecisionView, ...]
    more: str


@dataclass(frozen=True, kw_only=True)
class QueryView:
    """A tracing query that was run."""

    summary: str
    sql: str


@dataclass(frozen=True, kw_only=True)
class Page:
    """The whole page."""

    title: str
    pipeline: str
    question: str
    made_from: str
    badge: Badge
    worth: str
    stale: tuple[str, ...]
    verified: bool | None
    verification: str
    target: TableView
    behind_target: tuple[str, ...]
    udfs: tuple[UdfView, ...]
    sources: tuple[SourceView, ...]
    through: tuple[ThroughView, ...]
    controls: tuple[ControlView, ...]
    diagram: Diagram | None
    source_rows: Mapping[str, tuple[str, str]]
    segments: tuple[SegmentLine, ...]
    segment_texts: tuple[tuple[str, str], ...]
    queries: tuple[QueryView, ...]
    query_summary: str
    facts: tuple[tuple[str, str], ...]


def page(explanation: Explanation) -> Page:
    """Everything that the template sets."""
    sources = tuple(_source(explanation, name, f"source-{i}") for i, name in enumerate(explanation.source))
    target = table_view(explanation.target, "target")
    plan = explanation.plan
    return Page(
        title=f"{visible(explanation.run.pipeline)}: {shortened(visible(explanation.asked), 80)}",
        pipeline=visible(explanation.run.pipeline),
        question=question(explanation),
        made_from=made_from(explanation),
        badge=badge(explanation.guarantee),
        worth=worth(explanation),
        stale=tuple(visible(each) for each in explanation.stale),
        verified=explanation.verified,
        verification=verification_text(explanation),
        target=target,
        behind_target=_behind(explanation, "target", target),
        udfs=_udfs(explanation, sources),
        sources=sources,
        through=tuple(_through(explanation, name, f"through-{i}") for i, name in enumerate(explanation.intermediate)),
        controls=tuple(_control(control, explanation, sources, target) for control in explanation.controls),
        diagram=diagram(plan, explanation.materialized) if plan is not None else None,
        source_rows={name: (view.anchor, _in_tree(view)) for name, view in zip(explanation.source, sources, strict=True)},
        segments=segment_lines(explanation),
        segment_texts=_segment_texts(explanation),
        queries=tuple(_query(query, f"run {run} · " if run else "") for run, query in queries_of(explanation)),
        query_summary=_query_summary(explanation),
        facts=tuple(facts(explanation)),
    )


def badge(guarantee: Guarantee) -> Badge:
    """A guarantee to be shown."""
    return Badge(
        level=guarantee.level, mark=MARKS[guarantee.level], cause=visible(guarantee.cause), meaning=guarantee_meaning(guarantee)
    )  # fmt: skip


def _source(explanation: Explanation, name: str, anchor: str) -> SourceView:
    table = explanation.source[name]
    return SourceView(
        name=visible(name), anchor=anchor, badge=badge(guarantee_of(explanation, name)), rows=rows_text(explanation, name),
        table=table_view(table, anchor), whole=whole_table_text(explanation, name),
    )  # fmt: skip


def _through(explanation: Explanation, name: str, anchor: str) -> ThroughView:
    between = explanation.intermediate[name]
    rows = table_view(between.rows, anchor)
    return ThroughView(
        name=visible(name), anchor=anchor, badge=badge(guarantee_of(explanation, name)), text=written_text(between), table=rows,
        behind=_behind(explanation, name, rows),
    )  # fmt: skip


def _in_tree(source: SourceView) -> str:
    return "decided as a whole" if source.whole else f"{source.rows} in this answer"


def _control(control: Control, explanation: Explanation, sources: tuple[SourceView, ...], target: TableView) -> ControlView:
    anchors = {row.number: row.anchor for row in target.rows}
    places = dict(zip(explanation.source, (source.anchor for source in sources), strict=True))
    shown = [row for row in control.rows if row in anchors][:CONTROLLED_ROWS]
    return ControlView(
        title=control_title(control),
        text=control_text(control),
        operator=visible(control.operator),
        rows=tuple((f"{row + 1:,}", anchors[row]) for row in shown),
        more_rows=more(len(control.rows) - len(shown), "row"),
        sources=tuple((visible(name), places[name]) for name in control.sources if name in places),
    )


def _behind(explanation: Explanation, name: str, view: TableView) -> tuple[str, ...]:
    """For each row of a table that is shown, how many source rows are behind it: ``client 1 · debt 1``."""
    behind = links_by_row(explanation.links.get(name))
    return tuple(
        " · ".join(f"{visible(source)} {len(rows):,}" for source, rows in behind.get(row, {}).items()) for row in range(len(view.rows))
    )


# --- decisions ----------------------------------------------------------------------------------------------------------


def _udfs(explanation: Explanation, sources: tuple[SourceView, ...]) -> tuple[UdfView, ...]:
    room = _Room(explanation, sources)
    return tuple(_udf(explanation, name, room) for name in explanation.reasons)


def _udf(explanation: Explanation, name: str, room: _Room) -> UdfView:
    table = explanation.reasons[name]
    parsed = decisions(explanation, name, max(SUMMARIZED, DECISIONS))
    counts = value_counts(table)
    left_out = table.num_rows - len(parsed)
    return UdfView(
        name=visible(name),
        called=called_text(explanation, name),
        badge=badge(guarantee_of(explanation, name)),
        decided=count(table.num_rows, "decision"),
        values=tuple((value, f"{times:,}") for value, times in counts[:8]) if table.num_rows > 1 else (),
        overall=words.overall(each.reason for each in parsed),
        overall_note=f"over the first {len(parsed):,} decisions only" if left_out else "",
        decisions=tuple(_decision(each, number, room) for number, each in enumerate(parsed[:DECISIONS])),
        more=more(table.num_rows - min(DECISIONS, len(parsed)), "decision"),
    )


def _decision(decision: Decision, number: int, room: _Room) -> DecisionView:
    kind, drawing = _drawing(decision)
    return DecisionView(
        number=number + 1,
        value=cell(decision.value).text,
        sentence=words.sentence(decision.reason),
        arguments=tuple((visible(name), cell(value)) for name, value in decision.arguments),
        kind=kind,
        drawing=drawing,
        method=words.method_text(decision.reason) if decision.reason is not None else "",
        behind=room.behind(decision),
        is_open=number < OPEN_DECISIONS,
    )


def _drawing(decision: Decision) -> tuple[str, Any]:
    match decision.reason:
        case None:
            return "none", None
        case words.Unreadable() as unreadable:
            return "unreadable", {"problem": unreadable.problem, "text": shortened(visible(unreadable.text), 4000)}
        case Attributions() as reason:
            return "attributions", _attributions(reason)
        case TextSpans() as reason:
            text = text_for(reason, decision.arguments)
            return ("spans", reason.spans[:200]) if text is None else ("text", marked_text(reason, text))
        case Boxes() as reason:
            return "boxes", box_picture(reason, decision.arguments)
        case Mask() as reason:
            return "mask", mask_picture(reason)
        case Json() as reason:
            return _json(reason)


def _attributions(reason: Attributions) -> dict[str, Any]:
    return {
        "chart": words.bar_chart(reason, FEATURES),
        "all": words.bar_chart(reason, ALL_FEATURES) if len(reason.features) > FEATURES else None,
        "explained": words.explained(reason),
        "sum": words.sum_text(reason),
        "adds_up": words.adds_up(reason),
        "reason": reason,
    }


def _json(reason: Json) -> tuple[str, Any]:
    items = words.pills(reason)
    return ("pills", items) if items else ("json", shortened(words.json_text(reason), 8000))


class _Room:
    """Source rows for the cards, as long as there is room for them in the page."""

    def __init__(self, explanation: Explanation, sources: tuple[SourceView, ...]) -> None:
        self.tables = explanation.source
        self.views = dict(zip(explanation.source, sources, strict=True))
        self.cells = LINKED_CELLS

    def behind(self, decision: Decision) -> tuple[tuple[SourceView, TableView], ...]:
        """The first source rows behind a decision, by table."""
        return tuple((self.views[name], self._rows(name, rows)) for name, rows in decision.sources.items() if name in self.views)

    def _rows(self, name: str, rows: tuple[int, ...]) -> TableView:
        width = max(1, min(self.tables[name].num_columns, LINKED_COLUMNS))
        allowed = min(LINKED_ROWS, self.cells // width)
        self.cells -= min(len(rows), allowed) * width
        return table_view(self.tables[name], self.views[name].anchor, indices=rows, most_rows=allowed, most_columns=LINKED_COLUMNS)


# --- the plan and the queries -------------------------------------------------------------------------------------------


def _segment_texts(explanation: Explanation) -> tuple[tuple[str, str], ...]:
    plan = explanation.plan
    if plan is None:
        return ()
    return tuple((segment_label(each, explanation.materialized), visible(plan_text(each.plan), block=True)) for each in plan.segments)


def _query(query: TracingQuery, run: str) -> QueryView:
    what = f"{run}segment {query.segment} · {visible(query.engine)} · {seconds_text(query.seconds)} · {count(query.rows, 'row')}"
    cut = more(len(query.sql) - QUERY_CHARACTERS, "character")
    sql = visible(query.sql[:QUERY_CHARACTERS], block=True)
    return QueryView(summary=what, sql=f"{sql}\n{cut}" if cut else sql)


def _query_summary(explanation: Explanation) -> str:
    queries = [query for _, query in queries_of(explanation)]
    if not queries:
        return "No tracing query was run for this answer."
    engines = " and ".join(sorted({visible(query.engine) for query in queries}))
    total = seconds_text(sum(query.seconds for query in queries))
    return f"{count(len(queries), 'tracing query', 'tracing queries')} in {engines}, {total} together."
