"""Limits go below function operators, so that no more rows are judged than are kept.

>>> before = limit(sort(project(function(table("T", "a"), "credit_exam(a) AS judge"), "a, judge"), "a"), 10)
>>> show(before)
limit 10
  sort a ASC
    π a, judge
      φ credit_exam(a) → judge
        T [a]
>>> show(push_down_limits(before))
π a, judge
  φ credit_exam(a) → judge
    limit 10
      sort a ASC
        T [a]

A projection and a function operator give one row for each row, in the same order. Where the order depends on what they
compute, the limit stays. Function materialization judges every row that reaches a function operator, as the plan says;
Spark alone would stop when it has its ten rows.
"""

from __future__ import annotations

from dataclasses import replace

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.plan.walk import functions_of, transform_up
from airflow_lineage_provider.rewrite.determinism import is_repeatable


def push_down_limits(plan: o.Plan) -> o.Plan:
    """The plan with limits below function operators where they can be; see the module's text."""
    return transform_up(plan, _push)


def _push(node: o.Plan) -> o.Plan:
    if not isinstance(node, o.Limit) or not functions_of(node):
        return node
    sort = node.child if isinstance(node.child, o.Sort) and node.child.is_global else None
    return _below(sort.child if sort else node.child, node, sort) or node


def _below(node: o.Plan, limit: o.Limit, sort: o.Sort | None) -> o.Plan | None:
    """The operators from here on with the limit (and the sort) below the lowest function operator of the chain."""
    if not isinstance(node, o.Project | o.FunctionOperator) or not functions_of(node) or not is_repeatable(node):
        return None
    given = {attribute.id for attribute in node.child.output}
    if sort is not None and any(r.id not in given for key in sort.order for r in references(key)):
        return None
    deeper = _below(node.child, limit, sort)
    if deeper is not None:
        return replace(node, child=deeper)
    if not isinstance(node, o.FunctionOperator):
        return None
    child = node.child if sort is None else replace(sort, child=node.child)
    return replace(node, child=replace(limit, child=child))
