"""A store's arrays, each look and each write in one transaction (`found_arrays`, `kept_arrays`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from airflow_lineage_provider.arrays.keeping import Pair, Said
from airflow_lineage_provider.arrays.owner import Owner
from airflow_lineage_provider.arrays.reuse import Operation
from airflow_lineage_provider.records.arrays import StoredArray
from airflow_lineage_provider.store import found_arrays, kept_arrays
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

    def array_shapes(self, names: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """The shapes of arrays, by name; of those that there are."""
        with self._transaction("reading arrays") as connection:
            return found_arrays.shapes(connection, names)

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

    def relation_head(self, pair: Pair) -> Mapping[Any, Any] | None:
        """The id of the relation between two arrays, and what it is; None where there is none."""
        with self._transaction("reading the lineage of arrays") as connection:
            return found_arrays.head(connection, pair)

    def relation_content(self, number: int) -> bytes | None:
        """The bytes of a relation, by its id; None where it was dropped meanwhile."""
        with self._transaction("reading a relation between arrays") as connection:
            return found_arrays.content(connection, number)

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
