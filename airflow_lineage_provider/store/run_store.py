"""The store as one run uses it: every call is bounded, an embedded server that dies is started again and asked again, and by choice a store
that fails takes the run's lineage, not its result."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import EnvironmentProblem, LineageError, StoreError, StoreUnavailable
from airflow_lineage_provider.store import pending
from airflow_lineage_provider.store.handover import Patience, bounded
from airflow_lineage_provider.store.ids import new_id
from airflow_lineage_provider.store.materialized import new_table
from airflow_lineage_provider.store.revival import Restarts

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.records.batches import BatchKey
    from airflow_lineage_provider.records.run import RunRecord
    from airflow_lineage_provider.store.lifecycle import Appended
    from airflow_lineage_provider.store.load import PartitionLoader
    from airflow_lineage_provider.store.materialization import Materialization
    from airflow_lineage_provider.store.store import Store

log = logging.getLogger(__name__)

T = TypeVar("T")

FAILURES = (StoreError, EnvironmentProblem)
"""What a store that is missing, stopped, too old or too slow raises."""


class RunStore:
    """What a run asks of the store.

    :ivar keeps_result: a failure of the store is noted in ``lost``, and nothing more is asked of the store; otherwise it is raised.
    :ivar lost: why the run's lineage is lost; empty while it is not.
    """

    def __init__(self, open_store: Callable[[], Store], place: str, *, keeps_result: bool = False, lost: str = "") -> None:
        self._open = open_store
        self._place = place
        self._restarts = Restarts()
        self.keeps_result = keeps_result
        self.lost = lost

    def ask(self, doing: str, call: Callable[[Store], T], instead: T, again: Callable[[Store], T] | None = None) -> T:
        """The store's answer; ``instead`` where the lineage is lost. ``again`` is called when an answer was lost, where it is not ``call``.

        :raises StoreError: the store fails, and the result is not to be kept without it.
        """
        if self.lost:
            return instead
        try:
            return self._bounded(doing, call, again)
        except FAILURES as error:
            if not self.keeps_result:
                raise
            self.lose(str(error))
            return instead

    def opened(self) -> Store:
        """The store itself, for questions that are not a run's alone."""
        return self._open()

    def lose(self, cause: str) -> None:
        """From now on the run goes on without lineage."""
        if not self.lost:
            log.warning("the run goes on, and its lineage will be incomplete: %s", cause)
            self.lost = cause

    def begin(self, record: RunRecord, batch: BatchKey | None = None) -> str:
        """Enter the run, and the batch of a stream that it records; its id, which it has also where it could not be entered."""
        made = replace(record, id=record.id or new_id())
        doing = f"beginning run {made.id}"
        return self.ask(
            doing, lambda store: store.begin_run(made, batch=batch), made.id, lambda store: store.begin_run(made, batch=batch, again=True)
        )

    def create_materialization(self, run_id: str, name: str, *arguments: Any, folder: str | None = None) -> Materialization | None:
        """Where a segment is stored; None where the lineage is lost."""

        def create(store: Store, again: bool = False) -> Materialization:
            return store.create_materialization(run_id, name, *arguments, again=again, folder=folder)

        return self.ask(f"creating materialization {name!r}", create, None, lambda store: create(store, True))

    def planned_materialization(self, run_id: str, name: str, *arguments: Any) -> Materialization:
        """Where a segment is going to be stored whose rows this process has (`load_new`); nothing is asked of the store."""
        return self._open().planned_materialization(run_id, name, *arguments)

    def load_new(self, made: Materialization, partitions: Mapping[int, pa.Table], *, again: bool) -> Materialization:
        """Make the table of a planned materialization with all of its rows, in one transaction; the materialization as it is known then."""
        number, shared = self.loader(made).load_new(new_table(made, again=again), partitions)
        return replace(made, id=number, table_name=shared or made.table_name, is_shared=shared is not None)

    def loader(self, made: Materialization) -> PartitionLoader:
        """What loads rows from this process, with its own rights; executors have `Materialization.loader`."""
        return made.loader(url=self._open().url)

    def enter_files(self, made: Materialization, files: Mapping[str, int], partitions: Mapping[int, int]) -> None:
        """Enter the files that a materialization's rows stand in (`Store.enter_files`)."""
        self.ask(f"entering the files of {made.name!r}", lambda store: store.enter_files(made, files, partitions), None)

    def withdraw(self, made: Materialization) -> None:
        """Take back a materialization in files (`Store.withdraw`)."""
        self.ask(f"taking back the files of {made.name!r}", lambda store: store.withdraw(made), None)

    @property
    def mends_loads(self) -> bool:
        """Whether a load that the store does not take is told to the driver (`load_again`), and is no failure of the task."""
        return self.keeps_result or self._open().is_started_again

    def load_again(self, made: Materialization, cause: str) -> Materialization | None:
        """After a load that the store did not answer: where it is to be made again; None where the lineage is lost.

        :raises StoreUnavailable: nowhere, and the result is not to be kept without it.
        """
        error = StoreUnavailable(cause)
        try:
            store = self._open()
            if not self._restarts.mend(store, error):
                raise error
            return store.reached(made)
        except FAILURES as problem:
            if not self.keeps_result:
                raise
            self.lose(str(problem))
            return None

    def leave_places(self, run_id: str, places: Sequence[str]) -> None:
        """Let others write where the run has written. A store that does not answer is not waited for: what comes next will say it, and the
        places are free when the run has ended.
        """
        if self.lost:
            return
        with contextlib.suppress(*FAILURES):
            self._bounded(f"leaving the output of run {run_id} to others", lambda store: store.leave_places(run_id, places), None)

    def fail(self, run_id: str, error: str) -> None:
        """Say that the run failed.

        :raises StoreError: the store does not hear it; the next start cleans up.
        """
        self._bounded(f"failing run {run_id}", lambda store: store.fail_run(run_id, error))

    def incomplete(self, record: RunRecord, places: Mapping[str, str], appended: Appended = ()) -> None:
        """Say that the run's result stands without its lineage: to the store, or, while it is away, to this machine."""
        try:
            self._bounded(f"marking run {record.id} incomplete", lambda store: store.mark_incomplete(record, places, appended))
        except LineageError as error:
            log.warning("the results store is told when it is opened here again that run %s is incomplete: %s", record.id, error)
            pending.leave(self._place, record, places, appended)

    def _bounded(self, doing: str, call: Callable[[Store], T], again: Callable[[Store], T] | None = None) -> T:
        while True:  # so often as the store lets itself be started again
            store, asked = self._open(), call
            try:
                return bounded(lambda: asked(store), Patience(store.url, settings.store_silence(), settings.store_limit()), doing)  # noqa: B023
            except StoreUnavailable as error:
                if not self._restarts.mend(store, error):
                    raise
                call = again or call
