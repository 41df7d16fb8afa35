"""The plan of a DAG run: the plans of its tasks' runs, in segments, joined at the tables that pass between them.

A table that is written between tasks ends a segment as a stored one does: its rows are there, and derivations go on from them into the plan
of the run that wrote it (`deriving.across`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.shown import shown

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")
PlanNodeKind = Literal["run", "segment", "table"]


@dataclass(frozen=True, kw_only=True)
class PlanNode:
    """A run, a segment of its plan, or a table.

    :ivar id: of this plan. :ivar parent: the run that a segment is of.
    :ivar label: what it is called; ``detail`` says more.
    :ivar stored: the run stored its rows. :ivar is_own: a run of the DAG run that was asked for, not one behind it, or beyond it.
    :ivar map_index: of a run of a mapped task instance.
    :ivar withheld: that it is there is told, and no more: it is of a run that the person may not read.
    """

    id: str
    kind: PlanNodeKind
    label: str
    detail: str = ""
    parent: str | None = None
    segment_kind: str | None = None
    stored: bool = False
    rows: int | None = None
    status: str | None = None
    run_id: str | None = None
    task_id: str | None = None
    dag_id: str | None = None
    dag_run_id: str | None = None
    map_index: int | None = None
    is_own: bool = True
    withheld: bool = False


@dataclass(frozen=True, kw_only=True)
class DagPlan:
    """Nodes by their ids, and edges from what is read to what reads it. ``problems``: what is not in it, and why."""

    dag_id: str
    dag_run_id: str
    nodes: Mapping[str, PlanNode]
    edges: tuple[tuple[str, str], ...]
    problems: tuple[str, ...] = ()

    @property
    def runs(self) -> tuple[PlanNode, ...]:
        """The runs of the DAG run itself, each after those whose tables it reads."""
        return tuple(one for one in self._ordered if one.kind == "run" and one.is_own)

    def mapped(self, task_id: str) -> tuple[PlanNode, ...]:
        """The runs of a mapped task's instances, by their map indexes; none of a task that is not mapped, or has no run here."""
        own = [one for one in self.runs if one.task_id == task_id and one.map_index is not None]
        return tuple(sorted(own, key=lambda one: (one.map_index or 0, one.id)))

    def segments(self, run_id: str) -> tuple[PlanNode, ...]:
        """The segments of a run's plan, each after those that it reads; none of a run that is not of the DAG run."""
        return self._segments.get(run_id, ())

    def reads(self, node_id: str) -> tuple[PlanNode, ...]:
        """What a segment, or a run, reads; the segment, or run, that wrote a table.

        :raises InvalidOption: there is no such node.
        """
        return self._beside(node_id, self._before)

    def read_by(self, node_id: str) -> tuple[PlanNode, ...]:
        """What reads a segment, or a table; the tables that a run wrote. As `reads`."""
        return self._beside(node_id, self._after)

    def behind(self, node_id: str) -> frozenset[str]:
        """The ids of all segments, tables and runs behind a node, through any number of runs. As `reads`."""
        return self._reached(node_id, self.reads)

    def beyond(self, node_id: str) -> frozenset[str]:
        """The ids of all that descends from a node. As `reads`."""
        return self._reached(node_id, self.read_by)

    def _beside(self, node_id: str, edges: Mapping[str, Sequence[tuple[int, str]]]) -> tuple[PlanNode, ...]:
        if node_id not in self.nodes:
            raise InvalidOption(f"the plan of {self.dag_id} has no node {shown(node_id)}: DagPlan.nodes has them all, by their ids")
        own = {node_id, *(one.id for one in self.segments(node_id))}
        found = sorted(edge for one in own for edge in edges.get(one, ()))
        return tuple(self.nodes[one] for one in dict.fromkeys(one for _, one in found) if one not in own)

    def _reached(self, node_id: str, beside: Callable[[str], tuple[PlanNode, ...]]) -> frozenset[str]:
        found, waiting = set[str](), [node_id]
        while waiting:
            further = {one.id for one in beside(waiting.pop())} - found
            found |= further
            waiting += sorted(further)
        return frozenset(found)

    @cached_property
    def _before(self) -> dict[str, list[tuple[int, str]]]:
        """What each node reads, each with the place of the edge."""
        return _joined((target, (at, source)) for at, (source, target) in enumerate(self.edges))

    @cached_property
    def _after(self) -> dict[str, list[tuple[int, str]]]:
        """What reads each node, as `_before`."""
        return _joined((source, (at, target)) for at, (source, target) in enumerate(self.edges))

    @cached_property
    def _segments(self) -> dict[str, tuple[PlanNode, ...]]:
        of_runs = _joined((one.parent, one) for one in self._ordered if one.parent is not None)
        return {run_id: tuple(own) for run_id, own in of_runs.items()}

    @cached_property
    def _ordered(self) -> tuple[PlanNode, ...]:
        return tuple(self.in_order())

    def in_order(self) -> Iterator[PlanNode]:
        """All nodes, each after what it reads; a run after its segments' tables and before its segments."""
        graph: dict[str, set[str]] = {one: set() for one in self.nodes}
        for source, target in self.edges:
            graph[target].add(source)
        for one in self.nodes.values():
            if one.parent is not None:
                graph[one.parent].update(source for source in graph[one.id] if self.nodes[source].parent != one.parent)
                graph[one.id].add(one.parent)
        try:
            yield from (self.nodes[one] for one in TopologicalSorter(graph).static_order())
        except CycleError:  # a run that a clock set back made earlier than what it read, say
            yield from self.nodes.values()

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-able values."""
        return {
            "document": "airflow_lineage.dag_plan", "version": 1, "dag_id": self.dag_id, "dag_run_id": self.dag_run_id,
            "nodes": [asdict(one) for one in self.in_order()], "edges": [list(one) for one in self.edges], "problems": list(self.problems),
        }  # fmt: skip

    def show(self, console: Console | None = None) -> None:
        """Print the runs in order, each with what it reads, its segments, and what it writes for whom."""
        from airflow_lineage_provider.render.terminal_dag_plan import show

        show(self, console)


def _joined(pairs: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
    """The second of all pairs by the first, in their order."""
    found: dict[str, list[T]] = {}
    for one, other in pairs:
        found.setdefault(one, []).append(other)
    return found
