"""Projections that only choose columns go, where they stand on a function operator or an aggregation.

>>> before = group(project(function(table("T", "a"), "credit_exam(a) AS judge"), "judge"), by="judge", give="judge, count(1) AS n")
>>> show(before)
α judge; count(1) AS n
  π judge
    φ credit_exam(a) → judge
      T [a]
>>> show(drop_pruning_projections(before))
α judge; count(1) AS n
  φ credit_exam(a) → judge
    T [a]

They change neither rows nor lineage (attributes are known by id, and every reader names what it reads), but would cut
a segment in two. They stay under a union and under a Python function, which read by position. At the root they go too:
which attributes make the result, and in which order, is kept beside the plan.
"""

from __future__ import annotations

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import no_rule
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.walk import children, with_children


def drop_pruning_projections(plan: o.Plan) -> o.Plan:
    """The plan without such projections; see the module's text."""
    return _drop(plan, by_position=False)


def _drop(node: o.Plan, *, by_position: bool) -> o.Plan:
    rebuilt = with_children(node, tuple(_drop(child, by_position=_reads_by_position(node)) for child in children(node)))
    return rebuilt.child if isinstance(rebuilt, o.Project) and not by_position and _is_pruning(rebuilt) else rebuilt


def _reads_by_position(node: o.Plan) -> bool:
    """Whether the operator takes all columns of its inputs, in their order."""
    match node:
        case o.Union() | o.PythonMap():
            return True
        case o.Source() | o.SegmentOutput() | o.Project() | o.Filter() | o.Join() | o.Aggregate() | o.Distinct() | o.Sort() | o.Limit():
            return False
        case o.FunctionOperator() | o.Window() | o.Generate() | o.Repartition():
            return False
    raise no_rule(node, "dropping projections")


def _is_pruning(node: o.Project) -> bool:
    below: o.Plan = node.child
    while isinstance(below, o.Filter | o.Sort | o.Limit):
        below = below.child
    return isinstance(below, o.FunctionOperator | o.Aggregate) and all(isinstance(column, Attribute) for column in node.columns)
