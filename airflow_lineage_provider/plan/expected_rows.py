"""How many rows a plan is likely to give, by the rows of what it reads: no statistics, and no promise."""

from __future__ import annotations

from collections.abc import Callable

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.walk import operators

Leaf = o.Source | o.SegmentOutput


def expected_rows(plan: o.Plan, of_leaf: Callable[[Leaf], int]) -> int:
    """The rows of the largest table that is read row by row; 0 where operators that take rows together, or choose some, leave anybody's
    guess.

    A filter is taken to pass all, a join to give a row for each of its larger side.
    """
    match plan:
        case o.Source() | o.SegmentOutput():
            return of_leaf(plan)
        case o.Project() | o.Filter() | o.FunctionOperator() | o.Window() | o.Generate():
            return expected_rows(plan.child, of_leaf)
        case o.Union():
            return sum(expected_rows(child, of_leaf) for child in plan.children)
        case o.Join():
            left = expected_rows(plan.left, of_leaf)
            return max(left, expected_rows(plan.right, of_leaf)) if plan.kind in _BOTH_SIDES else left
        case _:
            return 0


_BOTH_SIDES = frozenset({"inner", "left", "right", "full", "cross"})


def is_laid_out(plan: SegmentedPlan) -> bool:
    """Whether the rows' order, or what is in a partition, is somebody's wish, or decides which rows there are."""
    laid_out = (o.Sort, o.Repartition, o.Limit, o.PythonMap)
    return any(s.pinned or any(isinstance(node, laid_out) for node in operators(s.plan)) for s in plan.segments)
