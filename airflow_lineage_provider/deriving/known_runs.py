"""What a question reads of the store's catalog: each run, the list of what it stored, and who wrote a table, once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import LineageError, RecordDamaged, StoreUnavailable

if TYPE_CHECKING:
    from airflow_lineage_provider.records.run import RunRecord
    from airflow_lineage_provider.store import Materialization, Session, Store, WrittenPlace


class KnownRuns:
    """The runs that a question comes by. It lasts no longer than the question: runs may be dropped, and a server may move.

    :ivar session: where the question's queries run.
    :ivar stored: a run's materializations by their names; raises as the store does.
    """

    def __init__(self, store: Store, session: Session, *, apart: bool = False) -> None:
        """``apart``: the lists are read outside the session's transaction, which a question about rows in files does not begin then."""
        self.store = store
        self.session = session
        self._listing = None if apart else session
        self._runs: dict[str, RunRecord] = {}
        self.stored = cache(self._stored)
        self._written: dict[frozenset[str], list[WrittenPlace]] = {}

    def run(self, run_id: str) -> RunRecord:
        """A run's record; raises as the store does."""
        if run_id not in self._runs:
            self._runs[run_id] = self.store.run(run_id)
        return self._runs[run_id]

    def preload(self, run_ids: Iterable[str]) -> None:
        """Read the records of several runs at once. Where one cannot be read, each is read when it is needed."""
        unknown = [one for one in run_ids if one not in self._runs]
        with suppress(RecordDamaged):
            self._runs |= {one.id: one for one in self.store.records(unknown)} if unknown else {}

    def readable(self, run_id: str) -> RunRecord | None:
        """A run's record; None where it cannot be read.

        :raises StoreUnavailable: the store does not answer.
        """
        try:
            return self.run(run_id)
        except StoreUnavailable:
            raise
        except LineageError:
            return None

    def _stored(self, run_id: str) -> dict[str, Materialization]:
        return self.store.materializations(run_id, self._listing)

    def written(self, places: Collection[str]) -> list[WrittenPlace]:
        """What runs wrote to these places (`Store.written`)."""
        asked = frozenset(places)
        if asked not in self._written:
            self._written[asked] = self.store.written(list(places), self.session)
        return self._written[asked]
