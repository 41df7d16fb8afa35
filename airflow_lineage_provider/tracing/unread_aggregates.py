"""Aggregations of all rows by Python functions whose values nobody reads: Spark does not call them then.

Before: ``π 1`` over ``python aggregated f`` over T. After: ``π 1`` over ``π NULL`` over ``α count(1)`` over T.
It matters where T has no rows: the functions give no row, and Spark's aggregation without functions gives one.
"""

from __future__ import annotations

from airflow_lineage_provider.catalyst.python_aggregates import ALL_ROWS
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.walk import operators, transform_up
from airflow_lineage_provider.rewrite.fresh import FreshAttributes
from airflow_lineage_provider.tracing.prune import needed


def without_unread_aggregates(plan: o.Plan) -> o.Plan:
    """The plan without the functions that Spark does not call; the same object where there are none."""
    if not any(map(_of_all_rows, operators(plan))):
        return plan
    read, fresh = needed(plan, plan.output), FreshAttributes(plan)

    def counted(node: o.Plan) -> o.Plan:
        if not isinstance(node, o.PythonMap) or not _of_all_rows(node) or any(a.id in read for a in node.output):
            return node
        call = e.AggregateCall(function="count", arguments=(e.Literal(value="1", type="int"),), type="bigint")
        rows = e.Alias(child=call, attribute=fresh.attribute("rows", "bigint", nullable=False))
        nothing = tuple(e.Alias(child=e.Cast(child=e.Literal(value=None, type="void"), type=a.type), attribute=a) for a in node.output)
        return o.Project(child=o.Aggregate(child=node.children[0], keys=(), columns=(rows,)), columns=nothing)

    return transform_up(plan, counted)


def _of_all_rows(node: o.Plan) -> bool:
    if not isinstance(node, o.PythonMap) or node.kind != "aggregated":
        return False
    below = node.children[0]
    return isinstance(below, o.Project) and [e.expression_of(column) for column in below.columns[: node.group_width]] == [ALL_ROWS]
