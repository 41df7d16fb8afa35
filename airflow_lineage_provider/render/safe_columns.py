"""Which columns a sketch may be of, in the terminal and as a JSON document with stable keys.

::

    {"document": "airflow_lineage.safe_columns", "version": 1, "pipeline",
     "columns": [{"leaf", "table", "column", "type", "safe", "rule", "operator", "because",
                  "counter": [{"column", "plain", "sketched"}], "ties", "needs_rows", "needs_fewer", "at_limit", "ms"}]}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from airflow_lineage_provider.answers.values import count, shortened, visible

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.safe_columns import SafeColumns
    from airflow_lineage_provider.sketches.columns import SafeColumn

NAME = "airflow_lineage.safe_columns"
VERSION = 1
_WHY = 110
_TIES = "where rows tie, plain runs may differ, and any of their results is right"
_NEEDS_ROWS = "if the result that the sketch is taken of has rows"
_AT_LIMIT = "if the sketch is of all rows of the limit above it"


def to_dict(found: SafeColumns) -> dict[str, Any]:
    """The columns, JSON-able."""
    return {"document": NAME, "version": VERSION, "pipeline": found.pipeline, "columns": [_column(one) for one in found]}


def _column(one: SafeColumn) -> dict[str, Any]:
    counter = [{"column": name, "plain": plain, "sketched": sketched} for name, plain, sketched in one.counter]
    return {
        "leaf": one.leaf, "table": one.table, "column": one.column, "type": one.type, "safe": one.safe, "rule": one.rule,
        "operator": one.operator, "because": one.because, "counter": counter, "ties": one.ties, "needs_rows": one.needs_rows,
        "needs_fewer": one.needs_fewer, "at_limit": one.at_limit, "ms": round(one.ms, 3),
    }  # fmt: skip


def show(found: SafeColumns, console: Console | None = None) -> None:
    """Print the columns, by source."""
    out = console or Console()
    for part in _parts(found):
        out.print(part)


def _parts(found: SafeColumns) -> Iterator[RenderableType]:
    yield Text(
        f"{len(found.safe):,} of {count(len(found), 'column')} of the sources of {visible(found.pipeline)} safe for a sketch", "bold"
    )
    for leaf in dict.fromkeys(one.leaf for one in found):
        columns = [one for one in found if one.leaf == leaf]
        yield Text()
        yield Text(f"{visible(columns[0].table)} (source {leaf})", style="bold cyan")
        yield _table(columns)
    yield Text()
    yield Text("A run through a sketch of a safe column gives the rows of the plain run.", style="dim")


def _table(columns: list[SafeColumn]) -> Table:
    made = Table(box=None, padding=(0, 2, 0, 2), show_edge=False, header_style="bold")
    for head in ("column", "safe", "rule"):
        made.add_column(head, no_wrap=head != "column", overflow="fold")
    made.add_column("because", overflow="fold", style="dim")
    made.add_column("ms", justify="right", no_wrap=True)
    for one in columns:
        safe = Text("safe", style="green") if one.safe else Text("no", style="yellow")
        made.add_row(Text(visible(one.column)), safe, Text(one.rule), Text(_why(one)), Text(f"{one.ms:.1f}"))
    return made


def _why(one: SafeColumn) -> str:
    """In words, with the operator, and values for which it goes wrong."""
    said = [visible(one.because)]
    if one.operator and one.operator not in one.because:
        said.append(shortened(visible(one.operator), _WHY))
    said += [text for text, holds in ((_TIES, one.ties), (_NEEDS_ROWS, one.needs_rows), (_AT_LIMIT, one.at_limit)) if holds]
    said += [] if one.needs_fewer is None else [f"if the result that the sketch is taken of has fewer than {one.needs_fewer:,} rows"]
    said += [f"{visible(name)} = {plain} in a plain run, {sketched} over a sketch" for name, plain, sketched in one.counter]
    return "; ".join(said)
