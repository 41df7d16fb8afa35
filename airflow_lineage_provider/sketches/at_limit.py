"""Sketches of all rows of a limit, where what is above it drops some of them, or it skips some itself.

Over such a sketch the limit gives just the rows of the plain run: each of them is there, as all that stands behind it is, with its own
values; and what else is there is no better in the order (`order`). So it is no matter what is made of them above, as long as that makes the
same of the same rows. (The paper collects its sketches at the result alone, Sec. 6: of rows that are dropped above a limit nothing is in
it, and over it others take their places.)
"""

from __future__ import annotations

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import expressions_in
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.plan.walk import all_operators, operators, own_expressions
from airflow_lineage_provider.rewrite.determinism import is_deterministic, is_repeatable
from airflow_lineage_provider.sketches.aggregation import is_exact
from airflow_lineage_provider.sketches.proof import NotSafe


def require_same_rows(plan: o.Plan, limit: o.Limit, leaf: int) -> None:
    """That the same rows of a limit in a plan have the same values in each run, and what is above it makes the same of them.

    :raises NotSafe: it need not.
    """
    within = tuple(all_operators(limit))
    for node in all_operators(plan):
        parts = [part for own in own_expressions(node) for part in expressions_in(own)]
        is_within = any(node is one for one in within)
        if not is_within and not (_is_same_each_time(node) and all(map(is_deterministic, parts))):
            raise NotSafe("limit", node, f"it may make something else of the same rows: {operator_text(node)}")
        if is_within and _is_above(node, leaf) and not (all(map(_is_told, parts)) and _ranks_alike(node)):
            raise NotSafe("limit", node, f"of the same rows its values may differ, by last digits or ties: {operator_text(node)}")


def _is_same_each_time(node: o.Plan) -> bool:
    if isinstance(node, o.FunctionOperator) and not node.deterministic:
        return False
    return is_repeatable(node) and not (isinstance(node, o.Generate) and node.call is not None)


def _is_above(node: o.Plan, leaf: int) -> bool:
    return any(isinstance(one, o.Source) and one.leaf == leaf for one in operators(node))


def _ranks_alike(node: o.Plan) -> bool:
    """Whether a window gives rows that tie the same values in each run."""
    return not isinstance(node, o.Window) or is_repeatable(node)


def _is_told(part: e.Part) -> bool:
    return not isinstance(part, e.AggregateCall | e.WindowFunction) or is_exact(part)
