"""What a run is about to add to an output that others add to as well, so that a run that ends before it is recorded leaves nothing there.

An append and the run's record cannot be one transaction: they are in two places. So the run says in the store where it is going to
append, and how its rows are known (files by the run's id in their names, rows of a PostgreSQL table by their transaction), before they
can be seen by anybody. Publishing the run strikes this out, in the same transaction. Where it still stands for a run that has failed,
whoever appends to that place next takes those rows out first: a task that is tried again adds its rows once.

A run that keeps its result whatever the store does may have ended well without the store's knowledge. What it appended is taken out only
where it said itself that it failed; where its driver is gone, its rows stay.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.secrecy.urls import shown_place

if TYPE_CHECKING:
    from airflow_lineage_provider.store.run_store import RunStore

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Note:
    """A note of an append.

    Attributes:
        run_id: the run that appended.
        place: where.
        how: how its rows there are known.
        amend: adds to the note what is known of taking them out.
        now: how the note says it by now; None where the rows have been taken out by another.
    """

    run_id: str
    place: str
    how: Mapping[str, Any]
    amend: Callable[..., None]
    now: Callable[[], Mapping[str, Any] | None]


Undo = Callable[[Note], int]


@dataclass(frozen=True)
class Journal:
    """The store's notes of appends, and those of the run itself, which it has also where it goes on without the store.

    Attributes:
        store: the store as the run uses it.
        run_id: the run that is going to append.
        own: where it appends, and how its rows there are known.
    """

    store: RunStore
    run_id: str
    own: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    def intend(self, place: str, **how: Any) -> None:
        """Note that the run appends to a place, and how its rows there are known.

        :raises StoreError: the store fails, and the result is not to be kept without it.
        """
        self.own.append((place, how))
        keeps_result = self.store.keeps_result
        doing = f"noting where run {self.run_id} appends"
        self.store.ask(doing, lambda opened: opened.intend_append(self.run_id, place, how, keeps_result=keeps_result), None)

    def settle(self, places: Iterable[str], undo: Undo) -> None:
        """Take out what failed runs left at a place, by all its names.

        :raises StoreError: the store fails, and the result is not to be kept without it.
        """
        for place in dict.fromkeys(places):
            for run_id, how in self._unfinished(place):
                removed = undo(self._note(run_id, place, how))
                if removed:
                    told = "run %s failed after it had appended to %s: what it left there (%d) is taken out"
                    log.warning(told, run_id, shown_place(place), removed)
                self._settled(run_id, place)

    def settle_own(self, undo: Undo) -> None:
        """Take out what this run has appended, which has failed."""
        for place, how in self.own:
            undo(self._note(self.run_id, place, how))
            self._settled(self.run_id, place)

    def _note(self, run_id: str, place: str, how: Mapping[str, Any]) -> Note:
        doing = f"noting that what run {run_id} appended is taken out"

        def amend(**more: Any) -> None:
            self.store.ask(doing, lambda opened: opened.amend_append(run_id, place, {**how, **more}), None)

        return Note(run_id, place, how, amend, lambda: self.store.ask(doing, lambda opened: opened.intended_append(run_id, place), how))

    def _unfinished(self, place: str) -> Sequence[tuple[str, Any]]:
        return self.store.ask("finding runs that failed while they appended", lambda opened: opened.unfinished_appends(place), [])

    def _settled(self, run_id: str, place: str) -> None:
        self.store.ask(f"settling what run {run_id} appended", lambda opened: opened.settle_append(run_id, place), None)
