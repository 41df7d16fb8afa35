"""Partition and sort keys of windows are attributes, so that the rows of a frame can be found from a row.

>>> before = window(table("T", "day, x"), "sum(x) AS total", partition="year(day)")
>>> show(before)
window sum(x) rows unbounded preceding to unbounded following AS total over partition by year(day)
  T [day, x]
>>> show(canonical_windows(before))
π day, x, total
  window sum(x) rows unbounded preceding to unbounded following AS total over partition by year(day)
    π day, x, year(day) AS year(day)
      T [day, x]

Above the lower projection ``year(day)`` is an attribute.
"""

from __future__ import annotations

from dataclasses import replace

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Alias, Attribute, Expression
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.plan.walk import transform_up
from airflow_lineage_provider.rewrite.fresh import FreshAttributes


def canonical_windows(plan: o.Plan) -> o.Plan:
    """The plan with canonical windows only; see the module's text."""
    fresh = FreshAttributes(plan)
    return transform_up(plan, lambda node: _canonical(node, fresh) if isinstance(node, o.Window) else node)


def _canonical(node: o.Window, fresh: FreshAttributes) -> o.Plan:
    computed: dict[Expression, Attribute] = {}

    def attribute(key: Expression) -> Attribute:
        if isinstance(key, Attribute):
            return key
        return computed.setdefault(key, fresh.attribute(expression_text(key)[:60], key.type))

    partition = tuple(dict.fromkeys(attribute(key) for key in node.partition))
    order = tuple(replace(key, child=attribute(key.child)) for key in node.order)
    if not computed:
        return node if partition == node.partition else replace(node, partition=partition)
    aliases = tuple(Alias(child=key, attribute=made) for key, made in computed.items())
    child = o.Project(child=node.child, columns=(*node.child.output, *aliases))
    window = replace(node, child=child, partition=partition, order=order)
    return o.Project(child=window, columns=node.output)
