"""What the catalog keeps of a question about many rows, whose answer is several derivations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class DerivationSetRecord:
    """The chunks of one question about a run. It is complete when all of them are stored; until then it can be gone on with.

    :ivar id: sortable by time; empty until it is entered.
    :ivar run_id: the run that is explained.
    :ivar question: who asks what, again and again: the same text, whatever run it is asked about.
    :ivar occasion: which of the times that they ask; what is asked again after a failure has the same.
    :ivar since: the run whose result's rows are left out.
    :ivar target: the target's text.
    :ivar rows, chunk_rows: how many rows there are, and how many are one chunk.
    :ivar created: with time zone.
    """

    id: str = ""
    run_id: str
    question: str
    occasion: str = ""
    since: str | None = None
    target: str
    rows: int
    chunk_rows: int
    created: datetime | None = None

    @property
    def chunks(self) -> int:
        """Of how many derivations it is made.

        >>> [DerivationSetRecord(run_id="", question="", target="", rows=rows, chunk_rows=10).chunks for rows in (1, 10, 11)]
        [1, 1, 2]
        """
        return -(-self.rows // self.chunk_rows)


@dataclass(frozen=True)
class ChunkPlace:
    """Which chunk of which set a derivation is; the first is 0."""

    set_id: str
    chunk: int
    chunks: int
