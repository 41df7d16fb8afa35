"""What brushes leave of linked views, in the terminal and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from airflow_lineage_provider.answers.values import count, jsonable, visible
from airflow_lineage_provider.render.crossfilter_shown import check_shown
from airflow_lineage_provider.render.document import table_dict
from airflow_lineage_provider.render.terminal import table

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.crossfilter import Brushed

NAME = "airflow_lineage.crossfilter"
VERSION = 1


def to_dict(found: Brushed) -> dict[str, Any]:
    """``{"document", "version", "title", "rows", "selected", "engine", "unknown": {VIEW: [VALUE]}, "views": [{"name", "expression",
    "bars": {"columns", "rows"}}]}``; each bar has its value, its count under the brushes on the other views, and its total.

    :raises InvalidTarget: a view has a column that is withheld.
    """
    check_shown(found.of)
    return {
        "document": NAME,
        "version": VERSION,
        "title": found.of.title,
        "rows": found.of.rows,
        "selected": found.selected,
        "engine": found.engine,
        "unknown": {name: [jsonable(value) for value in values] for name, values in found.unknown.items()},
        "views": [
            {"name": name, "expression": view.expression, "bars": table_dict(found.table(name))} for name, view in found.of.views.items()
        ],
    }


def show(found: Brushed, console: Console | None = None, *, bars: int = 20) -> None:
    """Print the views, each with at most so many bars: those that have the most rows now.

    :raises InvalidTarget: a view has a column that is withheld.
    """
    check_shown(found.of)
    out = console or Console()
    out.print(Text(f"\n{found.selected:,} of {count(found.of.rows, 'row')} of {visible(found.of.title)}", style="bold"))
    for name, values in found.unknown.items():
        out.print(Text(f"in no bar of {visible(name)}: {', '.join(visible(str(value)) for value in values)}", style="yellow"))
    for name, view in found.of.views.items():
        made = found.table(name)
        if made.num_rows > bars:
            made = made.sort_by([("count", "descending")])
        brushed = ", brushed" if name in found.counted.brushes else ""
        out.print(Text(f"\n{visible(name)}: {visible(view.expression)} ({count(made.num_rows, 'bar')}{brushed})", style="bold"))
        out.print(table(made, out.width, max(0, bars)))
    out.print(Text(f"counted from {found.engine}", style="dim"))
