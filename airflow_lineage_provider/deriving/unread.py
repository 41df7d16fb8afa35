"""Rows behind rows of a result that are read when they are needed: of tables whose lineage was captured for conditions on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.consumed_rows import aggregated
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.answers.unread_rows import UnreadRows
from airflow_lineage_provider.deriving.cubes import AskedCube
from airflow_lineage_provider.deriving.derivation import derivation
from airflow_lineage_provider.deriving.derive import chosen_target
from airflow_lineage_provider.deriving.granularity import AskedValues
from airflow_lineage_provider.deriving.lineage_rows import rows_behind
from airflow_lineage_provider.deriving.links import pairs
from airflow_lineage_provider.deriving.narrowing import Narrowing
from airflow_lineage_provider.deriving.target_rows import RowNumbers
from airflow_lineage_provider.plan.guarantees import EXACT
from airflow_lineage_provider.recording import empty_rows, meant_tables, tables_of

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.records.run import RunRecord

Ask = Callable[[Callable[["AskedRun"], Any]], Any]
"""Asks a question of a run, as often as it is needed."""


def divided_tables(record: RunRecord, recorded: RecordedPlan, table: str | None) -> frozenset[str]:
    """Of a source table, or of all, those of which captured lineage has some rows alone, or has them class by class.

    :raises InvalidTarget: there is no such table.
    """
    leaves = {one.leaf for one in record.captured.classes if one.granularity != ()} if record.captured is not None else set()
    if not leaves:
        return frozenset()
    tables = tables_of(recorded)
    names = meant_tables(table, tables)
    return frozenset(name for name in names if not leaves.isdisjoint(one.source.leaf for one in tables[name]))


@dataclass(frozen=True, kw_only=True)
class UnreadBehind:
    """Asks a run what stands behind rows of its result, table by table; ``divided`` are those whose rows are read when they are needed."""

    ask: Ask
    divided: frozenset[str]
    plan: RecordedPlan
    summary: RunSummary
    limit: int
    lazy: bool

    def of(self, target: Any, at: Any, names: list[str]) -> dict[str, LineageRows]:
        """The rows behind, of these tables.

        :raises InvalidTarget, EmptyTarget, TargetTooLarge: the rows of the result cannot be meant so.
        """
        asked, rows = self.ask(lambda run: _rows_asked(run, target, at, self.limit))
        found = {name: _OfTable(self, name, asked, rows) for name in names}
        return {
            name: UnreadRows(run=self.summary, asked=asked, table=name, read=one) if name in self.divided else one.rows("", {})
            for name, one in found.items()
        }


@dataclass(frozen=True)
class _OfTable:
    """Reads what stands behind rows of the result, of one source table (`answers.unread_rows.Reading`)."""

    of: UnreadBehind
    name: str
    asked: str
    target: RowNumbers

    def rows(self, condition: str, params: Mapping[str, Any]) -> LineageRows:
        """The rows that meet a condition, and maybe others."""
        narrowing = Narrowing(condition=condition, params=params)

        def behind(run: AskedRun) -> LineageRows:
            found = rows_behind(
                run, self.target, self.name, summary=self.of.summary, limit=self.of.limit, lazy=self.of.lazy, narrowing=narrowing
            )
            return found[self.name]

        found: LineageRows = self.of.ask(behind)
        return replace(found, asked=self.asked)

    def aggregate(self, by: Sequence[str], measures: Sequence[str], condition: str, params: Mapping[str, Any]) -> pa.Table | None:
        """What cubes, or values that are kept in place of rows, have of the rows that meet it.

        :raises InvalidOption: there cannot be such aggregates of the table.
        """
        aggregated(by, measures, empty_rows(tables_of(self.of.plan)[self.name][0]))
        cube = AskedCube(by=by, measures=measures, condition=condition, params=params)
        values = AskedValues(by=by, measures=measures, condition=condition, params=params)

        def kept(run: AskedRun) -> pa.Table | None:
            found = cube.of(run, self.name, self.target.numbers)
            return values.of(run, self.name, self.target.numbers) if found is None else found

        found: pa.Table | None = self.of.ask(kept)
        return found

    def check(self, condition: str, params: Mapping[str, Any]) -> None:
        """:raises InvalidOption: it is no condition over the table's columns."""
        import numpy as np

        rows, nothing = empty_rows(tables_of(self.of.plan)[self.name][0]), np.empty(0, np.int64)
        LineageRows(
            run=self.of.summary, asked="", table=self.name, rows=rows, links=pairs(nothing, nothing), guarantee=EXACT, engine=""
        ).where(condition, **params)


def _rows_asked(run: AskedRun, target: Any, at: Any, limit: int) -> tuple[str, RowNumbers]:
    """What was asked about rows of the result, and which these are."""
    chosen = chosen_target(run, target, at, limit)
    with derivation(run, chosen.condition()) as made:
        run.progress("finding the target rows")
        numbers = chosen.numbers(made.rows)
    return chosen.asked, RowNumbers(tuple(numbers.tolist()), tuple(run.tables.positions_of(run.stored["result"], numbers)))
