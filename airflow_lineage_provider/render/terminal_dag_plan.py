"""The plan of a DAG run in the terminal: its runs in order, each with what it reads, its segments, and what it writes for whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from airflow_lineage_provider.answers.values import count
from airflow_lineage_provider.render.segment_text import KINDS

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.dag_plan import DagPlan, PlanNode


def show(plan: DagPlan, console: Console | None = None) -> None:
    """Print it."""
    out = console or Console()
    for line in lines(plan):
        out.print(line, overflow="ellipsis", no_wrap=True)


def lines(plan: DagPlan) -> Iterator[Text]:
    """A line for each run, segment and table.

    The names in a plan have been made visible when it was made."""
    yield Text(f"{count(len(plan.runs), 'run')} of DAG {plan.dag_id}, DAG run {plan.dag_run_id}", style="bold")
    for run in plan.runs:
        yield Text()
        yield Text(f"{run.label}  ", style="bold cyan").append(_told(run), style="dim")
        yield from _run(plan, run)
    for problem in plan.problems:
        yield Text(problem, style="yellow")


def _run(plan: DagPlan, run: PlanNode) -> Iterator[Text]:
    for table in _of_kind(plan.reads(run.id), "table"):
        yield Text(f"  reads     {table.label}{_written(plan, table)}")
    for segment in plan.segments(run.id):
        kind = KINDS.get(segment.segment_kind or "", "")
        kept = "stored" + ("" if segment.rows is None else f", {count(segment.rows, 'row')}") if segment.stored else "not stored"
        yield (Text(f"  {segment.label:<9} ").append(f"{kind}, {kept}: ", style="dim").append(segment.detail))
    for table in _of_kind(plan.read_by(run.id), "table"):
        readers = dict.fromkeys(_reader(plan, one) for one in sorted(plan.read_by(table.id), key=_is_foreign))
        yield Text(f"  writes    {table.label}{', read by ' + ', '.join(readers) if readers else ''}")


def _is_foreign(node: PlanNode) -> bool:
    return not node.is_own


def _of_kind(nodes: Iterable[PlanNode], kind: str) -> Iterator[PlanNode]:
    return (one for one in nodes if one.kind == kind)


def _told(run: PlanNode) -> str:
    rows = "" if run.rows is None else f", {count(run.rows, 'row')}"
    task = "" if run.task_id is None else f"task {run.task_id}{'' if run.map_index is None else f' [{run.map_index}]'}, "
    return f"{task}run {run.id}, {run.status}{rows}"


def _written(plan: DagPlan, table: PlanNode) -> str:
    if table.withheld:
        return f", {table.detail}"
    writers = dict.fromkeys(_reader(plan, one) for one in plan.reads(table.id))
    return f", written by {', '.join(writers)}" if writers else ""


def _reader(plan: DagPlan, node: PlanNode) -> str:
    """The run that a node is, or is a segment of."""
    run = node if node.parent is None else plan.nodes[node.parent]
    if run.withheld:
        return run.label
    return run.label if run.is_own else f"{run.label} (run {run.id}{'' if run.dag_id is None else f' of DAG {run.dag_id}'})"
