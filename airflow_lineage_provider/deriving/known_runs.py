"""What a question reads of the store's catalog: each run, the list of what it stored, and who wrote a table, once."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import LineageError, StoreUnavailable

if TYPE_CHECKING:
    from airflow_lineage_provider.records.run import RunRecord
    from airflow_lineage_provider.store import Materialization, Session, Store, WrittenPlace


class KnownRuns:
    """The runs that a question comes by. It lasts no longer than the question: runs may be dropped, and a server may move.

    :ivar session: where the question's queries run.
    :ivar run: a run's record by its id. :ivar stored: its materializations by their names. Both raise as the store does.
    """

    def __init__(self, store: Store, session: Session) -> None:
        self.store = store
        self.session = session
        self.run = cache(store.run)
        self.stored = cache(self._stored)
        self._written: dict[frozenset[str], list[WrittenPlace]] = {}

    def readable(self, run_id: str) -> RunRecord | None:
        """A run's record; None where it cannot be read.

        :raises StoreUnavailable: the store does not answer.
        """
        try:
            found: RunRecord = self.run(run_id)
            return found
        except StoreUnavailable:
            raise
        except LineageError:
            return None

    def _stored(self, run_id: str) -> dict[str, Materialization]:
        return self.store.materializations(run_id, self.session)

    def written(self, places: Collection[str]) -> list[WrittenPlace]:
        """What runs wrote to these places (`Store.written`)."""
        asked = frozenset(places)
        if asked not in self._written:
            self._written[asked] = self.store.written(list(places), self.session)
        return self._written[asked]
