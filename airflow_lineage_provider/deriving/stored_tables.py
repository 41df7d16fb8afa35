"""Stored rows by number and position, wherever they stand: in PostgreSQL, or in files, which this process or Spark alone reads."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from airflow_lineage_provider.deriving import stored_files
from airflow_lineage_provider.errors import InvalidTarget, SparkRequired
from airflow_lineage_provider.plan.lineage_keys import PARTITION_BITS, ROW
from airflow_lineage_provider.sources.files import CannotReadHere

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
    from airflow_lineage_provider.store import Materialization, Store
    from airflow_lineage_provider.store.reading import Reading


@dataclass(frozen=True)
class StoredTables:
    """``reading`` runs queries of the store; ``spark`` reads files that are not on this machine."""

    store: Store
    reading: Reading
    spark: SparkOnDemand

    def rest(self) -> None:
        """Before something that takes its time: no transaction is left open."""
        self.reading.rest()

    def count(self, stored: Materialization) -> int:
        """The number of rows."""
        return self.reading.count(stored)

    def rows(self, stored: Materialization, columns: Sequence[str], numbers: Sequence[int]) -> pa.Table:
        """The rows with the given numbers, in the order of their numbers.

        :raises StoreError: a column is unknown, the run was dropped, or files are gone (`StoredRowsGone`).
        :raises SparkRequired: they stand in files that only Spark reaches, and there is no session.
        """
        if not stored.in_files:
            return self.reading.rows(stored, columns, numbers)
        self.rest()
        try:
            return stored_files.rows(stored, columns, numbers)
        except CannotReadHere as problem:
            return self.spark.needed(_needed(stored, problem)).rows(stored, columns, numbers)

    def first(self, stored: Materialization, columns: Sequence[str], limit: int | None) -> pa.Table:
        """The first rows of a result, or all, in the order of their numbers. As `rows`."""
        if not stored.in_files:
            return self.reading.read(stored, columns=columns, order_by=[ROW], limit=limit)
        self.rest()
        try:
            return stored_files.first(stored, columns, limit)
        except CannotReadHere as problem:
            return self.spark.needed(_needed(stored, problem)).first(stored, columns, limit)

    def numbers_at(self, stored: Materialization, positions: Sequence[int]) -> list[int]:
        """The numbers of the rows at these positions, counted from 0 in the order of the numbers; fewer where there are not so many."""
        if not stored.in_files:
            return self.reading.numbers_at(stored, positions)
        self.rest()
        return numbers_at(self.store.partitions(stored), positions)

    def positions_of(self, stored: Materialization, numbers: Sequence[int]) -> list[int]:
        """The positions of rows that are there, by their numbers: the inverse of `numbers_at`, in the order of ``numbers``."""
        if not stored.in_files:
            return self.reading.positions_of(stored, numbers)
        self.rest()
        return positions_of(self.store.partitions(stored), numbers)


def positions_of(partitions: Sequence[tuple[int, int]], numbers: Sequence[int]) -> list[int]:
    """The positions of rows, by their numbers, of partitions that have so many rows each, ascending.

    :raises InvalidTarget: a row is not there.

    >>> positions_of([(0, 2), (3, 1)], [3 << 33, 1])
    [2, 1]
    """
    before = dict(zip((one for one, _ in partitions), accumulate((rows for _, rows in partitions), initial=0), strict=False))
    rows_of = dict(partitions)
    places = [(one >> PARTITION_BITS, one & ((1 << PARTITION_BITS) - 1)) for one in numbers]
    if any(place >= rows_of.get(partition, 0) for partition, place in places):
        raise InvalidTarget("the result has no row of one of these numbers")
    return [before[partition] + place for partition, place in places]


def numbers_at(partitions: Sequence[tuple[int, int]], positions: Sequence[int]) -> list[int]:
    """The numbers at positions, of partitions that have so many rows each, ascending.

    >>> numbers_at([(0, 2), (3, 1)], [1, 2, 3]) == [1, 3 << 33]
    True
    """
    ends = list(accumulate(rows for _, rows in partitions))
    found = []
    for position in sorted(set(positions)):
        at = bisect_right(ends, position)
        if at < len(partitions):
            partition, rows = partitions[at]
            found.append((partition << PARTITION_BITS) + position - (ends[at] - rows))
    return found


def _needed(stored: Materialization, problem: CannotReadHere) -> SparkRequired:
    return SparkRequired(f"reading stored rows needs Spark ({problem}); give a Spark session")
