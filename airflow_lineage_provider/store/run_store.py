"""The store as one run uses it: every call is bounded, and by choice a store that fails takes the run's lineage, not its result."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import EnvironmentProblem, LineageError, StoreError
from airflow_lineage_provider.store import pending
from airflow_lineage_provider.store.handover import Patience, bounded
from airflow_lineage_provider.store.ids import new_id

if TYPE_CHECKING:
    from airflow_lineage_provider.store.materialization import Materialization
    from airflow_lineage_provider.store.records import RunRecord
    from airflow_lineage_provider.store.store import Store

log = logging.getLogger(__name__)

T = TypeVar("T")

FAILURES = (StoreError, EnvironmentProblem)
"""What a store that is missing, stopped, too old or too slow raises."""


class RunStore:
    """What a run asks of the store.

    Attributes:
        keeps_result: a failure of the store is noted in ``lost``, and nothing more is asked of the store; otherwise it is raised.
        lost: why the run's lineage is lost; empty while it is not.
    """

    def __init__(self, open_store: Callable[[], Store], place: str, *, keeps_result: bool = False, lost: str = "") -> None:
        self._open = open_store
        self._place = place
        self.keeps_result = keeps_result
        self.lost = lost

    def ask(self, doing: str, call: Callable[[Store], T], instead: T) -> T:
        """The store's answer; ``instead`` where the lineage is lost.

        :raises StoreError: the store fails, and the result is not to be kept without it.
        """
        if self.lost:
            return instead
        try:
            return self._bounded(doing, call)
        except FAILURES as error:
            if not self.keeps_result:
                raise
            self.lose(str(error))
            return instead

    def lose(self, cause: str) -> None:
        """From now on the run goes on without lineage."""
        if not self.lost:
            log.warning("the run goes on, and its lineage will be incomplete: %s", cause)
            self.lost = cause

    def begin(self, record: RunRecord) -> str:
        """Enter the run; its id, which it has also where it could not be entered."""
        run_id = record.id or new_id()
        return self.ask(f"beginning run {run_id}", lambda store: store.begin_run(replace(record, id=run_id)), run_id)

    def create_materialization(self, run_id: str, name: str, *arguments: Any) -> Materialization | None:
        """Where a segment is stored; None where the lineage is lost."""
        doing = f"creating materialization {name!r}"
        return self.ask(doing, lambda store: store.create_materialization(run_id, name, *arguments), None)

    def fail(self, run_id: str, error: str) -> None:
        """Say that the run failed.

        :raises StoreError: the store does not hear it; the next start cleans up.
        """
        self._bounded(f"failing run {run_id}", lambda store: store.fail_run(run_id, error))

    def incomplete(self, record: RunRecord, places: Mapping[str, str]) -> None:
        """Say that the run's result stands without its lineage: to the store, or, while it is away, to this machine."""
        try:
            self._bounded(f"marking run {record.id} incomplete", lambda store: store.mark_incomplete(record, places))
        except LineageError as error:
            log.warning("the results store is told when it is opened here again that run %s is incomplete: %s", record.id, error)
            pending.leave(self._place, record, places)

    def _bounded(self, doing: str, call: Callable[[Store], T]) -> T:
        store = self._open()
        return bounded(lambda: call(store), Patience(store.url, settings.store_silence(), settings.store_limit()), doing)
