"""Column-level lineage in the terminal: a line for each source column of a column, then those that influence all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from airflow_lineage_provider.answers.values import count, shortened, visible

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.tracing.columns.lineage import ColumnInput, ColumnLineage, OutputColumn, SourceColumn
    from airflow_lineage_provider.tracing.columns.transformation import Transformation

_WORDS = {
    "IDENTITY": "as it is", "TRANSFORMATION": "transformed", "AGGREGATION": "aggregated", "FILTER": "filter", "JOIN": "join key",
    "GROUP_BY": "group key", "SORT": "sort key", "WINDOW": "window", "CONDITIONAL": "condition",
}  # fmt: skip
_NAME = 60


def columns_view(run: RunSummary, lineage: ColumnLineage) -> RenderableType:
    """The column-level lineage of a run's result, for people."""
    made = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="bold")
    for head in ("column", "computed from", "how"):
        made.add_column(head, overflow="fold")
    for column in lineage.columns:
        for cells in _column_lines(column):
            made.add_row(*cells)
    heading = Text(f"{count(len(lineage.columns), 'column')} of {visible(run.pipeline)}, run {visible(run.id)}", style="bold")
    return Group(heading, Text(), made, *_rows(lineage))


def _column_lines(column: OutputColumn) -> Iterator[tuple[Text, Text, Text]]:
    name = _text(column.name, "bold")
    by_source = _by_source(column.inputs)
    if not by_source:
        yield name, Text("no source column", style="dim"), Text("a constant, or a count of rows", style="dim")
    for number, (source, kinds) in enumerate(by_source.items()):
        influences = all(kind.type == "INDIRECT" for kind in kinds)
        yield (
            name if number == 0 else Text(),
            _text(_place(source), "dim" if influences else ""),
            Text(("only influences it: " if influences else "") + _ways(kinds), style="dim" if influences else ""),
        )


def _rows(lineage: ColumnLineage) -> Iterator[RenderableType]:
    yield Text()
    by_source = _by_source(lineage.rows)
    if not by_source:
        yield Text("No source column decides which rows there are.", style="dim")
        return
    yield Text("Which rows there are, and so every column, is decided by", style="bold")
    made = Table(box=None, padding=(0, 2, 0, 2), show_edge=False, show_header=False)
    for source, kinds in by_source.items():
        made.add_row(_text(_place(source), ""), Text(_ways(kinds), style="dim"))
    yield made


def _by_source(inputs: Iterable[ColumnInput]) -> dict[SourceColumn, list[Transformation]]:
    found: dict[SourceColumn, list[Transformation]] = {}
    for one in inputs:
        found.setdefault(one.source, []).append(one.transformation)
    return found


def _ways(kinds: Iterable[Transformation]) -> str:
    return "; ".join(dict.fromkeys(_way(kind) for kind in kinds))


def _way(kind: Transformation) -> str:
    text = _WORDS[kind.subtype]
    if kind.udfs:
        through = ", then ".join(visible(udf) for udf in kind.udfs)
        by = "by" if kind.type == "DIRECT" else "on what comes from"
        text += f", perhaps ({through} is opaque)" if kind.opaque else f" {by} {through}"
    return text + (", masked" if kind.masking else "")


def _place(source: SourceColumn) -> str:
    leaf = "" if source.leaf is None else f" (leaf {source.leaf})"
    return f"{source.table}.{source.column}{leaf}"


def _text(text: str, style: str) -> Text:
    return Text(shortened(visible(text), _NAME), style=style)
