"""The sequence of passes from a captured pipeline to segments: read `PASSES` from top to bottom."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.check import check, check_unique
from airflow_lineage_provider.plan.magnitudes import SourceMagnitudes
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.rewrite.canonical_aggregates import canonical_aggregates
from airflow_lineage_provider.rewrite.canonical_windows import canonical_windows
from airflow_lineage_provider.rewrite.drop_pruning_projections import drop_pruning_projections
from airflow_lineage_provider.rewrite.exact_averages import exact_averages
from airflow_lineage_provider.rewrite.pull_out_udfs import pull_out_udfs
from airflow_lineage_provider.rewrite.push_down_limits import push_down_limits
from airflow_lineage_provider.rewrite.scalar_subqueries import scalar_subqueries
from airflow_lineage_provider.rewrite.segment import segment
from airflow_lineage_provider.rewrite.slim_domains import slim_domains
from airflow_lineage_provider.rewrite.unique_attributes import unique_attributes
from airflow_lineage_provider.rewrite.unique_names import unique_names

PASSES: tuple[Callable[[o.Plan], o.Plan], ...] = (
    unique_attributes,
    canonical_aggregates,
    scalar_subqueries,
    canonical_windows,
    pull_out_udfs,
    push_down_limits,
    slim_domains,
    # Names come before projections go: the root's projection tells which attributes make the result.
    unique_names,
)


def rewrite(pipeline: Pipeline, sources: Mapping[int, SourceMagnitudes] = MappingProxyType({})) -> SegmentedPlan:
    """The segments of a captured pipeline.

    :param sources: what is known of its source tables, by leaf: by that averages are told that no order of rows changes.
    :raises UnsupportedOperator: for an operator without defined lineage.
    :raises PlanCheckError: when an invariant does not hold: a bug here, never the user's fault.
    """
    plan = pipeline.plan
    for one in PASSES:
        plan = one(plan)
    check_unique(plan)
    output = plan.output
    plan = drop_pruning_projections(plan)
    plan = exact_averages(plan, sources)
    check(plan)
    return segment(plan, output, pipeline.names, pipeline.conf)
