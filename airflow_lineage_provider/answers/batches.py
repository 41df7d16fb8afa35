"""Batches of a stream, as they were recorded and explained."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_lineage_provider.answers.explanation import Explanation, RunSummary


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A batch that was recorded: the id of its streaming query, its number there (from 0), and the run that recorded it last."""

    query: str
    batch: int
    run: RunSummary


@dataclass(frozen=True, kw_only=True)
class ExplainedBatch:
    """The lineage of rows of one batch's result."""

    query: str
    batch: int
    explanation: Explanation
