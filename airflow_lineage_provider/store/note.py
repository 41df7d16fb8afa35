"""A note of an append, as it is handled outside of the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from airflow_lineage_provider.records.appends import KnownBy


@dataclass(frozen=True)
class Note:
    """A note of an append.

    :ivar run_id: the run that appended.
    :ivar place: where.
    :ivar how: how its rows there are known.
    :ivar amend: has the note say so otherwise: what is known of taking them out.
    :ivar now: how the note says it by now; None where the rows have been taken out by another.
    """

    run_id: str
    place: str
    how: KnownBy
    amend: Callable[[KnownBy], None]
    now: Callable[[], KnownBy | None]


class Notes(Protocol):
    """Who keeps the notes of a run (`journal.Journal`)."""

    def intend(self, places: Sequence[str], how: KnownBy) -> list[Note]:
        """Note that the run appends to a place, and how its rows there are known; what it replaces of earlier runs."""

    def replaced(self, notes: Iterable[Note], removed: int) -> None:
        """What earlier runs appended is gone."""
