"""Runs that write to one place take turns: Spark's writers to one folder take each other's files away."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_lineage_provider.errors import StoreUnavailable
from airflow_lineage_provider.store.open_store import OpenStore


class WriteTurns(OpenStore):
    """What a store knows of the places that runs write to now."""

    def take_places(self, run_id: str, places: Sequence[str]) -> str | None:
        """Hold a place for a run of this store's, by all its names, until it leaves it, or ends or dies. None where it is held now (or the
        run is not this store's to hold anything for); otherwise who writes there, and nothing is held.

        :raises StoreUnavailable: the connection that the run is held by is lost.
        """
        try:
            return self._take(run_id, places)
        except StoreUnavailable:
            self._ensure_lock(run_id, f"waiting to write the output of run {run_id}")
            return self._take(run_id, places)

    def _take(self, run_id: str, places: Sequence[str]) -> str | None:
        lock, held = self._locks.get(run_id), list[str]()
        if lock is None:
            return None
        for place in sorted(places):  # in one order, so that no two wait for each other
            other = lock.take_place(place)
            if other is not None:
                self.leave_places(run_id, held)
                return other
            held.append(place)
        return None

    def leave_places(self, run_id: str, places: Sequence[str]) -> None:
        """Others may write there."""
        lock = self._locks.get(run_id)
        if lock is not None:
            for place in places:
                lock.leave_place(place)
