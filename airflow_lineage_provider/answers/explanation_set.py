"""The stored explanations of one question about many rows, at a glance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_lineage_provider.answers.explanation import RunSummary
from airflow_lineage_provider.answers.values import count
from airflow_lineage_provider.plan.guarantees import Guarantee, weakest


@dataclass(frozen=True, kw_only=True, repr=False)
class ExplanationSet:
    """Explanations that belong together: each is about a chunk of the target's rows, in the order of the result.

    :ivar id: by which `Lineage.explanation_set` finds it again. :ivar run: the run that is explained. :ivar asked: the target in words.
    :ivar since: the run whose result's rows were left out.
    :ivar rows: the target's. :ivar chunk_rows: so many of them have an explanation of their own. :ivar chunks: so many explanations.
    :ivar ids: of those that are stored, for `Lineage.derivation`.
    :ivar counts: rows by table. Where there are several chunks, of the target alone: a source row can stand behind rows of several.
    :ivar guarantees: by table the weakest of all chunks. :ivar stale: sources that have changed since the run.
    :ivar verified: whether all were; None where one was not verified. :ivar seconds: spent in all.
    """

    id: str
    run: RunSummary
    asked: str
    since: str | None
    rows: int
    chunk_rows: int
    chunks: int
    ids: tuple[str, ...]
    counts: Mapping[str, int]
    guarantees: Mapping[str, Guarantee]
    stale: tuple[str, ...]
    verified: bool | None
    seconds: float

    def __repr__(self) -> str:
        stored = "" if self.is_complete else f", {len(self.ids):,} of them stored"
        of = f"{count(self.chunks, 'explanation')} of {count(self.rows, 'row')} of {self.run.pipeline}{stored}"
        return f"<{of}, run {self.run.id}: {self.asked}; {self.guarantee.level}>"

    @property
    def is_complete(self) -> bool:
        """Whether all chunks are stored."""
        return len(self.ids) == self.chunks

    @property
    def guarantee(self) -> Guarantee:
        """The weakest guarantee of all tables."""
        return weakest(*self.guarantees.values())
