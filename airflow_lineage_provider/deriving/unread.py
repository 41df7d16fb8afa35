"""Rows behind rows of a result that are read when they are needed: of tables whose lineage was captured for conditions on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.unread_rows import UnreadRows
from airflow_lineage_provider.deriving.derivation import derivation
from airflow_lineage_provider.deriving.derive import chosen_target
from airflow_lineage_provider.deriving.lineage_rows import rows_behind
from airflow_lineage_provider.deriving.narrowing import Narrowing
from airflow_lineage_provider.deriving.target_rows import RowNumbers
from airflow_lineage_provider.recording import named_table, tables_of

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.answers.lineage_rows import LineageRows
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.records.run import RunRecord

Ask = Callable[[Callable[["AskedRun"], Any]], Any]
"""Asks a question of a run, as often as it is needed."""


def divided_tables(record: RunRecord, recorded: RecordedPlan, table: str | None) -> frozenset[str]:
    """Of a source table, or of all, those of which captured lineage has some rows alone, or has them class by class.

    :raises InvalidTarget: there is no such table.
    """
    leaves = {one.leaf for one in record.captured.classes} if record.captured is not None else set()
    if not leaves:
        return frozenset()
    tables = tables_of(recorded)
    names = list(tables) if table is None else [named_table(table, tables)]
    return frozenset(name for name in names if not leaves.isdisjoint(one.source.leaf for one in tables[name]))


@dataclass(frozen=True, kw_only=True)
class UnreadBehind:
    """Asks a run what stands behind rows of its result, table by table; ``divided`` are those whose rows are read when they are needed."""

    ask: Ask
    divided: frozenset[str]
    summary: RunSummary
    limit: int
    lazy: bool

    def of(self, target: Any, at: Any, names: list[str]) -> dict[str, LineageRows]:
        """The rows behind, of these tables.

        :raises InvalidTarget, EmptyTarget, TargetTooLarge: the rows of the result cannot be meant so.
        """
        asked, rows = self.ask(lambda run: _rows_asked(run, target, at, self.limit))

        def reading(name: str) -> Callable[[str, Mapping[str, Any]], LineageRows]:
            return lambda condition, params: self._read(name, asked, rows, Narrowing(condition=condition, params=params))

        def behind(name: str) -> LineageRows:
            if name not in self.divided:
                return reading(name)("", {})
            return UnreadRows(run=self.summary, asked=asked, table=name, read=reading(name))

        return {name: behind(name) for name in names}

    def _read(self, name: str, asked: str, rows: RowNumbers, narrowing: Narrowing) -> LineageRows:
        def behind(run: AskedRun) -> LineageRows:
            return rows_behind(run, rows, name, summary=self.summary, limit=self.limit, lazy=self.lazy, narrowing=narrowing)[name]

        found: LineageRows = self.ask(behind)
        return replace(found, asked=asked)


def _rows_asked(run: AskedRun, target: Any, at: Any, limit: int) -> tuple[str, RowNumbers]:
    """What was asked about rows of the result, and which these are."""
    chosen = chosen_target(run, target, at, limit)
    with derivation(run, chosen.condition()) as made:
        run.progress("finding the target rows")
        numbers = chosen.numbers(made.rows)
    return chosen.asked, RowNumbers(tuple(numbers), tuple(run.tables.positions_of(run.stored["result"], numbers)))
