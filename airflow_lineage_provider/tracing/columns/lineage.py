"""Column-level lineage: for each column of a result the source columns that it is computed from, and those that only influence it.

It falls out of the plan: no row is read. The rules are in `column_operators` and `column_expressions`, the words OpenLineage's
(`column_transformation`). Of a deterministic pipeline the answer leaves no source column out that can change an output column; it may name
one that cannot (``x * 0``), as every lineage from a program's text does. Which rows a limit without an order takes is no column's doing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import InvalidTarget
from airflow_lineage_provider.plan.names import free_name
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.walk import all_operators
from airflow_lineage_provider.tracing.columns.expressions import Traced
from airflow_lineage_provider.tracing.columns.operators import Tracer
from airflow_lineage_provider.tracing.columns.transformation import SUBTYPES, Influences, Origin, Transformation

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class SourceColumn:
    """A column of a source table. ``table`` is the table as explanations call it: different tables of one name are numbered.

    ``leaf`` is the leaf of the plan that reads it, None where the table's leaves are not told apart.
    """

    table: str
    column: str
    relation: Relation
    leaf: int | None = None


@dataclass(frozen=True, kw_only=True)
class ColumnInput:
    """A source column and one way in which it takes part; a column that takes part in several ways has several of these."""

    source: SourceColumn
    transformation: Transformation


@dataclass(frozen=True, kw_only=True)
class OutputColumn:
    """A column of the result. ``inputs`` are what it is computed from and what influences it alone (`ColumnLineage.rows` comes on top)."""

    position: int
    name: str
    type: str
    inputs: tuple[ColumnInput, ...]

    @property
    def computed_from(self) -> tuple[SourceColumn, ...]:
        """The source columns whose values go into this column, each once."""
        return tuple(dict.fromkeys(one.source for one in self.inputs if one.transformation.type == "DIRECT"))


@dataclass(frozen=True, kw_only=True)
class ColumnLineage:
    """The column-level lineage of a result.

    ``columns`` stand in the result's order. ``rows`` are the source columns that decide which rows the result has, or their order: they
    influence every column (the facet's ``dataset``).
    """

    columns: tuple[OutputColumn, ...]
    rows: tuple[ColumnInput, ...]

    def column(self, name: str) -> tuple[OutputColumn, ...]:
        """The columns of that name, without regard to case, as Spark finds them; there may be several.

        :raises InvalidTarget: the result has none.
        """
        found = tuple(one for one in self.columns if one.name.lower() == name.lower())
        if not found:
            raise InvalidTarget(f"the result has no column {name!r}; it has {', '.join(one.name for one in self.columns)}")
        return found

    def only(self, name: str) -> ColumnLineage:
        """The lineage of the columns of that name alone.

        :raises InvalidTarget: the result has none.
        """
        return ColumnLineage(columns=self.column(name), rows=self.rows)

    def influenced_by(self, column: OutputColumn) -> tuple[SourceColumn, ...]:
        """The source columns that influence a column without going into its values, each once."""
        direct = set(column.computed_from)
        return tuple(dict.fromkeys(one.source for one in (*column.inputs, *self.rows) if one.source not in direct))

    def to_table(self) -> pa.Table:
        """One row for each input of each column, then one for each of ``rows``, whose ``output`` and ``position`` are NULL.

        Columns: ``output``, ``position`` (from 0), ``source``, ``column``, ``leaf``, ``type``, ``subtype``, ``masking``, ``opaque`` and
        ``udfs``, as in `SourceColumn` and `column_transformation.Transformation`.
        """
        import pyarrow as pa

        of_columns = [_record(one, column) for column in self.columns for one in column.inputs]
        return pa.Table.from_pylist([*of_columns, *(_record(one, None) for one in self.rows)], schema=_schema())

    def to_openlineage(self, *, namespace: str = "spark") -> dict[str, Any]:
        """OpenLineage's columnLineage facet, JSON-able; ``namespace`` is that of tables that no path or URL names."""
        from airflow_lineage_provider.tracing.columns.facet import column_lineage_facet

        return column_lineage_facet(self, namespace)


def column_lineage(plan: SegmentedPlan, *, by_leaf: bool = False) -> ColumnLineage:
    """The column-level lineage of a plan's result.

    A table that is read twice is one table, unless ``by_leaf`` keeps its leaves apart.

    :raises UnsupportedOperator: for an operator or an expression without a rule.
    """
    return columns_of(plan, Tracer(plan).segment(0), source_columns(plan, by_leaf=by_leaf))


def columns_of(plan: SegmentedPlan, root: Traced, sources: Mapping[Origin, SourceColumn]) -> ColumnLineage:
    """What was traced to a plan's root, in the words of people."""
    columns = tuple(
        OutputColumn(position=at, name=name, type=attribute.type, inputs=inputs_of(root.columns[attribute.id], sources))
        for at, (name, attribute) in enumerate(zip(plan.names, plan.output, strict=True))
    )
    return ColumnLineage(columns=columns, rows=inputs_of(root.rows, sources))


def inputs_of(found: Influences, sources: Mapping[Origin, SourceColumn]) -> tuple[ColumnInput, ...]:
    """In the order of the sources' columns, direct ones first."""
    ordered = sorted(found, key=lambda one: (one[1].type == "INDIRECT", one[0], *_order(one[1])))
    # Two leaves of one table are alike here.
    return tuple(dict.fromkeys(ColumnInput(source=sources[origin], transformation=replace(kind, mixed=False)) for origin, kind in ordered))


def _order(one: Transformation) -> tuple[int, bool, bool, tuple[str, ...]]:
    return SUBTYPES.index(one.subtype), one.masking, one.opaque, one.udfs


def source_columns(
    plan: SegmentedPlan, *, by_leaf: bool, tables: dict[object, str] | None = None, first_leaf: int = 0
) -> dict[Origin, SourceColumn]:
    """The columns of all leaves; two leaves are one table when they read the same thing, a session's own data only with itself.

    ``tables`` has the names of tables that other plans read, and gets those of this one. Its leaves are numbered from ``first_leaf`` on.
    """
    leaves = {node.leaf: node for one in plan.segments for node in all_operators(one.plan) if isinstance(node, Source)}
    tables = {} if tables is None else tables
    found: dict[Origin, SourceColumn] = {}
    for leaf, source in sorted(leaves.items()):
        same = (source.relation, source.columns, first_leaf + leaf if source.relation.kind == "local" else None)
        if same not in tables:
            tables[same] = free_name(source.relation.name, tables.values())
        told_apart = leaf if by_leaf else None
        for at, column in enumerate(source.columns):
            found[first_leaf + leaf, at] = SourceColumn(table=tables[same], column=column, relation=source.relation, leaf=told_apart)
    return found


def _record(one: ColumnInput, column: OutputColumn | None) -> dict[str, Any]:
    kind = one.transformation
    return {
        "output": None if column is None else column.name, "position": None if column is None else column.position,
        "source": one.source.table, "column": one.source.column, "leaf": one.source.leaf, "type": kind.type, "subtype": kind.subtype,
        "masking": kind.masking, "opaque": kind.opaque, "udfs": list(kind.udfs),
    }  # fmt: skip


def _schema() -> pa.Schema:
    import pyarrow as pa

    texts = dict.fromkeys(("output", "source", "column", "type", "subtype"), pa.string())
    kinds = texts | {"position": pa.int32(), "leaf": pa.int32(), "masking": pa.bool_(), "opaque": pa.bool_(), "udfs": pa.list_(pa.string())}
    order = ("output", "position", "source", "column", "leaf", "type", "subtype", "masking", "opaque", "udfs")
    return pa.schema([(name, kinds[name]) for name in order])
