"""A note of an append, as it is handled outside of the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Note:
    """A note of an append.

    :ivar run_id: the run that appended.
    :ivar place: where.
    :ivar how: how its rows there are known.
    :ivar amend: adds to the note what is known of taking them out.
    :ivar now: how the note says it by now; None where the rows have been taken out by another.
    """

    run_id: str
    place: str
    how: Mapping[str, Any]
    amend: Callable[..., None]
    now: Callable[[], Mapping[str, Any] | None]


class Notes(Protocol):
    """Who keeps the notes of a run (`journal.Journal`)."""

    def intend(self, places: Sequence[str], **how: Any) -> list[Note]:
        """Note that the run appends to a place, and how its rows there are known; what it replaces of earlier runs."""

    def replaced(self, notes: Iterable[Note], removed: int) -> None:
        """What earlier runs appended is gone."""
