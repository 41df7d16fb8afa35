"""Aggregations give their keys, as attributes, and then single aggregate functions: a row's group can be read from the row.

>>> before = group(table("T", "day, x"), by="month(day)", give="month(day) + 1 AS next, sum(x) / count(1) AS mean")
>>> show(before)
α month(day); (month(day) + 1) AS next, (sum(x) / count(1)) AS mean
  T [day, x]
>>> show(canonical_aggregates(before))
π (month(day) + 1) AS next, (sum / count) AS mean
  α month(day); sum(x) AS sum, count(1) AS count
    π day, x, month(day) AS month(day)
      T [day, x]

There ``month(day)`` is an attribute, but for the projection that computes it. A δ is an α without functions:

>>> show(canonical_aggregates(distinct(table("T", "day, x"))))
α day, x
  T [day, x]
"""

from __future__ import annotations

from dataclasses import replace

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.check import is_canonical
from airflow_lineage_provider.plan.expression_walk import expressions_in, map_parts, transform_expression
from airflow_lineage_provider.plan.expressions import AggregateCall, Alias, Attribute, Expression, Named, UdfCall
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.plan.walk import transform_up
from airflow_lineage_provider.rewrite.fresh import FreshAttributes


def canonical_aggregates(plan: o.Plan, fresh: FreshAttributes | None = None) -> o.Plan:
    """The plan with canonical aggregations only; see the module's text. ``fresh`` is given for a part of a larger plan."""
    made = fresh or FreshAttributes(plan)
    return transform_up(plan, lambda node: _canonical(node, made))


def _canonical(node: o.Plan, fresh: FreshAttributes) -> o.Plan:
    if isinstance(node, o.Distinct):
        return o.Aggregate(child=node.child, keys=node.child.output, columns=node.child.output)
    if not isinstance(node, o.Aggregate) or is_canonical(node):
        return node
    child, keys = _keys_below(node, fresh)
    calls = _calls(node, fresh)
    given: tuple[Named, ...] = (*dict.fromkeys(keys.values()), *(Alias(child=call, attribute=made) for call, made in calls.items()))
    aggregate = replace(node, child=child, keys=tuple(dict.fromkeys(keys.values())), columns=given)
    columns = tuple(_above(column, keys, calls) for column in node.columns)
    return aggregate if columns == aggregate.output else o.Project(child=aggregate, columns=columns)


def _keys_below(node: o.Aggregate, fresh: FreshAttributes) -> tuple[o.Plan, dict[Expression, Attribute]]:
    """Keys that are expressions become attributes of a projection below."""
    keys: dict[Expression, Attribute] = {}
    computed: list[Alias] = []
    for key in node.keys:
        if _same_calls(key) in keys:
            continue
        if not isinstance(key, Attribute):
            computed.append(Alias(child=key, attribute=fresh.attribute(_name(key), key.type)))
        keys[_same_calls(key)] = key if isinstance(key, Attribute) else computed[-1].attribute
    if not computed:
        return node.child, keys
    return o.Project(child=node.child, columns=(*node.child.output, *computed)), keys


def _calls(node: o.Aggregate, fresh: FreshAttributes) -> dict[AggregateCall, Attribute]:
    """Each aggregate function once; one that is a whole column keeps that column's attribute."""
    whole = {c.child: c.attribute for c in reversed(node.columns) if isinstance(c, Alias) and isinstance(c.child, AggregateCall)}
    calls: dict[AggregateCall, Attribute] = {}
    known: set[Expression] = set()
    for part in [*reversed(whole), *(part for column in node.columns for part in expressions_in(column))]:
        if isinstance(part, AggregateCall) and _same_calls(part) not in known:
            known.add(_same_calls(part))
            calls[part] = whole[part] if part in whole else fresh.attribute(part.function, part.type)
    return calls


def _above(column: Named, keys: dict[Expression, Attribute], calls: dict[AggregateCall, Attribute]) -> Named:
    """A column in terms of keys and results of functions."""
    if isinstance(column, Attribute):
        return column
    known: dict[Expression, Attribute] = {**keys, **{_same_calls(call): made for call, made in calls.items()}}
    child = _substitute(column.child, known)
    return column.attribute if child == column.attribute else Alias(child=child, attribute=column.attribute)


def _substitute(expression: Expression, known: dict[Expression, Attribute]) -> Expression:
    """Replace the largest parts that are known."""
    if _same_calls(expression) in known:
        return known[_same_calls(expression)]
    return map_parts(expression, lambda part: _substitute(part, known))


def _same_calls(expression: Expression) -> Expression:
    """The expression with deterministic UDF calls alike: Catalyst numbers the same call anew where it is written again."""

    def alike(part: Expression) -> Expression:
        return replace(part, call=-1) if isinstance(part, UdfCall) and part.deterministic else part

    return transform_expression(expression, alike)


def _name(key: Expression) -> str:
    return expression_text(key)[:60]
