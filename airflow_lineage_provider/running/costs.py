"""What the segments of a plan cost when an earlier run of the same pipeline computed and stored them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import PlanVersionError, RecordDamaged
from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan.digest import plan_digest
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.text import segments_text
from airflow_lineage_provider.tracing.strategies import SegmentCost

if TYPE_CHECKING:
    from airflow_lineage_provider.records.run import RunHead, RunRecord
    from airflow_lineage_provider.store import Store

log = logging.getLogger(__name__)


def measured_costs(store: Store, pipeline: str, plan: str) -> dict[int, SegmentCost]:
    """What the segments cost in the newest complete run of the pipeline with the same plan; nothing when there is none.

    ``plan`` is JSON, its secrets sealed, as records have it.
    """
    costs = (
        {one.segment: _cost(record, one.name) for one in record.segments if f"{one.name}.compute" in record.timings}
        for record in earlier_runs(store, pipeline, plan)
    )
    return next(filter(None, costs), {})


def earlier_runs(store: Store, pipeline: str, plan: str) -> Iterator[RunRecord]:
    """The complete runs of the pipeline with the same plan, the newest first; but those that read a part of the rows, which costs less.

    ``plan`` is JSON, its secrets sealed, as records have it.
    """
    wanted: SegmentedPlan = codec.from_json(plan)
    digest = plan_digest(wanted)
    for head in store.runs(pipeline, 100):
        if head.status == "complete" and head.plan_digest in (digest, None):
            record = _record_of(store, head, wanted)
            if record is not None and not any(one.state == "used" for one in record.sketches):
                yield record


def _record_of(store: Store, head: RunHead, wanted: SegmentedPlan) -> RunRecord | None:
    """A run's record; None where its plan is another, or it cannot be read."""
    try:
        record = store.run(head.id)
        return record if head.plan_digest is not None or _reads_the_same(record, wanted) else None
    except (RecordDamaged, PlanVersionError) as problem:
        log.warning("what run %s cost is not known: %s", head.id, problem)
        return None


def _reads_the_same(record: RunRecord, wanted: SegmentedPlan) -> bool:
    """Runs of releases that recorded no digest are compared as these releases compared them: by what people read of their plans."""
    return bool(record.plan) and segments_text(codec.from_json(record.plan)) == segments_text(wanted)


def _cost(record: RunRecord, name: str) -> SegmentCost:
    timings = record.timings
    return SegmentCost(rows=record.row_counts.get(name, 0), compute=timings[f"{name}.compute"], store=timings[f"{name}.store"])
