"""Sums and averages in floating-point numbers that are the same in whatever order rows come are marked.

They are those of whole numbers, where the sources' files tell that no partial sum is rounded.

What is marked is no reason to store a segment (`rewrite.determinism`), and means the same in every engine (`sql.portable_expressions`).
The mark is of the rows that the run read: a source that has changed since is told as ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.exact_sums import adds_up_exactly, adds_whole_numbers, is_exact
from airflow_lineage_provider.plan.expression_walk import expressions_in, transform_expression
from airflow_lineage_provider.plan.expressions import AggregateCall, Alias, Expression, WindowFunction
from airflow_lineage_provider.plan.magnitudes import Magnitudes, SourceMagnitudes, above
from airflow_lineage_provider.plan.walk import all_operators, children, operators, own_expressions, with_children


def leaves_to_know(plan: o.Plan) -> frozenset[int]:
    """The sources of which it matters how many rows they have and how large their numbers are; none for most plans."""
    return frozenset(
        below.leaf
        for node in all_operators(plan)
        if any(adds_whole_numbers(call) and not is_exact(call) for call in _calls(node))
        for below in operators(node)
        if isinstance(below, o.Source)
    )


def exact_averages(plan: o.Plan, sources: Mapping[int, SourceMagnitudes]) -> o.Plan:
    """The plan with marks, by what is known of its ``sources``."""
    return _marked(plan, sources)[0] if sources else plan


def _marked(node: o.Plan, sources: Mapping[int, SourceMagnitudes]) -> tuple[o.Plan, Magnitudes]:
    if isinstance(node, o.Source):
        return node, sources[node.leaf].of(node) if node.leaf in sources else Magnitudes()
    made = [_marked(child, sources) for child in children(node)]
    node = with_children(node, tuple(child for child, _ in made))
    inputs = [known for _, known in made]
    if isinstance(node, o.Aggregate):
        node = replace(node, columns=tuple(_with_marks(one, inputs[0]) if isinstance(one, Alias) else one for one in node.columns))
    elif isinstance(node, o.Window):
        node = replace(node, functions=tuple(_with_marks(one, inputs[0]) for one in node.functions))
    return node, above(node, inputs)


def _with_marks(column: Alias, below: Magnitudes) -> Alias:
    return transform_expression(column, lambda part: _mark(part, below))


def _mark(part: Expression, below: Magnitudes) -> Expression:
    if not isinstance(part, AggregateCall | WindowFunction) or is_exact(part):
        return part
    return replace(part, exact=True) if adds_up_exactly(part, below.rows, below.columns) else part


def _calls(node: o.Plan) -> list[AggregateCall | WindowFunction]:
    return [part for own in own_expressions(node) for part in expressions_in(own) if isinstance(part, AggregateCall | WindowFunction)]
