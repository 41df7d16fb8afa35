"""What became of source rows, in the terminal: each row with its way through the operators, down to where it ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from airflow_lineage_provider.answers.values import count, rows_of, seconds_text, shortened, visible
from airflow_lineage_provider.render.terminal import guarantee_line
from airflow_lineage_provider.render.why_not_text import (
    OPERATOR,
    descendant_lines,
    meaning,
    row_text,
    survived_text,
    surviving_text,
    title,
    way_text,
)

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.why_not import Drop, Fate, Step, WhyNot


def show(found: WhyNot, console: Console | None = None, *, rows: int = 20) -> None:
    """Print the answer, for at most ``rows`` source rows."""
    out = console or Console()
    for part in _parts(found, max(0, rows)):
        out.print(part)


def _parts(found: WhyNot, rows: int) -> Iterator[RenderableType]:
    yield Text()
    yield Text(f"{title(found)}: {visible(found.asked)}", style="bold")
    yield Text(f"{surviving_text(found)} (run {visible(found.run.id)})")
    yield guarantee_line(found.guarantee, meaning(found))
    if found.stale:
        yield Text("The sources have changed since the run:", style="bold yellow")
        yield from (Text(f"  {visible(one)}", style="yellow") for one in found.stale)
    names = found.rows.column_names
    for row, values in enumerate(rows_of(found.rows.slice(0, rows))):
        yield Text()
        yield _heading(row, found.copies[row], dict(zip(names, values, strict=True)))
        fates = found.of(row)
        for number, fate in enumerate(fates, start=1):
            if where := way_text(found.table, number, len(fates)):
                yield Text(f"  {where}", style="dim")
            yield from (Padding(part, (0, 0, 0, 2)) for part in _fate(fate))
    if found.rows.num_rows > rows:
        yield Text(f"… and {count(found.rows.num_rows - rows, 'row')} more", style="dim")
    yield Text()
    yield Text(f"answered in {seconds_text(found.seconds)}{f', kept as {found.id}' if found.id else ''}", style="dim")


def _heading(row: int, copies: int, values: dict[str, object]) -> Text:
    same = f" ({copies:,} identical rows)" if copies > 1 else ""
    return Text(f"{row + 1}. ", style="bold cyan").append(row_text(values), style="bold").append(same, style="yellow")


def _fate(fate: Fate) -> Iterator[RenderableType]:
    made = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, show_header=False)
    made.add_column(justify="right")
    made.add_column()
    made.add_column(overflow="fold")
    for at, step in enumerate(fate.path):
        if fate.lost is None or at <= fate.lost:
            made.add_row(*_step(step, lost=at == fate.lost))
    yield made
    if fate.survived:
        yield Text(f"✓ {survived_text(fate)}", style="green")
    else:
        yield from _drop(fate.drop)


def _step(step: Step, *, lost: bool) -> tuple[Text, Text, Text]:
    style = "bold red" if lost else ""
    where = Text(f"segment {step.segment}", style="dim")
    return Text(f"{step.descendants:,}", style=style or "dim"), where, Text(shortened(visible(step.operator), OPERATOR), style=style)


def _drop(drop: Drop | None) -> Iterator[RenderableType]:
    if drop is None:
        return
    yield Text("✗ ", style="bold red").append(visible(drop.text), style="red")
    for row in drop.rows:
        yield from (Padding(Text(line, style="dim"), (0, 0, 0, 2)) for line in descendant_lines(row))
