"""The lineage of a run's rows: looked up where it was captured; else tracing queries find it, over lineage keys and what is stored."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee, weakest
from airflow_lineage_provider.tracing.looked_up import LookedUp
from airflow_lineage_provider.tracing.maps import RESULT, LineageMap, Rows, RowSet
from airflow_lineage_provider.tracing.python_guarantees import opaque
from airflow_lineage_provider.tracing.trace import INDEX, Captured, Executor, Trace, TracedRun, TracingQuery, trace
from airflow_lineage_provider.words import Difference, Subqueries

if TYPE_CHECKING:
    import pyarrow as pa


class Follower(Protocol):
    """Follows rows of a source forwards, to the rows of a segment that descend from them."""

    def follow(self, rows: Rows, output: RowSet) -> Rows: ...


class CapturedLineage(Captured, Protocol):
    """Lineage that was captured, in both directions or in one."""

    def from_end_to_end(self, rows: Rows, leaves: Sequence[int]) -> tuple[dict[int, pa.Table], str] | None:
        """Tag and lineage key of the rows of source leaves behind rows of the result, by leaf, and what they were looked up in, where that
        is one index for each of the leaves; else None."""

    def descendants(self, rows: Rows, output: RowSet, *, differences: bool = False) -> tuple[pa.Table, str] | None:
        """Tag and number of the segment's rows that descend from rows of a source, and what they were looked up in; None: not captured.
        ``differences``: through the right sides of differences, too."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LazyLineage:
    """The lineage of a run (`maps.RunLineage`). What was traced for some rows is known while they are asked about. ``difference`` says
    what the right side of one is to the maps: ``rows``, all its rows, else nothing."""

    run: TracedRun
    executor: Executor
    follower: Follower
    captured: CapturedLineage | None = None
    subqueries: Subqueries = "partners"
    difference: Difference = "data"
    _known: dict[tuple[int, bool, frozenset[int] | None], tuple[Rows, Trace]] = field(default_factory=dict, init=False, repr=False)
    _looked_up: LookedUp = field(default_factory=LookedUp, init=False, repr=False)

    def between(self, output: RowSet, input: RowSet) -> LineageMap:
        return LazyMap(lineage=self, output=output, input=input)

    @property
    def goes_into_sides(self) -> bool:
        """Whether rows of the right sides of differences stand behind the rows that passed them."""
        return self.difference == "rows" and self.run.plan.has_controls

    def anew(self) -> LazyLineage:
        """The same lineage, of which nothing is known yet: what is known of many rows is large."""
        return replace(self)

    def behind(self, rows: Rows, *, differences: bool = False, wanted: RowSet | None = None) -> Trace:
        # What was captured without some sources can be looked up where these are not wanted; else one trace is good for all inputs.
        some = wanted is not None and wanted.kind == "source" and self.captured is not None and self.captured.pruned
        leaves = frozenset(wanted.numbers) if wanted is not None and some else None
        differences = differences and self.run.plan.has_controls
        # By their id: the rows are kept beside the answer, so that no others come to have it.
        asked = (id(rows), differences, leaves)
        if asked not in self._known:
            (start,) = rows.of.numbers
            found = trace(
                self.run, start, rows.keys, self.executor, enumerate_differences=differences, subqueries=self.subqueries,
                known=self._looked_up, captured=self.captured, wanted=leaves,
            )  # fmt: skip
            self._known[asked] = (rows, found)
        return self._known[asked][1]


@dataclass(frozen=True, kw_only=True)
class LazyMap:
    """The lineage between two row sets of a run (`maps.LineageMap`)."""

    lineage: LazyLineage
    output: RowSet
    input: RowSet

    @property
    def guarantee(self) -> Guarantee:
        plan = self.lineage.run.plan
        found = opaque(plan, range(self.output.numbers[0], len(plan.segments)))
        known = found.leaves if self.input.kind == "source" else found.segments
        return weakest(*(known.get(number) for number in self.input.numbers))

    def backward(self, rows: Rows) -> Rows:
        found = self._from_end_to_end(rows)
        if found is not None:
            return found
        return self.lineage.behind(rows, differences=self.lineage.goes_into_sides, wanted=self.input).rows(self.input)

    def _from_end_to_end(self, rows: Rows) -> Rows | None:
        """At once, where that was captured so, and nothing on any way leaves anything of what the answer is worth."""
        lineage, started = self.lineage, time.perf_counter()
        is_of_ends = self.output == RESULT and self.input.kind == "source" and not lineage.goes_into_sides
        if lineage.captured is None or not is_of_ends or self.guarantee != EXACT:
            return None
        found = lineage.captured.from_end_to_end(rows, self.input.numbers)
        if found is None:
            return None
        tables, name = found
        told, many = f"-- looked up in what was captured: {name}", sum(one.num_rows for one in tables.values())
        query = TracingQuery(segment=0, engine=INDEX + name, sql=told, seconds=time.perf_counter() - started, rows=many)
        return Trace(run=lineage.run, sources=tables, queries=[query]).rows(self.input)

    def forward(self, rows: Rows) -> Rows:
        captured, sides = self.lineage.captured, self.lineage.goes_into_sides
        if captured is None or (found := captured.descendants(rows, self.output, differences=sides)) is None:
            return self.lineage.follower.follow(rows, self.output)
        keys, name = found
        return Rows(of=self.output, keys=keys, guarantee=self.guarantee, engine=INDEX + name)
