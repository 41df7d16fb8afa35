"""The derivations of several runs as one explanation: real sources merged, links from the target to them, everything under one name."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from airflow_lineage_provider.answers.explanation import Control
from airflow_lineage_provider.answers.keyed_rows import KeyedRows
from airflow_lineage_provider.answers.tables import Intermediate, SourceTable
from airflow_lineage_provider.plan.guarantees import Guarantee, weakest
from airflow_lineage_provider.plan.names import free_name
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.decided import Reasons
    from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
    from airflow_lineage_provider.deriving.across.across import Crossing, Step
    from airflow_lineage_provider.deriving.key_index import Key

Kind = Literal["source", "intermediate"]
Row = tuple[str, int]
"""A row of a table of the answer."""


@dataclass(kw_only=True)
class _Table:
    """A real source in the making: parts of the tables that the runs read, each row once."""

    parts: list[pa.Table] = field(default_factory=list)
    index: dict[Any, int] = field(default_factory=dict)
    guarantees: list[Guarantee] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    keyed: list[KeyedRows] = field(default_factory=list)

    def made(self) -> SourceTable:
        import pyarrow as pa

        stale, keyed = tuple(dict.fromkeys(self.stale)), tuple(self.keyed)
        return SourceTable(pa.concat_tables(self.parts), guarantee=weakest(*self.guarantees), stale=stale, keyed=keyed)


def merged(explanation: Explanation, steps: Mapping[str, Step], summaries: Mapping[str, RunSummary]) -> Explanation:
    """The explanation of the first of the runs, with what the others add. ``steps`` are in order: every run before those behind it."""
    return explanation if not any(step.crossings for step in steps.values()) else _Merger(explanation, steps, summaries).result()


class _Merger:
    def __init__(self, explanation: Explanation, steps: Mapping[str, Step], summaries: Mapping[str, RunSummary]) -> None:
        self.asked = explanation
        self.steps = steps
        self.summaries = summaries
        self.doubts = self._doubts()
        self.tables: dict[str, _Table] = {}
        self.by_identity: dict[Any, str] = {}
        self.rows: dict[tuple[str, str, int], Row] = {}  # (run, its table, row) of rows that end here → row of the answer
        self.names: dict[tuple[str, str], list[tuple[Kind, str]]] = {}  # (run, its table) → tables of the answer
        self.intermediate: dict[str, Intermediate] = {}

    def result(self) -> Explanation:
        for run_id, step in self.steps.items():
            for table in step.derived.sources.tables:
                self._source(run_id, step, table)
        of_run = self._intermediates()
        targets = self._resolved({run_id: step.derived.explanation.target_links for run_id, step in self.steps.items()})
        behind = {name: _link_table(targets[run_id]) for run_id, name in of_run.items()}
        reasons = self._reasons(self._resolved({run_id: step.derived.read for run_id, step in self.steps.items()}))
        every = [step.derived.explanation for step in self.steps.values()]
        return replace(
            self.asked,
            sources={name: table.made() for name, table in self.tables.items()},
            reasons=reasons,
            target_links=_link_table(targets[self.asked.run.id]),
            controls=tuple(self._controls()),
            intermediate={name: one.replaced(links=behind.get(name)) for name, one in self.intermediate.items()},
            stale=tuple(dict.fromkeys(one for explanation in every for one in explanation.stale)),
            seconds=sum(explanation.seconds for explanation in every),
        )

    def _doubts(self) -> dict[str, Guarantee]:
        """What the way to each run is worth: no table behind a superset is more than one."""
        ways: dict[str, list[Guarantee]] = {run_id: [] for run_id in self.steps}
        found: dict[str, Guarantee] = {}
        for run_id, step in self.steps.items():
            found[run_id] = weakest(*ways[run_id])
            for crossing in step.crossings.values():
                for behind, worth in crossing.ways.items():
                    ways[behind] += [*worth, found[run_id]]
        return found

    def _source(self, run_id: str, step: Step, table: str) -> None:
        """The rows of a run's source table that go back to no other run: a real source."""
        rows = step.derived.sources.rows[table]
        crossing = step.crossings.get(table)
        ending = [at for at in range(rows.table.num_rows) if crossing is None or at not in crossing.onward]
        if crossing is not None and crossing.withheld:
            ending = []
        elif crossing is not None and not ending and _all_went_on(crossing, rows.guarantee):
            self._traced_through(run_id, table, crossing)
            return
        name = self._table_name(run_id, step, table)
        self.names.setdefault((run_id, table), []).append(("source", name))
        made = self.tables[name]
        made.stale += step.derived.explanation.sources[table].stale
        remarks = crossing.remarks if crossing is not None else []
        made.guarantees.append(weakest(rows.guarantee, self.doubts[run_id], *remarks))
        keys = _told_apart(rows.keys.tuples())
        new = []
        for at in ending:
            if keys[at] not in made.index:
                made.index[keys[at]] = len(made.index)
                new.append(at)
            self.rows[run_id, table, at] = (name, made.index[keys[at]])
        if ending:
            places = [self.rows[run_id, table, one][1] for one in ending]
            made.keyed.append(KeyedRows.of(run_id, table, rows.keys.keys.take(ending), places))
        chosen = rows.table.take(new) if new else rows.table.slice(0, 0)
        made.parts.append(chosen.cast(made.parts[0].schema) if made.parts else chosen)

    def _table_name(self, run_id: str, step: Step, table: str) -> str:
        """One name for what is one table: the same relation with the same columns, row identity and version, whatever a run calls it."""
        one = step.derived.sources.tables[table]
        own = (run_id, table) if one.identity.kind == "snapshot" else None
        types = tuple(a.type for a in one.source.output)
        version = json.dumps(written(one.version), sort_keys=True)
        identity = (replace(one.source.relation, name=""), one.source.columns, types, one.identity, version, own)
        if identity not in self.by_identity:
            self.by_identity[identity] = free_name(table, self.tables)
            self.tables[self.by_identity[identity]] = _Table()
        return self.by_identity[identity]

    def _traced_through(self, run_id: str, table: str, crossing: Crossing) -> None:
        """A table that recorded runs wrote, of which no row was reached, is there with no rows."""
        if crossing.onward:
            return
        newest = next(iter(crossing.made.runs))
        name = free_name(table, self.intermediate)
        rows = self.steps[run_id].derived.sources.rows[table]
        worth = weakest(rows.guarantee, self.doubts[run_id])
        self.intermediate[name] = Intermediate(rows.table, run=self.summaries[newest], guarantee=worth)
        self.names.setdefault((run_id, table), []).append(("intermediate", name))

    def _intermediates(self) -> dict[str, str]:
        """The rows of the other runs' outputs, by name; the names by run."""
        names: dict[str, str] = {}
        for run_id, step in list(self.steps.items())[1:]:
            made = step.derived.explanation
            names[run_id] = name = free_name(step.table, self.intermediate)
            self.intermediate[name] = Intermediate(made.target, run=made.run, queries=made.queries, guarantee=self.doubts[run_id])
        for run_id, step in self.steps.items():
            for table, crossing in step.crossings.items():
                behind: list[tuple[Kind, str]] = [("intermediate", names[run]) for run in crossing.ways]
                self.names[run_id, table] = [*self.names.get((run_id, table), []), *behind]
        return names

    def _resolved(self, links: Mapping[str, pa.Table]) -> dict[str, dict[int, set[Row]]]:
        """For each run which rows of the real sources stand behind each of its target rows; what is behind a run comes before it.

        ``links`` are those of the runs' targets: with or without the rows of tables that decided as a whole.
        """
        found: dict[str, dict[int, set[Row]]] = {}
        for run_id in reversed(list(self.steps)):
            found[run_id] = self._through(run_id, links[run_id], found)
        return found

    def _through(self, run_id: str, links: pa.Table, targets: Mapping[str, Mapping[int, set[Row]]]) -> dict[int, set[Row]]:
        found: dict[int, set[Row]] = {}
        for row, table, at in _triples(links):
            behind = found.setdefault(row, set())
            ended = self.rows.get((run_id, table, at))
            if ended is not None:
                behind.add(ended)
            for run, position in self._onward(run_id, table, at):
                behind |= targets[run].get(position, set())
        return found

    def _onward(self, run_id: str, table: str, at: int) -> list[tuple[str, int]]:
        crossing = self.steps[run_id].crossings.get(table)
        return crossing.onward.get(at, []) if crossing is not None else []

    def _reasons(self, targets: Mapping[str, Mapping[int, set[Row]]]) -> dict[str, Reasons]:
        found: dict[str, Reasons] = {}
        for run_id, step in self.steps.items():
            for udf, made in step.derived.explanation.reasons.items():
                assert made.links is not None
                links = _link_table(self._through(run_id, made.links, targets))
                found[free_name(udf, found)] = made.replaced(guarantee=weakest(made.guarantee, self.doubts[run_id]), links=links)
        return found

    def _controls(self) -> Iterator[Control]:
        """The controls of all runs, for the rows that were asked about."""
        reached = self._reached()
        for run_id, step in self.steps.items():
            for control in step.derived.explanation.controls:
                tables = dict.fromkeys(one for table in control.sources for one in self.names[run_id, table])
                sources, through = (tuple(name for kind, name in tables if kind == wanted) for wanted in ("source", "intermediate"))
                rows = sorted({asked for row in control.rows for asked in reached[run_id].get(row, ())})
                run = "" if run_id == self.asked.run.id else run_id
                if rows:
                    yield replace(control, sources=sources, intermediate=through, rows=tuple(rows), run=run)

    def _reached(self) -> dict[str, dict[int, set[int]]]:
        """For each run and row of its target, the rows asked about that it stands behind (not: that a whole table let through)."""
        found: dict[str, dict[int, set[int]]] = {run_id: {} for run_id in self.steps}
        found[self.asked.run.id] = {row: {row} for row in range(self.asked.target.num_rows)}
        for run_id, step in self.steps.items():
            for row, table, at in _triples(step.derived.read):
                for run, position in self._onward(run_id, table, at):
                    found[run].setdefault(position, set()).update(found[run_id].get(row, ()))
        return found


def _told_apart(keys: Sequence[Key]) -> list[tuple[Key, int]]:
    """Each row by its key, and by how many before it have the same."""
    before: Counter[Key] = Counter()
    found = []
    for key in keys:
        found.append((key, before[key]))
        before[key] += 1
    return found


def _all_went_on(crossing: Crossing, guarantee: Guarantee) -> bool:
    """Whether nothing of a table ended here: its rows went on, or none was reached of what recorded runs alone have written."""
    if crossing.onward:
        return True
    alive = all(one.status == "complete" for one in crossing.made.runs.values())
    return crossing.made.complete and alive and not crossing.candidates and guarantee.level != "unavailable"


def _triples(links: pa.Table) -> Iterator[tuple[int, str, int]]:
    return zip(*(links.column(name).to_pylist() for name in ("row", "source", "source_row")), strict=True)


def _link_table(behind: Mapping[int, set[Row]]) -> pa.Table:
    import pyarrow as pa

    links = sorted((row, name, at) for row, rows in behind.items() for name, at in rows)
    return pa.table({
        "row": pa.array([row for row, _, _ in links], pa.int64()),
        "source": pa.array([name for _, name, _ in links], pa.string()),
        "source_row": pa.array([at for _, _, at in links], pa.int64()),
    })  # fmt: skip
