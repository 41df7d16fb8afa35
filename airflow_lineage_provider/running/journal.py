"""What a run is about to add to an output that others add to as well, so that a run that ends before it is recorded leaves nothing there.

An append and the run's record cannot be one transaction: they are in two places. So the run says in the store where it is going to
append, and how its rows are known (files by the run's id in their names, rows of a PostgreSQL table by their transaction), before they
can be seen by anybody. Publishing the run strikes this out, in the same transaction. Where it still stands for a run that has failed,
whoever appends to that place next takes those rows out first: a task that is tried again adds its rows once.

A run that keeps its result whatever the store does may have ended well without the store's knowledge. What it appended is taken out only
where it said itself that it failed; where its driver is gone, its rows stay.

An append that has a key (who asked for it: a task of a DAG run, say) is made once: its note stays when the run is recorded, and a later run
that appends as the same key takes out what the earlier one appended, as a part of its own append.

Runs that write to one folder take turns. Spark's writers have one working folder in it, which the first that ends takes away with the
others' files; and two that overwrite it at once may leave the rows of both.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_lineage_provider.progress import Progress, unwatched
from airflow_lineage_provider.records.appends import KnownBy
from airflow_lineage_provider.secrecy.urls import shown_place
from airflow_lineage_provider.store.note import Note

if TYPE_CHECKING:
    from airflow_lineage_provider.store.run_store import RunStore
    from airflow_lineage_provider.store.store import Store

log = logging.getLogger(__name__)


Undo = Callable[[Note], int]

_LOOK_AGAIN = (0.05, 2.0)
"""Seconds after which a run looks whether a place is free: at first, and at most."""


@dataclass(frozen=True)
class Journal:
    """The store's notes of appends, and those of the run itself, which it has also where it goes on without the store.

    :ivar store: the store as the run uses it.
    :ivar run_id: the run that is going to append.
    :ivar key: what identifies its appends; empty where nothing does.
    :ivar progress: is told whom the run waits for.
    :ivar own: where it appends, and how its rows there are known.
    :ivar instead_of: the runs whose rows it has replaced.
    """

    store: RunStore
    run_id: str
    key: str = ""
    progress: Progress = unwatched
    own: list[tuple[str, KnownBy]] = field(default_factory=list)
    instead_of: list[str] = field(default_factory=list)

    @contextmanager
    def turn(self, places: Sequence[str]) -> Iterator[None]:
        """While it lasts no other run of this store writes to the place, by any of its names; others are waited for, however long.

        :raises StoreError: the store fails, and the result is not to be kept without it.
        """
        doing, wait, told = f"waiting to write the output of run {self.run_id}", _LOOK_AGAIN[0], ""
        nobody: str | None = None
        while (other := self.store.ask(doing, lambda opened: opened.take_places(self.run_id, places), nobody)) is not None:
            if other != told:
                self.progress(f"{other} writes to {shown_place(places[0])} now: waiting until it has ended")
            told, wait = other, min(2 * wait, _LOOK_AGAIN[1])
            time.sleep(wait)
        try:
            yield
        finally:
            self.store.leave_places(self.run_id, places)

    def intend(self, places: Sequence[str], how: KnownBy) -> list[Note]:
        """Note that the run appends to a place, by all its names, and how its rows there are known; what it replaces of earlier runs.

        :raises AppendInProgress: another run that is still going appends the same.
        :raises StoreError: the store fails, and the result is not to be kept without it.
        """
        self.own.append((places[0], how))
        keeps_result, nothing = self.store.keeps_result, list[tuple[str, str, KnownBy]]()

        def note(store: Store) -> list[tuple[str, str, KnownBy]]:
            return store.intend_append(self.run_id, places, how, keeps_result=keeps_result, key=self.key)

        found = self.store.ask(f"noting where run {self.run_id} appends", note, nothing)
        return [self._note(run_id, place, known) for run_id, place, known in found]

    def replaced(self, notes: Iterable[Note], removed: int) -> None:
        """What earlier runs appended is gone."""
        for note in notes:
            self.instead_of.append(note.run_id)
            self._settled(note.run_id, note.place)
        if removed:
            log.info("run %s replaces what earlier runs appended as %s: %d are taken out", self.run_id, self.key, removed)

    @property
    def keyed(self) -> list[tuple[str, KnownBy, str]]:
        """The run's own appends that stay known by their key."""
        return [(place, how, self.key) for place, how in self.own] if self.key else []

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

    def _note(self, run_id: str, place: str, how: KnownBy) -> Note:
        doing = f"noting that what run {run_id} appended is taken out"

        def amend(now: KnownBy) -> None:
            self.store.ask(doing, lambda opened: opened.amend_append(run_id, place, now), None)

        def now() -> KnownBy | None:
            known: KnownBy | None = how
            return self.store.ask(doing, lambda opened: opened.noted_append(run_id, place), known)

        return Note(run_id, place, how, amend, now)

    def _unfinished(self, place: str) -> Sequence[tuple[str, KnownBy]]:
        return self.store.ask("finding runs that failed while they appended", lambda opened: opened.unfinished_appends(place), [])

    def _settled(self, run_id: str, place: str) -> None:
        self.store.ask(f"settling what run {run_id} appended", lambda opened: opened.settle_append(run_id, place), None)
