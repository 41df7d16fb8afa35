"""The results store, as the rest of the package sees it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import StoreError
from airflow_lineage_provider.reasons.apart import NOTHING_APART, Relations
from airflow_lineage_provider.secrecy import redact
from airflow_lineage_provider.store import (
    captured,
    derivation_list,
    derivations,
    discarded,
    embedded,
    home_rows,
    kept_relations,
    lifecycle,
    materialized,
    migrate,
    pending,
    roles,
)
from airflow_lineage_provider.store.appends import Appends
from airflow_lineage_provider.store.arrays import Arrays
from airflow_lineage_provider.store.batches import Batches
from airflow_lineage_provider.store.connection import normalise, store_errors
from airflow_lineage_provider.store.derivation_sets import DerivationSets
from airflow_lineage_provider.store.first_use import FirstUse
from airflow_lineage_provider.store.handover import Patience, bounded
from airflow_lineage_provider.store.materialization import Materialization
from airflow_lineage_provider.store.reading import Reading
from airflow_lineage_provider.store.records import DerivationRecord
from airflow_lineage_provider.store.runs import Runs
from airflow_lineage_provider.store.session import Session
from airflow_lineage_provider.store.sketches import Sketches
from airflow_lineage_provider.store.write_turns import WriteTurns

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.parts import PartPlace
    from airflow_lineage_provider.capture.recorded import RecordedIndex
    from airflow_lineage_provider.records.derivation_sets import ChunkPlace
    from airflow_lineage_provider.records.run import RunHead


class Store(Runs, Appends, WriteTurns, Arrays, Batches, Sketches, DerivationSets, FirstUse, Reading):
    """PostgreSQL with the catalog and the materializations. Open it with `Store.open`; it may be shared between threads.

    Every method raises StoreUnavailable when the server does not answer and StoreError when it refuses.

    :ivar url: libpq URL, with the password; executors have others (`roles`). `redact` it before it is shown.
    :ivar retired: the old runs that were dropped when it was opened.
    """

    retired: Sequence[str] = ()

    @staticmethod
    def open(url: str | None = None, *, tidies: bool = True) -> Store:
        """Connect, make the schema in an empty database, and (``tidies``) clean up after dead drivers, and retire old runs.

        :param url: ``postgresql://…``; else the setting ``AIRFLOW_LINEAGE_STORE``; else the embedded server, started when it is not
            running.
        :raises StoreUnavailable: the server does not answer or start.
        :raises StoreSchemaTooOld, StoreSchemaTooNew: the schema is not this code's.
        :raises StoreError: the URL is not PostgreSQL's, or the user may not make the schema.
        :raises EnvironmentProblem: the embedded server cannot run here.
        """
        store = Store(*_resolve(url))
        try:
            patience = Patience(store.url, settings.store_silence(), settings.store_limit())
            place = pending.place_of(url or settings.store_url())
            bounded(lambda: store._begin(place, tidies=tidies), patience, "opening it")
        except BaseException:
            store.close()
            raise
        return store

    def _begin(self, place: str, *, tidies: bool) -> None:
        with store_errors(f"opening {redact(self.url)}"):
            self._prepare()
            if self.is_started_again:
                home_rows.follow(self._engine, self.home)
            if tidies:
                self.retired = self.tidy()
                pending.deliver(place, self.mark_incomplete)

    def tidy(self) -> list[str]:
        """Clean up after dead drivers, and retire old runs, whose ids it gives; what cannot be done now is left for another time."""
        return lifecycle.tidy(self._engine, settings.retention_days())

    def retire(self, days: int) -> list[str]:
        """Drop the runs that ended more than so many days ago; their ids. Those that somebody reads now are left for another time.

        :raises StoreNotPermitted: the user may not drop runs.
        """
        with store_errors(f"retiring runs in {redact(self.url)}"):
            return lifecycle.retire(self._engine, days)

    @staticmethod
    def upgrade(url: str | None = None) -> None:
        """Bring the schema of a store to this code's version (``airflow-lineage store upgrade``).

        :raises StoreUnavailable: the server does not answer or start.
        :raises StoreSchemaTooNew: the schema is newer than this code.
        """
        store = Store(*_resolve(url))
        try:
            with store_errors(f"upgrading {redact(store.url)}"):
                store._act_as_owner()
                migrate.upgrade(store._engine, redact(store.url))
                store._grant_executors()
        finally:
            store.close()

    @staticmethod
    def grant(url: str | None = None) -> None:
        """Make the roles of `roles.script` and grant them what they need (``airflow-lineage store grant --apply``).

        :raises StoreNotPermitted: the user may not make roles.
        """
        store = Store(*_resolve(url))
        try:
            with store_errors(f"granting roles in {redact(store.url)}"):
                migrate.ensure_schema(store._engine, redact(store.url))
                with store._engine.begin() as connection:
                    roles.apply(connection)
        finally:
            store.close()

    # Materializations

    def materializations(self, run_id: str, session: Session | None = None) -> dict[str, Materialization]:
        """The materializations of a complete run, by name; read in the transaction of a ``session`` where one is given.

        :raises RunNotFound: there is no such run.
        :raises RunNotComplete: it failed, was dropped, or is still going.
        """
        with self._looking_up(f"reading run {run_id}", session) as select:
            return materialized.materializations(select, self._executors, run_id)

    def table_sizes(self, run_id: str) -> dict[str, int]:
        """The bytes of a run's materializations on disk, with their indexes, by name; of a dropped or unknown run none."""
        with self._transaction(f"measuring the tables of run {run_id}") as connection:
            return materialized.table_sizes(connection, run_id)

    def fetch(self, sql: str) -> pa.Table:
        """The rows of one SELECT in a session of its own, with PostgreSQL's types as ADBC gives them, and ADBC's errors."""
        with self.session() as session:
            return session.fetch(sql)

    def rest(self) -> None:
        """Nothing to do: each query is a transaction of its own."""

    def partitions(self, materialization: Materialization) -> list[tuple[int, int]]:
        """The loaded partitions of a materialization that have rows: number and rows."""
        return materialized.partitions(self._select_often(f"reading the partitions of {materialization.name!r}"), materialization)

    # Captured lineage

    def save_captured(self, run_id: str, index: RecordedIndex, parts: Iterable[captured.Part]) -> None:
        """Keep captured lineage of a complete run, in place of what was captured before.

        :raises RunNotFound: there is no such run. :raises RunNotComplete: it was dropped meanwhile.
        """
        with self._transaction(f"keeping the captured lineage of run {run_id}") as connection:
            left = captured.save(connection, run_id, index, parts)
        self._sweep(left)

    def lease_folder(self, run_id: str, folder: str) -> None:
        """Captured lineage of a complete run is going to be written to a folder (a URI), and kept with `save_captured_in`. Unless it is,
        the folder is removed in a day, or when it is given up.

        :raises RunNotFound: there is no such run. :raises RunNotComplete: it was dropped meanwhile.
        """
        with self._transaction(f"preparing a folder for the captured lineage of run {run_id}") as connection:
            captured.lease(connection, run_id, folder)

    def give_up_folder(self, folder: str) -> None:
        """A leased folder is not going to be kept."""
        with self._transaction(f"giving {folder} up") as connection:
            discarded.give_up(connection, folder)
        self._sweep(True)

    def save_captured_in(self, folder: str, run_id: str, index: RecordedIndex, places: Sequence[PartPlace], total: int) -> None:
        """`save_captured` where the parts stand in the file of a folder that was leased, of so many bytes; asked again it does nothing.

        :raises RunNotFound: there is no such run. :raises RunNotComplete: it was dropped meanwhile.
        :raises LoadFailed: the folder was given up meanwhile.
        """
        with self._transaction(f"keeping the captured lineage of run {run_id}") as connection:
            left = captured.save_placed(connection, run_id, index, places, folder, total)
        self._sweep(left)

    def drop_captured(self, run_id: str) -> None:
        """Forget the captured lineage of a run; it is traced again when it is asked for.

        :raises RunNotFound: there is no such run.
        """
        with self._transaction(f"forgetting the captured lineage of run {run_id}") as connection:
            left = captured.drop(connection, run_id)
        self._sweep(left)

    def _sweep(self, is_left: bool) -> None:
        """Remove folders that are to be removed, where there is one."""
        if is_left:
            discarded.sweep(self._engine)

    # Derivations and reasons

    def may_derive(self, session: Session | None = None) -> bool:
        """Whether this user may keep derivations and reasons."""
        if session is not None and session.keeps:
            return session.may_keep()
        with self._selecting("asking what this user may do", session) as select:
            return roles.may_derive(select)

    def save_derivation(self, record: DerivationRecord, session: Session | None = None) -> str:
        """Keep a derivation and its tables; its id. Unless they are large it is kept in the transaction of a ``session`` that is given.

        :raises RunNotFound: there is no such run.
        :raises RunNotComplete: the run was dropped.
        """
        doing = f"saving a derivation of run {record.run_id}"
        if derivations.is_small(record):
            with store_errors(f"{doing} in {redact(self.url)}"), nullcontext(session) if session else self.session() as one:
                return derivations.save_at_once(one, record)
        if session is not None:
            session.rest()
        with self._transaction(doing) as connection:
            return derivations.save(connection, record)

    def derivation(self, derivation_id: str) -> DerivationRecord:
        """One derivation with its tables.

        :raises DerivationNotFound: there is no such derivation.
        """
        with self._transaction(f"reading derivation {derivation_id}") as connection:
            return derivations.load(connection, derivation_id)

    def derivation_size(self, derivation_id: str) -> derivations.DerivationSize:
        """How large a derivation is, and of which run, before it is loaded.

        :raises DerivationNotFound: there is no such derivation.
        """
        with self._transaction(f"measuring derivation {derivation_id}") as connection:
            return derivations.size(connection, derivation_id)

    def derivations(self, run_id: str, limit: int | None = None) -> list[DerivationRecord]:
        """A run's derivations, newest first, without their tables; no more than ``limit`` where one is given."""
        with self._transaction(f"listing the derivations of run {run_id}") as connection:
            return derivations.of_run(connection, run_id, limit)

    def last_chunks(self, asked: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], ChunkPlace]:
        """Of runs and the DAG runs that ask about them, which chunk was stored last, where a question is answered in chunks."""
        with self._transaction("looking how far questions are answered") as connection:
            return derivations.last_chunks(connection, asked)

    def list_derivations(
        self, wanted: derivation_list.AnswersWanted, permits: Callable[[RunHead], bool], limit: int
    ) -> derivation_list.DerivationsFound:
        """The newest derivations of runs that may be shown, without their tables: see `derivation_list.listed`."""
        with self._transaction("listing derivations") as connection:
            return derivation_list.listed(connection, wanted, permits, limit)

    def derivations_reading(self, table: str, limit: int | None = None) -> list[tuple[str, str]]:
        """The newest derivations that have rows of a source table: their ids, and those of their runs."""
        with self._transaction(f"finding the derivations with rows of {table!r}") as connection:
            return derivation_list.reading(connection, table, limit)

    def size(self) -> int:
        """The bytes of the whole database, and of what runs stored in files."""
        with self._transaction("measuring the results store") as connection:
            return materialized.size(connection)

    def cached_reasons(self, run_id: str, function: str, digests: Sequence[str], session: Session | None = None) -> pa.Table:
        """Known calls of a function: the ``digest`` of their arguments, and the JSON of the ``value`` and of the ``reason``."""
        with store_errors(f"reading reasons of run {run_id} in {redact(self.url)}"):
            return derivations.cached_reasons(session or self, run_id, function, digests)

    def reason_relations(self, run_id: str, names: Sequence[str]) -> dict[str, bytes]:
        """Of the relations that reasons of a run have apart (`reasons.apart`) those of these names that there are."""
        with self._transaction(f"reading relations of reasons of run {run_id}") as connection:
            return kept_relations.found(connection, run_id, names)

    def save_reasons(
        self, run_id: str, function: str, rows: Mapping[str, tuple[str, str | None]], relations: Relations = NOTHING_APART
    ) -> None:
        """Keep calls of a function, by digest the JSON of value and reason, with the ``relations`` that the reasons have apart; a digest
        that is known already keeps its reason.

        :raises RunNotComplete: the run was dropped.
        """
        with self._transaction(f"saving reasons of run {run_id}") as connection:
            derivations.save_reasons(connection, run_id, function, rows, relations)


def _resolve(url: str | None) -> tuple[str, embedded.Server | None]:
    """The store's URL, and the embedded server where it is this process's to start."""
    if isinstance(url, str) and not url.strip():
        raise StoreError("the URL of the results store is empty; leave it out where the settings should decide, or give postgresql://…")
    given = settings.store_url() if url is None else url
    if given is not None:
        return normalise(given), None
    server = embedded.ensure_running()
    return server.url, server
