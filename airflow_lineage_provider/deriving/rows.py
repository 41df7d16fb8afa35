"""Rows of a run's segments: from the store, or from Spark where a segment was made again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from airflow_lineage_provider.deriving import stored_files
from airflow_lineage_provider.deriving.at_hand import RowsAtHand
from airflow_lineage_provider.deriving.named_by import named_by
from airflow_lineage_provider.deriving.postgres_engine import stored_columns
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.plan.lineage_keys import ROW, AnyNumbers
from airflow_lineage_provider.rewrite.determinism import is_deterministic
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.kept import KEPT
from airflow_lineage_provider.sources.time_limits import TimeLimit
from airflow_lineage_provider.sql import ColumnRef, PortabilityProblem, lower_expression
from airflow_lineage_provider.store.reading import LookUp

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.plan.expressions import Attribute, Expression
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.spark.rereading.restore import Restored
    from airflow_lineage_provider.store import Materialization
    from airflow_lineage_provider.store.read import Order


class RowSource(Protocol):
    """Rows of segments by number, wherever they are."""

    @property
    def recorded(self) -> RecordedPlan:
        """The run's plan, with every segment among the materialized ones whose rows are to be had."""
        ...

    @property
    def numbered_by_run(self) -> bool:
        """Whether the result's rows have the numbers that the run gave them."""
        ...

    def read(self, segment: int, columns: Sequence[str], numbers: AnyNumbers) -> pa.Table:
        """The rows with the given numbers, in the order of their numbers."""
        ...

    def matching(self, condition: Expression, limit: int) -> Numbers:
        """The numbers of at most ``limit`` rows of the result that meet a condition, ascending.

        :raises SparkRequired: only Spark can evaluate it as the run would have, and there is no session.
        """
        ...


def result_columns(rows: RowSource, attributes: Sequence[Attribute]) -> list[str]:
    """The columns that hold attributes of the result."""
    names = dict(rows.recorded.materialized[0].columns)
    return [names[a.id] for a in attributes]


@dataclass(frozen=True)
class StoredRows:
    """Rows as the run stored them (`RowSource`); of few that are found in PostgreSQL what is wanted next is ``at_hand`` then."""

    run: AskedRun
    at_hand: RowsAtHand = field(default_factory=RowsAtHand)

    @property
    def recorded(self) -> RecordedPlan:
        return self.run.recorded

    @property
    def numbered_by_run(self) -> bool:
        return True

    def numbers(self, segment: int) -> pa.Array:
        """The numbers of all rows of a segment, ascending."""
        import pyarrow as pa

        return self.run.tables.first(self._stored(segment), [ROW], None).column(0).combine_chunks().cast(pa.int64())

    def read(self, segment: int, columns: Sequence[str], numbers: AnyNumbers) -> pa.Table:
        known = self.at_hand.rows(columns, numbers) if segment == 0 else None
        return self.run.tables.rows(self._stored(segment), columns, numbers) if known is None else known

    def matching(self, condition: Expression, limit: int) -> Numbers:
        result = self._stored(0)
        try:
            if result.in_files:
                return self._in_files(condition, result, limit, (), 0, TimeLimit.of(self.run.query_seconds))
            return self._in_postgres(condition, result, limit)
        except (PortabilityProblem, CannotReadHere) as problem:
            needed = SparkRequired(f"the target needs Spark: {problem}; give a Spark session, or a simpler predicate")
        text = _spark_text(condition, self.recorded)
        self.run.session.rest()
        found = self.run.on_demand.needed(needed).filter(result, lambda frame: frame.where(text).select(ROW).orderBy(ROW).limit(limit))
        return _numbers(found)

    def in_order(self, condition: Expression, order: Sequence[Order], limit: int, offset: int, within: TimeLimit) -> Numbers:
        """The numbers of rows of a result in files that meet a condition: so many after so many, in an order of stored columns.

        :raises PortabilityProblem: only Spark can evaluate the condition. :raises CannotReadHere: this process does not reach the files.
        :raises QueryTooSlow: they are not found ``within`` the time.
        """
        return self._in_files(condition, self._stored(0), limit, order, offset, within)

    def _stored(self, segment: int) -> Materialization:
        return self.run.stored[self.recorded.materialized[segment].name]

    def _in_files(
        self, condition: Expression, result: Materialization, limit: int, order: Sequence[Order], offset: int, within: TimeLimit
    ) -> Numbers:
        self.run.session.rest()
        where, columns = where_in_files(condition, self.recorded)

        def look() -> pa.Table:
            import pyarrow as pa

            return pa.table({ROW: stored_files.matching(result, columns, where, limit, order, offset, within)})

        # A target is asked about in several forms, and by several people, and the rows do not change; that they are there is looked at.
        stored_files.paths_of(result)
        key = (result.folder, where, tuple(columns), limit, tuple(order), offset)
        found = KEPT.found(key, look, within) if is_deterministic(condition) else look()
        return _numbers(found)

    def _in_postgres(self, condition: Expression, result: Materialization, limit: int) -> Numbers:
        where = where_stored(condition, self.recorded, result)
        started, session = time.perf_counter(), self.run.session
        numbers, few = session.matching(result, where, limit, self.at_hand.columns)
        names = {a.id: name for a, name in zip(self.recorded.plan.output, result_columns(self, self.recorded.plan.output), strict=True)}
        session.looked_up.append(LookUp(result, tuple(names[one] for one in named_by(condition)), time.perf_counter() - started))
        self.at_hand.keep(few)
        return numbers


@dataclass(frozen=True)
class RemadeRows:
    """Rows of segments that were made again; the others are as the run stored them (`RowSource`)."""

    restored: Restored
    stored: StoredRows

    @property
    def recorded(self) -> RecordedPlan:
        return self.restored.recorded

    @property
    def numbered_by_run(self) -> bool:
        return 0 not in self.restored.frames

    def numbers(self, segment: int) -> pa.Array:
        """As of `StoredRows`."""
        import pyarrow.compute as pc

        if segment not in self.restored.frames:
            return self.stored.numbers(segment)
        self.stored.run.session.rest()
        found = self.restored.numbers(segment)
        return found.take(pc.sort_indices(found))

    def read(self, segment: int, columns: Sequence[str], numbers: AnyNumbers) -> pa.Table:
        if segment not in self.restored.frames:
            return self.stored.read(segment, columns, numbers)
        self.stored.run.session.rest()
        return self.restored.read(segment, columns, numbers)

    def matching(self, condition: Expression, limit: int) -> Numbers:
        if self.numbered_by_run:
            return self.stored.matching(condition, limit)
        self.stored.run.session.rest()
        return self.restored.matching(0, _spark_text(condition, self.recorded), limit)


def where_stored(condition: Expression, recorded: RecordedPlan, result: Materialization) -> str:
    """A condition over a run's result as PostgreSQL has it of the result's table.

    :raises PortabilityProblem: only Spark can evaluate it as the run would have.
    """
    columns, names = stored_columns(result), dict(recorded.materialized[0].columns)
    spelled = {a.id: columns[names[a.id]] for a in recorded.plan.output}
    return lower_expression(condition, spelled, dialect="postgres", ansi=recorded.ansi)


def where_in_files(condition: Expression, recorded: RecordedPlan) -> tuple[str, list[str]]:
    """The same as DuckDB has it of the result's files, and the columns that these are read for, the rows' number first.

    :raises PortabilityProblem: as `where_stored`.
    """
    asked, names = {a.id for a in references(condition)}, dict(recorded.materialized[0].columns)
    spelled = {a.id: ColumnRef(text=names[a.id]) for a in recorded.plan.output if a.id in asked}
    where = lower_expression(condition, spelled, dialect="duckdb", ansi=recorded.ansi, zone=recorded.zone)
    return where, [ROW, *dict.fromkeys(one.text for one in spelled.values())]


def _numbers(found: pa.Table) -> Numbers:
    numbers: Numbers = found.column(0).to_numpy()
    return numbers


def _spark_text(condition: Expression, recorded: RecordedPlan) -> str:
    names = dict(recorded.materialized[0].columns)
    spelled = {a.id: ColumnRef(text=names[a.id]) for a in recorded.plan.output}
    return lower_expression(condition, spelled, dialect="spark", ansi=recorded.ansi)
