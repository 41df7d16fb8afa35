"""Rows that are probably many, written into files by the very job that makes them, and read from there by whatever comes after.

Keeping such rows first, as few rows are (`run.run_program`), costs more than writing them, and room for a second copy. They are the same
rows either way: what the rest of the run reads is what is stored. Where they are fewer than was thought they go where few rows go.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import LoadFailed
from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.spark.executing.clustering import in_order
from airflow_lineage_provider.spark.executing.loading import load, not_written, table_folder
from airflow_lineage_provider.spark.executing.row_sizes import kept_size
from airflow_lineage_provider.spark.executing.stored_files import (
    are_taken,
    checksums_of,
    make_folder,
    read,
    rows_in_files,
    schema_read,
    write,
)
from airflow_lineage_provider.spark.frames import columns_named, described, renamed, with_columns
from airflow_lineage_provider.spark.session import is_local

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from airflow_lineage_provider.spark.executing.run import Execution
    from airflow_lineage_provider.store import Column
    from airflow_lineage_provider.store.data_place import DataPlace
    from airflow_lineage_provider.store.kinds import Kind
    from airflow_lineage_provider.store.materialization import Materialization


def straight_into_files(execution: Execution, frame: DataFrame, name: str, kind: Kind, columns: list[Column]) -> DataFrame | None:
    """The rows, stored, with their numbers, which are the last of these columns; None where they are to be kept first, and none was made.

    :raises LoadFailed: the folder cannot be written, or driver and executors see different ones there.
    :raises pyspark.errors.PySparkException, py4j.protocol.Py4JError: the rows cannot be made.
    """
    from py4j.protocol import Py4JError

    place = execution.data
    if place is None or not are_taken([column.type for column in columns]):
        return None
    execution.progress(f"making and storing {name}")
    started, names = time.perf_counter(), [column.name for column in columns]
    # Before they are numbered: what finds rows by these columns asks for their numbers next, which are in order, too, then.
    order = execution.looked_up.get(name, ())
    rows = columns_named(with_columns(in_order(frame, order), {ROW: "monotonically_increasing_id()"}), names)
    if not _comes_back(rows, columns):
        return None
    try:
        folder = table_folder(execution, name)
        make_folder(execution.spark, folder)
    except Py4JError as problem:
        raise LoadFailed(not_written(execution, name, problem)) from problem
    made = execution.store.create_materialization(execution.run_id, name, kind, columns, folder=folder)
    if made is None:
        return None
    files, told = _written(rows, folder, bool(order))
    made = replace(made, files=files)
    there = read(execution.spark, made)
    partitions = rows_in_files(execution.spark, made, files)
    _check(made, partitions, told)
    found = described(renamed(there, names), rows.schema)
    few = None if place.takes(sum(partitions.values()), 0) else _few(execution, place, found, made, columns)
    if few is not None:
        return few
    execution.store.enter_files(replace(made, checksums=checksums_of(folder, files)), files, partitions)
    execution.rows[name] = sum(partitions.values())
    # What making them took, and what writing them, nobody can tell: no costs for the strategy `auto` to go by.
    execution.timings[name] = time.perf_counter() - started
    return found


def _comes_back(rows: DataFrame, columns: Sequence[Column]) -> bool:
    """Whether what is read from the files has the frame's own types; and whether Spark plans the frame as it is (`session.carefully`)."""
    from py4j.protocol import Py4JJavaError
    from pyspark.sql.types import StructType

    read_again = StructType.fromDDL(schema_read(columns))
    types = ",".join(f"c{at}:{field.dataType.simpleString()}" for at, field in enumerate(rows.schema))
    if read_again.simpleString() != f"struct<{types}>":
        return False
    try:
        rows._jdf.queryExecution().executedPlan()
    except Py4JJavaError:
        return False
    return True


def _written(rows: DataFrame, folder: str, are_ordered: bool) -> tuple[dict[str, int], int | None]:
    """The files, and how many rows the executors wrote; where the driver writes itself there is nobody else to be asked."""
    if is_local(rows.sparkSession):
        return write(rows, folder, in_order=are_ordered), None
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    observation = Observation()
    files = write(rows.observe(observation, F.count(F.lit(1)).alias("rows")), folder, in_order=are_ordered)
    return files, int(observation.get["rows"])


def _check(made: Materialization, partitions: Mapping[int, int], told: int | None) -> None:
    rows = sum(partitions.values())
    if told is not None and told != rows:
        raise LoadFailed(
            f"{made.folder} has {rows:,} of the {told:,} rows that were written: driver and executors must see the same folder there"
        )


def _few(execution: Execution, place: DataPlace, found: DataFrame, made: Materialization, columns: list[Column]) -> DataFrame | None:
    """Rows that are fewer than was thought: kept, and the folder is nobody's any more. (No other run has a plan that reads these files.)
    None where they are so many bytes that they stay in the files."""
    kept = execution.keep(found)
    rows, size = kept.count(), kept_size(kept, columns[-1].name)
    if place.takes(rows, size.bytes if size is not None else sum(made.files.values())):
        execution.kept.remove(kept)
        kept.unpersist()
        return None
    execution.store.withdraw(made)
    load(execution, kept, made.name, made.kind, columns, may_be_files=False)
    return kept
