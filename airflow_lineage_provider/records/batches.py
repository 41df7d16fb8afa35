"""The batches of streams, and the runs that recorded them."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_lineage_provider.records.run import RunHead, RunStatus


@dataclass(frozen=True, kw_only=True)
class BatchKey:
    """What a batch is known by, across restarts: Spark keeps the query's id in its checkpoint, and gives a batch again under its number.

    :ivar pipeline: the name of the pipeline that it is given to: a query may give its batches to several.
    :ivar query: the id of the streaming query (not of one start of it).
    :ivar batch: its number, counted from 0.
    """

    pipeline: str
    query: str
    batch: int


@dataclass(frozen=True, kw_only=True)
class BatchRun:
    """The last run of a batch, and how far it is. ``error``: why it failed, or is incomplete."""

    run_id: str
    status: RunStatus
    error: str | None = None

    @property
    def is_done(self) -> bool:
        """Whether the batch's result was made and recorded: as a run that was dropped since, or that has lost its lineage, it was, too."""
        return self.status in ("complete", "incomplete", "dropped")


@dataclass(frozen=True, kw_only=True)
class RecordedBatch:
    """A batch, and its run at a glance."""

    query: str
    batch: int
    head: RunHead
