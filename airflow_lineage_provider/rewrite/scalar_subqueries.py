"""Scalar subqueries become joins with their one row, below the operator that reads the value.

>>> before = where(table("T", "amount"), "amount > ?", group(table("U", "amount"), give="avg(amount) AS mean"))
>>> show(before)
σ (amount > (α (); avg(amount) AS mean;   U [amount]))
  T [amount]
>>> show(scalar_subqueries(before))
π amount
  σ (amount > mean)
    ×
      T [amount]
      α (); avg(amount) AS mean
        U [amount]

A subquery that may give no row is a left join (its value is NULL then). One that may give several is aggregated to one row,
and fails as Spark does when there were more.
"""

from __future__ import annotations

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import AggregateCall, Alias, Attribute, Literal, ScalarSubquery
from airflow_lineage_provider.plan.row_counts import gives_at_most_one_row, gives_one_row
from airflow_lineage_provider.plan.single_value import single_value
from airflow_lineage_provider.plan.walk import children, map_subqueries, subqueries, transform_up, with_children
from airflow_lineage_provider.rewrite.canonical_aggregates import canonical_aggregates
from airflow_lineage_provider.rewrite.fresh import FreshAttributes


def scalar_subqueries(plan: o.Plan) -> o.Plan:
    """The plan without scalar subqueries; see the module's text. Aggregations are canonical already."""
    fresh = FreshAttributes(plan)
    return transform_up(plan, lambda node: _lifted(node, fresh))


def _lifted(node: o.Plan, fresh: FreshAttributes) -> o.Plan:
    found = tuple(dict.fromkeys(subqueries(node)))
    if not found:
        return node
    # A join's condition may read what its left side gives, whatever the kind of join.
    child = children(node)[0]
    values: dict[ScalarSubquery, Attribute] = {}
    for subquery in found:
        child, values[subquery] = _joined(child, subquery, fresh)
    holder = with_children(node, (child, *children(node)[1:]))
    rebuilt = map_subqueries(holder, values.__getitem__)
    return rebuilt if rebuilt.output == node.output else o.Project(child=rebuilt, columns=node.output)


def _joined(child: o.Plan, subquery: ScalarSubquery, fresh: FreshAttributes) -> tuple[o.Plan, Attribute]:
    plan = transform_up(canonical_aggregates(subquery.plan, fresh), lambda node: _lifted(node, fresh))
    if not gives_at_most_one_row(plan):
        plan = _one_row(plan, fresh)
    kind: o.JoinKind = "cross" if gives_one_row(plan) else "left"
    return o.Join(left=child, right=plan, kind=kind), plan.output[0]


def _one_row(plan: o.Plan, fresh: FreshAttributes) -> o.Plan:
    """The only row of a plan, or an error: ``max`` of one value is the value; what has no order is taken as it comes."""
    value = plan.output[0]
    choose = "any_value" if any(word in value.type for word in ("map<", "variant", "interval")) else "max"
    chosen, rows = fresh.attribute(choose, value.type), fresh.attribute("count", "bigint", nullable=False)
    calls = (
        Alias(child=AggregateCall(function=choose, arguments=(value,), type=value.type), attribute=chosen),
        Alias(child=AggregateCall(function="count", arguments=(Literal(value="1", type="int"),), type="bigint"), attribute=rows),
    )
    only = o.Aggregate(child=plan, keys=(), columns=calls)
    return o.Project(child=only, columns=(Alias(child=single_value(rows, chosen), attribute=fresh.like(value)),))
