"""One decision's reason in the terminal: small bar charts of text blocks, marked text, lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from airflow_lineage_provider.answers.values import number, shortened, visible
from airflow_lineage_provider.reasons.features import NOTHING_SAID, Names
from airflow_lineage_provider.reasons.payload import Attributions, Boxes, Json, Mask, TextSpans, Weights
from airflow_lineage_provider.render import reason_text as words
from airflow_lineage_provider.render.cell_text import cell_line, cell_lines
from airflow_lineage_provider.render.decisions import Decision
from airflow_lineage_provider.render.pictures import marked_text, text_for
from airflow_lineage_provider.render.sentence import because, clause

if TYPE_CHECKING:
    import pyarrow as pa

FEATURES = 8
BAR = 12
"""Characters of one side of a bar chart."""

LINES = 12
_EIGHTHS = " ▏▎▍▌▋▊▉█"
UP, DOWN = "dark_orange3", "dodger_blue2"


def reason_lines(decision: Decision, names: Names = NOTHING_SAID) -> Iterator[RenderableType]:
    """What is printed below a decision."""
    match decision.reason:
        case None:
            yield Text("no reason given", style="dim")
        case words.Unreadable() as unreadable:
            yield Text(f"the reason cannot be read: {visible(unreadable.problem)}", style="red")
        case Attributions() as reason:
            yield from _attributions(reason, names)
        case TextSpans() as reason:
            yield from _spans(reason, decision)
        case Boxes() as reason:
            yield from _listed([words.box_text(box) for box in reason.boxes], "box", "boxes")
        case Mask() | Weights():
            yield Text(clause(because(decision, names)))
        case Json() as reason:
            yield from _json(reason)
    if decision.traced is not None:
        yield from (Text(line, style="dim") for line in cell_lines(decision.traced, decision.blanked))


def bar(share: float) -> Text:
    """A diverging bar: ``share`` from -1 to 1, the axis in the middle."""
    eighths = round(abs(share) * BAR * 8)
    full, part = divmod(eighths, 8)
    if share < 0:
        # There are no blocks that fill a cell from the right; a half block is the nearest.
        left = ("▐" if part >= 4 else "") + "█" * full
        return Text(left.rjust(BAR), style=DOWN).append("│" + " " * BAR, style="dim")
    right = "█" * full + (_EIGHTHS[part] if part else "")
    return Text(" " * BAR + "│", style="dim").append(right.ljust(BAR), style=UP)


def _attributions(reason: Attributions, names: Names) -> Iterator[RenderableType]:
    chart = words.bar_chart(reason, FEATURES, names)
    yield Text(f"what moved {words.explained(reason)}:", style="dim")
    made = Table.grid(padding=(0, 1))
    for one in chart.bars:
        name = Text(shortened(one.feature, 28)).append(f" = {shortened(one.value, 18)}" if one.value else "", style="dim")
        style = "dim" if one.untold else DOWN if one.contribution < 0 else UP
        told = one.number if one.untold else number(one.contribution, sign=True)
        made.add_row(name, bar(one.share), Text(told, style=style, justify="right"))
    yield made
    if chart.rest:
        yield Text(f"… and {chart.rest:,} smaller, {number(chart.rest_sum, sign=True)} together", style="dim")
    yield Text(words.sum_text(reason), style="yellow" if words.adds_up(reason) is False else "dim")
    if reason.fit is not None:
        yield Text(words.fit_text(reason), style="dim")


def _spans(reason: TextSpans, decision: Decision) -> Iterator[RenderableType]:
    text = text_for(reason, decision.arguments)
    if text is None:
        yield from _listed([f"characters {s.start}–{s.end} {number(s.weight, sign=True)}" for s in reason.spans], "span", "spans")
        return
    line = Text()
    marked = marked_text(reason, text)
    for piece in marked.pieces:
        style = "" if not piece.tone else f"bold {UP if piece.tone.startswith('up') else DOWN} underline"
        line.append(piece.text, style=style)
        if piece.title:
            line.append(f"[{piece.title}]", style="dim")
    yield line
    if marked.hidden:
        yield Text(f"… and {marked.hidden:,} more characters", style="dim")
    told = "; ".join(one for one in (words.output_text(reason), words.fit_text(reason)) if one)
    if told:
        yield Text(told, style="dim")


def _json(reason: Json) -> Iterator[RenderableType]:
    items = words.pills(reason)
    if items:
        yield Text("because of ").append(", ".join(items), style="bold")
        return
    lines = words.json_text(reason).split("\n")
    yield Text("\n".join(lines[:LINES]))
    if len(lines) > LINES:
        yield Text(f"… and {len(lines) - LINES:,} more lines", style="dim")


def _listed(texts: list[str], noun: str, plural: str) -> Iterator[RenderableType]:
    yield from (Text(f"• {text}") for text in texts[:FEATURES])
    if len(texts) > FEATURES:
        yield Text(f"… and {len(texts) - FEATURES:,} more {noun if len(texts) - FEATURES == 1 else plural}", style="dim")
    if not texts:
        yield Text(f"no {noun}", style="dim")


def cells_view(table: pa.Table, rows: int) -> Iterator[RenderableType]:
    """The first cells behind a UDF's reasons, a line for each box."""
    yield from (Text(cell_line(one)) for one in table.slice(0, rows).to_pylist())
    if table.num_rows > rows:
        yield Text(f"… and {table.num_rows - rows:,} more", style="dim")
    if not table.num_rows:
        yield Text("no reason says which cells it is about", style="dim")
