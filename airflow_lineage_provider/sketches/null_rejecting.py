"""Outer joins below conditions that no row without a partner passes are inner joins: either side may be sketched then.

Spark makes one of a correlated subquery, ``price < (SELECT avg(price) FROM lines WHERE lines.part = part)``: without lines of the part the
average is NULL, and so is the comparison. This is the form that proofs are about; what is run stays as it was.

>>> T, U = table("T", "a, b"), table("U", "k, v")
>>> [inner_joins(where(join(T, U, "a = k", kind="left"), text)).child.kind for text in ("b < v + 1", "b < a", "b < 1 OR v < 2")]
['inner', 'left', 'left']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import replace_attributes
from airflow_lineage_provider.plan.walk import transform_up

_STRICT = frozenset({"+", "-", "*", "/"})
_COMPARED = frozenset({"=", "==", "<", "<=", ">", ">="})


def inner_joins(plan: o.Plan) -> o.Plan:
    """The plan with inner joins for the outer joins of which a condition above drops all rows without a partner."""
    return transform_up(
        plan, lambda node: replace(node, child=_below(node.child, e.conjuncts(node.condition))) if isinstance(node, o.Filter) else node
    )


def _below(node: o.Plan, terms: Sequence[e.Expression]) -> o.Plan:
    match node:
        case o.Filter():
            return replace(node, child=_below(node.child, terms))
        case o.Project():
            given = {one.attribute.id: one.child for one in node.columns if isinstance(one, e.Alias)}
            return replace(node, child=_below(node.child, [replace_attributes(term, given) for term in terms]))
        case o.Join(kind="left" | "right"):
            lacking = {attribute.id for attribute in (node.right if node.kind == "left" else node.left).output}
            return replace(node, kind="inner") if any(_rejects(term, lacking) for term in terms) else node
    return node


def _rejects(term: e.Expression, lacking: set[int]) -> bool:
    """Whether a condition is NULL, or false, where all of these attributes are NULL."""
    if not isinstance(term, e.Call):
        return False
    if term.function == "isnotnull":
        return _is_null(term.arguments[0], lacking)
    return term.function in _COMPARED and any(_is_null(one, lacking) for one in term.arguments)


def _is_null(expression: e.Expression, lacking: set[int]) -> bool:
    match expression:
        case e.Attribute():
            return expression.id in lacking
        case e.Cast():
            return _is_null(expression.child, lacking)
        case e.Call() if expression.function in _STRICT:
            return any(_is_null(one, lacking) for one in expression.arguments)
    return False
