"""Where tracing queries run: PostgreSQL when all their inputs are there and it means what Spark means, Spark otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.recording import RecordedPlan
from airflow_lineage_provider.sql import ColumnRef, PortabilityProblem, lower
from airflow_lineage_provider.tracing.binding import Key, LeafTable, bind, leaf_keys, target_table
from airflow_lineage_provider.tracing.reserved import TARGET

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing
    from airflow_lineage_provider.store import Materialization, Session

_TARGET_KEY: Key = ("segment", TARGET)


class Engines:
    """The executor of `tracing.trace` for a recorded run: one session of the store, and Spark where it must be.

    ``spark`` is None when there is no session: what needs one then raises `SparkRequired`.
    """

    def __init__(self, recorded: RecordedPlan, stored: Mapping[str, Materialization], session: Session, spark: SparkTracing | None) -> None:
        self.recorded = recorded
        self.stored = stored
        self.session = session
        self.spark = spark

    def run(self, plan: o.Plan, target: pa.Table) -> tuple[pa.Table, str, str]:
        """Execute a tracing query: its rows, the engine, and the SQL that was run.

        :raises SparkRequired: only Spark can answer, and there is no session.
        """
        try:
            return self._in_postgres(plan, target)
        except PortabilityProblem as problem:
            if self.spark is None:
                raise SparkRequired(f"a tracing query needs Spark: {problem}; give a Spark session") from problem
        rows, sql = self.spark.query(plan, target)
        return rows, "spark", sql

    def _in_postgres(self, plan: o.Plan, target: pa.Table) -> tuple[pa.Table, str, str]:
        tables = {key: stored_table(key, self.recorded, self.stored) for key in leaf_keys(plan) if key != _TARGET_KEY}
        # Lowered once before anything is uploaded: whether PostgreSQL can run it is known from the plan alone.
        lower(
            plan,
            bind(plan, tables | {_TARGET_KEY: target_table(plan, TARGET, ("target",), target.column_names)}),
            dialect="postgres",
            ansi=self.recorded.ansi,
        )
        upload = self.session.upload("target", target)
        tables[_TARGET_KEY] = target_table(plan, TARGET, upload.parts, target.column_names)
        sql = lower(plan, bind(plan, tables), dialect="postgres", ansi=self.recorded.ansi)
        rows = self.session.query(sql, {a.name: a.type for a in plan.output})
        return rows, "postgresql", sql


def stored_table(key: Key, recorded: RecordedPlan, stored: Mapping[str, Materialization]) -> LeafTable:
    """A leaf's table in PostgreSQL.

    :raises PortabilityProblem: the leaf is not stored there.
    """
    kind, number = key
    if kind == "source" and recorded.sources[number].identity.kind != "snapshot":
        raise PortabilityProblem(f"table {recorded.sources[number].source.relation.name}", "it is not stored there")
    name = f"source_{number}" if kind == "source" else recorded.materialized[number].name
    if name not in stored:
        raise PortabilityProblem(f"segment {number}", "the run did not store it: it was made again in Spark")
    materialization = stored[name]
    names = stored_columns(materialization)
    label = recorded.sources[number].source.relation.name if kind == "source" else materialization.name
    by_id = {} if kind == "source" else {i: names[name] for i, name in recorded.materialized[number].columns}
    return LeafTable(name=materialization.parts, by_id=by_id, by_name=names, label=label)


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
