"""Sketches of a run, and those of a store, in the terminal and as JSON.

::

    {"document": "airflow_lineage.sketches", "version": 1,
     "sketches": [{"id", "pipeline", "run_id", "table", "column", "template", "constants", "fragments", "count", "rows", "total",
                   "bytes", "uses", "proof", "created", "kind", "proof_ms", "source_bytes", "saved_seconds",
                   "skipped_bytes", "quarantined", "outdated"}]}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from airflow_lineage_provider.answers.values import bytes_text, visible
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.kept_sketches import KeptSketch, KeptSketches
    from airflow_lineage_provider.records.sketches import SketchUse

NAME = "airflow_lineage.sketches"
VERSION = 1
_NUMBERS = ("uses", "saved", "skipped")
_STYLES = {"used": "green", "captured": "cyan", "unused": "yellow"}


def uses_dict(uses: Sequence[SketchUse]) -> list[Any]:
    """What became of each source, JSON-able: the fields of `SketchUse`."""
    return [written(one) for one in uses]


def uses_table(uses: Sequence[SketchUse]) -> Table:
    """What became of each source, one a line."""
    made = Table(box=None, padding=(0, 2, 0, 2), show_edge=False, header_style="bold")
    for head in ("source", "column", "sketch", "rows", "bytes"):
        made.add_column(head, no_wrap=head in ("sketch", "rows", "bytes"), overflow="fold")
    made.add_column("because", overflow="fold", style="dim")
    for one in uses:
        rows = "" if one.rows is None or one.total is None else f"{one.rows:,} of {one.total:,}"
        read = "" if one.bytes is None or one.total_bytes is None else f"{bytes_text(one.bytes)} of {bytes_text(one.total_bytes)}"
        state = Text(one.state, style=_STYLES[one.state])
        made.add_row(*map(Text, (visible(one.table), visible(one.column))), state, *map(Text, (rows, read, visible(one.because))))
    return made


def to_dict(found: KeptSketches) -> dict[str, Any]:
    """The sketches of a store, JSON-able."""
    return {"document": NAME, "version": VERSION, "sketches": [written(one) for one in found]}


def show(found: KeptSketches, console: Console | None = None) -> None:
    """Print the sketches of a store, one a line."""
    out = console or Console()
    if not len(found):
        out.print(Text("no sketches: a run captures some with sketches='eager'", style="dim"))
        return
    made = Table(box=None, padding=(0, 2, 0, 2), show_edge=False, header_style="bold")
    for head in ("sketch", "pipeline", "source", "rows", "uses", "saved", "skipped", "constants"):
        made.add_column(head, no_wrap=head in ("rows", *_NUMBERS), overflow="fold", justify="right" if head in _NUMBERS else "left")
    for one in found:
        made.add_row(*map(Text, _cells(one)))
        if one.quarantined:
            made.add_row(Text(""), Text(f"set aside: {visible(one.quarantined)}", style="red"))
        for text in one.outdated or ():
            made.add_row(Text(""), Text(f"outdated: {visible(text)}", style="yellow"))
    out.print(made)


def _cells(one: KeptSketch) -> list[str]:
    constants = ", ".join("NULL" if text is None else text for text in one.constants)
    source = f"{one.table}.{one.column}"
    saved = "" if one.saved_seconds is None else f"{one.saved_seconds:.1f} s"
    skipped = "" if one.skipped_bytes is None else bytes_text(one.skipped_bytes)
    rows, uses = f"{one.rows:,} of {one.total:,}", f"{one.uses:,}"
    return [one.id, visible(one.pipeline), visible(source), rows, uses, saved, skipped, visible(constants)]
