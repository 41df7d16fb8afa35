"""A store's sets of derivations, each looked at in one transaction (`chunks`)."""

from __future__ import annotations

from airflow_lineage_provider.records.derivation_sets import DerivationSetRecord
from airflow_lineage_provider.store import chunks
from airflow_lineage_provider.store.open_store import OpenStore
from airflow_lineage_provider.store.records import DerivationRecord


class DerivationSets(OpenStore):
    """What a store knows of sets of derivations. `Store.save_derivation` adds to them."""

    def begin_derivation_set(self, asked: DerivationSetRecord) -> DerivationSetRecord:
        """The set that asks just this on the same occasion and is not complete, or else a new one.

        :raises RunNotFound, RunNotComplete: the run is not there, or was dropped.
        """
        with self._transaction(f"beginning a set of derivations of run {asked.run_id}") as connection:
            return chunks.begun(connection, asked) or chunks.begin(connection, asked)

    def last_derivation_set(self, question: str, run_id: str, occasion: str) -> DerivationSetRecord | None:
        """The set that was last completed of a question: see `chunks.last`."""
        with self._transaction("finding the last derivation") as connection:
            return chunks.last(connection, question, run_id, occasion)

    def derivation_set(self, set_id: str) -> tuple[DerivationSetRecord, list[DerivationRecord]]:
        """A set, and its derivations without their tables, as far as they are stored.

        :raises DerivationNotFound: there is no such set.
        """
        with self._transaction(f"reading the set of derivations {set_id}") as connection:
            return chunks.find(connection, set_id), chunks.stored(connection, set_id)
