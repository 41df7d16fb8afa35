"""From the leaves of a plan to the tables and columns that hold them, in whichever engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from airflow_lineage_provider.errors import PlanCheckError
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.sql import ColumnRef, LeafKey, TableRef
from airflow_lineage_provider.tracing.reserved import is_reserved

Key = LeafKey
"""``("source", leaf)`` or ``("segment", number)``, as `sql.lower` names leaves."""


@dataclass(frozen=True, kw_only=True)
class LeafTable:
    """A physical table that holds a leaf's rows.

    A source's columns are found by their names in the table; a segment's by attribute id, and a negative id without an entry
    is the row number.
    """

    name: tuple[str, ...]
    by_id: Mapping[int, ColumnRef] = field(default_factory=dict)
    by_name: Mapping[str, ColumnRef] = field(default_factory=dict)
    label: str = ""

    def column(self, name: str) -> ColumnRef:
        """A column by its name in the table: spelled as it is unless the table says otherwise."""
        return self.by_name.get(name, ColumnRef(text=name))

    def attribute(self, attribute: Attribute) -> ColumnRef:
        """A segment's column by its attribute.

        :raises PlanCheckError: the run did not store it: a bug here, and better said than read from another column.
        """
        if attribute.id in self.by_id:
            return self.by_id[attribute.id]
        if not is_reserved(attribute.id):
            raise PlanCheckError(f"{attribute.name}#{attribute.id} is read from {self.label or self.name}, which does not hold it")
        return self.column(ROW)


def bind(plan: o.Plan, tables: Mapping[Key, LeafTable]) -> dict[Key, TableRef]:
    """The tables as `sql.lower` takes them, for the attributes that this plan's leaves give."""
    bound: dict[Key, TableRef] = {}
    for node in operators(plan):
        if isinstance(node, o.Source):
            key: Key = ("source", node.leaf)
            spelled = {a.id: tables[key].column(name) for a, name in zip(node.output, node.columns, strict=True)}
        elif isinstance(node, o.SegmentOutput):
            key = ("segment", node.segment)
            spelled = {a.id: tables[key].attribute(a) for a in node.output}
        else:
            continue
        # A leaf may stand at several places (a scalar subquery that is written twice), with attributes of its own at each.
        known = bound[key].columns if key in bound else {}
        bound[key] = TableRef(name=tables[key].name, columns={**known, **spelled}, label=tables[key].label)
    return bound


def target_table(plan: o.Plan, target: int, name: tuple[str, ...], columns: Sequence[str]) -> LeafTable:
    """The uploaded targets: the columns of the plan's target leaf are the uploaded table's, by position."""
    by_id = {a.id: ColumnRef(text=column) for a, column in zip(target_leaf(plan, target).output, columns, strict=True)}
    return LeafTable(name=name, by_id=by_id, label="target")


def target_leaf(plan: o.Plan, target: int) -> o.SegmentOutput:
    """The leaf of a tracing query that stands for its targets."""
    return next(node for node in operators(plan) if isinstance(node, o.SegmentOutput) and node.segment == target)


def leaf_keys(plan: o.Plan) -> tuple[Key, ...]:
    """The keys of the leaves of a plan, each once."""
    keys: list[Key] = []
    for node in operators(plan):
        if isinstance(node, o.Source):
            keys.append(("source", node.leaf))
        elif isinstance(node, o.SegmentOutput):
            keys.append(("segment", node.segment))
    return tuple(dict.fromkeys(keys))
