"""Stored rows as Parquet files: written by Spark's own writer and commit protocol, into a folder that the catalog knows before.

Columns stand under numbers (``c0`` …), as `store.Materialization.files` says. Values are written in one way, whatever the session's
settings are: timestamps in microseconds, dates in today's calendar. So they are read back by anybody in one way.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import LoadFailed, StoreError
from airflow_lineage_provider.plan.datatypes import ArrayType, DataType, MapType, ScalarType, StructType, parse_type
from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.sources.file_uris import local_path
from airflow_lineage_provider.sources.row_groups import bounds_in_footer
from airflow_lineage_provider.spark.executing.outputs import files_at
from airflow_lineage_provider.spark.file_access import file_system
from airflow_lineage_provider.spark.frames import quoted, renamed, selected
from airflow_lineage_provider.spark.jvm_classes import java_class
from airflow_lineage_provider.spark.session import SETTINGS, apply_conf
from airflow_lineage_provider.spark.writing.watching import unwatched
from airflow_lineage_provider.sql.types import FLOATS, says_more, spark_type
from airflow_lineage_provider.store.discarded import is_of
from airflow_lineage_provider.store.file_checksums import checksum

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.store import Column, Materialization, Store

log = logging.getLogger(__name__)

_SECONDS = 5.0
_MOST_FOOTERS = 500
"""Files: of more than so many Spark counts the rows in less time."""
_ROW_GROUP = 4 * 2**20
"""Bytes. Who looks rows up goes through whole row groups, page by page: of five million narrow rows in one, one row takes 10 ms to find,
in groups of this size 5 ms (Arrow decodes them, and saves as much as they are smaller than Spark's own)."""
_PAGE_ROWS = 4_000
"""And decodes whole pages: 25 scattered rows take two thirds of the time that they take in Spark's own, of 20,000. The files are a tenth
larger (with a thousand rows a third), and take as long to write."""
_ROW_GROUP_IN_ORDER = 2**20
"""Bytes, of rows in the order of what they are looked up by: of each file one row group is decoded then. (Of a million rows in two files
350 kB are read for one, with the larger row groups 2.1 MB; the files are a hundredth larger.)"""
_WRITING = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.fieldId.write.enabled": "false",
}
# As they are in PostgreSQL: an interval, a variant, a text with a collation have no like in a file that everybody reads in the same way.
_SCALARS = frozenset(
    {
        "string",
        "boolean",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "decimal",
        "date",
        "timestamp",
        "timestamp_ntz",
        "binary",
    }
)
_OPTIONS = {"compression": "zstd", "maxRecordsPerFile": "0"}
_READING = {
    "mergeSchema": "false", "ignoreMissingFiles": "false", "ignoreCorruptFiles": "false", "datetimeRebaseMode": "CORRECTED",
    "parquet.page.verify-checksum.enabled": "true",
}  # fmt: skip
_IN_ORDER = {"parquet.block.size": str(_ROW_GROUP_IN_ORDER)}
_AS_THEY_COME = {"parquet.block.size": str(_ROW_GROUP), "parquet.page.row.count.limit": str(_PAGE_ROWS)}


def are_taken(types: Sequence[str]) -> bool:
    """Whether every value of these types is in a file what it is in Spark, and a condition on it finds the same rows."""
    return all(not says_more(text) and _is_taken(parse_type(text)) for text in types)


def _is_taken(kind: DataType, in_struct: bool = False) -> bool:
    match kind:
        case ArrayType(element):
            return _is_taken(element)
        case MapType(key, value):
            return _is_taken(key) and _is_taken(value)
        case StructType(fields):
            # Fields that differ in case alone, or none at all, Spark does not write.
            names = {one.name.lower() for one in fields}
            return bool(names) and len(names) == len(fields) and all(_is_taken(one.type, in_struct=True) for one in fields)
        case ScalarType(name):
            # Spark skips by a struct's statistics, too, which leave NaN out; of a column alone that is kept from it (`columns_read`).
            return name in _SCALARS and not (in_struct and name in FLOATS)


def qualified(spark: SparkSession, folder: str) -> str:
    """A path or URI with its file system and host, as every process understands it."""
    return str(_file_system(spark, folder).makeQualified(java_class(spark, "org.apache.hadoop.fs.Path")(folder)).toString())


def make_folder(spark: SparkSession, folder: str) -> None:
    """Make an empty folder: where that is not possible, no row is made for it.

    :raises py4j.protocol.Py4JError: it is not possible.
    """
    _file_system(spark, folder).mkdirs(java_class(spark, "org.apache.hadoop.fs.Path")(folder))


def rows_of_partitions(frame: DataFrame, row: str) -> dict[int, int]:
    """How many rows each partition has whose rows' numbers (partition << 33 | n) stand in a column. It makes the rows."""
    counted = selected(frame, [f"shiftright({quoted(row)}, 33) AS partition"]).groupBy("partition").count()
    return {int(one["partition"]): int(one["count"]) for one in counted.collect()}


def rows_in_files(spark: SparkSession, made: Materialization, files: Mapping[str, int]) -> dict[int, int]:
    """The same of a materialization's files, by their footers where they are on this machine."""
    row = len(made.columns) - 1
    told = _rows_in_footers(made.folder or "", files, row)
    return rows_of_partitions(_files_read(spark, made, files), f"c{row}") if told is None else told


def _rows_in_footers(folder: str, files: Mapping[str, int], row: int) -> dict[int, int] | None:
    """None where they are not here, or a footer does not tell."""
    import pyarrow as pa

    place = local_path(folder)
    if place is None or len(files) > _MOST_FOOTERS:
        return None
    try:
        told = [one for name in files for one in _partitions_in(f"{place}/{name}", row)]
    except (pa.ArrowException, OSError, ValueError):
        return None
    found = Counter[int]()
    for partition, rows in told:
        if partition is None:
            return None
        found[partition] += rows
    return dict(found)


def _partitions_in(path: str, row: int) -> Iterator[tuple[int | None, int]]:
    """For each row group of a file its partition, which the least and the largest row number tell where it is one, and its rows.

    :raises ValueError: it is no file of stored rows.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        last = file.metadata.num_columns - 1
        if file.schema.column(last).path != f"c{row}":
            raise ValueError(f"{path} has no row numbers in its last column")
        rows = (file.metadata.row_group(at).num_rows for at in range(file.num_row_groups))
        for bounds, many in zip(bounds_in_footer(file, last, raw=False), rows, strict=True):
            partitions = {number >> 33 for number in bounds or ()}
            yield (partitions.pop() if len(partitions) == 1 else None), many


def write(frame: DataFrame, folder: str, sorted_by: Sequence[int] = (), *, in_order: bool = False) -> dict[str, int]:
    """Write a frame's rows; the names and bytes of its files.

    ``sorted_by`` are the columns, by position, by which the rows are going to be looked up: each file's row groups then have few of their
    values each. Where there are none the rows keep their order, which may be such a one already (``in_order``).

    :raises pyspark.errors.PySparkException, py4j.protocol.Py4JError: Spark failed; what is in the folder is no table.
    """
    spark, names = frame.sparkSession, [f"c{at}" for at in range(len(frame.columns))]
    rows = renamed(frame, names)
    if sorted_by:
        rows = rows.sortWithinPartitions(*(names[at] for at in sorted_by))
    with unwatched(), SETTINGS, apply_conf(spark, _WRITING):
        writer = rows.write.mode("overwrite")
        for option, value in ((_IN_ORDER if in_order or sorted_by else _AS_THEY_COME) | _OPTIONS).items():
            writer = writer.option(option, value)
        writer.parquet(folder)
    return {uri.rpartition("/")[2]: size for uri, (size, _) in files_at(spark, folder).items()}


def checksums_of(folder: str, files: Iterable[str]) -> dict[str, int]:
    """Of the files that the driver reaches; of those on other file systems, which have checksums of their own, nothing."""
    place = local_path(folder)
    try:
        return {} if place is None else {name: checksum(place / name) for name in files}
    except OSError as problem:  # `check` says what is missing
        log.info("the files in %s have no checksums: %s", folder, problem)
        return {}


def check(spark: SparkSession, made: Materialization, files: Mapping[str, int], partitions: Mapping[int, int]) -> None:
    """See that all rows are in the files, by their numbers, which are the last column.

    :raises LoadFailed: they are not: a lost executor's rows were made again, and were others, or the driver sees another folder than the
        executors.
    """
    found = rows_in_files(spark, made, files)
    if found != partitions:
        raise LoadFailed(
            f"{made.folder} has {sum(found.values()):,} of {sum(partitions.values()):,} rows, or others: driver and executors must see the "
            "same folder there, and a pipeline whose rows are others when they are made again must not lose an executor"
        )


def read(spark: SparkSession, made: Materialization) -> DataFrame:
    """The rows of a materialization's files, in columns ``c0`` ….

    :raises StoredRowsGone: a file is gone, or has another size than the run wrote.
    """
    assert made.folder is not None
    now = {uri.rpartition("/")[2]: size for uri, (size, _) in files_at(spark, made.folder).items()}
    for name in made.files:
        made.check_file(name, f"{made.folder}/{name}", now.get(name))
    return selected(_files_read(spark, made, made.files), columns_read([column.type for column in made.columns]))


def _files_read(spark: SparkSession, made: Materialization, files: Mapping[str, int]) -> DataFrame:
    schema = schema_read(made.columns)
    if not files:
        return spark.createDataFrame([], schema)
    return spark.read.schema(schema).options(**_READING).parquet(*(f"{made.folder}/{name}" for name in files))


def schema_read(columns: Sequence[Column]) -> str:
    """The columns of the files, with their types in full: TIMESTAMP alone is what a setting of the session says."""
    return ", ".join(f"c{at} {spark_type(column.type)}" for at, column in enumerate(columns))


def columns_read(types: Sequence[str]) -> list[str]:
    """Columns as SQL. Spark skips what a file's statistics tell to have no row for a condition, and they leave NaN out: the conditions are
    on another expression than the column, then."""
    return [f"nanvl(c{at}, c{at}) AS c{at}" if one.lower() in FLOATS else f"c{at}" for at, one in enumerate(types)]


def sweep(spark: SparkSession, store: Store, place: str) -> None:
    """Remove what runs that are gone have left below a place that is not on this machine: as far as Spark reaches it, and a moment takes.

    Whatever goes wrong is told in the log: nobody's run depends on it.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    deadline = time.monotonic() + _SECONDS
    try:
        below = f"{qualified(spark, place)}/"
        for folder, run_id in store.discarded_folders() if local_path(below) is None else ():
            if folder.startswith(below) and is_of(folder, run_id) and time.monotonic() < deadline and _removed(spark, folder):
                store.forget_folders([folder])
    except (Py4JError, PySparkException, StoreError) as error:
        log.warning("what runs that are gone have left below %s stays for now: %s", place, first_line(error))


def _removed(spark: SparkSession, folder: str) -> bool:
    """Whether a folder was there, and is not any more; that of its run goes with the last in it."""
    system, place = _file_system(spark, folder), java_class(spark, "org.apache.hadoop.fs.Path")(folder)
    if not system.exists(place):
        return False
    system.delete(place, True)
    if system.exists(place):
        return False
    if not len(system.listStatus(place.getParent())):
        system.delete(place.getParent(), False)
    return True


def _file_system(spark: SparkSession, folder: str) -> JavaObject:
    place = java_class(spark, "org.apache.hadoop.fs.Path")(folder)
    return file_system(spark, place)
