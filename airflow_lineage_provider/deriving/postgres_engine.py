"""Tracing queries in PostgreSQL, over what runs stored there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from airflow_lineage_provider.deriving.at_hand import RowsAtHand
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.recording import RecordedPlan
from airflow_lineage_provider.sql import ColumnRef, PortabilityProblem, lower
from airflow_lineage_provider.tracing.binding import Key, LeafTable, bind, leaf_keys, target_table
from airflow_lineage_provider.tracing.reserved import TARGET

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.store import Materialization, Session

TARGET_KEY: Key = ("segment", TARGET)
_TARGET = "target"
_MOST_TEXTS = 200
"""So many texts of queries are kept of a run that is asked about."""
_AT_HAND = "-- rows of the result, read where the target was looked for"


class PostgresEngine:
    """One session of the store, and what a run stored; of the rows ``at_hand`` it is not asked again."""

    name: ClassVar[str] = "postgresql"

    def __init__(
        self, recorded: RecordedPlan, stored: Mapping[str, Materialization], session: Session, at_hand: RowsAtHand | None = None
    ) -> None:
        self.recorded = recorded
        self.stored = stored
        self.session = session
        self.at_hand = at_hand or RowsAtHand()

    def run(self, plan: o.Plan, target: pa.Table) -> tuple[pa.Table, str]:
        """Execute a tracing query: its rows, and the SQL that was run.

        :raises PortabilityProblem: it may not give what Spark gives, or an input is not stored.
        """
        result = self.recorded.materialized.get(0)
        found = None if result is None else self.at_hand.looked_up(plan, target, dict(result.columns))
        if found is not None:
            return found, _AT_HAND
        stored = self._stored_of(plan)
        sql = self._text(plan, target.column_names, stored)
        types = {a.name: a.type for a in plan.output}
        return self.session.query(sql, types, tables={_TARGET: target}, parts=_parts(stored)), sql

    def _stored_of(self, plan: o.Plan) -> dict[Key, tuple[Materialization, LeafTable]]:
        return {key: self._stored(key) for key in leaf_keys(plan) if key != TARGET_KEY}

    def _text(self, plan: o.Plan, columns: Sequence[str], stored: Mapping[Key, tuple[Materialization, LeafTable]]) -> str:
        """A tracing query as PostgreSQL takes it, written once: every question about a run traces by the same ones.

        :raises PortabilityProblem: as `run`.
        """
        asked = (plan, tuple(columns), tuple((key, found.table) for key, (found, _) in stored.items()))
        written = self.recorded.written
        sql = written.get(asked)
        if sql is None:
            tables = {key: table for key, (_, table) in stored.items()}
            tables[TARGET_KEY] = target_table(plan, TARGET, (_TARGET,), columns)
            sql = lower(plan, bind(plan, tables), dialect="postgres", ansi=self.recorded.ansi)
            if len(written) < _MOST_TEXTS:
                written[asked] = sql
        return sql

    def check_readable(self, leaf: o.Source | o.SegmentOutput, key: Key, most: int) -> None:
        """Whether `rows` gives what is stored of a leaf.

        :raises PortabilityProblem: there are more rows than ``most``, a column is stored in another form, no column is read, or it is not
            stored.
        """
        materialization, table = self._stored(key)
        if not leaf.output:
            raise PortabilityProblem(f"the stored table {table.label}", "none of its columns is read, only how many rows it has")
        if materialization.rows is None or materialization.rows > most:
            raise PortabilityProblem(f"the stored table {table.label}", f"it has more rows than {most:,}, or it is not known how many")
        spelled = bind(leaf, {key: table})[key].columns
        opaque = [a.name for a in leaf.output if spelled[a.id].opaque]
        if opaque:
            raise PortabilityProblem(f"the column {opaque[0]}", "it is stored there in another form")

    def rows(self, leaf: o.Source | o.SegmentOutput, key: Key) -> pa.Table:
        """The stored rows of a leaf, whose attributes' names are the columns'."""
        materialization, table = self._stored(key)
        sql = lower(leaf, bind(leaf, {key: table}), dialect="postgres", ansi=self.recorded.ansi)
        return self.session.query(sql, {a.name: a.type for a in leaf.output}, parts=_parts({key: (materialization, table)}))

    def materialization(self, key: Key) -> Materialization:
        """What a leaf was stored as.

        :raises PortabilityProblem: it was not.
        """
        kind, number = key
        if kind == "source" and self.recorded.sources[number].identity.kind != "snapshot":
            raise PortabilityProblem(f"table {self.recorded.sources[number].source.relation.name}", "it is not stored there")
        name = f"source_{number}" if kind == "source" else self.recorded.materialized[number].name
        if name not in self.stored:
            raise PortabilityProblem(f"segment {number}", "the run did not store it: it was made again in Spark")
        return self.stored[name]

    def _stored(self, key: Key) -> tuple[Materialization, LeafTable]:
        """What a leaf was stored as, and its table.

        :raises PortabilityProblem: it was not, or has none.
        """
        kind, number = key
        materialization = self.materialization(key)
        if materialization.in_files:
            raise PortabilityProblem(f"the stored rows {materialization.name}", f"they stand in files in {materialization.folder}")
        names = stored_columns(materialization)
        label = self.recorded.sources[number].source.relation.name if kind == "source" else materialization.name
        by_id = {} if kind == "source" else {i: names[name] for i, name in self.recorded.materialized[number].columns}
        place = (_part_name(materialization),) if materialization.is_shared else materialization.parts
        return materialization, LeafTable(name=place, by_id=by_id, by_name=names, label=label)


def _part_name(materialization: Materialization) -> str:
    return f"stored_{materialization.id}"


def _parts(stored: Mapping[Key, tuple[Materialization, LeafTable]]) -> dict[str, str]:
    """What stands in shared tables, by the names that queries have for it."""
    return {_part_name(one): one.part for one, _ in stored.values() if one.is_shared}


def stored_columns(materialization: Materialization) -> dict[str, ColumnRef]:
    """How every column of a materialization is spelled in PostgreSQL."""
    return {
        column.name: ColumnRef(
            text=materialization.physical(column.name) or materialization.sql_column(column.name),
            is_expression=materialization.physical(column.name) is None,
            opaque=column.name in materialization.escaped,
        )
        for column in materialization.columns
    }
