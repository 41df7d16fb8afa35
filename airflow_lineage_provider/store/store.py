"""The results store, as the rest of the package sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import StoreError
from airflow_lineage_provider.secrecy import redact
from airflow_lineage_provider.store import catalog, derivations, embedded, lifecycle, migrate, pending, roles
from airflow_lineage_provider.store.appends import Appends
from airflow_lineage_provider.store.connection import normalise, store_errors
from airflow_lineage_provider.store.convert import from_storage
from airflow_lineage_provider.store.handover import Patience, bounded
from airflow_lineage_provider.store.materialization import Materialization
from airflow_lineage_provider.store.read import at_positions, numbered, row_column, select_sql
from airflow_lineage_provider.store.records import DerivationRecord
from airflow_lineage_provider.store.runs import Runs

if TYPE_CHECKING:
    import pyarrow as pa


class Store(Runs, Appends):
    """PostgreSQL with the catalog and the materializations. Open it with `Store.open`; it may be shared between threads.

    Every method raises StoreUnavailable when the server does not answer and StoreError when it refuses.

    :ivar url: libpq URL, with the password; executors have others (`roles`). `redact` it before it is shown.
    """

    @staticmethod
    def open(url: str | None = None) -> Store:
        """Connect, make the schema in an empty database, clean up after dead drivers, and retire old runs.

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
            bounded(lambda: store._begin(pending.place_of(url or settings.store_url())), patience, "opening it")
        except BaseException:
            store.close()
            raise
        return store

    def _begin(self, place: str) -> None:
        with store_errors(f"opening {redact(self.url)}"):
            self._prepare()
            lifecycle.tidy(self._engine, settings.retention_days())
            pending.deliver(place, self.mark_incomplete)

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

    def materializations(self, run_id: str) -> dict[str, Materialization]:
        """The materializations of a complete run, by name.

        :raises RunNotFound: there is no such run.
        :raises RunNotComplete: it failed, was dropped, or is still going.
        """
        with self._transaction(f"reading run {run_id}") as connection:
            return catalog.materializations(connection, self._executors, run_id)

    def table_sizes(self, run_id: str) -> dict[str, int]:
        """The bytes of a run's materializations on disk, with their indexes, by name; of a dropped or unknown run none."""
        with self._transaction(f"measuring the tables of run {run_id}") as connection:
            return catalog.table_sizes(connection, run_id)

    def read(
        self,
        materialization: Materialization,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        order_by: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> pa.Table:
        """Rows of a materialization with their exact Spark types.

        :param materialization: from `materializations` (or, for the run's own driver, from `create_materialization`).
        :param columns: names; all by default.
        :param where: a PostgreSQL condition in which every name and string is quoted already, over `Materialization.sql_column`
            expressions.
        :param order_by: column names.
        :param limit: the most rows.
        :raises StoreError: a column is unknown, or the run was dropped.
        """
        names = [column.name for column in materialization.columns] if columns is None else list(columns)
        sql = select_sql(materialization.table, materialization.layout, names, where, order_by, limit)
        with self.session() as session, store_errors(f"reading {materialization.name!r} in {redact(self.url)}"):
            return from_storage(session.fetch(sql), materialization.layout, names)

    def rows(self, materialization: Materialization, columns: Sequence[str], numbers: Sequence[int]) -> pa.Table:
        """The rows of a materialization with the given numbers, in the order of their numbers.

        :raises StoreError: a column is unknown, or the run was dropped.
        """
        row = row_column(materialization.layout, materialization.name)
        return self.read(materialization, columns, numbered(materialization.layout, row, numbers), order_by=[row])

    def numbers_at(self, materialization: Materialization, positions: Sequence[int]) -> list[int]:
        """The numbers of the rows at these positions, counted from 0 in the order of the numbers; fewer where there are not so many.

        :raises StoreError: the run was dropped.
        """
        row = row_column(materialization.layout, materialization.name)
        where = at_positions(materialization.table, materialization.layout, row, positions)
        found = self.read(materialization, [row], where, order_by=[row])
        return [int(number) for number in found.column(0).to_pylist()]

    def count(self, materialization: Materialization) -> int:
        """The number of a materialization's rows."""
        if materialization.rows is not None:
            return materialization.rows
        return int(self.query(f"SELECT count(*) AS n FROM {materialization.table}").column(0)[0].as_py())

    def partitions(self, materialization: Materialization) -> list[tuple[int, int]]:
        """The loaded partitions of a materialization that have rows: number and rows."""
        with self._transaction(f"reading the partitions of {materialization.name!r}") as connection:
            return catalog.partitions(connection, materialization)

    # Derivations and reasons

    def save_derivation(self, record: DerivationRecord) -> str:
        """Keep a derivation and its tables; its id.

        :raises RunNotFound: there is no such run.
        :raises RunNotComplete: the run was dropped.
        """
        with self._transaction(f"saving a derivation of run {record.run_id}") as connection:
            return derivations.save(connection, record)

    def derivation(self, derivation_id: str) -> DerivationRecord:
        """One derivation with its tables.

        :raises DerivationNotFound: there is no such derivation.
        """
        with self._transaction(f"reading derivation {derivation_id}") as connection:
            return derivations.load(connection, derivation_id)

    def derivations(self, run_id: str) -> list[DerivationRecord]:
        """A run's derivations, newest first, without their tables."""
        with self._transaction(f"listing the derivations of run {run_id}") as connection:
            return derivations.of_run(connection, run_id)

    def cached_reasons(self, run_id: str, function: str, digests: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Known calls of a function, by digest of their arguments: (value's JSON, reason's JSON)."""
        with self._transaction(f"reading reasons of run {run_id}") as connection:
            return derivations.cached_reasons(connection, run_id, function, digests)

    def save_reasons(self, run_id: str, function: str, rows: Mapping[str, tuple[str, str]]) -> None:
        """Keep calls of a function, in the form of `cached_reasons`; a digest that is known already keeps its reason.

        :raises RunNotComplete: the run was dropped.
        """
        with self._transaction(f"saving reasons of run {run_id}") as connection:
            derivations.save_reasons(connection, run_id, function, rows)


def _resolve(url: str | None) -> tuple[str, embedded.Server | None]:
    """The store's URL, and the embedded server where it is this process's to start."""
    if isinstance(url, str) and not url.strip():
        raise StoreError("the URL of the results store is empty; leave it out where the settings should decide, or give postgresql://…")
    given = settings.store_url() if url is None else url
    if given is not None:
        return normalise(given), None
    server = embedded.ensure_running()
    return server.url, server
