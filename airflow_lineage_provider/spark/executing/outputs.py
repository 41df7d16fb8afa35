"""What a run wrote: the files that are there after a write and were not there before."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.spark import file_listing
from airflow_lineage_provider.spark.capturing.relations import relation_of
from airflow_lineage_provider.spark.executing.appended_files import root_of_path

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

Files = Mapping[str, tuple[int, int]]

# Spark names a file by its task's partition, the write job, and a number that grows where a task writes several files: after "-c" one after
# the other, after ".c" (and a bucket) as their partitions and buckets need, each of which has some of the task's rows. What a run appends
# or clusters has other words in place of ``part`` (`appended_files`).
_PART = re.compile(
    r"(?:part|(?P<clustered>(?:lineage-[0-9a-f-]{36}-)?clustered)|lineage-[0-9a-f-]{36})-(?P<partition>\d+)-(?P<job>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-c(?P<number>\d+))?"
)


def files_at(spark: SparkSession, path: str) -> Files:
    """The data files directly under a path now."""
    return files_in(spark, root_of_path(spark, path))


def files_in(spark: SparkSession, root: str) -> Files:
    """The same of a path that has its file system's name (`root_of_path`)."""
    return file_listing.list_roots(spark, Relation(name=root, kind="files", paths=(root,)))


def files_below(spark: SparkSession, path: str) -> Files:
    """The data files under a path now, those of partitions among them."""
    nested = Relation(name=path, kind="files", paths=(root_of_path(spark, path),), options=(("recursiveFileLookup", "true"),))
    return file_listing.list_roots(spark, nested)


def files_of_table(spark: SparkSession, name: str) -> Files | None:
    """The files of a catalog table now: none where there is no table; None where it does not consist of files."""
    if not spark.catalog.tableExists(name):
        return {}
    index = file_listing.file_index(_leaf(spark, name))
    return None if index is None else file_listing.listed(spark, index)


def table_read(spark: SparkSession, name: str) -> Relation | None:
    """A catalog's table, as a plan that reads it has it; None where none can."""
    try:
        return relation_of(spark, _leaf(spark, name), "")
    except Exception:  # what a table is called elsewhere is no reason for a run to fail
        return None


def _leaf(spark: SparkSession, name: str) -> JavaObject:
    """What a plan that reads a catalog's table has of it."""
    return spark.table(name)._jdf.queryExecution().analyzed().collectLeaves().apply(0)


def new_files(before: Files, after: Files) -> Files:
    """The files that a write added."""
    return {uri: status for uri, status in after.items() if before.get(uri) != status}


def write_jobs(files: Files) -> frozenset[str]:
    """The write jobs that files are of, as Spark names them."""
    found = (_PART.match(uri.rpartition("/")[2]) for uri in files)
    return frozenset(one["job"] if one else "" for one in found)


def partition_of(uri: str) -> int | None:
    """The partition whose rows, from the first to the last, a file holds; None where its name does not say that they are all in it, or says
    that they were clustered."""
    found = _PART.match(uri.rpartition("/")[2])
    return int(found["partition"]) if found and not found["clustered"] and found["number"] and int(found["number"]) == 0 else None
