"""The picture of a DAG run: its pipelines' runs joined at the tables that pass between them, with the segments of their plans; the runs
that wrote what they read, and those that read what they wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from airflow_lineage_provider.answers.values import shortened, visible
from airflow_lineage_provider.deriving.across.writers import made_by
from airflow_lineage_provider.deriving.known_runs import KnownRuns
from airflow_lineage_provider.errors import LineageError, StoreUnavailable
from airflow_lineage_provider.plan.operators import SegmentOutput
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.recording import RecordedPlan, RecordedSource, read, tables_of
from airflow_lineage_provider.records.run import RunHead, RunRecord
from airflow_lineage_provider.render.segment_text import KINDS
from airflow_lineage_provider.web.rights import Rights, dag_of
from airflow_lineage_provider.web.withheld import redaction_of

MOST_NODES = 4_000
MOST_READERS = 20
"""Later runs that are looked at whether they read what a run wrote, the newest of them; five times as many for a picture."""
_CAPTION = 200


@dataclass(frozen=True, kw_only=True)
class Node:
    """Something in the picture.

    :ivar id: of this picture. :ivar parent: the run that a segment is of.
    :ivar label: what it is called; ``detail`` says more.
    :ivar stored: the run stored its rows. :ivar is_own: a run of the DAG run that was asked for, not one behind it.
    """

    id: str
    kind: Literal["run", "segment", "table"]
    label: str
    detail: str = ""
    parent: str | None = None
    segment_kind: str | None = None
    kind_name: str = ""
    stored: bool = False
    rows: int | None = None
    status: str | None = None
    run_id: str | None = None
    task_id: str | None = None
    dag_id: str | None = None
    dag_run_id: str | None = None
    is_own: bool = True
    withheld: bool = False


@dataclass(kw_only=True)
class Picture:
    """Nodes, and edges from what is read to what reads it. ``problems``: what is not in it, and why."""

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[tuple[str, str], None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, node: Node) -> None:
        self.nodes.setdefault(node.id, node)

    def join(self, source: str, target: str) -> None:
        self.edges[source, target] = None


def last_tries(runs: Iterable[RunHead]) -> list[RunHead]:
    """Of each task instance the runs of its last try, oldest first."""
    found: dict[tuple[Any, Any], list[RunHead]] = {}
    for run in runs:
        context = run.airflow or {}
        task = (context.get("task_id"), context.get("map_index"))
        newest = found.get(task, [])
        tried, known = _try(run), _try(newest[0]) if newest else -1
        if tried > known:
            found[task] = [run]
        elif tried == known:
            newest.append(run)
    return sorted((run for of_task in found.values() for run in of_task), key=lambda run: run.id)


def _try(run: RunHead) -> int:
    number = (run.airflow or {}).get("try_number")
    return number if isinstance(number, int) else 0


def picture(records: Sequence[RunRecord], known: KnownRuns, rights: Rights, in_time: Callable[[], None]) -> Picture:
    """The picture of these runs, of the runs that wrote what they read, and of those that read what they wrote, as far as this person may
    know of them.

    :raises QueryTooSlow: by ``in_time``, which is called for each run.
    """
    made = Picture()
    for record in records:
        made.add(_run(record))
    looks = 5 * MOST_READERS
    for at, record in enumerate(records):
        in_time()
        if len(made.nodes) > MOST_NODES:
            made.problems.append(f"the picture has {len(made.nodes):,} nodes: the plans of {len(records) - at:,} further runs are left out")
            break
        try:
            drawer = _Drawer(made, record, known, rights)
            drawer.draw()
            looks -= drawer.draw_readers(min(looks, MOST_READERS))
        except StoreUnavailable:
            raise
        except LineageError as problem:
            if record.status == "complete":
                made.problems.append(f"the plan of run {record.id} cannot be shown: {problem}")
    return made


def _run(record: RunHead, is_own: bool = True) -> Node:
    context = record.airflow or {}
    return Node(
        id=record.id, kind="run", label=visible(record.pipeline), run_id=record.id, status=record.status, is_own=is_own,
        rows=record.row_counts.get("result"), dag_id=dag_of(record), dag_run_id=_text(context.get("run_id")),
        task_id=_text(context.get("task_id")),
    )  # fmt: skip


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


_WITHHELD_READER = Node(
    id="", kind="run", label="other runs", detail="runs that you may not read have read this", is_own=False, withheld=True
)


class _Drawer:
    """Draws one run: its segments, what they read, what was written, and who read that later."""

    def __init__(self, made: Picture, record: RunRecord, known: KnownRuns, rights: Rights) -> None:
        self.made, self.record, self.known, self.rights = made, record, known, rights
        self.plan: RecordedPlan = read(record)
        self.tell = redaction_of(self.plan).text

    def draw(self) -> None:
        tables = {one.source.leaf: table for name, group in tables_of(self.plan).items() for one, table in self._tables(name, group)}
        for segment in self.plan.plan.segments:
            own = self._segment(segment.number)
            self.made.add(own)
            for leaf in segment.inputs:
                if isinstance(leaf, SegmentOutput):
                    self.made.join(f"{self.record.id}/{leaf.segment}", own.id)
                else:
                    for table in tables[leaf.leaf]:
                        self.made.join(table, own.id)
        if self.record.output is not None:
            self.made.add(_output(self.record))
            self.made.join(f"{self.record.id}/0", f"{self.record.id}/output")

    def draw_readers(self, most: int) -> int:
        """The runs that read what the run wrote, of the newest ``most`` that may have; how many were looked at."""
        if self.record.output is None or self.record.status not in ("complete", "incomplete"):
            return 0
        may_have = [one for one in self.known.store.readers(self.record.id).runs if not self._is_own(one)]
        chosen = may_have[len(may_have) - min(most, len(may_have)) :]
        for run_id in chosen:
            self._draw_reader(run_id)
        if len(chosen) < len(may_have):
            told = f"later runs that may have read what {self.record.pipeline} wrote, but for the newest {len(chosen):,}, are not looked at"
            self.made.problems.append(visible(f"{told}: {len(may_have) - len(chosen):,}"))
        return len(chosen)

    def _is_own(self, run_id: str) -> bool:
        return run_id in self.made.nodes and self.made.nodes[run_id].is_own

    def _draw_reader(self, run_id: str) -> None:
        try:
            reader = self.known.run(run_id)
            sources = [group[0] for group in tables_of(read(reader)).values()]
        except StoreUnavailable:
            raise
        except LineageError:  # its record cannot be read: nobody knows what it read
            return
        if any(self.record.id in made_by(self.known, one, run_id).runs for one in sources):
            told = _run(reader, is_own=False) if self.rights.may_see(reader) else _WITHHELD_READER
            node = replace(told, id=f"{self.record.id}/readers") if told.withheld else told
            self.made.add(node)
            self.made.join(f"{self.record.id}/output", node.id)

    def _segment(self, number: int) -> Node:
        segment = self.plan.plan.segments[number]
        stored = self.plan.materialized.get(number)
        return Node(
            id=f"{self.record.id}/{number}", kind="segment", parent=self.record.id, segment_kind=segment.kind,
            kind_name=KINDS[segment.kind], label="result" if number == 0 else f"segment {number}", stored=stored is not None,
            detail=shortened(visible(self.tell(operator_text(segment.plan))), _CAPTION),
            rows=None if stored is None else self.record.row_counts.get(stored.name),
        )  # fmt: skip

    def _tables(self, name: str, group: Sequence[RecordedSource]) -> Iterator[tuple[RecordedSource, list[str]]]:
        """The table's leaves, each with the nodes that it reads: what other runs wrote, or a source."""
        written = self._written(name, group[0])
        if not written:
            own = group[0].identity.kind == "snapshot"
            place = f"{self.record.id}/{name}" if own else _place(group[0])
            self.made.add(Node(id=place, kind="table", label=visible(name), detail=_kind(group[0]), stored=own))
            written = [place]
        return ((one, written) for one in group)

    def _written(self, name: str, source: RecordedSource) -> list[str]:
        found = []
        for run_id in made_by(self.known, source, self.record.id).runs:
            writer = self._writer(run_id)
            if writer is None:
                node = Node(id=f"{run_id}/output", kind="table", label=visible(name), withheld=True, is_own=False,
                            detail="written by a run that you may not read")  # fmt: skip
            else:
                node = _output(writer, name)
                self.made.add(_run(writer, is_own=False))
                if run_id not in self.made.nodes or not self.made.nodes[run_id].is_own:
                    self.made.join(run_id, node.id)
            self.made.add(node)
            found.append(node.id)
        return found

    def _writer(self, run_id: str) -> RunRecord | None:
        try:
            record: RunRecord = self.known.run(run_id)
        except StoreUnavailable:
            raise
        except LineageError:
            return None
        return record if self.rights.may_see(record) else None


def _output(record: RunRecord, name: str = "") -> Node:
    """The table that a run wrote."""
    target = record.output.target if record.output is not None else name
    short = target.rstrip("/").rpartition("/")[2] or target
    return Node(
        id=f"{record.id}/output", kind="table", label=visible(short), detail=visible(shortened(target, _CAPTION)), run_id=record.id,
        stored="result" in record.row_counts, rows=record.row_counts.get("result"),
    )  # fmt: skip


def _place(source: RecordedSource) -> str:
    """One node for what is one table, whatever a run calls it."""
    return f"table {hash_of(replace(source.source.relation, name=''))}"


def hash_of(value: object) -> str:
    """A short name for a value."""
    import hashlib

    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def _kind(source: RecordedSource) -> str:
    return "made in the session" if source.identity.kind == "snapshot" else visible(source.source.relation.kind)
