"""A store's notes of what runs append, each looked at or changed in one transaction (`append_notes`)."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_lineage_provider.errors import AppendInProgress
from airflow_lineage_provider.records.appends import AppendNote, KnownBy
from airflow_lineage_provider.records.run import RunStatus
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.store import append_notes, lifecycle
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
        if not key:
            with self._statements(doing) as connection:
                append_notes.intend(connection, run_id, places[0], how, keeps_result=keeps_result)
            return []
        for place in places:
            self._end_the_dead(place)
        with self._transaction(doing) as connection:
            append_notes.hold(connection, places[0], key)
            going = [note for place in places for note in append_notes.intended(connection, place) if note[1] == "running"]
            for other, _, note in going:
                if other != run_id and note.key == key:
                    raise AppendInProgress(
                        f"run {other}, which appends the same (append_key {shown(key)}), is still going: it is not known what it will have"
                        " appended. Try again when it has ended"
                    )
            append_notes.intend(connection, run_id, places[0], how, keeps_result=keeps_result, key=key)
            found = [(run, place, known) for place in places for run, known in append_notes.appended_as(connection, place, key)]
            return [one for one in found if one[0] != run_id]

    def unfinished_appends(self, place: str) -> list[tuple[str, KnownBy]]:
        """The runs that may have appended to a place and failed or died before they were published: id, and how their rows are known.

        A run that is dropped is not among them: whoever drops it has seen to its rows.
        """
        return [(run_id, note.how) for run_id, status, note in self._end_the_dead(place) if status == "failed"]

    def _end_the_dead(self, place: str) -> list[tuple[str, RunStatus, AppendNote]]:
        """Whose append to a place is not published, once the runs of the dead are ended."""
        found = self._intended(place)
        running = [run_id for run_id, status, _ in found if status == "running"]
        with store_errors("ending runs that died while they appended"):
            for run_id in running:
                lifecycle.end_if_dead(self._engine, run_id)
        return self._intended(place) if running else found

    def _intended(self, place: str) -> list[tuple[str, RunStatus, AppendNote]]:
        with self._statements("finding runs that append") as connection:
            return append_notes.intended(connection, place)

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
