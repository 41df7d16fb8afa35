"""What the HTML page shows of an explanation, and how much of it: the template only sets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.values import count, links_by_row, seconds_text, shortened, visible
from airflow_lineage_provider.plan.guarantees import Guarantee
from airflow_lineage_provider.plan.text import plan_text
from airflow_lineage_provider.render.cards import Cards, Decided
from airflow_lineage_provider.render.diagram import Diagram, diagram
from airflow_lineage_provider.render.outline import OutlineLine, outline
from airflow_lineage_provider.render.segment_text import SegmentLine, segment_label, segment_lines
from airflow_lineage_provider.render.sentence import answer
from airflow_lineage_provider.render.tables import TableView, table_view
from airflow_lineage_provider.render.wording import (
    called_text,
    control_text,
    control_title,
    facts,
    guarantee_label,
    guarantee_mark,
    guarantee_meaning,
    guarantee_tone,
    listed_text,
    listing_text,
    made_from,
    more,
    queries_of,
    question,
    rows_text,
    verification_text,
    whole_table_text,
    withheld_text,
    worth,
    written_text,
)  # fmt: skip

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import Control, Explanation
    from airflow_lineage_provider.tracing.trace import TracingQuery

CONTROLLED_ROWS = 50
QUERY_CHARACTERS = 20_000


@dataclass(frozen=True, kw_only=True)
class Badge:
    """A guarantee as a mark, a word and why; ``level`` is the one whose colour it has."""

    level: str
    label: str
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
    listed: str


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
    listing: str
    operator: str
    rows: tuple[tuple[str, str], ...]
    more_rows: str
    sources: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class UdfView:
    """All decisions of one UDF; ``called`` is the run that called it, where it is another than the one asked about."""

    name: str
    anchor: str
    called: str
    badge: Badge
    decided: str
    cards: Decided


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
    answer: str
    question: str
    made_from: str
    badge: Badge
    worth: str
    stale: tuple[str, ...]
    verified: bool | None
    verification: str
    withheld: str
    target: TableView
    behind_target: tuple[str, ...]
    udfs: tuple[UdfView, ...]
    sources: tuple[SourceView, ...]
    through: tuple[ThroughView, ...]
    controls: tuple[ControlView, ...]
    diagram: Diagram | None
    outline: tuple[OutlineLine, ...]
    source_rows: Mapping[str, tuple[str, str]]
    segments: tuple[SegmentLine, ...]
    segment_texts: tuple[tuple[str, str], ...]
    queries: tuple[QueryView, ...]
    query_summary: str
    facts: tuple[tuple[str, str], ...]
    css: str


def page(explanation: Explanation) -> Page:
    """Everything that the template sets."""
    sources = tuple(_source(explanation, name, f"source-{i}") for i, name in enumerate(explanation.sources))
    target = table_view(explanation.target, "target")
    through = tuple(_through(explanation, name, f"through-{i}") for i, name in enumerate(explanation.intermediate))
    plan = explanation.plan
    udfs = _udfs(explanation, {name: view.table for name, view in zip(explanation.sources, sources, strict=True)})
    tables = (target, *(one.table for one in sources), *(one.table for one in through))
    return Page(
        title=f"{visible(explanation.run.pipeline)}: {shortened(visible(explanation.asked), 80)}",
        pipeline=visible(explanation.run.pipeline),
        answer=answer(explanation),
        question=question(explanation),
        made_from=made_from(explanation),
        badge=badge(explanation.guarantee),
        worth=worth(explanation),
        stale=tuple(visible(each) for each in explanation.stale),
        verified=explanation.verified,
        verification=verification_text(explanation),
        withheld=withheld_text(explanation.redaction),
        target=target,
        behind_target=_behind(explanation.target_links, target),
        udfs=udfs,
        sources=sources,
        through=through,
        controls=tuple(_control(control, explanation, sources, target) for control in explanation.controls),
        diagram=diagram(plan, explanation.materialized, explanation.redaction) if plan is not None else None,
        outline=outline(plan, explanation.materialized, explanation.redaction) if plan is not None else (),
        source_rows={name: (view.anchor, _in_tree(view)) for name, view in zip(explanation.sources, sources, strict=True)},
        segments=segment_lines(explanation),
        segment_texts=_segment_texts(explanation),
        queries=tuple(_query(query, f"run {run} · " if run else "") for run, query in queries_of(explanation)),
        query_summary=_query_summary(explanation),
        facts=tuple(facts(explanation)),
        css="".join([*(view.css for view in tables), *(one.cards.css for one in udfs)]),
    )


def badge(guarantee: Guarantee, meaning: str | None = None) -> Badge:
    """A guarantee to be shown; ``meaning`` is what its level says, where it is not about rows that made a target."""
    return Badge(
        level=guarantee_tone(guarantee), label=guarantee_label(guarantee), mark=guarantee_mark(guarantee),
        cause=visible(guarantee.cause), meaning=meaning or guarantee_meaning(guarantee),
    )  # fmt: skip


def _source(explanation: Explanation, name: str, anchor: str) -> SourceView:
    source = explanation.sources[name]
    return SourceView(
        name=visible(name), anchor=anchor, badge=badge(source.guarantee), rows=rows_text(explanation, name),
        table=table_view(source.rows, anchor), whole=whole_table_text(explanation, name),
        listed=listed_text(explanation, name),
    )  # fmt: skip


def _through(explanation: Explanation, name: str, anchor: str) -> ThroughView:
    between = explanation.intermediate[name]
    rows = table_view(between.rows, anchor)
    return ThroughView(
        name=visible(name), anchor=anchor, badge=badge(between.guarantee), text=written_text(between), table=rows,
        behind=_behind(between.links, rows),
    )  # fmt: skip


def _in_tree(source: SourceView) -> str:
    return "decided as a whole" if source.whole else f"{source.rows} in this answer"


def _control(control: Control, explanation: Explanation, sources: tuple[SourceView, ...], target: TableView) -> ControlView:
    anchors = {row.number: row.anchor for row in target.rows}
    places = dict(zip(explanation.sources, (source.anchor for source in sources), strict=True))
    shown = [row for row in control.rows if row in anchors][:CONTROLLED_ROWS]
    return ControlView(
        title=control_title(control),
        text=control_text(control),
        listing=listing_text(control),
        operator=visible(control.operator),
        rows=tuple((f"{row + 1:,}", anchors[row]) for row in shown),
        more_rows=more(len(control.rows) - len(shown), "row"),
        sources=tuple((visible(name), places[name]) for name in control.sources if name in places),
    )


def _behind(links: pa.Table | None, view: TableView) -> tuple[str, ...]:
    """For each row of a table that is shown, how many source rows are behind it: ``client 1 · debt 1``."""
    behind = links_by_row(links)
    return tuple(
        " · ".join(f"{visible(source)} {len(rows):,}" for source, rows in behind.get(row, {}).items()) for row in range(len(view.rows))
    )


# --- decisions ----------------------------------------------------------------------------------------------------------


def _udfs(explanation: Explanation, tables: Mapping[str, TableView]) -> tuple[UdfView, ...]:
    cards = Cards(explanation, tables)
    return tuple(
        UdfView(
            name=visible(name), anchor=f"udf-{at}", called=called_text(explanation, name), badge=badge(made.guarantee),
            decided=count(len(made), "decision"), cards=cards.of(name, f"udf-{at}"),
        )
        for at, (name, made) in enumerate(explanation.reasons.items())
    )  # fmt: skip


# --- the plan and the queries -------------------------------------------------------------------------------------------


def _segment_texts(explanation: Explanation) -> tuple[tuple[str, str], ...]:
    plan = explanation.plan
    if plan is None:
        return ()
    tell = explanation.redaction.text
    return tuple(
        (segment_label(each, explanation.materialized), visible("\n".join(map(tell, plan_text(each.plan).splitlines())), block=True))
        for each in plan.segments
    )


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
