"""The names of files that runs write: appended ones begin with the run's id, so that those of a run that failed are found again, and
clustered ones say that their rows are in another order than the result's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow_lineage_provider.spark import file_listing
from airflow_lineage_provider.spark.file_access import file_system
from airflow_lineage_provider.spark.jvm_classes import java_class
from airflow_lineage_provider.spark.session import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BASENAME = "mapreduce.output.basename"


def file_prefix(run_id: str) -> str:
    """What the names of a run's files begin with, in place of Spark's ``part``."""
    return f"lineage-{run_id}"


def file_names(run_id: str | None, clustered: bool) -> str | None:
    """What stands in place of Spark's ``part`` in the names of files: of those that a run appends its id; None where ``part`` stays."""
    parts = [] if run_id is None else [file_prefix(run_id)]
    return "-".join([*parts, *(["clustered"] if clustered else [])]) or None


def naming(names: str | None) -> dict[str, str]:
    """The option of a write that names its files so (`file_names`)."""
    return {} if names is None else {_BASENAME: names}


@contextmanager
def files_named(spark: SparkSession, names: str) -> Iterator[None]:
    """Files that Spark writes meanwhile have these names (`file_names`). It is a setting of the whole session: one thread at a time."""
    with SETTINGS:
        # Hadoop's setting, which Spark does not know: set as it is.
        spark.conf.set(_BASENAME, names)
        try:
            yield
        finally:
            spark.conf.unset(_BASENAME)


def root_of_path(spark: SparkSession, path: str) -> str:
    """A path with its file system's name, as everybody calls it."""
    place = java_class(spark, "org.apache.hadoop.fs.Path")(path)
    return str(file_system(spark, place).makeQualified(place).toString())


def root_of_table(spark: SparkSession, name: str) -> str | None:
    """The folder of a catalog table; None where there is no table, or where it does not consist of files."""
    if not spark.catalog.tableExists(name):
        return None
    index = file_listing.file_index(spark.table(name)._jdf.queryExecution().analyzed().collectLeaves().apply(0))
    return None if index is None else str(index.rootPaths().head().toString())


def remove_files(spark: SparkSession, root: str, run_id: str) -> int:
    """Delete a run's files under a folder; how many there were."""
    place = java_class(spark, "org.apache.hadoop.fs.Path")(root)
    system = file_system(spark, place)
    if not system.exists(place):
        return 0
    found, doomed = system.listFiles(place, True), []
    while found.hasNext():
        path = found.next().getPath()
        if str(path.getName()).startswith(f"{file_prefix(run_id)}-"):
            doomed.append(path)
    for path in doomed:
        system.delete(path, False)
    if doomed:
        spark.catalog.refreshByPath(root)
    return len(doomed)
