"""Batches of a stream, and their lineage, for the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.rule import Rule
from rich.text import Text

from airflow_lineage_provider.answers.values import visible
from airflow_lineage_provider.records.batches import told
from airflow_lineage_provider.render.document import run_dict
from airflow_lineage_provider.render.terminal import runs_table

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.batches import Batch, ExplainedBatch, ExplainedBatches

NAME, EXPLAINED_NAME = "airflow_lineage.batches", "airflow_lineage.explained_batches"
VERSION = 1


def batches_dict(batches: Sequence[Batch]) -> dict[str, Any]:
    """``{"document", "version", "batches": [{"query", "batch", "run"}]}``; ``run`` as the verb ``list`` has it."""
    found = [{"query": one.query, "batch": one.batch, "run": run_dict(one.run)} for one in batches]
    return {"document": NAME, "version": VERSION, "batches": found}


def batches_view(batches: Sequence[Batch]) -> RenderableType:
    """Batches as a list for people: their runs, each with its query and its number."""
    if not batches:
        return Text("no batches", style="dim")
    return runs_table([one.run for one in batches], {"query": [one.query for one in batches], "batch": [str(one.batch) for one in batches]})


def explained_dict(explained: ExplainedBatches, *, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> dict[str, Any]:
    """``{"document", "version", "batches": [{"query", "batch", "explanation"}], "not_asked": {STATUS: {"count", "is_more", "spans":
    [{"query", "first", "last"}]}}}``; an explanation as the verb ``explain`` has it."""
    found = [
        {"query": one.query, "batch": one.batch, "explanation": one.explanation.to_dict(hide=hide, mask=mask)} for one in explained
    ]  # fmt: skip
    not_asked = {
        status: {"count": one.count, "is_more": one.is_more, "spans": [asdict(span) for span in one.spans]}
        for status, one in explained.not_asked.items()
    }
    return {"document": EXPLAINED_NAME, "version": VERSION, "batches": found, "not_asked": not_asked}


def show_explained(
    explained: ExplainedBatches, console: Console | None = None, *, rows: int = 20, hide: Sequence[str] = (), mask: Sequence[str] = ()
) -> None:
    """Print the explanations, each below its batch, and last which batches could not be looked into."""
    out = console or Console(highlight=False)
    for one in explained:
        out.print(Rule(Text(_heading(one), style="bold"), align="left"))
        one.explanation.show(out, rows=rows, hide=hide, mask=mask)
    if explained.not_asked:
        out.print(
            Text(visible(f"Not looked into, so that rows of theirs are not here: {told(explained.not_asked.values())}"), style="yellow")
        )


def _heading(one: ExplainedBatch) -> str:
    return visible(f"batch {one.batch} of query {one.query}")
