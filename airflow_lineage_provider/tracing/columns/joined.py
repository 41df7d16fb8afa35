"""Column-level lineage over the plans of several runs, joined at the tables that pass between them: as of one operator tree.

A table that one run wrote and another read is an intermediate result: the reader's leaf is the root of the writer's plan, column by
column, by their names. A table that several runs wrote (each a part of it) is the union of their results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.walk import all_operators
from airflow_lineage_provider.tracing.columns.expressions import Traced
from airflow_lineage_provider.tracing.columns.lineage import ColumnLineage, SourceColumn, columns_of, source_columns
from airflow_lineage_provider.tracing.columns.operators import Tracer, own_columns
from airflow_lineage_provider.tracing.columns.transformation import Influences, Origin, together


@dataclass(frozen=True, kw_only=True)
class WrittenLeaf:
    """A leaf of a plan that other plans of the tree wrote.

    :ivar by: the plans' names. :ivar wholly: nobody else has written a part of it.
    """

    by: tuple[str, ...]
    wholly: bool


@dataclass(frozen=True, kw_only=True)
class JoinedPlan:
    """A plan of the tree, and by their numbers its leaves that others of the tree wrote; it has a greater name than these."""

    plan: SegmentedPlan
    written: Mapping[int, WrittenLeaf] = field(default_factory=dict)


def joined_column_lineage(plans: Mapping[str, JoinedPlan], root: str) -> ColumnLineage:
    """The column-level lineage of the root's result, from the tables that no plan of the tree wrote.

    Columns that a writer's result does not have (a reader's schema may name others) are the table's own, and so are all columns of a
    table that others wrote a part of.

    :raises UnsupportedOperator: for an operator or an expression without a rule.
    """
    known: dict[str, Traced] = {}
    sources: dict[Origin, SourceColumn] = {}
    tables: dict[object, str] = {}
    first = 0
    for name in sorted(plans):
        one = plans[name]
        leaves = _leaves(one.plan)
        written = {leaf: _read(leaves[leaf], first, written, plans, known) for leaf, written in one.written.items()}
        known[name] = Tracer(one.plan, written=written, first_leaf=first).segment(0)
        sources |= source_columns(one.plan, by_leaf=False, tables=tables, first_leaf=first)
        first += max(leaves, default=0) + 1
    return columns_of(plans[root].plan, known[root], sources)


def _leaves(plan: SegmentedPlan) -> dict[int, Source]:
    return {node.leaf: node for one in plan.segments for node in all_operators(one.plan) if isinstance(node, Source)}


def _read(source: Source, first: int, leaf: WrittenLeaf, plans: Mapping[str, JoinedPlan], known: Mapping[str, Traced]) -> Traced:
    """What stands behind the columns of a leaf, and behind which rows it has."""
    own = own_columns(source, first)
    columns: dict[int, Influences] = {}
    for name, attribute in zip(source.columns, source.output, strict=True):
        found = [_column(plans[one].plan, known[one], name) for one in leaf.by]
        is_own = not leaf.wholly or None in found
        columns[attribute.id] = together([*filter(None, found), *([own[attribute.id]] if is_own else [])])
    return Traced(columns=columns, rows=together(known[one].rows for one in leaf.by))


def _column(plan: SegmentedPlan, traced: Traced, name: str) -> Influences | None:
    """What stands behind the column of that name, without regard to case where there is no other way; None where there is none."""
    at = _place(name, plan.names)
    return None if at is None else traced.columns[plan.output[at].id]


def _place(name: str, names: Sequence[str]) -> int | None:
    """
    >>> [_place(name, ("a", "B", "b")) for name in ("b", "A", "c")]
    [2, 0, None]
    """
    exact = [at for at, one in enumerate(names) if one == name] or [at for at, one in enumerate(names) if one.lower() == name.lower()]
    return exact[0] if exact else None
