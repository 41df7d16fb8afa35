"""Plans that give one row, or one at most, whatever the data."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_lineage_provider.plan import operators as o


def gives_one_row(plan: o.Plan, segments: Sequence[o.Plan] = ()) -> bool:
    """A global aggregation, and projections of its row; ``segments`` are the plans behind segment outputs, by number."""
    plan = _through(plan, (o.Project,), segments)
    return isinstance(plan, o.Aggregate) and not plan.keys and bool(plan.columns)


def gives_at_most_one_row(plan: o.Plan, segments: Sequence[o.Plan] = ()) -> bool:
    """What gives one row, less what filters it; and the first row of whatever."""
    plan = _through(plan, (o.Project, o.Filter, o.Sort), segments)
    return gives_one_row(plan, segments) or (isinstance(plan, o.Limit) and plan.count in (0, 1))


def _through(plan: o.Plan, passed: tuple[type[o.Project | o.Filter | o.Sort], ...], segments: Sequence[o.Plan]) -> o.Plan:
    while True:
        if isinstance(plan, o.SegmentOutput) and 0 <= plan.segment < len(segments):
            plan = segments[plan.segment]
        elif isinstance(plan, passed):
            plan = plan.child
        else:
            return plan
