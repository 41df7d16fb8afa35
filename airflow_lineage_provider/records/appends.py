"""What is noted of appends (`running.journal`): how the rows are known that a run has appended, or is going to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class KnownBy:
    """How what a run has appended is told from what others have.

    Files have the run's id in their names: nothing is noted of them. Rows of a PostgreSQL table are those of a ``transaction``, so many
    ``rows``; ``undone`` is the transaction that takes them out, where that was tried.
    """

    transaction: int | None = None
    rows: int | None = None
    undone: int | None = None


@dataclass(frozen=True, kw_only=True)
class AppendNote:
    """A note. ``keeps_result``: the run may end well without the store's knowledge. ``key``: what identifies the append, if anything."""

    how: KnownBy
    keeps_result: bool = False
    key: str = ""
