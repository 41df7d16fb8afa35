"""A run at a glance, from its record."""

from __future__ import annotations

from airflow_lineage_provider.answers.explanation import RunSummary
from airflow_lineage_provider.records.cost import lineage_cost
from airflow_lineage_provider.records.run import RunHead, RunRecord


def summary_of(record: RunHead) -> RunSummary:
    """A run at a glance."""
    seconds = (record.finished - record.started).total_seconds() if record.finished and record.started else None
    return RunSummary(
        id=record.id,
        pipeline=record.pipeline,
        status=record.status,
        started=record.started.isoformat(timespec="seconds") if record.started else "",
        seconds=seconds,
        strategy=record.strategy,
        reasons=record.reasons,
        rows=record.row_counts.get("result"),
        error=record.error or "",
        airflow=record.airflow or {},
        params=record.params,
        indexes=record.indexes,
        lineage_cost=lineage_cost(record.timings),
        zone=record.conf.get("spark.sql.session.timeZone", "") if isinstance(record, RunRecord) else "",
    )
