"""Stored rows by number and position, wherever they stand: in PostgreSQL, or in files, which this process or Spark alone reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.deriving import stored_files
from airflow_lineage_provider.errors import InvalidTarget, SparkRequired
from airflow_lineage_provider.plan.lineage_keys import PARTITION_BITS, ROW, AnyNumbers
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.time_limits import TimeLimit
from airflow_lineage_provider.tracing.numbers import different

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
    from airflow_lineage_provider.store import Materialization, Store
    from airflow_lineage_provider.store.reading import Reading


@dataclass(frozen=True)
class StoredTables:
    """``reading`` runs queries of the store; ``spark`` reads files that are not on this machine. A look through files here is ended after
    so many ``seconds``, where there is such a bound."""

    store: Store
    reading: Reading
    spark: SparkOnDemand
    seconds: float | None = None

    def rest(self) -> None:
        """Before something that takes its time: no transaction is left open."""
        self.reading.rest()

    def count(self, stored: Materialization) -> int:
        """The number of rows."""
        return self.reading.count(stored)

    def rows(self, stored: Materialization, columns: Sequence[str], numbers: AnyNumbers) -> pa.Table:
        """The rows with the given numbers, in the order of their numbers.

        :raises StoreError: a column is unknown, the run was dropped, or files are gone (`StoredRowsGone`).
        :raises SparkRequired: they stand in files that only Spark reaches, and there is no session.
        :raises QueryTooSlow: it was ended.
        """
        if not stored.in_files:
            return self.reading.rows(stored, columns, numbers)
        self.rest()
        try:
            return stored_files.rows(stored, columns, numbers, TimeLimit.of(self.seconds))
        except CannotReadHere as problem:
            return self.spark.needed(_needed(stored, problem)).rows(stored, columns, numbers)

    def first(self, stored: Materialization, columns: Sequence[str], limit: int | None) -> pa.Table:
        """The first rows of a result, or all, in the order of their numbers. As `rows`."""
        if not stored.in_files:
            return self.reading.read(stored, columns=columns, order_by=[ROW], limit=limit)
        self.rest()
        try:
            return stored_files.first(stored, columns, limit, TimeLimit.of(self.seconds))
        except CannotReadHere as problem:
            return self.spark.needed(_needed(stored, problem)).first(stored, columns, limit)

    def numbers_at(self, stored: Materialization, positions: Sequence[int]) -> list[int]:
        """The numbers of the rows at these positions, counted from 0 in the order of the numbers; fewer where there are not so many."""
        if not stored.in_files:
            return self.reading.numbers_at(stored, positions)
        self.rest()
        return numbers_at(self.store.partitions(stored), positions)

    def positions_of(self, stored: Materialization, numbers: AnyNumbers) -> list[int]:
        """The positions of rows that are there, by their numbers: the inverse of `numbers_at`, in the order of ``numbers``."""
        if not stored.in_files:
            return self.reading.positions_of(stored, numbers)
        self.rest()
        return positions_of(self.store.partitions(stored), numbers)


def positions_of(partitions: Sequence[tuple[int, int]], numbers: AnyNumbers) -> list[int]:
    """The positions of rows, by their numbers, of partitions that have so many rows each, ascending.

    :raises InvalidTarget: a row is not there.

    >>> positions_of([(0, 2), (3, 1)], [3 << 33, 1])
    [2, 1]
    """
    import numpy as np

    known, rows = np.array(partitions, np.int64).reshape(-1, 2).T
    wanted = np.asarray(numbers, np.int64)
    partition, place = wanted >> PARTITION_BITS, wanted & ((1 << PARTITION_BITS) - 1)
    at = np.searchsorted(known, partition)
    there = at < len(known)
    there[there] = (known[at[there]] == partition[there]) & (place[there] < rows[at[there]])
    if not there.all():
        raise InvalidTarget("the result has no row of one of these numbers")
    found: list[int] = ((np.cumsum(rows) - rows)[at] + place).tolist()
    return found


def numbers_at(partitions: Sequence[tuple[int, int]], positions: Sequence[int]) -> list[int]:
    """The numbers at positions, of partitions that have so many rows each, ascending.

    >>> numbers_at([(0, 2), (3, 1)], [1, 2, 3]) == [1, 3 << 33]
    True
    """
    import numpy as np

    known, rows = np.array(partitions, np.int64).reshape(-1, 2).T
    ends, wanted = np.cumsum(rows), different(np.asarray(positions, np.int64))
    at = np.searchsorted(ends, wanted, "right")
    wanted, at = wanted[at < len(known)], at[at < len(known)]
    found: list[int] = ((known[at] << PARTITION_BITS) + wanted - (ends - rows)[at]).tolist()
    return found


def _needed(stored: Materialization, problem: CannotReadHere) -> SparkRequired:
    return SparkRequired(f"reading stored rows needs Spark ({problem}); give a Spark session")
