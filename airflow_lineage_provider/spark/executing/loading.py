"""Kept rows into the store: few of them by way of the driver, which has them from the job that makes them; many from the executors; so
many that a database is the dearer place for them into files (`stored_files`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from airflow_lineage_provider.errors import LoadFailed, StoreError, StoreTooSlow, StoreUnavailable
from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.spark.arrow_border import carried
from airflow_lineage_provider.spark.executing.by_driver import brought
from airflow_lineage_provider.spark.executing.few_rows import collected
from airflow_lineage_provider.spark.executing.on_executors import LOADED, Loading, loading_partitions
from airflow_lineage_provider.spark.executing.row_sizes import bytes_of, kept_size
from airflow_lineage_provider.spark.executing.stored_files import are_taken, check, checksums_of, qualified, rows_of_partitions, write
from airflow_lineage_provider.spark.frames import columns_named, renamed
from airflow_lineage_provider.spark.reach import are_kept_out

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from airflow_lineage_provider.spark.executing.run import Execution
    from airflow_lineage_provider.store import Column
    from airflow_lineage_provider.store.kinds import Kind
    from airflow_lineage_provider.store.materialization import Materialization


@dataclass(frozen=True)
class _Told:
    """What became of a partition, or of all: seconds that its rows took, and that the store took; why the store failed, if it did."""

    rows: int
    compute: float
    store: float
    problem: str | None
    away: bool


_FOR_LINEAGE = ("source", "keys")
"""What a run without lineage does not make either: copies of the session's own rows, and keys."""
_Try: TypeAlias = "Callable[[Materialization, int], list[_Told]]"


def load(
    execution: Execution,
    frame: DataFrame,
    name: str,
    kind: Kind,
    columns: list[Column],
    *,
    are_shuffled: bool = False,
    may_be_files: bool = True,
) -> None:
    """Load a kept frame, whose last of these columns is its row number, into the store; ``are_shuffled``: its rows, where they are made.
    ``may_be_files`` where nobody has seen yet that they are too few for files.

    Where the run goes on without its store the rows are made and kept all the same: nothing is called twice for it.
    """
    execution.progress(f"storing {name}")
    if execution.store.lost:
        execution.rows[name] = frame.count()
        return
    started, names = time.perf_counter(), [column.name for column in columns]
    # mapInArrow does not take every column name that Spark does (backticks): the columns travel under numbers.
    chosen = carried(renamed(columns_named(frame, names), [f"c{i}" for i in range(len(columns))]))
    for_files = may_be_files and execution.data is not None and are_taken([column.type for column in columns])
    few = collected(chosen, are_made_first=for_files, are_shuffled=are_shuffled)
    partitions = _partitions_for_files(execution, frame, columns, few) if for_files else None
    if partitions is not None:
        _into_files(execution, frame, (name, kind, columns), partitions, started)
        return
    computed = time.perf_counter() - started
    if few is None:
        made = execution.store.create_materialization(execution.run_id, name, kind, columns)
        if made is None:
            execution.rows[name] = frame.count()
            return
        tries = _tried(execution, made, lambda there, number: _from_executors(execution, chosen, there, names, number))
        loaded = [made]
    else:
        rows, loaded = {partition: one.rename_columns(names) for partition, one in few.items()}, []
        planned = execution.store.planned_materialization(execution.run_id, name, kind, columns)
        tries = _tried(execution, planned, lambda there, number: _from_here(execution, there, rows, loaded, again=number > 0))
    execution.stored.extend((frame, names, made) for made in loaded)
    execution.rows[name] = sum(one.rows for one in tries[-1])
    execution.timings[name] = time.perf_counter() - started
    stored = sum(one.store for told in tries for one in told)
    # What was made in the first try is kept for the others. Earlier stages (shuffles) are in no task of the last one: they are what is left
    # of the whole time.
    at_once = 1 if few is not None else execution.spark.sparkContext.defaultParallelism
    made_in_tasks = computed + sum(one.compute for told in tries for one in told)
    execution.timings[f"{name}.compute"] = max(made_in_tasks, execution.timings[name] - stored / at_once)
    execution.timings[f"{name}.store"] = stored
    execution.for_lineage(execution.timings[name] if kind in _FOR_LINEAGE else min(execution.timings[name], stored / at_once))


def _partitions_for_files(
    execution: Execution, frame: DataFrame, columns: list[Column], few: Mapping[int, pa.Table] | None
) -> dict[int, int] | None:
    """The rows of each partition where they are to stand in files; None where PostgreSQL has them."""
    place = execution.data
    assert place is not None
    if few is not None:
        here = sum(rows.num_rows for rows in few.values()), sum(rows.nbytes for rows in few.values())
        return {at: rows.num_rows for at, rows in few.items()} if place.takes(*here) else None
    row = columns[-1].name
    kept = kept_size(frame, row)
    if kept is not None and not place.takes(*kept):
        return None
    partitions = rows_of_partitions(frame, row)
    rows = sum(partitions.values())
    if place.takes(rows, 0):
        return partitions
    # Spark keeps other columns, too: those that the segments above read, and a name.
    kept = kept or kept_size(frame, row)
    may_take = kept is None or place.takes(*kept)
    return partitions if may_take and place.takes(rows, bytes_of(frame, [column.name for column in columns])) else None


def _into_files(
    execution: Execution, frame: DataFrame, what: tuple[str, Kind, list[Column]], partitions: dict[int, int], started: float
) -> None:
    """Write a kept frame's rows into a folder, which the catalog has before anything is in it."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    name, kind, columns = what
    asked, names = time.perf_counter(), [column.name for column in columns]
    execution.rows[name] = sum(partitions.values())
    looked_up = [names.index(one) for one in execution.looked_up.get(name, ())]
    try:
        folder = table_folder(execution, name)
        made = execution.store.create_materialization(execution.run_id, name, kind, columns, folder=folder)
        if made is None:
            return
        files = write(columns_named(frame, names), folder, looked_up)
        check(execution.spark, made, files, partitions)
    except (Py4JError, PySparkException, LoadFailed) as problem:
        failure = not_written(execution, name, problem)
        if not execution.store.keeps_result:
            raise LoadFailed(failure) from problem
        execution.store.lose(failure)
        return
    made = replace(made, files=files, checksums=checksums_of(folder, files))
    execution.store.enter_files(made, files, partitions)
    execution.stored.append((frame, names, made))
    done = time.perf_counter()
    execution.timings |= {name: done - started, f"{name}.compute": asked - started, f"{name}.store": done - asked}
    execution.for_lineage(done - (started if kind in _FOR_LINEAGE else asked))


def table_folder(execution: Execution, name: str) -> str:
    """Where the files of a table stand.

    :raises py4j.protocol.Py4JError: Spark has no such file system.
    """
    assert execution.data is not None
    return f"{qualified(execution.spark, execution.data.folder)}/{execution.run_id}/{name}"


def not_written(execution: Execution, name: str, problem: Exception) -> str:
    """What is said of a folder that cannot be written."""
    place = execution.data.folder if execution.data is not None else ""
    return f"storing {name!r} of run {execution.run_id} below {place} failed: {first_line(problem)}"


def _tried(execution: Execution, made: Materialization, attempt: _Try) -> list[list[_Told]]:
    """What was told of every try: a load during which the embedded server died is made again, from the kept rows.

    A partition's load replaces what an earlier one of it wrote.
    """
    tries: list[list[_Told]] = []
    while True:
        tries.append(attempt(made, len(tries)))
        problems = sorted((one.away, one.problem) for one in tries[-1] if one.problem)
        if not problems:
            return tries
        away, problem = problems[0]  # one that trying again does not mend, where there is any
        if not away:
            execution.store.lose(problem)
            return tries
        there = execution.store.load_again(made, problem)
        if there is None:
            return tries
        execution.progress(f"storing {made.name} again: the results store was away, and is back")
        made = there


def _from_executors(execution: Execution, frame: DataFrame, made: Materialization, names: list[str], number: int) -> list[_Told]:
    """A transaction a partition."""
    store = execution.store
    if are_kept_out(execution.spark, made.urls.loader, "psycopg2"):
        here = Loading(store.loader(made), names, store.keeps_result, store.mends_loads, number)
        return [_Told(**here.load(partition, 0, batches).to_pylist()[0]) for partition, batches in brought(frame)]
    loading = loading_partitions(made.loader(), names, store.keeps_result, store.mends_loads, number)
    return [_Told(**row.asDict()) for row in frame.mapInArrow(loading, LOADED).collect()]


def _from_here(
    execution: Execution, planned: Materialization, partitions: dict[int, pa.Table], loaded: list[Materialization], *, again: bool
) -> list[_Told]:
    """One transaction for the table and all its rows; what was ``loaded`` then."""
    store, started, problem, away = execution.store, time.perf_counter(), None, True
    try:
        loaded.append(store.load_new(planned, partitions, again=again))
    except StoreError as error:
        away = isinstance(error, StoreUnavailable) and not isinstance(error, StoreTooSlow)
        if not (store.keeps_result or (away and store.mends_loads)):
            raise
        problem = str(error)
    rows = sum(one.num_rows for one in partitions.values())
    return [_Told(rows, 0.0, time.perf_counter() - started, problem, away)]
