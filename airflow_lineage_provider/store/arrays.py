"""A store's arrays, each look and each write in one transaction (`found_arrays`, `kept_arrays`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from airflow_lineage_provider.arrays.keeping import InParts, Pair, Said
from airflow_lineage_provider.arrays.owner import Owner
from airflow_lineage_provider.arrays.reuse import Operation
from airflow_lineage_provider.arrays.tail import Part
from airflow_lineage_provider.records.arrays import StoredArray
from airflow_lineage_provider.store import found_arrays, kept_arrays, known_arrays
from airflow_lineage_provider.store.kept_reader import Statement
from airflow_lineage_provider.store.open_store import OpenStore


class Arrays(OpenStore):
    """What a store knows of arrays and of the lineage between their cells."""

    def save_arrays(self, said: Said, owner: Owner | None = None, *, replace: bool = False) -> None:
        """Keep what a log was told, all of it or nothing: see `kept_arrays.save`."""
        content = kept_arrays.encoded(said)
        with self._transaction("keeping the lineage of arrays") as connection:
            kept_arrays.save(connection, said, content, owner, replace=replace)

    def drop_arrays(self, names: Sequence[str]) -> int:
        """Drop arrays, with the lineage from and to them: see `kept_arrays.drop`."""
        with self._transaction("dropping arrays") as connection:
            return kept_arrays.drop(connection, names)

    def list_arrays(self, prefix: str, limit: int) -> list[StoredArray]:
        """The newest arrays whose names begin so, with their relations."""
        with self._transaction("listing arrays") as connection:
            return found_arrays.listed(connection, prefix, limit)

    def stored_array(self, name: str) -> StoredArray | None:
        """An array with its relations; None where there is none of this name."""
        with self._transaction("reading an array") as connection:
            return found_arrays.named(connection, name)

    def known_arrays(
        self, names: Collection[str], pairs: Collection[Pair], read: Collection[int], parts: InParts | None = None
    ) -> known_arrays.Found:
        """The shapes of arrays, the relations between pairs of them, and labels, in one round trip: see `known_arrays.known`."""
        return known_arrays.known(self._ask_often, names, pairs, read, parts)

    def array_bytes(self, number: int, parts: Sequence[Part]) -> list[bytes]:
        """Parts of the bytes of a relation, in one round trip: see `known_arrays.parts`."""
        return known_arrays.parts(self._ask_often, number, parts)

    def _ask_often(self, statement: Statement, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        return self._asked_often("reading the lineage of arrays", statement, values)

    def array_names(self, most: int) -> list[str]:
        """Names of the newest arrays, so many at most."""
        with self._transaction("reading arrays") as connection:
            return found_arrays.names(connection, most)

    def linked_arrays(self, name: str) -> list[str]:
        """The arrays that a relation links directly with this one, either way."""
        with self._transaction("reading the lineage of arrays") as connection:
            return found_arrays.linked(connection, name)

    def array_edges(self, starts: Iterable[str]) -> list[Pair]:
        """The links by which something is made from these arrays, in however many steps."""
        with self._transaction("reading the lineage of arrays") as connection:
            return found_arrays.edges(connection, starts)

    def has_relation(self, pair: Pair) -> bool:
        """Whether there is a relation between two arrays."""
        with self._transaction("reading the lineage of arrays") as connection:
            return found_arrays.has(connection, pair)

    def array_operation(self, name: str, confirmations: int) -> Operation:
        """What is known of an operation.

        :raises RelationTooNew: a newer release wrote it.
        """
        with self._transaction("reading what is known of an operation") as connection:
            return found_arrays.operation(connection, name, confirmations)

    def array_operations(self, confirmations: int) -> list[Operation]:
        """All operations of which something is known.

        :raises RelationTooNew: a newer release wrote one.
        """
        with self._transaction("reading what is known of operations") as connection:
            return found_arrays.operations(connection, confirmations)
