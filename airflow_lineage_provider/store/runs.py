"""The runs of a store: begun, published, ended, dropped, and found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import sqlalchemy as sa

from airflow_lineage_provider.errors import LoadFailed, RunNotFound
from airflow_lineage_provider.records.batches import BatchKey
from airflow_lineage_provider.records.run import RecordedOutput, RunHead, RunOrigin, RunRecord
from airflow_lineage_provider.secrecy import redact
from airflow_lineage_provider.store import (
    batch_runs,
    catalog,
    discarded,
    finding,
    kept_udfs,
    lifecycle,
    materialized,
    outputs,
    publish,
    run_list,
)
from airflow_lineage_provider.store.connection import sqlstate, store_errors
from airflow_lineage_provider.store.ids import is_possible, new_id
from airflow_lineage_provider.store.kinds import Kind
from airflow_lineage_provider.store.layout import Column
from airflow_lineage_provider.store.materialization import Materialization
from airflow_lineage_provider.store.open_store import OpenStore
from airflow_lineage_provider.store.run_lock import RunLock
from airflow_lineage_provider.store.selecting import by_connection

if TYPE_CHECKING:
    from airflow_lineage_provider.capture.recorded import RecordedIndex
    from airflow_lineage_provider.reasons.kept import KeptUdf
    from airflow_lineage_provider.store.session import Session


class Runs(OpenStore):
    """What a store does with runs."""

    def begin_run(self, record: RunRecord, *, batch: BatchKey | None = None, again: bool = False) -> str:
        """Enter a run as running, owned by this store until it is published, failed, or this process ends; its id.

        ``again``, here and elsewhere: this was asked for before, and the answer was lost; it may have been done. ``batch`` is the batch
        of a stream that the run records, in place of a run of it that failed; runs of batches keep the text of their plan once.

        :raises StoreError: a run of this id exists, or a field cannot be written as JSON.
        :raises BatchError: another run has recorded the batch, or is doing so.
        """
        made = replace(record, id=record.id or new_id())
        doing = f"beginning run {made.id}"
        with store_errors(doing):
            lock = (self._locks.get(made.id) if again else None) or RunLock(self.url, made.id)
        try:
            self._enter(doing, made, batch, again=again)
        except BaseException:
            lock.release()
            raise
        self._locks[made.id] = lock
        return made.id

    def _enter(self, doing: str, made: RunRecord, batch: BatchKey | None, *, again: bool) -> None:
        with self._statements(doing) as connection:
            try:
                catalog.insert_run(connection, made, batch, again=again)
            except sa.exc.DBAPIError as error:
                if batch is None or sqlstate(error) != catalog.BATCH_TAKEN:
                    raise
                raise batch_runs.taken(connection, batch) from None

    def create_materialization(
        self,
        run_id: str,
        name: str,
        kind: Kind,
        columns: Sequence[Column],
        row_count_hint: int | None = None,
        *,
        again: bool = False,
        folder: str | None = None,
    ) -> Materialization:
        """Make the table of a materialization, which nobody sees before `publish_run`; with a ``folder`` (a URI) its rows stand there.

        :raises LoadFailed: the run is not running, the name is taken, or two columns have one name.
        :raises RunNotFound: there is no such run.
        :raises PlanError: a type is not one of Spark's.
        """
        with self._transaction(f"creating materialization {name!r}") as connection:
            made = materialized.create_materialization(
                connection, self._executors, run_id, name, kind, columns, row_count_hint, again, folder
            )
        return self._remember(made)

    def _remember(self, made: Materialization) -> Materialization:
        """For as long as the run is this store's: publishing it need not ask for it."""
        if made.run_id in self._locks:
            self._made.setdefault(made.run_id, {})[made.name] = made
        return made

    def planned_materialization(self, run_id: str, name: str, kind: Kind, columns: Sequence[Column]) -> Materialization:
        """A materialization whose table is made with all of its rows (`PartitionLoader.load_new`); until then there is nothing of it.

        :raises LoadFailed: two columns have one name. :raises PlanError: a type is not one of Spark's.
        """
        return self._remember(materialized.planned(self._executors, run_id, name, kind, columns))

    def enter_files(self, made: Materialization, files: Mapping[str, int], partitions: Mapping[int, int]) -> None:
        """Enter what stands in a materialization's folder: the files' names and bytes, and the rows of each of Spark's partitions.

        :raises LoadFailed: the run is not running.
        """
        doing = f"entering the files of {made.name!r}"
        try:
            with self._transaction(doing) as connection:
                materialized.enter_files(connection, made, files, partitions)
        except LoadFailed:  # the run was ended, and its folder looked for, before these files were there
            with self._transaction(doing) as connection:
                discarded.enter(connection, made.run_id, [one for one in (made.folder,) if one is not None])
            raise

    def withdraw(self, made: Materialization) -> None:
        """Take back a materialization in files, whose rows the run stores in another way; the folder is removed, here or by Spark."""
        with self._transaction(f"taking back the files of {made.name!r}") as connection:
            materialized.withdraw(connection, made)
        self._made.get(made.run_id, {}).pop(made.name, None)
        discarded.sweep(self._engine)

    def discarded_folders(self) -> list[tuple[str, str]]:
        """Folders of stored rows whose runs are gone, which nobody has removed yet, each with its run."""
        with self._transaction("listing folders of runs that are gone") as connection:
            return discarded.listed(connection)

    def forget_folders(self, folders: Sequence[str]) -> None:
        """These folders are removed."""
        with self._transaction("forgetting folders of runs that are gone") as connection:
            discarded.forget(connection, folders)

    def publish_run(
        self,
        run_id: str,
        *,
        output: RecordedOutput | None = None,
        places: Mapping[str, str] | None = None,
        timings: Mapping[str, float] | None = None,
        row_counts: Mapping[str, int] | None = None,
        indexes: publish.Indexes | None = None,
        udfs: Iterable[KeptUdf] = (),
        captured: RecordedIndex | None = None,
        again: bool = False,
    ) -> None:
        """Complete a run, in one transaction: indexes, statistics, row counts, status.

        :param run_id: the run.
        :param output, timings, row_counts: kept in the run's record.
        :param places: what the run wrote, each place with its version: `written` finds the run by it.
        :param indexes: for materializations, by name, lists of columns that are looked up together.
        :param udfs: those that are kept with the run.
        :param captured: what is recorded of lineage that is to be captured then (`RecordedIndex.begun`).
        :raises RunNotFound: there is no such run.
        :raises RunNotComplete: the run is not running any more (another process found its lock free and failed it).
        :raises StoreError: an index names an unknown materialization or column; nothing is published.
        """
        doing = f"publishing run {run_id}"
        catalog.check_possible(run_id)
        stored = self._stored(run_id, indexes or {})
        complete = partial(
            publish.publish, stored=stored, run_id=run_id, output=output, places=places or {}, timings=timings or {},
            row_counts=row_counts or {}, indexes=indexes or {}, udfs=tuple(udfs), captured=captured, again=again,
        )  # fmt: skip
        with self._statements(doing) as connection:
            done = complete(connection, alone=True)
        if not done:
            with self._transaction(doing) as connection:
                complete(connection)
        self._release(run_id)

    def _stored(self, run_id: str, indexes: publish.Indexes) -> Mapping[str, Materialization]:
        """What a run stored, as far as it is to be indexed: as this store has made it, or as the catalog knows it."""
        made = self._made.get(run_id, {})
        if made and set(indexes) <= set(made):
            return made
        with self._transaction(f"reading what run {run_id} stored") as connection:
            stored = {one.name: one for one in materialized.stored(by_connection(connection), self._executors, run_id)}
            publish.check_indexes(connection, run_id, stored, indexes)
        return stored

    def fail_run(self, run_id: str, error: str) -> None:
        """Mark a run failed, drop its tables and end its loads; the record keeps the error.

        :raises RunNotFound: there is no such run.
        :raises StoreError: it is complete.
        """
        try:
            with store_errors(f"failing run {run_id} in {redact(self.url)}"):
                lifecycle.fail(self._engine, run_id, error)
        finally:  # where that could not be said, it can be seen
            self._release(run_id)

    def mark_incomplete(self, record: RunRecord, places: Mapping[str, str], appended: lifecycle.Appended = ()) -> None:
        """Say of a run that its result stands (at these places, each with its version) and its lineage does not.

        ``appended`` are its appends that have a key, which the store may not have heard of. What was loaded is dropped. A run
        that never was begun is entered; one that is complete after all, or was dropped, is left as it is.
        """
        try:
            with store_errors(f"marking run {record.id} incomplete in {redact(self.url)}"):
                lifecycle.incomplete(self._engine, record, places, appended)
        finally:
            self._release(record.id)

    def drop_run(self, run_id: str) -> None:
        """Drop a run's tables, derivations and details; pipeline, times and the status ``dropped`` stay.

        :raises RunNotFound: there is no such run.
        :raises StoreError: it is still running.
        """
        with store_errors(f"dropping run {run_id} in {redact(self.url)}"):
            lifecycle.drop(self._engine, run_id)

    def run(self, run_id: str) -> RunRecord:
        """One run.

        :raises RunNotFound: there is no such run. :raises RecordDamaged: its record cannot be read.
        """
        with self._transaction(f"reading run {run_id}") as connection:
            return catalog.run(connection, run_id)

    def records(self, run_ids: Sequence[str]) -> list[RunRecord]:
        """These runs, in this order; those that there are.

        :raises RecordDamaged: the record of one cannot be read.
        """
        with self._transaction(f"reading {len(run_ids):,} runs") as connection:
            found = {one.id: one for one in catalog.records(connection, run_ids)}
        return [found[run_id] for run_id in run_ids if run_id in found]

    def find_run(self, run_id: str, pipeline: str | None = None, *, whole: bool = False) -> RunRecord:
        """One run by its id, or by an unambiguous beginning of it unless the ``whole`` id is asked for.

        :raises RunNotFound: there is no such run, or it is of another pipeline.
        :raises AmbiguousRun: the ids of several runs begin like that.
        :raises RecordDamaged: its record cannot be read.
        """
        return self._found(RunRecord, run_id, pipeline, whole=whole)

    def find_head(self, run_id: str, pipeline: str | None = None, *, whole: bool = False) -> RunHead:
        """The same at a glance: of a run whose record cannot be read, too, unless that is what is damaged.

        :raises RunNotFound, AmbiguousRun: as `find_run`. :raises RecordDamaged: not even that can be read.
        """
        return self._found(RunHead, run_id, pipeline, whole=whole)

    def heads(self, run_ids: Collection[str]) -> dict[str, RunHead]:
        """These runs at a glance, by their whole ids; those that there are.

        :raises RecordDamaged: one cannot be read.
        """
        with self._transaction(f"looking at {len(run_ids):,} runs") as connection:
            return {one.id: one for one in catalog.heads(connection, [one for one in run_ids if is_possible(one)])}

    def _found(self, kind: type[catalog.Head], run_id: str, pipeline: str | None, *, whole: bool) -> catalog.Head:
        known = catalog.by_id(kind, self._select_often("finding a run"), run_id) if whole and pipeline is None else None
        if known is not None:
            return known
        with self._transaction("finding a run") as connection:
            return catalog.one(kind, connection, finding.find(connection, run_id, pipeline, whole=whole))

    def runs(self, pipeline: str | None = None, limit: int = 100) -> list[RunHead]:
        """The newest runs of a pipeline or of all, newest first, at a glance.

        :raises RecordDamaged: one cannot be read.
        """
        with self._transaction("listing runs") as connection:
            return catalog.runs(connection, pipeline, limit)

    def list_runs(self, wanted: run_list.RunsWanted, permits: Callable[[RunHead], bool], limit: int) -> run_list.RunsFound[RunHead]:
        """The newest runs that are wanted, and that may be shown (``permits``), at a glance."""
        with self._transaction("listing runs") as connection:
            return run_list.listed(RunHead, connection, wanted, permits, limit)

    def list_origins(self, wanted: run_list.RunsWanted, permits: Callable[[RunOrigin], bool], limit: int) -> run_list.RunsFound[RunOrigin]:
        """The same of whose they are alone, which is less to read of many."""
        with self._transaction("listing runs") as connection:
            return run_list.listed(RunOrigin, connection, wanted, permits, limit)

    def stored_bytes(self, run_ids: Sequence[str]) -> dict[str, int]:
        """The bytes of what runs stored, with indexes, by run; of dropped and unknown ones none."""
        with self._transaction(f"measuring {len(run_ids):,} runs") as connection:
            return run_list.stored_bytes(connection, run_ids)

    def latest_run(self, pipeline: str | None) -> RunRecord:
        """The newest complete run of a pipeline, or (None) of all.

        :raises RunNotFound: there is none.
        """
        with self._transaction("finding the latest run" + ("" if pipeline is None else f" of {pipeline!r}")) as connection:
            found = catalog.latest(connection, pipeline)
        if found is not None:
            return found
        if pipeline is None:
            raise RunNotFound(f"the results store {redact(self.url)} has no complete run; run a pipeline first")
        raise RunNotFound(f"pipeline {pipeline!r} has no complete run in the results store {redact(self.url)}")

    def written(self, places: Iterable[str], session: Session | None = None) -> list[outputs.WrittenPlace]:
        """What runs are known to have written to these places (files, database tables), the newest run first; read in the transaction of
        a ``session`` where one is given.
        """
        with self._looking_up("finding the runs that wrote a table", session) as select:
            return outputs.written(select, places)

    def readers(self, run_id: str) -> outputs.Readers:
        """The runs that may have read what a run wrote, the oldest first, and those that were dropped."""
        with self._transaction(f"finding the runs that read what run {run_id} wrote") as connection:
            return outputs.readers(connection, run_id)

    def readers_of(self, run_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The runs that may have read what each of these wrote, the oldest first; those that wrote nothing are left out."""
        with self._transaction(f"finding the runs that read what {len(run_ids):,} runs wrote") as connection:
            return outputs.readers_of(connection, run_ids)

    def kept_udf(self, run_id: str, version: str) -> KeptUdf | None:
        """A UDF that was kept with a run, by its version; None where there is none. Its code is not executed here."""
        with self._transaction(f"reading a UDF kept with run {run_id}") as connection:
            return kept_udfs.load(connection, run_id, version)
