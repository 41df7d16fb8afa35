"""Tracing queries in DuckDB, over the local files that a run read and what it stored, in files or as rows: no Spark is needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from airflow_lineage_provider.deriving import files_in_memory
from airflow_lineage_provider.deriving.postgres_engine import TARGET_KEY, PostgresEngine
from airflow_lineage_provider.deriving.stored_files import first, may_skip, paths_of, rows, view
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.recording import RecordedPlan, RecordedSource
from airflow_lineage_provider.records.versions import FilesVersion
from airflow_lineage_provider.sources.duckdb_connection import name as quoted
from airflow_lineage_provider.sources.duckdb_query import fetched
from airflow_lineage_provider.sources.duckdb_rows import FEW_ROWS
from airflow_lineage_provider.sources.duckdb_source import duckdb_source
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.time_limits import TimeLimit
from airflow_lineage_provider.spark.rereading.sources import changed, files_as_read
from airflow_lineage_provider.sql import ColumnRef, PortabilityProblem, leaf_key, lower
from airflow_lineage_provider.sql.types import duckdb_type
from airflow_lineage_provider.tracing.binding import Key, LeafTable, bind, target_leaf, target_table
from airflow_lineage_provider.tracing.by_number import read_by_number
from airflow_lineage_provider.tracing.prune import with_sources_pruned
from airflow_lineage_provider.tracing.reserved import TARGET, TARGET_ROW

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.store import Materialization

_MOST_STORED_ROWS = 1_000_000
_UPLOAD = "target"


@dataclass(kw_only=True)
class _Inputs:
    """What a query reads: views over files, tables of rows, and how the plan's leaves are spelled over both.

    ``may_skip``: the files' statistics tell no condition wrongly. Of a file that others wrote that is not known.
    """

    views: dict[str, str] = field(default_factory=dict)
    rows: dict[str, pa.Table] = field(default_factory=dict)
    paths: list[Path] = field(default_factory=list)
    tables: dict[Key, LeafTable] = field(default_factory=dict)
    may_skip: bool = True


class DuckDbEngine:
    """Files on this machine, as they were when the run read them, or wrote them; and through PostgreSQL, what it stored there.

    A query is ended after so many ``seconds``, where there is a bound.
    """

    name: ClassVar[str] = "duckdb"

    def __init__(self, recorded: RecordedPlan, stored: PostgresEngine, seconds: float | None = None) -> None:
        self.recorded = recorded
        self.stored = stored
        self.seconds = seconds
        self.settings = dict(recorded.plan.conf)

    def run(self, plan: o.Plan, target: pa.Table) -> tuple[pa.Table, str]:
        """Execute a tracing query: its rows, and the SQL that was run.

        :raises PortabilityProblem: it may not give what Spark gives, an input cannot be read here, or DuckDB fails.
        :raises QueryTooSlow: it was ended.
        """
        try:
            return self._run(plan, target)
        except CannotReadHere as problem:
            raise PortabilityProblem("a source", str(problem)) from problem

    def _run(self, plan: o.Plan, target: pa.Table) -> tuple[pa.Table, str]:
        inputs = _Inputs(rows={_UPLOAD: target}, tables={TARGET_KEY: target_table(plan, TARGET, (_UPLOAD,), target.column_names)})
        _check_types(target_leaf(plan, TARGET))
        plan = with_sources_pruned(plan)
        read = _leaves(plan)
        by_number = _numbers(plan, target)
        for key, leaves in read.items():
            self._add(key, leaves, inputs, by_number.get(key))
        sql = lower(plan, bind(plan, inputs.tables), dialect="duckdb", ansi=self.recorded.ansi, zone=self.recorded.zone)
        for key, leaves in read.items():
            name = inputs.tables[key].name[0]
            if name not in inputs.views and name not in inputs.rows:
                # Fetched last: it is known by now that the query can be written.
                inputs.rows[name] = self.stored.rows(leaves[0], key)
        self.stored.session.rest()
        found = fetched(sql, views=inputs.views, tables=inputs.rows, paths=inputs.paths, may_skip=inputs.may_skip, seconds=self.seconds)
        return _typed(found, plan), sql

    def _add(self, key: Key, leaves: list[o.Source | o.SegmentOutput], inputs: _Inputs, numbers: Numbers | None) -> None:
        """``numbers``: those of the stored rows that alone are read, where the query says which."""
        kind, number = key
        name = f"{kind}_{number}"
        recorded = self.recorded.sources[number] if kind == "source" else None
        if recorded is None or recorded.identity.kind == "snapshot":
            made = self.stored.materialization(key)
            inputs.tables[key] = self._in_files(key, made, leaves, inputs, numbers) if made.in_files else self._stored(key, name, leaves)
            return
        _check_unchanged(recorded)
        columns = list(dict.fromkeys(column for leaf in leaves if isinstance(leaf, o.Source) for column in leaf.columns))
        inputs.tables[key] = LeafTable(name=(name,), label=recorded.source.relation.name)
        if files_in_memory.are_read_here(recorded):
            inputs.rows[name] = files_in_memory.all_rows(recorded, self.settings).select(columns)
            return
        inputs.may_skip = False
        keys = [column.name for column in recorded.identity.columns] if recorded.rows_of is not None else []
        read = duckdb_source(recorded.source, recorded.identity, [*dict.fromkeys([*columns, *keys])], recorded.files, self.settings)
        inputs.views[name] = read.query
        inputs.paths += read.paths
        if recorded.rows_of is not None:
            inputs.rows[f"keys_{number}"] = self._keys(recorded.rows_of.stored, keys)
            listed, by = (", ".join(map(quoted, names)) for names in (columns or keys, keys))
            inputs.views[name] = f"SELECT {listed} FROM ({read.query}) SEMI JOIN keys_{number} USING ({by})"

    def _keys(self, name: str, columns: list[str]) -> pa.Table:
        """The stored lineage keys of the rows that alone were read of a source."""
        made = self.stored.stored[name]
        return first(made, columns, None, TimeLimit.of(self.seconds)) if made.in_files else self.stored.session.read(made, columns=columns)

    def _in_files(
        self, key: Key, made: Materialization, leaves: list[o.Source | o.SegmentOutput], inputs: _Inputs, numbers: Numbers | None
    ) -> LeafTable:
        """A view over the files that have the rows, with the columns that the query reads; or the rows, where the query says which."""
        kind, number = key
        by_id = {} if kind == "source" else {i: ColumnRef(text=name) for i, name in self.recorded.materialized[number].columns}
        table = LeafTable(name=(f"{kind}_{number}",), by_id=by_id, label=made.name)
        read = {column.text for leaf in leaves for column in bind(leaf, {key: table})[key].columns.values()}
        columns = [column.name for column in made.columns if column.name in read]
        if numbers is not None:
            _check_types(leaves[0])
            inputs.rows[table.name[0]] = rows(made, columns, numbers, TimeLimit.of(self.seconds))
            return table
        paths = paths_of(made)
        inputs.views[table.name[0]] = view(made, columns, paths)
        inputs.paths += paths
        inputs.may_skip &= may_skip(made, columns)
        return table

    def _stored(self, key: Key, name: str, leaves: list[o.Source | o.SegmentOutput]) -> LeafTable:
        if len(leaves) > 1:
            raise PortabilityProblem(name, "it is read at several places of the query")
        _check_types(leaves[0])
        self.stored.check_readable(leaves[0], key, _MOST_STORED_ROWS)
        ids = {a.id: ColumnRef(text=a.name) for a in leaves[0].output}
        columns = leaves[0].columns if isinstance(leaves[0], o.Source) else ()
        names = {column: ColumnRef(text=a.name) for a, column in zip(leaves[0].output, columns, strict=False)}
        return LeafTable(name=(name,), by_id=ids, by_name=names, label=name)


def _leaves(plan: o.Plan) -> dict[Key, list[o.Source | o.SegmentOutput]]:
    """The different leaves of a plan but its target, by their keys."""
    found: dict[Key, list[o.Source | o.SegmentOutput]] = {}
    for node in operators(plan):
        if isinstance(node, o.Source | o.SegmentOutput) and leaf_key(node) != TARGET_KEY:
            known = found.setdefault(leaf_key(node), [])
            if node not in known:
                known.append(node)
    return found


def _numbers(plan: o.Plan, target: pa.Table) -> dict[Key, Numbers]:
    """The segment of which few stored rows are read, and their numbers."""
    segment = read_by_number(plan) if target.num_rows <= FEW_ROWS else None
    if segment is None:
        return {}
    return {("segment", segment): target.column(target_leaf(plan, TARGET).output.index(TARGET_ROW)).to_numpy()}


def _check_types(leaf: o.Source | o.SegmentOutput) -> None:
    """A table of rows that is handed to DuckDB: of types that it surely takes as they are."""
    for attribute in leaf.output:
        duckdb_type(attribute.type, f"the column {attribute.name}")


def _check_unchanged(recorded: RecordedSource) -> None:
    """What DuckDB reads are the files that the run read.

    :raises PortabilityProblem: they are others now, or it cannot be told.
    """
    relation, version = recorded.source.relation, recorded.version
    try:
        known = isinstance(version, FilesVersion) and version.count == len(recorded.files or version.files or ())
        same = known and (not changed(relation, version) or files_as_read(relation, version) is not None)
    except SparkRequired as problem:
        raise PortabilityProblem(f"table {relation.name}", str(problem)) from problem
    if not same:
        raise PortabilityProblem(f"table {relation.name}", "it is not known to be in the files that the run read, as they were")


def _typed(rows: pa.Table, plan: o.Plan) -> pa.Table:
    import pyarrow as pa

    schema = pa.schema([(a.name, to_arrow(a.type)) for a in plan.output])
    try:
        return rows.rename_columns(schema.names).cast(schema)
    except pa.ArrowException as problem:
        raise PortabilityProblem("its result", str(problem)) from problem
