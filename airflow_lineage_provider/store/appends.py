"""A store's notes of what runs append, each looked at or changed in one transaction (`append_notes`)."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_lineage_provider.errors import AppendInProgress, RunNotComplete
from airflow_lineage_provider.records.appends import KnownBy
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.store import append_notes, catalog, lifecycle
from airflow_lineage_provider.store.connection import store_errors
from airflow_lineage_provider.store.open_store import OpenStore


class Appends(OpenStore):
    """What a store knows of appends."""

    def intend_append(
        self, run_id: str, places: Sequence[str], how: KnownBy, *, keeps_result: bool = False, key: str = ""
    ) -> list[tuple[str, str, KnownBy]]:
        """Note that a run is going to append to a place, and how its rows there are known, until it is published.

        ``places`` are all names of the place, the one to note first. ``keeps_result``: the run may end well without telling the store, so
        that its rows stay, unless it says that it failed. ``key``: of all appends of one key to the place the last alone is to stay; what
        other runs appended as this one: run, the place's name, how their rows are known.

        :raises RunNotComplete: the run is not running any more (another process found its lock free and failed it).
        :raises AppendInProgress: another run that is still going appends as the same key.
        """
        doing = f"noting where run {run_id} appends"
        self._ensure_lock(run_id, doing)
        for place in places if key else ():
            self._end_the_dead(place)
        with self._transaction(doing) as connection:
            if not catalog.take_running(connection, run_id, wait=True):
                raise RunNotComplete(f"run {run_id} cannot append: it is not running any more")
            if key:
                append_notes.hold(connection, places[0], key)
            going = [note for place in places for note in append_notes.intended(connection, place) if note[1] == "running"]
            for other, _, note in going:
                if key and other != run_id and note.key == key:
                    raise AppendInProgress(
                        f"run {other}, which appends the same (append_key {shown(key)}), is still going: it is not known what it will have"
                        " appended. Try again when it has ended"
                    )
            append_notes.intend(connection, run_id, places[0], how, keeps_result=keeps_result, key=key)
            if not key:
                return []
            found = [(run, place, known) for place in places for run, known in append_notes.appended_as(connection, place, key)]
            return [one for one in found if one[0] != run_id]

    def unfinished_appends(self, place: str) -> list[tuple[str, KnownBy]]:
        """The runs that may have appended to a place and failed or died before they were published: id, and how their rows are known.

        A run that is dropped is not among them: whoever drops it has seen to its rows.
        """
        self._end_the_dead(place)
        with self._transaction("finding runs that failed while they appended") as connection:
            return [(run_id, note.how) for run_id, status, note in append_notes.intended(connection, place) if status == "failed"]

    def _end_the_dead(self, place: str) -> None:
        with self._transaction("finding runs that append") as connection:
            running = [run_id for run_id, status, _ in append_notes.intended(connection, place) if status == "running"]
        with store_errors("ending runs that died while they appended"):
            for run_id in running:
                lifecycle.end_if_dead(self._engine, run_id)

    def noted_append(self, run_id: str, place: str) -> KnownBy | None:
        """How the rows that a run has, or may have, appended to a place are known; None where that is settled."""
        with self._transaction(f"reading where run {run_id} appends") as connection:
            return append_notes.known_by(connection, run_id, place)

    def amend_append(self, run_id: str, place: str, how: KnownBy) -> None:
        """Note how the rows that a run has, or may have, appended are known by now."""
        with self._transaction(f"noting where run {run_id} appends") as connection:
            append_notes.amend(connection, run_id, place, how)

    def settle_append(self, run_id: str, place: str) -> None:
        """What a run has appended to a place is gone."""
        with self._transaction(f"settling what run {run_id} appended") as connection:
            append_notes.settle(connection, run_id, place)
