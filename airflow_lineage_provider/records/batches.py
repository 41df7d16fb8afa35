"""The batches of streams, and the runs that recorded them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

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


Unasked = Literal["incomplete", "failed", "unrecorded", "dropped", "running"]
UNASKED: tuple[Unasked, ...] = ("incomplete", "failed", "unrecorded", "dropped", "running")
"""Why a batch has no result that could be looked into: its last run's status, or that no run of it is recorded."""


@dataclass(frozen=True, kw_only=True)
class BatchSpan:
    """The batches of a query from ``first`` to ``last``, both among them."""

    query: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True, kw_only=True)
class NotAsked:
    """Batches that have no result to be looked into.

    :ivar status: what became of them: ``incomplete`` (the result was kept and the lineage lost), ``failed``, ``unrecorded`` (smaller
        numbers than the query's largest, of which the store has heard nothing), ``dropped`` (also by retention), ``running``.
    :ivar count: how many they are; at least so many where ``is_more``.
    :ivar spans: which, by query and number: the first of them, where they are in many places.
    """

    status: Unasked
    count: int
    spans: tuple[BatchSpan, ...]
    is_more: bool = False

    def __str__(self) -> str:
        queries = {one.query for one in self.spans}
        shown = [f"{one} of query {one.query}" if len(queries) > 1 else str(one) for one in self.spans]
        more = ["…"] if self.is_more or sum(one.last - one.first + 1 for one in self.spans) < self.count else []
        return f"{'at least ' if self.is_more else ''}{self.count:,} {self.status} ({', '.join(shown + more)})"


def told(not_asked: Iterable[NotAsked]) -> str:
    """Batches that were not asked, in a line; nothing where there are none."""
    return "; ".join(map(str, not_asked))
