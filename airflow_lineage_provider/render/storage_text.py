"""What a run stored, in the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from airflow_lineage_provider.answers.values import bytes_text, shortened, visible
from airflow_lineage_provider.render.captured_text import not_captured
from airflow_lineage_provider.render.document import run_dict
from airflow_lineage_provider.render.segment_text import KINDS, NOT_RECORDED
from airflow_lineage_provider.render.terminal import run_panel

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.answers.storage import RecordedUdf, SegmentNotStored, StoredTable

NAME = "airflow_lineage.run"
VERSION = 1
_OPERATOR = 60


def storage_dict(
    run: RunSummary, stored: Sequence[StoredTable], others: Sequence[SegmentNotStored], udfs: Sequence[RecordedUdf] = (), problem: str = ""
) -> dict[str, Any]:
    """``{"document", "version", "run", "stored": [{"segment", "kind", "name", "operator", "rows", "bytes", "because", "folder"}],
    "not_stored": [{"segment", "kind", "operator", "because"}],
    "udfs": [{"name", "version", "module", "found_in", "bytes", "because"}],
    "not_captured": PROBLEM}``; the problem is that of lineage that was to be captured (`CapturedIndex.problem`), or empty."""
    return {
        "document": NAME, "version": VERSION, "run": run_dict(run), "stored": [asdict(one) for one in stored],
        "not_stored": [asdict(one) for one in others], "udfs": [asdict(one) for one in udfs], "not_captured": problem,
    }  # fmt: skip


def storage_view(
    run: RunSummary, stored: Sequence[StoredTable], others: Sequence[SegmentNotStored], udfs: Sequence[RecordedUdf] = (), problem: str = ""
) -> RenderableType:
    """A run and what it stored, for people."""
    parts: list[RenderableType] = [run_panel(run)]
    if stored:
        total = sum(one.bytes for one in stored)
        parts += ["", Text(f"Stored, {bytes_text(total)}", style="bold cyan"), _table([_stored(one) for one in stored], sizes=True)]
    for one in stored:
        if one.folder is not None:
            parts.append(Text(f"  {visible(one.name)}: files in {visible(one.folder)}", style="dim"))
    if others:
        parts += ["", Text("Not stored", style="bold cyan"), _table([_other(one) for one in others], sizes=False)]
    if problem:
        parts += ["", *not_captured(problem)]
    if udfs:
        parts += ["", Text("UDFs", style="bold cyan"), *(Text(f"  {_udf(one)}") for one in udfs)]
    return Group(*parts)


def _udf(one: RecordedUdf) -> str:
    places = {"module": f"found in module {one.module}", "store": f"kept with the run, {bytes_text(one.bytes or 0)} of code and data"}
    return visible(f"{one.name}: {places.get(one.found_in, f'not kept: {one.because}' if one.because else 'not kept')}")


def _table(rows: list[list[Text]], *, sizes: bool) -> Table:
    made = Table(box=None, padding=(0, 2, 0, 2), show_edge=False, header_style="bold")
    made.add_column("segment", justify="right")
    made.add_column("operator", overflow="fold")
    for head in ("rows", "size") if sizes else ():
        made.add_column(head, justify="right", no_wrap=True)
    made.add_column("because", overflow="fold", style="dim")
    for row in rows:
        made.add_row(*row)
    return made


def _stored(one: StoredTable) -> list[Text]:
    number = "source" if one.segment is None else str(one.segment)
    rows = "–" if one.rows is None else f"{one.rows:,}"
    return [Text(number), _what(one.operator, one.kind), Text(rows), Text(bytes_text(one.bytes)), _because(one.because)]


def _other(one: SegmentNotStored) -> list[Text]:
    return [Text(str(one.segment)), _what(one.operator, one.kind), _because(one.because)]


def _what(operator: str, kind: str | None) -> Text:
    text = Text(shortened(visible(operator), _OPERATOR))
    return text if kind is None else text.append(f"  {KINDS[kind]}", style="dim")


def _because(text: str) -> Text:
    return Text(visible(text) or NOT_RECORDED)
