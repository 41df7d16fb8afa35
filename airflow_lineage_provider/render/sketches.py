"""Sketches of a run, in the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from airflow_lineage_provider.answers.values import visible
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    from airflow_lineage_provider.records.sketches import SketchUse

_STYLES = {"used": "green", "captured": "cyan", "unused": "yellow"}


def uses_dict(uses: Sequence[SketchUse]) -> list[Any]:
    """What became of each source, JSON-able: the fields of `SketchUse`."""
    return [written(one) for one in uses]


def uses_table(uses: Sequence[SketchUse]) -> Table:
    """What became of each source, one a line."""
    made = Table(box=None, padding=(0, 2, 0, 2), show_edge=False, header_style="bold")
    for head in ("source", "column", "sketch", "rows"):
        made.add_column(head, no_wrap=head in ("sketch", "rows"), overflow="fold")
    made.add_column("because", overflow="fold", style="dim")
    for one in uses:
        rows = "" if one.rows is None or one.total is None else f"{one.rows:,} of {one.total:,}"
        state = Text(one.state, style=_STYLES[one.state])
        made.add_row(Text(visible(one.table)), Text(visible(one.column)), state, Text(rows), Text(visible(one.because)))
    return made
