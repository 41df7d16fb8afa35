"""Captured lineage, in the terminal and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from airflow_lineage_provider.answers.values import bytes_text, count, shortened, visible
from airflow_lineage_provider.render.document import run_dict
from airflow_lineage_provider.render.terminal import run_panel

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.captured import CapturedIndex, CapturedWay
    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.capture.wanted import CaptureTable

NAME = "airflow_lineage.captured"
VERSION = 1
_OPERATOR = 40


def captured_dict(run: RunSummary, found: CapturedIndex | None) -> dict[str, Any]:
    """``{"document", "version", "run", "captured": null | {"captured", "seconds", "engine", "edges", "bytes",
    "problem", "in_files", "of_output", "not_captured": [TABLE],
    "tables": {TABLE: {"where", "partition_by", "cube": [{"by", "measures"}], "granularity"}},
    "values": {TABLE: {"count", "bytes"}}, "witnesses": null | {"count", "bytes"},
    "ways": [{"segment", "of", "mode", "because", "rows", "seconds"}],
    "maps": [{"segment", "of", "to", "direction", "encoding", "because", "edges", "bytes",
    "shape": null | {"rows", "size", "replication", "clustering"}}]}}``."""
    told = None
    if found is not None:
        told = {
            "captured": found.captured.isoformat(), "seconds": round(found.seconds, 3), "engine": found.engine, "edges": found.edges,
            "bytes": found.bytes, "problem": found.problem, "in_files": found.in_files,
            "of_output": found.of_output, "not_captured": list(found.not_captured),
            "tables": {name: asdict(one) for name, one in found.tables.items()},
            "values": {name: asdict(one) for name, one in found.values.items()},
            "witnesses": None if found.witnesses is None else asdict(found.witnesses),
            "ways": [asdict(one) | {"seconds": round(one.seconds, 3)} for one in found.ways], "maps": [asdict(one) for one in found],
        }  # fmt: skip
    return {"document": NAME, "version": VERSION, "run": run_dict(run), "captured": told}


def captured_view(run: RunSummary, found: CapturedIndex | None) -> RenderableType:
    """What was captured, for people."""
    parts: list[RenderableType] = [run_panel(run), ""]
    if found is None:
        return Group(*parts, Text("No lineage was captured: it is traced when it is asked for. airflow-lineage capture captures it."))
    if found.problem:
        return Group(*parts, *not_captured(found.problem))
    engine = f" by {found.engine}" if found.engine else ""
    told = f"Captured in {found.seconds:.2f} s{engine}: {count(found.edges, 'pair')} of rows, {bytes_text(found.bytes)}"
    told += (" in a file" if found.in_files else "") + (", of the rows of the run's output" if found.of_output else "")
    left_out = ", ".join(map(visible, found.not_captured))
    notes = [Text(f"Lineage of {left_out} is traced when it is asked for.", style="dim")] if left_out else []
    notes += [
        Text(f"Of {visible(name)} {visible(_captured_of(one))}.", style="dim") for name, one in found.tables.items() if not one.is_off
    ]
    notes += [
        Text(f"{visible(name)} has {count(one.count, 'different value')} of these: {bytes_text(one.bytes)}.", style="dim")
        for name, one in found.values.items()
    ]
    if found.witnesses is not None:
        made = f"Which source rows together made each row: {count(found.witnesses.count, 'witness', 'witnesses')}"
        notes.append(Text(f"{made}, {bytes_text(found.witnesses.bytes)}.", style="dim"))
    notes += [Text(_way(one), style="dim") for one in found.ways if one.mode != "stored"]
    return Group(*parts, Text(told, style="bold cyan"), _table(found), *notes)


def not_captured(problem: str) -> tuple[Text, Text]:
    """That lineage was to be captured and was not, and why."""
    return Text("No lineage was captured; it is traced when it is asked for.", style="bold yellow"), Text(visible(problem))


def _way(one: CapturedWay) -> str:
    """When the rows behind a segment's were found."""
    when = "while the run was made" if one.mode == "inject" else "after the run"
    own = f"{one.segment} {shortened(visible(one.of), _OPERATOR)}"
    return f"The rows behind {own} were found {when}: {one.because}."


def _captured_of(table: CaptureTable) -> str:
    """What of a table was captured, not all in one."""
    rows = f"rows where {table.where}" if table.where else "all rows"
    rows = f"the values of {', '.join(table.granularity)} of {rows}" if table.granularity else rows
    classes = f", in classes by {', '.join(table.partition_by)}" if table.partition_by else ""
    cubes = [f"{', '.join(one.measures)} by {', '.join(one.by) or 'nothing'}" for one in table.cube]
    return f"{rows} are captured{classes}" + (f", and {'; '.join(cubes)}" if cubes else "")


def _table(found: CapturedIndex) -> Table:
    made = Table(box=None, padding=(0, 2, 0, 2), show_edge=False, header_style="bold")
    made.add_column("from", overflow="fold")
    made.add_column("to", overflow="fold")
    made.add_column("pairs", justify="right", no_wrap=True)
    made.add_column("size", justify="right", no_wrap=True)
    made.add_column("written as", overflow="fold")
    made.add_column("because", overflow="fold", style="dim")
    for one in found:
        own = f"{one.segment} {shortened(visible(one.of), _OPERATOR)}"
        ends = (own, visible(one.to)) if one.direction == "backward" else (visible(one.to), own)
        made.add_row(*map(Text, (*ends, f"{one.edges:,}", bytes_text(one.bytes), one.encoding, one.because)))
    return made
