"""The files that a table of files consists of: as Spark's plan lists them, and as they are now."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.spark.file_access import file_system
from airflow_lineage_provider.spark.jvm_classes import java_class
from airflow_lineage_provider.spark.local_files import hidden, is_local, list_local

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

Files = dict[str, tuple[int, int]]

_STATUS = re.compile(r"path=(.*?); isDirectory=false; length=(\d+);.*?modification_time=(\d+);", re.DOTALL)


def file_index(leaf: JavaObject) -> JavaObject | None:
    """The file index behind a leaf; None where it reads no files."""
    class_name = leaf.getClass().getSimpleName()
    if class_name == "LogicalRelation" and leaf.relation().getClass().getSimpleName() == "HadoopFsRelation":
        return leaf.relation().location()
    if class_name == "DataSourceV2Relation" and "FileTable" in leaf.table().getClass().getSuperclass().getSimpleName():
        return leaf.table().fileIndex()
    return None


def listed(spark: SparkSession, index: JavaObject) -> Files:
    """The files that Spark will read: URI to bytes and modification time in milliseconds. One question for all files."""
    if index.getClass().getSimpleName() == "CatalogFileIndex":
        index = index.filterPartitions(java_class(spark, "org.apache.spark.api.python.PythonUtils").toSeq([]))
    text = str(index.allFiles().mkString("\n"))
    return {path: (int(size), int(modified)) for path, size, modified in _STATUS.findall(text)}


def list_roots(spark: SparkSession | None, relation: Relation) -> Files:
    """The files under a relation's paths now. Vanished paths have none.

    :raises SparkRequired: the files are not on this machine, and there is no session to reach them by.
    """
    options = {key.lower(): value for key, value in relation.options}
    nested = bool(relation.partition_columns) or options.get("recursivefilelookup", "").lower() == "true"
    if is_local(relation.paths):
        return list_local(relation.paths, nested=nested, pattern=options.get("pathglobfilter"))
    if spark is None:
        raise SparkRequired(f"the files of {relation.name} ({', '.join(relation.paths)}) can only be listed through Spark")
    return _remote(spark, relation, nested, options.get("pathglobfilter"))


def _remote(spark: SparkSession, relation: Relation, nested: bool, pattern: str | None) -> Files:
    """Hadoop's file systems, listed by the driver."""
    found: Files = {}
    for root in relation.paths:
        path = java_class(spark, "org.apache.hadoop.fs.Path")(root)
        system = file_system(spark, path)
        if not system.exists(path):
            continue
        files = system.listFiles(path, nested)
        while files.hasNext():
            status = files.next()
            uri = str(status.getPath().toString())
            inside = uri.removeprefix(root).strip("/").split("/")
            if any(hidden(part) for part in inside if part) or (pattern and not fnmatch.fnmatchcase(inside[-1], pattern)):
                continue
            found[uri] = (int(status.getLen()), int(status.getModificationTime()))
    return found
