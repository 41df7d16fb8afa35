"""The derivations of several runs as one explanation: real sources merged, links from the target to them, everything under one name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from airflow_lineage_provider.answers.explanation import Control
from airflow_lineage_provider.answers.keyed_rows import KeyedRows
from airflow_lineage_provider.answers.tables import Intermediate, SourceTable
from airflow_lineage_provider.deriving.links import by_source, joined, same, target_links
from airflow_lineage_provider.plan.guarantees import Guarantee, weakest
from airflow_lineage_provider.plan.names import free_name
from airflow_lineage_provider.tracing.key_index import KeyIndex
from airflow_lineage_provider.tracing.numbers import different, each_once
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.decided import Reasons
    from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
    from airflow_lineage_provider.deriving.across.across import Crossing, Step
    from airflow_lineage_provider.deriving.links import Numbers

    Behind = tuple[str, Numbers, Numbers]
    """A table of the answer; rows of a target, and for each of them a row of the table behind it."""

Kind = Literal["source", "intermediate"]


@dataclass(kw_only=True)
class _Table:
    """A real source in the making: parts of the tables that the runs read, each row once.

    ``keys`` are those of its rows so far, each with how many rows of its own table stand before it under the same key.
    """

    parts: list[pa.Table] = field(default_factory=list)
    keys: pa.Table | None = None
    guarantees: list[Guarantee] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    keyed: list[KeyedRows] = field(default_factory=list)

    def places(self, keys: pa.Table) -> tuple[Numbers, Numbers]:
        """The places that rows with these keys have in it from now on, and which of them are new, and come behind the others."""
        import numpy as np
        import pyarrow as pa

        keys = keys.rename_columns([str(i) for i in range(keys.num_columns)])
        known = keys.slice(0, 0) if self.keys is None else self.keys
        found = KeyIndex(known).places(keys)
        places = np.full(keys.num_rows, -1)
        places[found.asked] = found.row
        new = np.flatnonzero(places < 0)
        places[new] = known.num_rows + np.arange(len(new))
        self.keys = pa.concat_tables([known, keys.take(pa.array(new)).cast(known.schema)])
        return places, new

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
        self.rows: dict[tuple[str, str], tuple[str, Numbers]] = {}  # (run, its table) → table of the answer, each row's place, or -1
        self.names: dict[tuple[str, str], list[tuple[Kind, str]]] = {}  # (run, its table) → tables of the answer
        self.intermediate: dict[str, Intermediate] = {}

    def result(self) -> Explanation:
        for run_id, step in self.steps.items():
            for table in step.derived.sources.tables:
                self._source(run_id, step, table)
        of_run = self._intermediates()
        targets = self._resolved({run_id: step.derived.explanation.target_links for run_id, step in self.steps.items()})
        behind = {name: target_links(targets[run_id]) for run_id, name in of_run.items()}
        reasons = self._reasons(self._resolved({run_id: step.derived.read for run_id, step in self.steps.items()}))
        every = [step.derived.explanation for step in self.steps.values()]
        return replace(
            self.asked,
            sources={name: table.made() for name, table in self.tables.items()},
            reasons=reasons,
            target_links=target_links(targets[self.asked.run.id]),
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
        import numpy as np
        import pyarrow as pa

        rows = step.derived.sources.rows[table]
        crossing = step.crossings.get(table)
        own = step.derived.explanation.sources[table]
        ending = _ending(crossing, rows.table.num_rows)
        if crossing is not None and not crossing.withheld and not len(ending) and _all_went_on(crossing, own.guarantee):
            self._traced_through(run_id, table, crossing)
            return
        name = self._table_name(run_id, step, table)
        self.names.setdefault((run_id, table), []).append(("source", name))
        made = self.tables[name]
        made.stale += own.stale
        remarks = crossing.remarks if crossing is not None else []
        made.guarantees.append(weakest(own.guarantee, self.doubts[run_id], *remarks))
        chosen = pa.array(ending)
        places, new = made.places(rows.keys.keys.append_column("earlier", pa.array(rows.keys.earlier)).take(chosen))
        at = np.full(rows.table.num_rows, -1)
        at[ending] = places
        self.rows[run_id, table] = name, at
        if len(ending):
            made.keyed.append(KeyedRows.of(run_id, table, rows.keys.keys.take(chosen), places))
        part = rows.table.take(pa.array(ending[new]))
        made.parts.append(part.cast(made.parts[0].schema) if made.parts else part)

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
        own = self.steps[run_id].derived.explanation.sources[table]
        worth = weakest(own.guarantee, self.doubts[run_id])
        self.intermediate[name] = Intermediate(own.rows, run=self.summaries[newest], guarantee=worth)
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

    def _resolved(self, links: Mapping[str, pa.Table]) -> dict[str, list[Behind]]:
        """For each run which rows of the real sources stand behind each of its target rows; what is behind a run comes before it.

        ``links`` are those of the runs' targets: with or without the rows of tables that decided as a whole.
        """
        found: dict[str, list[Behind]] = {}
        for run_id in reversed(list(self.steps)):
            found[run_id] = self._through(run_id, links[run_id], found)
        return found

    def _through(self, run_id: str, links: pa.Table, targets: Mapping[str, list[Behind]]) -> list[Behind]:
        parts: dict[str, list[tuple[Numbers, Numbers]]] = {}
        for table, row, at in by_source(links):
            if (run_id, table) in self.rows:
                name, places = self.rows[run_id, table]
                ended = places[at] >= 0
                parts.setdefault(name, []).append((row[ended], places[at[ended]]))
            for run, reading, position in self._onward(run_id, table, row, at):
                for name, target, source_row in targets[run]:
                    one, other = same(position, target)
                    parts.setdefault(name, []).append((reading[one], source_row[other]))
        each = {name: each_once(joined([row for row, _ in some]), joined([at for _, at in some])) for name, some in parts.items()}
        return [(name, row, at) for name, (row, at) in each.items()]

    def _onward(self, run_id: str, table: str, row: Numbers, at: Numbers) -> Iterator[tuple[str, Numbers, Numbers]]:
        """Of links to rows of a table, for each run to which some of these went on: what is linked, and to which of its target rows."""
        crossing = self.steps[run_id].crossings.get(table)
        for run, (gone, position) in crossing.onward.items() if crossing is not None else ():
            one, other = same(at, gone)
            yield run, *each_once(row[one], position[other])

    def _reasons(self, targets: Mapping[str, list[Behind]]) -> dict[str, Reasons]:
        found: dict[str, Reasons] = {}
        for run_id, step in self.steps.items():
            for udf, made in step.derived.explanation.reasons.items():
                assert made.links is not None
                links = target_links(self._through(run_id, made.links, targets))
                found[free_name(udf, found)] = made.replaced(guarantee=weakest(made.guarantee, self.doubts[run_id]), links=links)
        return found

    def _controls(self) -> Iterator[Control]:
        """The controls of all runs, for the rows that were asked about."""
        import numpy as np

        reached = self._reached()
        for run_id, step in self.steps.items():
            for control in step.derived.explanation.controls:
                tables = dict.fromkeys(one for table in control.sources for one in self.names[run_id, table])
                sources, through = (tuple(name for kind, name in tables if kind == wanted) for wanted in ("source", "intermediate"))
                row, asked = reached[run_id]
                rows = different(asked[np.isin(row, list(control.rows))]).tolist()
                run = "" if run_id == self.asked.run.id else run_id
                if rows:
                    yield replace(control, sources=sources, intermediate=through, rows=tuple(rows), run=run)

    def _reached(self) -> dict[str, tuple[Numbers, Numbers]]:
        """For each run the rows of its target, and the rows asked about that each stands behind (not: that a whole table let through)."""
        import numpy as np

        every = np.arange(self.asked.target.num_rows)
        parts: dict[str, list[tuple[Numbers, Numbers]]] = {run_id: [] for run_id in self.steps}
        parts[self.asked.run.id].append((every, every))
        found: dict[str, tuple[Numbers, Numbers]] = {}
        for run_id, step in self.steps.items():
            some = parts[run_id]
            target, asked = found[run_id] = each_once(joined([row for row, _ in some]), joined([of for _, of in some]))
            for table, row, at in by_source(step.derived.read):
                for run, reading, position in self._onward(run_id, table, row, at):
                    one, other = same(reading, target)
                    parts[run].append((position[one], asked[other]))
        return found


def _ending(crossing: Crossing | None, rows: int) -> Numbers:
    """Of so many rows of a table those that go back to no other run."""
    import numpy as np

    if crossing is None or crossing.may_be_others:
        return np.arange(rows)
    return np.zeros(0, np.int64) if crossing.withheld else np.flatnonzero(crossing.went_on(rows) == 0)


def _all_went_on(crossing: Crossing, guarantee: Guarantee) -> bool:
    """Whether nothing of a table ended here: its rows went on, or none was reached of what recorded runs alone have written."""
    if crossing.onward:
        return True
    alive = all(one.status == "complete" for one in crossing.made.runs.values())
    return crossing.made.complete and alive and not crossing.candidates and guarantee.level != "unavailable"
