"""The plan of a DAG run, put together: its pipelines' runs joined at the tables that pass between them, with the segments of their plans;
the runs that wrote what they read, and those that read what they wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_lineage_provider.answers.dag_plan import DagPlan, PlanNode
from airflow_lineage_provider.answers.values import shortened, visible
from airflow_lineage_provider.deriving.across.writers import made_by
from airflow_lineage_provider.deriving.known_runs import KnownRuns
from airflow_lineage_provider.errors import LineageError, StoreUnavailable
from airflow_lineage_provider.plan.operators import SegmentOutput
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.recording import RecordedPlan, RecordedSource, read, redaction_of, tables_of
from airflow_lineage_provider.records.run import RecordedInput, RunHead, RunRecord
from airflow_lineage_provider.store.run_list import RunsWanted

MOST_RUNS = 500
"""Runs of a DAG run: the newest of them are in its plan."""
MOST_NODES = 4_000
MOST_READERS = 20
"""Later runs that are looked at whether they read what a run wrote, the newest of them; five times as many for a plan."""
_CAPTION = 200
_TOGETHER = 50
"""Runs of which it is asked in one statement who read what they wrote: between two, the time is looked at."""

MayRead = Callable[[RunHead], bool]


@dataclass(kw_only=True)
class _Made:
    """What is put together so far."""

    nodes: dict[str, PlanNode] = field(default_factory=dict)
    edges: dict[tuple[str, str], None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, node: PlanNode) -> None:
        self.nodes.setdefault(node.id, node)

    def join(self, source: str, target: str) -> None:
        self.edges[source, target] = None


def dag_plan(known: KnownRuns, dag_id: str, dag_run_id: str, may_read: MayRead, in_time: Callable[[], None]) -> DagPlan:
    """The plan of a DAG run, of the last try of each task instance, as far as a person may know of it.

    :raises QueryTooSlow: by ``in_time``, which is called for each run. :raises StoreUnavailable: the store does not answer.
    """
    wanted = RunsWanted(context=(("dag_id", dag_id), ("run_id", dag_run_id)))
    found = known.store.list_runs(wanted, may_read, MOST_RUNS)
    shown = [run.id for run in last_tries(found.runs)]
    known.preload(shown)
    records = {run_id: known.readable(run_id) for run_id in shown}
    made = _joined([one for one in records.values() if one is not None], known, may_read, in_time)
    made.problems += [f"the record of run {run_id} cannot be read" for run_id, one in records.items() if one is None]
    if found.last is not None:
        made.problems.append(f"the plan has the newest {MOST_RUNS} runs; others are left out")
    return DagPlan(dag_id=dag_id, dag_run_id=dag_run_id, nodes=made.nodes, edges=tuple(made.edges), problems=tuple(made.problems))


def newest_dag_run(known: KnownRuns, dag_id: str, may_read: MayRead) -> str | None:
    """The DAG run of the newest recorded run of a DAG; None where there is none."""
    found = known.store.list_runs(RunsWanted(context=(("dag_id", dag_id),)), may_read, 1).runs
    return found[0].dag_run_id if found else None


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


def _joined(records: Sequence[RunRecord], known: KnownRuns, may_read: MayRead, in_time: Callable[[], None]) -> _Made:
    made = _Made()
    for record in records:
        made.add(_run(record))
    looks = 5 * MOST_READERS
    readers, unasked = dict[str, tuple[str, ...]](), list[str]()
    for at, record in enumerate(records):
        in_time()
        if at % _TOGETHER == 0:
            wrote = [one.id for one in records[at : at + _TOGETHER] if one.output is not None and one.status in ("complete", "incomplete")]
            readers = known.store.readers_of(wrote) if looks else {}
            unasked += [] if looks else wrote
        if len(made.nodes) > MOST_NODES:
            made.problems.append(f"the plan has {len(made.nodes):,} nodes: the plans of {len(records) - at:,} further runs are left out")
            break
        try:
            joiner = (_Joiner if record.plan else _ByNames)(made, record, known, may_read)
            joiner.join()
            looks -= joiner.join_readers(readers.get(record.id, ()), min(looks, MOST_READERS))
        except StoreUnavailable:
            raise
        except LineageError as problem:
            if record.status == "complete":
                made.problems.append(f"the plan of run {record.id} cannot be shown: {problem}")
    if unasked:
        made.problems.append(f"who read what {len(unasked):,} further runs wrote is not looked at")
    return made


def _run(record: RunHead, is_own: bool = True) -> PlanNode:
    return PlanNode(
        id=record.id, kind="run", label=visible(record.pipeline), run_id=record.id, status=record.status, is_own=is_own,
        rows=record.row_counts.get("result"), dag_id=record.dag_id, dag_run_id=record.dag_run_id, task_id=record.task_id,
        map_index=record.map_index,
    )  # fmt: skip


_WITHHELD_READER = PlanNode(
    id="", kind="run", label="other runs", detail="runs that you may not read have read this", is_own=False, withheld=True
)


class _ByNames:
    """Joins a run whose plan was not recorded: it reads tables of which the names are known, and writes."""

    def __init__(self, made: _Made, record: RunRecord, known: KnownRuns, may_read: MayRead) -> None:
        self.made, self.record, self.known, self.may_read = made, record, known, may_read

    def join(self) -> None:
        """What it read, the run, and what it wrote."""
        for one in self.record.inputs:
            written = self._written(one.name, one)
            if not written:
                place = _place_of_names(one.name, one.paths)
                self.made.add(PlanNode(id=place, kind="table", label=visible(one.name), detail="files" if one.paths else "table"))
                written = [place]
            for table in written:
                self.made.join(table, self.record.id)
        if self.record.output is not None:
            self.made.add(_output(self.record))
            self.made.join(self.record.id, f"{self.record.id}/output")

    def join_readers(self, named: Sequence[str], most: int) -> int:
        """The runs that read what the run wrote, of the newest ``most`` of those that may have; how many were looked at."""
        may_have = [one for one in named if not self._is_own(one)]
        chosen = may_have[len(may_have) - min(most, len(may_have)) :]
        self.known.preload(chosen)
        for run_id in chosen:
            self._join_reader(run_id)
        if len(chosen) < len(may_have):
            told = f"later runs that may have read what {self.record.pipeline} wrote, but for the newest {len(chosen):,}, are not looked at"
            self.made.problems.append(visible(f"{told}: {len(may_have) - len(chosen):,}"))
        return len(chosen)

    def _is_own(self, run_id: str) -> bool:
        return run_id in self.made.nodes and self.made.nodes[run_id].is_own

    def _join_reader(self, run_id: str) -> None:
        try:
            reader = self.known.run(run_id)
            sources = [group[0] for group in tables_of(read(reader)).values()] if reader.plan else reader.inputs
        except StoreUnavailable:
            raise
        except LineageError:  # its record cannot be read: nobody knows what it read
            return
        if any(self.record.id in made_by(self.known, one, run_id).runs for one in sources):
            told = _run(reader, is_own=False) if self.may_read(reader) else _WITHHELD_READER
            node = replace(told, id=f"{self.record.id}/readers") if told.withheld else told
            self.made.add(node)
            self.made.join(f"{self.record.id}/output", node.id)

    def _written(self, name: str, source: RecordedSource | RecordedInput) -> list[str]:
        found = []
        for run_id in made_by(self.known, source, self.record.id).runs:
            writer = self._writer(run_id)
            if writer is None:
                node = PlanNode(id=f"{run_id}/output", kind="table", label=visible(name), withheld=True, is_own=False,
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
        record = self.known.readable(run_id)
        return record if record is not None and self.may_read(record) else None


class _Joiner(_ByNames):
    """Joins one run: its segments, what they read, what was written, and who read that later."""

    def __init__(self, made: _Made, record: RunRecord, known: KnownRuns, may_read: MayRead) -> None:
        super().__init__(made, record, known, may_read)
        self.plan: RecordedPlan = read(record)
        self.tell = redaction_of(self.plan).text

    def join(self) -> None:
        """Its segments, what they read, and what was written."""
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

    def _segment(self, number: int) -> PlanNode:
        segment = self.plan.plan.segments[number]
        stored = self.plan.materialized.get(number)
        return PlanNode(
            id=f"{self.record.id}/{number}", kind="segment", parent=self.record.id, segment_kind=segment.kind,
            label="result" if number == 0 else f"segment {number}", stored=stored is not None,
            detail=shortened(visible(self.tell(operator_text(segment.plan))), _CAPTION),
            rows=None if stored is None else self.record.row_counts.get(stored.name),
        )  # fmt: skip

    def _tables(self, name: str, group: Sequence[RecordedSource]) -> Iterator[tuple[RecordedSource, list[str]]]:
        """The table's leaves, each with the nodes that it reads: what other runs wrote, or a source."""
        written = self._written(name, group[0])
        if not written:
            own = group[0].identity.kind == "snapshot"
            place = f"{self.record.id}/{name}" if own else _place(group[0])
            self.made.add(PlanNode(id=place, kind="table", label=visible(name), detail=_kind(group[0]), stored=own))
            written = [place]
        return ((one, written) for one in group)


def _output(record: RunRecord, name: str = "") -> PlanNode:
    """The table that a run wrote."""
    target = record.output.target if record.output is not None else name
    short = target.rstrip("/").rpartition("/")[2] or target
    return PlanNode(
        id=f"{record.id}/output", kind="table", label=visible(short), detail=visible(shortened(target, _CAPTION)), run_id=record.id,
        stored="result" in record.row_counts, rows=record.row_counts.get("result"),
    )  # fmt: skip


def _place(source: RecordedSource) -> str:
    """One node for what is one table, whatever a run calls it."""
    return f"table {hash_of(replace(source.source.relation, name=''))}"


def _place_of_names(name: str, paths: Sequence[str]) -> str:
    """The same of a table of which there are names alone: that another run reads the same one by its plan is not known."""
    return f"table {hash_of((name, *paths))}"


def hash_of(value: object) -> str:
    """A short name for a value."""
    import hashlib

    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def _kind(source: RecordedSource) -> str:
    return "made in the session" if source.identity.kind == "snapshot" else visible(source.source.relation.kind)
