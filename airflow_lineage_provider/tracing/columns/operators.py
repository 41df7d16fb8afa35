"""The source columns behind an operator's output: behind each column, and behind which rows there are; one rule for each operator.

Grouping and join keys, conditions and sort keys decide which rows there are, and so influence every column above them. What belongs to
one column alone (a window's keys, a condition inside an expression, an EXISTS that is a column) stays with that column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import singledispatch

from airflow_lineage_provider.errors import PlanCheckError
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import unknown
from airflow_lineage_provider.plan.expressions import Expression, attribute_of, expression_of
from airflow_lineage_provider.plan.row_counts import gives_at_most_one_row, gives_one_row
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.tracing.columns.expressions import Scope, Traced, all_through, influences, of_udf
from airflow_lineage_provider.tracing.columns.generators import has_fixed_rows, parts_by_column
from airflow_lineage_provider.tracing.columns.transformation import (
    FILTER,
    GROUP_BY,
    IDENTITY,
    JOIN,
    NOTHING,
    SORT,
    TRANSFORMATION,
    WINDOW,
    Influences,
    Transformation,
    through,
    together,
)


@dataclass(frozen=True)
class Tracer:
    """The segments of a plan; each is traced once.

    :ivar operators: those that were traced, with what stands behind them.
    :ivar written: what stands behind leaves that other plans wrote (`joined`). :ivar first_leaf: its leaves are numbered from there on.
    """

    plan: SegmentedPlan
    known: dict[int, Traced] = field(default_factory=dict)
    operators: list[tuple[o.Plan, Traced]] = field(default_factory=list)
    written: Mapping[int, Traced] = field(default_factory=dict)
    first_leaf: int = 0

    def segment(self, number: int) -> Traced:
        if number not in self.known:
            self.known[number] = trace(self.plan.segments[number].plan, self)
        return self.known[number]

    def scope(self, columns: Mapping[int, Influences]) -> Scope:
        return Scope(columns=columns, subquery=lambda plan: trace(plan, self))


def own_columns(source: o.Source, first_leaf: int = 0) -> dict[int, Influences]:
    """Each column of a source as what stands behind itself."""
    return {one.id: frozenset({((first_leaf + source.leaf, at), IDENTITY)}) for at, one in enumerate(source.output)}


def trace(node: o.Plan, tracer: Tracer) -> Traced:
    """What stands behind an operator's output.

    :raises UnsupportedOperator: for an operator or an expression without a rule.
    """
    found = trace_operator(node, tracer)
    tracer.operators.append((node, found))
    return found


@singledispatch
def trace_operator(node: o.Plan, tracer: Tracer) -> Traced:
    """`trace` by the kind of the operator; it alone is not noted."""
    raise unknown(node, "column lineage")


@trace_operator.register
def _(node: o.Source, tracer: Tracer) -> Traced:
    return tracer.written.get(node.leaf) or Traced(columns=own_columns(node, tracer.first_leaf))


@trace_operator.register
def _(node: o.SegmentOutput, tracer: Tracer) -> Traced:
    traced = tracer.segment(node.segment)
    for attribute in node.output:
        if attribute.id not in traced.columns:
            raise PlanCheckError(f"segment {node.segment} gives no {attribute.name}#{attribute.id}, which another segment reads")
    return traced


@trace_operator.register
def _(node: o.Project, tracer: Tracer) -> Traced:
    child = trace(node.child, tracer)
    scope = tracer.scope(child.columns)
    columns = {attribute_of(column).id: influences(expression_of(column), scope) for column in node.columns}
    return Traced(columns=columns, rows=child.rows)


@trace_operator.register
def _(node: o.Filter, tracer: Tracer) -> Traced:
    child = trace(node.child, tracer)
    return _with_rows(child, all_through((node.condition,), FILTER, tracer.scope(child.columns)))


@trace_operator.register
def _(node: o.Join, tracer: Tracer) -> Traced:
    """Semi- and anti-joins and differences give the left's columns; the right's rows still decide which of them stay.

    An existence join keeps every left row: the condition and the right side stand behind its own column alone. So does a join with the
    one row of a scalar subquery: what decides which row that is stands behind its columns alone.
    """
    left, right = trace(node.left, tracer), trace(node.right, tracer)
    both = _both(left.columns, right.columns)
    condition = () if node.condition is None else (node.condition,)
    keys = all_through(condition, JOIN, tracer.scope(both))
    if node.exists is not None:
        return Traced(columns={**left.columns, node.exists.id: keys | right.rows}, rows=left.rows)
    if _keeps_left_rows(node, tracer):
        of_right = {number: found | right.rows for number, found in right.columns.items()}
        return Traced(columns=_both(left.columns, of_right), rows=left.rows)
    return Traced(columns={one.id: both[one.id] for one in node.output}, rows=together((left.rows, right.rows, keys)))


def _keeps_left_rows(node: o.Join, tracer: Tracer) -> bool:
    """Whether every left row is there once, whatever the right side has."""
    segments = [one.plan for one in tracer.plan.segments]
    if node.condition is not None:
        return False
    return (node.kind == "left" and gives_at_most_one_row(node.right, segments)) or (
        node.kind in ("cross", "inner", "left") and gives_one_row(node.right, segments)
    )


@trace_operator.register
def _(node: o.Aggregate, tracer: Tracer) -> Traced:
    child = trace(node.child, tracer)
    scope = tracer.scope(child.columns)
    columns = {attribute_of(column).id: influences(expression_of(column), scope) for column in node.columns}
    if node.domain:
        # Every value that an outer row has is there.
        return Traced(columns=columns, rows=NOTHING)
    return Traced(columns=columns, rows=child.rows | all_through(node.keys, GROUP_BY, scope))


@trace_operator.register
def _(node: o.Distinct, tracer: Tracer) -> Traced:
    child = trace(node.child, tracer)
    return _with_rows(child, all_through(node.child.output, GROUP_BY, tracer.scope(child.columns)))


@trace_operator.register
def _(node: o.Union, tracer: Tracer) -> Traced:
    children = [trace(child, tracer) for child in node.children]
    behind = [[child.columns[one.id] for one in plan.output] for plan, child in zip(node.children, children, strict=True)]
    columns = {one.id: together(side[at] for side in behind) for at, one in enumerate(node.output)}
    return Traced(columns=columns, rows=together(child.rows for child in children))


@trace_operator.register
def _(node: o.Sort, tracer: Tracer) -> Traced:
    """An order says which rows a limit above keeps and what an aggregation like ``first`` sees; at the top it is the result's own."""
    child = trace(node.child, tracer)
    return _with_rows(child, all_through((key.child for key in node.order), SORT, tracer.scope(child.columns)))


@trace_operator.register
def _(node: o.Repartition, tracer: Tracer) -> Traced:
    return trace(node.child, tracer)


@trace_operator.register
def _(node: o.Limit, tracer: Tracer) -> Traced:
    return trace(node.child, tracer)


@trace_operator.register
def _(node: o.FunctionOperator, tracer: Tracer) -> Traced:
    """The value and the reason are made from the arguments; the lineage keys only serve the UDF's error messages."""
    child = trace(node.child, tracer)
    made = all_through(node.arguments, of_udf(node.udf), tracer.scope(child.columns))
    return _with_columns(child, {one.id: made for one in (node.value, node.reason) if one is not None})


@trace_operator.register
def _(node: o.Window, tracer: Tracer) -> Traced:
    """Partition and order influence the functions' columns alone: every row of the child stays."""
    child = trace(node.child, tracer)
    scope = tracer.scope(child.columns)
    keys: tuple[Expression, ...] = (*node.partition, *(key.child for key in node.order))
    window = all_through(keys, WINDOW, scope)
    return _with_columns(child, {one.attribute.id: influences(one.child, scope) | window for one in node.functions})


@trace_operator.register
def _(node: o.Generate, tracer: Tracer) -> Traced:
    """The generated columns come from the generator's arguments, which also say how often a row is there (or that it is not)."""
    child = trace(node.child, tracer)
    scope = tracer.scope(child.columns)
    parts = parts_by_column(node.generator, len(node.generated))
    if parts is None:
        whole = all_through(node.generator.arguments, TRANSFORMATION, scope)
        made = {one.id: whole for one in node.generated}
    else:
        made = {one.id: all_through(some, IDENTITY, scope) for one, some in zip(node.generated, parts, strict=True)}
    rows = NOTHING if has_fixed_rows(node.generator) else all_through(node.generator.arguments, FILTER, scope)
    return _with_columns(_with_rows(child, rows), made)


@trace_operator.register
def _(node: o.PythonMap, tracer: Tracer) -> Traced:
    """Nothing is known of the function: every column that it is given may stand behind every column and row that it makes."""
    if node.kind == "aggregated":
        return _aggregated(node, trace(node.children[0], tracer))
    children = [trace(child, tracer) for child in node.children]
    given = together(child.columns[one.id] for plan, child in zip(node.children, children, strict=True) for one in plan.output)
    keys = together(child.columns[key.id] for child in children for key in node.keys if key.id in child.columns)
    opaque = Transformation(subtype="TRANSFORMATION", udfs=(node.udf,), opaque=True)
    made = through(given, opaque)
    known = {"map": (), "grouped": (GROUP_BY,), "table": (GROUP_BY,), "cogrouped": (GROUP_BY, JOIN)}[node.kind]
    chosen = through(given, Transformation(subtype="FILTER", udfs=(node.udf,), opaque=True))
    rows = together((*(child.rows for child in children), chosen, *(through(keys, kind) for kind in known)))
    return Traced(columns={one.id: made for one in node.output}, rows=rows)


def _aggregated(node: o.PythonMap, child: Traced) -> Traced:
    """One row a group: its keys as they are, and of each function's columns its value."""
    opaque = Transformation(subtype="AGGREGATION", udfs=(node.udf,), opaque=True)
    made = {one.id: child.columns[key.id] for one, key in zip(node.output[: node.group_width], node.keys, strict=True)}
    given = iter(node.children[0].output[node.group_width :])
    for one, width in zip(node.output[node.group_width :], node.widths, strict=True):
        made[one.id] = through(together(child.columns[next(given).id] for _ in range(width)), opaque)
    keys = together(child.columns[key.id] for key in node.keys)
    return Traced(columns=made, rows=together((child.rows, through(keys, GROUP_BY))))


def _with_rows(traced: Traced, more: Influences) -> Traced:
    return Traced(columns=traced.columns, rows=traced.rows | more)


def _with_columns(traced: Traced, made: Mapping[int, Influences]) -> Traced:
    return Traced(columns={**traced.columns, **made}, rows=traced.rows)


def _both(left: Mapping[int, Influences], right: Mapping[int, Influences]) -> dict[int, Influences]:
    """The columns of both sides; an id that stands on both (as captured, a semi-join of a table with itself) may be either's."""
    return {**left, **right, **{one: left[one] | right[one] for one in left.keys() & right.keys()}}
