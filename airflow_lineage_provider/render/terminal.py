"""An explanation in the terminal. Every text that comes from data is made visible and never read as rich's markup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from airflow_lineage_provider.answers.values import (
    count,
    is_number,
    row_numbers,
    rows_of,
    seconds_text,
    shortened,
    text_of,
    type_name,
    visible,
)  # fmt: skip
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.plan.walk import children
from airflow_lineage_provider.reasons.discretion import NOTHING_WITHHELD, Redaction
from airflow_lineage_provider.reasons.features import Names
from airflow_lineage_provider.render.decisions import Decision, decisions, outcomes
from airflow_lineage_provider.render.naming import named, outcome_text
from airflow_lineage_provider.render.segment_text import SegmentLine, segment_label, segment_lines
from airflow_lineage_provider.render.sentence import answer
from airflow_lineage_provider.render.terminal_reason import cells_view, reason_lines
from airflow_lineage_provider.render.wording import (
    called_text,
    control_text,
    cost_text,
    facts,
    guarantee_text,
    guarantee_tone,
    listing_text,
    made_from,
    more,
    queries_of,
    question,
    rows_meaning,
    run_facts,
    share_text,
    verification_text,
    whole_table_text,
    withheld_text,
    worth,
    written_text,
)  # fmt: skip

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
    from airflow_lineage_provider.plan import operators as o
    from airflow_lineage_provider.plan.guarantees import Guarantee

STYLES = {"exact": "green", "superset": "yellow", "unavailable": "red"}
CELL, TYPE = 40, 24
ARGUMENTS = 12
_SHORT = {"function_materialization": "FM", "full_materialization": "full"}
DEPTH = 60
"""Deeper operator trees are cut: a terminal line has no room for more indentation."""


def show(explanation: Explanation, console: Console | None = None, *, rows: int = 20, cells: bool = False) -> None:
    """Print an explanation, at most ``rows`` rows a table and ``rows`` decisions a UDF; with ``cells`` those behind reasons."""
    out = console or Console()
    for part in _parts(explanation, out.width, max(0, rows)):
        out.print(part)
    for name, table in explanation.cells.items() if cells else ():
        for part in _section(f"Cells behind {visible(name)}", None, *cells_view(table, max(0, rows))):
            out.print(part)


def _parts(explanation: Explanation, width: int, rows: int) -> Iterator[RenderableType]:
    yield Text()
    said, made = answer(explanation), made_from(explanation)
    yield Text(said, style="bold")
    yield Text(question(explanation) + (f" {made}" if made != said else ""))
    yield from _notices(explanation)
    yield from _section("Rows asked about", None, table(explanation.target, width, rows))
    for name in explanation.reasons:
        yield from _udf(explanation, name, rows)
    for name, source in explanation.sources.items():
        whole = whole_table_text(explanation, name)
        title = f"{visible(name)}, {'as a whole' if whole else count(source.num_rows, 'source row')}"
        yield from _section(title, source.guarantee, Text(whole, style="dim") if whole else table(source.rows, width, rows))
    if explanation.controls:
        yield from _section("Decided as a whole", None, *_controls(explanation))
    for name, between in explanation.intermediate.items():
        title = f"Through {visible(name)}, {written_text(between)}"
        yield from _section(title, between.guarantee, table(between.rows, width, rows))
    if explanation.plan is not None:
        yield from _section("Operator tree", None, plan_tree(explanation.plan, explanation.materialized, width, explanation.redaction))
        yield from _section("What was stored, and why", None, segments_table(segment_lines(explanation)))
    yield from _section("Tracing queries", None, _queries(explanation))
    yield Text()
    yield Text(" · ".join(f"{label} {text}" for label, text in facts(explanation)), style="dim")


def _notices(explanation: Explanation) -> Iterator[RenderableType]:
    if explanation.redaction:
        yield Text(withheld_text(explanation.redaction), style="dim")
    tone = guarantee_tone(explanation.guarantee)
    yield Text(worth(explanation) + ".", style=STYLES[tone])
    style = {True: "green", False: "bold red", None: "dim"}[explanation.verified]
    yield Text(verification_text(explanation) + ".", style=style)
    if explanation.stale:
        yield Text("The sources have changed since the run:", style="bold yellow")
        yield from (Text(f"  {visible(one)}", style="yellow") for one in explanation.stale)


def guarantee_line(guarantee: Guarantee, meaning: str | None = None) -> Text:
    """What an answer is worth, in one sentence; ``meaning`` is that of the level, where it is another than of any rows (`rows_meaning`)."""
    said = meaning or rows_meaning(guarantee)
    style = {"exact": "green", "superset": "yellow", "unavailable": "red"}[guarantee.level]
    cause = f": {visible(guarantee.cause)}" if guarantee.cause else ""
    return Text(f"{said[:1].upper()}{said[1:]}{cause}.", style=style)


def _section(title: str, guarantee: Guarantee | None, *body: RenderableType) -> Iterator[RenderableType]:
    yield Text()
    heading = Text(title, style="bold cyan")
    if guarantee is not None:
        heading.append("  ").append(guarantee_text(guarantee), style=STYLES[guarantee_tone(guarantee)])
    yield heading
    yield from (Padding(part, (0, 0, 0, 2)) for part in body)


# --- tables -------------------------------------------------------------------------------------------------------------


def table(rows: pa.Table, width: int, most: int) -> RenderableType:
    """A table with its first rows, and as many columns as the terminal has room for; what is left out is said."""
    if not rows.num_rows:
        return Text("no rows", style="dim")
    shown = rows.slice(0, most)
    cells = [[text_of(value, CELL) for value in row] for row in rows_of(shown)]
    numeric = [is_number(value) for value in rows_of(rows.slice(0, 1))[0]]
    heads = [(shortened(visible(f.name), CELL), shortened(visible(type_name(f)), TYPE)) for f in rows.schema]
    fit = _columns_that_fit(heads, cells, width - 8)
    made = _plain_table()
    made.add_column("\n#", style="dim", justify="right")
    for (head, kind), right in list(zip(heads, numeric, strict=True))[:fit]:
        made.add_column(
            Text(head, style="bold").append(f"\n{kind}", style="not bold dim"), justify="right" if right else "left", no_wrap=True
        )
    for number, row in enumerate(cells, start=1):
        made.add_row(str(number), *(_cell(value) for value in row[:fit]))
    notes = [more(rows.num_rows - shown.num_rows, "row"), more(rows.num_columns - fit, "column")]
    return Group(made, *(Text(note, style="dim") for note in notes if note))


def _columns_that_fit(heads: Sequence[tuple[str, str]], cells: Sequence[Sequence[str]], width: int) -> int:
    """How many columns the width has room for, one at least."""
    used = 0
    for index, (head, kind) in enumerate(heads):
        used += 2 + max(cell_len(text) for text in (head, kind, *(row[index] for row in cells)))
        if used > width and index:
            return index
    return len(heads)


def _plain_table(*, header: bool = True) -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), show_edge=False, show_header=header, header_style="bold")


def _cell(text: str) -> Text:
    return Text(text, style="dim italic" if text == "NULL" else "")


# --- decisions ----------------------------------------------------------------------------------------------------------


def _udf(explanation: Explanation, name: str, rows: int) -> Iterator[RenderableType]:
    made = explanation.reasons[name]
    title = f"Why: {count(made.num_rows, 'decision')} by {' '.join((visible(name), called_text(explanation, name))).rstrip()}"
    counts = outcomes(made.rows, made.names) if made.num_rows > 1 else []
    yield from _section(title, made.guarantee, *_counts(counts))
    for number, decision in enumerate(decisions(explanation, name, rows), start=1):
        yield Padding(Group(*_decision(decision, number, made.names)), (0, 0, 1, 2))
    hidden = more(made.num_rows - rows, "decision")
    if hidden:
        yield Text(f"  {hidden}", style="dim")


def _counts(counts: Sequence[tuple[str, int]]) -> list[Text]:
    return [Text(" · ".join(f"{value} {times:,}" for value, times in counts[:8]), style="dim")] if counts else []


def _decision(decision: Decision, number: int, names: Names) -> Iterator[RenderableType]:
    shown = (named(name, value, names.argument(at), CELL) for at, (name, value) in enumerate(decision.arguments[:ARGUMENTS]))
    arguments = ", ".join(one.text for one in shown)
    others = more(len(decision.arguments) - ARGUMENTS, "argument")
    yield (
        Text(f"{number} ", style="dim")
        .append(outcome_text(decision.value, names, 80), style="bold")
        .append(f"  {arguments} {others}".rstrip(), style="dim")
    )
    for line in reason_lines(decision, names):
        yield Padding(line, (0, 0, 0, 2))
    if decision.sources:
        behind = "; ".join(f"{visible(name)} {row_numbers(rows)}" for name, rows in decision.sources.items())
        yield Text(f"  made from {behind}", style="dim")


def _controls(explanation: Explanation) -> Iterator[Text]:
    for control in explanation.controls:
        yield Text(control_text(control))
        yield Text(f"  {listing_text(control)}", style="dim")
        yield Text(f"  {shortened(visible(control.operator), 160)}", style="dim")


# --- the plan and the queries -------------------------------------------------------------------------------------------


def plan_tree(plan: SegmentedPlan, materialized: frozenset[int], width: int, redaction: Redaction = NOTHING_WITHHELD) -> Tree:
    """The operator tree, a label where a segment begins: behind the operator, or below it where there is no room."""
    tree = Tree(Text("result", style="dim"), guide_style="dim")
    labels = {segment.number: segment_label(segment, materialized) for segment in plan.segments}
    _grow(tree, plan, plan.root.plan, labels[0], labels, redaction, width - 6)
    return tree


def _grow(
    tree: Tree, plan: SegmentedPlan, node: o.Plan, label: str, labels: Mapping[int, str], redaction: Redaction, room: int, depth: int = 0
) -> None:  # fmt: skip
    from airflow_lineage_provider.plan import operators as o

    if isinstance(node, o.SegmentOutput):
        _grow(tree, plan, plan.segments[node.segment].plan, labels[node.segment], labels, redaction, room, depth)
        return
    if depth == DEPTH:
        tree.add(Text("…", style="dim"))
        return
    text = Text(shortened(visible(redaction.text(operator_text(node))), 160))
    if label:
        text.append(("   " if text.cell_len + 3 + len(label) <= room else "\n") + label, style="cyan")
    branch = tree.add(text)
    for child in children(node):
        _grow(branch, plan, child, "", labels, redaction, room - 4, depth + 1)


def segments_table(lines: Sequence[SegmentLine]) -> RenderableType:
    """A line for every segment: whether it was stored, and why."""
    made = _plain_table()
    made.add_column("segment", justify="right")
    for head in ("kind", "stored"):
        made.add_column(head, no_wrap=True)
    made.add_column("because", overflow="fold", style="dim")
    for line in lines:
        stored = Text("yes", style="green") if line.materialized else Text("no")
        made.add_row(str(line.number), line.kind, stored, Text(line.because))
    return made


def _queries(explanation: Explanation) -> RenderableType:
    queries = queries_of(explanation)
    if not queries:
        return Text("none was run for this answer", style="dim")
    across = any(run for run, _ in queries)
    made = _plain_table()
    for head in ("segment", "engine", "time", "rows", *(("run",) if across else ())):
        made.add_column(head, justify="left" if head in ("engine", "run") else "right")
    for run, query in queries:
        of = (Text(run or visible(explanation.run.id)),) if across else ()
        made.add_row(str(query.segment), Text(visible(query.engine)), seconds_text(query.seconds), f"{query.rows:,}", *of)
    return made


# --- runs ---------------------------------------------------------------------------------------------------------------


def runs_table(runs: Sequence[RunSummary], before: Mapping[str, Sequence[str]] | None = None) -> RenderableType:
    """Runs as a list for people, each with as much of its id as tells it from the others; ``before``: columns that stand first."""
    if not runs:
        return Text("no runs", style="dim")
    made = _plain_table()
    first = dict(before or {})
    for head in first:
        made.add_column(head, overflow="fold")
    with_airflow = any(run.airflow for run in runs)
    for head in ("run", "pipeline", "strategy", "status", "started", "took", "lineage", "rows", *(["Airflow"] if with_airflow else [])):
        folds = head in ("pipeline", "Airflow")
        made.add_column(head, justify="right" if head in ("took", "lineage", "rows") else "left", no_wrap=not folds, overflow="fold")
    length = _telling_length([run.id for run in runs])
    for at, run in enumerate(runs):
        cells = [*(Text(visible(texts[at])) for texts in first.values()), *_run_cells(run, length)]
        made.add_row(*cells[: len(made.columns)])
    return made


def _telling_length(ids: Sequence[str]) -> int:
    """How many characters tell the ids apart; no fewer than those of the time in them."""
    longest = max(map(len, ids))
    return next((n for n in range(13, longest) if len({one[:n] for one in ids}) == len(set(ids))), longest)


def _run_cells(run: RunSummary, length: int) -> list[Text]:
    status = {"complete": "green", "failed": "red", "running": "yellow", "incomplete": "yellow"}.get(run.status, "dim")
    airflow = ".".join(str(run.airflow[key]) for key in ("dag_id", "task_id") if run.airflow.get(key))
    seconds = seconds_text(run.seconds) if run.seconds is not None else "–"
    texts = [
        (run.id[:length], "bold"), (run.pipeline, ""), (_SHORT.get(run.strategy, run.strategy), ""), (run.status, status),
        (run.started.replace("T", " ")[:16], ""), (seconds, ""), (share_text(run.lineage_cost), ""),
        (f"{run.rows:,}" if run.rows is not None else "–", ""), (airflow, "dim"),
    ]  # fmt: skip
    return [Text(visible(text), style=style) for text, style in texts]


def run_panel(run: RunSummary) -> RenderableType:
    """One run as a list of facts."""
    cost = [] if run.lineage_cost is None else [("lineage took", cost_text(run.lineage_cost))]
    return facts_table([*run_facts(run), *cost, *([] if run.rows is None else [("rows", f"{run.rows:,}")])])


def facts_table(facts: Sequence[tuple[str, str]]) -> RenderableType:
    """Labels and texts, one a line."""
    made = _plain_table(header=False)
    made.add_column(style="dim")
    made.add_column(overflow="fold")
    for label, text in facts:
        made.add_row(Text(visible(label)), Text(visible(text)))
    return made


def hint(run: RunSummary, *, shown: int) -> list[Text]:
    """What is not shown of a result, and what can be asked next."""
    hidden = more((run.rows or 0) - shown, "row")
    lines = [Text(hidden, style="dim")] if hidden else []
    return [*lines, Text(f'\nask why:  airflow-lineage explain {visible(run.id)} "<predicate over these columns>"', style="dim")]
