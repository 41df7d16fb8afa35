"""What Spark's Python workers do with the rows of a run: send a partition to the store, or to a table.

Every new worker imports this module before its first row, so it imports little: no SQL, no SQLAlchemy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from pyspark import TaskContext

from airflow_lineage_provider.errors import StoreError, StoreTooSlow, StoreUnavailable

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.store import PartitionLoader, ResultTable

Batches: TypeAlias = "Iterator[pa.RecordBatch]"

LOADED = "rows bigint, compute double, store double, problem string, away boolean"
"""What `loading_partitions` tells of a partition."""
WRITTEN = "rows bigint"
"""What `writing_partitions` tells of a partition."""

_GIVEN_UP: dict[tuple[str, str, int], str] = {}
"""Loads (run, materialization, try) for which this worker process has found the store to be away, and why: the other partitions need not
find it out again."""


def loading_partitions(
    loader: PartitionLoader, names: list[str], keeps_result: bool, mends_loads: bool, number: int
) -> Callable[[Batches], Batches]:
    """For ``mapInArrow``: load a partition, whose columns have these names, in this try; one row comes back (`LOADED`)."""
    loading = Loading(loader, names, keeps_result, mends_loads, number)

    def load_partition(batches: Batches) -> Batches:
        # Travels by value, and what it calls by the name of its module, whose memory of runs (`_GIVEN_UP`) is the process's.
        task = _task()
        yield loading.load(task.partitionId(), task.attemptNumber(), batches)

    return load_partition


def writing_partitions(result: ResultTable, names: list[str]) -> Callable[[Batches], Batches]:
    """For ``mapInArrow``: write a partition into a result's table; one row comes back (`WRITTEN`)."""

    def write_partition(batches: Batches) -> Batches:
        import pyarrow

        rows = result.load(_task().partitionId(), (batch.rename_columns(names) for batch in batches))
        yield pyarrow.RecordBatch.from_pydict({"rows": pyarrow.array([rows], pyarrow.int64())})

    return write_partition


@dataclass(frozen=True)
class Loading:
    """A try to load partitions, wherever their rows come from."""

    loader: PartitionLoader
    names: list[str]
    keeps_result: bool
    mends_loads: bool
    number: int

    def load(self, partition: int, attempt: int, batches: Batches) -> pa.RecordBatch:
        """Load a partition; one row, which tells of it (`LOADED`)."""
        import pyarrow

        loader = self.loader
        started = time.perf_counter()
        given = Stopwatch(batches)
        named = (batch.rename_columns(self.names) for batch in given)
        tried = (loader.run_id, loader.name, self.number)
        problem, away = _GIVEN_UP.get(tried), True
        try:
            first = next(named, None)
            # An empty partition needs no transaction, unless an earlier attempt of it may have written rows.
            if problem is None and (first is not None or attempt or self.number):
                loader.load(partition, attempt, chain([first] if first is not None else [], named))
        except StoreError as error:
            away = isinstance(error, StoreUnavailable) and not isinstance(error, StoreTooSlow)
            if not (self.keeps_result or (self.mends_loads and away)):
                raise
            _GIVEN_UP[tried] = problem = str(error)
        for _ in given:  # what is not sent any more is made all the same, and kept
            pass
        store = time.perf_counter() - started - given.seconds
        told = {"rows": [given.rows], "compute": [given.seconds], "store": [store]}
        return pyarrow.RecordBatch.from_pydict({**told, "problem": pyarrow.array([problem], pyarrow.string()), "away": [away]})


class Stopwatch(Iterator["pa.RecordBatch"]):
    """Batches, their rows so far, and the seconds that were spent waiting for them: what making them took."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self.seconds = 0.0
        self.rows = 0

    def __next__(self) -> pa.RecordBatch:
        started = time.perf_counter()
        try:
            batch = next(self._batches)
        finally:
            self.seconds += time.perf_counter() - started
        self.rows += batch.num_rows
        return batch


def _task() -> TaskContext:
    context = TaskContext.get()
    assert context is not None
    return context
