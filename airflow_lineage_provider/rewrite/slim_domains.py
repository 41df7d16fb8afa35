"""A domain's copy of the outer query computes no more than the domain's values.

>>> before = group(project(function(table("T", "x, y"), "rate(y) AS risk"), "x, risk"), by="x", give="x", domain=True)
>>> show(before)
α x
  π x, risk
    φ rate(y) → risk
      T [x, y]
>>> show(slim_domains(before))
α x
  π x
    T [x, y]

A domain is a set, so how often a row is there does not matter: a function operator, a window or an outer join's right side of which
nothing is read can go.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.plan.expressions import Part, attribute_of
from airflow_lineage_provider.plan.walk import transform_up


def slim_domains(plan: o.Plan) -> o.Plan:
    """The plan with slim domains; see the module's text."""
    return transform_up(plan, _slim_domain)


def _slim_domain(node: o.Plan) -> o.Plan:
    if not isinstance(node, o.Aggregate) or not node.domain:
        return node
    return replace(node, child=_slim(node.child, _read(*node.keys)))


def _slim(node: o.Plan, wanted: Set[int]) -> o.Plan:
    """As many different rows of the wanted attributes as before."""
    match node:
        case o.Project():
            columns = tuple(column for column in node.columns if attribute_of(column).id in wanted)
            return replace(node, child=_slim(node.child, _read(*columns)), columns=columns) if columns else node
        case o.Filter():
            return replace(node, child=_slim(node.child, wanted | _read(node.condition)))
        case o.Sort() | o.Repartition():
            return _slim(node.child, wanted)
        case o.FunctionOperator():
            made = {node.value.id} if node.reason is None else {node.value.id, node.reason.id}
            if not made & wanted:
                return _slim(node.child, wanted)
            return replace(node, child=_slim(node.child, wanted | _read(*node.arguments)))
        case o.Window() if not wanted & {function.attribute.id for function in node.functions}:
            return _slim(node.child, wanted)
        case o.Join(kind="left", difference=False) if not wanted & {attribute.id for attribute in node.right.output}:
            return _slim(node.left, wanted)
        case o.Join(kind="existence") if node.exists is not None and node.exists.id not in wanted:
            return _slim(node.left, wanted)
        case o.Join(kind="inner" | "cross" | "left" | "left_semi", difference=False):
            both = wanted | (_read(node.condition) if node.condition is not None else set())
            return replace(node, left=_slim(node.left, both), right=_slim(node.right, both))
    return node


def _read(*parts: Part) -> set[int]:
    return {attribute.id for part in parts for attribute in references(part)}
