"""Sources read again from their description, and whether they still are what a run read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.catalyst.datatypes import schema_ddl
from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.records.versions import FilesVersion, NoVersion, RowsVersion, SnapshotVersion, SourceVersion
from airflow_lineage_provider.secrecy import is_digest, shown_text
from airflow_lineage_provider.secrecy.options import of_no_effect, options_again
from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.sources.file_uris import local_path
from airflow_lineage_provider.spark import file_listing
from airflow_lineage_provider.spark.capturing.partition_folders import partitions_digest, partitions_in_folders, told_partitions
from airflow_lineage_provider.spark.capturing.relations import quoted, relation_of, root_paths
from airflow_lineage_provider.spark.local_files import file_differences, files_version
from airflow_lineage_provider.spark.rereading import jdbc
from airflow_lineage_provider.spark.scala_maps import all_settings, scala_map

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession

# Where a session has what a description leaves out.
_GIVEN = {"jdbc": "spark.airflow_lineage.jdbc.", "files": "spark.airflow_lineage.option."}


def reopen(
    spark: SparkSession, source: Source, *, jdbc_options: Mapping[str, str] | None = None, files: Sequence[str] | None = None
) -> DataFrame:
    """The source's rows as they are now, with the same columns and types in the same order; those of ``files`` alone where they are given.

    A JDBC source's user and password are no part of a description, nor are options that are not known to be harmless: give them in
    ``jdbc_options``, or set ``spark.airflow_lineage.jdbc.user``, ``.password`` … (for a file, ``spark.airflow_lineage.option.NAME``) in the
    session.

    :raises SourceUnavailable: it has vanished, cannot be read, no longer has these columns, or needs an option that is not given; the
        message names it.
    """
    try:
        frame = _read(spark, source, dict(jdbc_options or {})) if files is None else _these_files(spark, source, files)
        return _same_columns(_past_kept_rows(spark, frame), source)
    except _spark_errors() as problem:
        message = f"source {source.relation.name} ({_where(source.relation)}) cannot be read: {first_line(problem)}"
        shown = shown_text(message)
        raise SourceUnavailable(shown) from (problem if shown == message else None)


def _read(spark: SparkSession, source: Source, jdbc_options: Mapping[str, str]) -> DataFrame:
    relation, options = source.relation, dict(source.relation.options)
    match relation.kind:
        case "files":
            return _files(spark, source, _completed(spark, relation))
        case "table":
            return spark.table(options["table"])
        case "jdbc":
            return spark.read.format("jdbc").options(**_completed(spark, relation, jdbc_options)).load()
        case "range":
            return spark.range(int(options["start"]), int(options["end"]), int(options["step"]))
    raise SourceUnavailable(f"{relation.name} was data of the session that ran the pipeline; only what the run stored of it can be read")


def _past_kept_rows(spark: SparkSession, frame: DataFrame) -> DataFrame:
    """The table as it is, not as this session may keep it."""
    from airflow_lineage_provider.spark.capturing.kept_rows import past_kept_rows
    from airflow_lineage_provider.spark.jvm_trees import frame_over

    plan = frame._jdf.queryExecution().analyzed()
    read = past_kept_rows(spark, plan)
    return frame if read is plan else frame_over(spark, read)


def _completed(spark: SparkSession, relation: Relation, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """A source's options, and what its description leaves out: given here, or set in the session."""
    prefix = _GIVEN[relation.kind]
    session = {key.removeprefix(prefix): value for key, value in all_settings(spark).items() if key.startswith(prefix)}
    recorded = {name: value for name, value in relation.options if relation.kind == "jdbc" or not (is_digest(value) and of_no_effect(name))}
    options, problems = options_again(recorded, {**session, **(given or {})})
    if problems:
        raise SourceUnavailable(
            f"source {relation.name} cannot be read again: {'; '.join(problems)}. Set it as {prefix}NAME in the session "
            "(for a part of the URL, the URL as url), or name it in AIRFLOW_LINEAGE_CLEAR_OPTIONS when the pipeline runs"
        )
    return options


def _files(spark: SparkSession, source: Source, options: dict[str, str]) -> DataFrame:
    relation = source.relation
    here = {path: local_path(path) for path in relation.paths}
    gone = [path for path, place in here.items() if place is not None and not place.exists()]
    if gone:
        raise SourceUnavailable(f"source {relation.name} has vanished: {', '.join(gone)} does not exist")
    return _load(spark, source, relation.paths, options)


def _load(spark: SparkSession, source: Source, paths: Sequence[str], options: Mapping[str, str]) -> DataFrame:
    columns = [(name, a.type) for name, a in zip(source.columns, source.output, strict=True) if name != "_metadata"]
    reader = spark.read.format(source.relation.format).options(**options)
    if columns:
        reader = reader.schema(schema_ddl(columns))
    return reader.load([_escaped(path) for path in paths])


def _these_files(spark: SparkSession, source: Source, files: Sequence[str]) -> DataFrame:
    relation = source.relation
    options = _completed(spark, relation) if relation.kind == "files" else _options_of_table(spark, relation)
    return _load(spark, source, files, options)


def _options_of_table(spark: SparkSession, relation: Relation) -> dict[str, str]:
    """The reader options of a catalog table (a CSV's header and separator): they are in the catalog; a record has its name alone.

    :raises SourceUnavailable: the table is no longer one of files in that format, in that place.
    """
    name = dict(relation.options)["table"]
    leaves = spark.table(name)._jdf.queryExecution().analyzed().collectLeaves()
    leaf = leaves.apply(0)
    index = file_listing.file_index(leaf)
    read = leaf.relation() if index is not None and hasattr(leaf, "relation") else None
    if index is None or read is None or str(read.fileFormat().shortName()) != relation.format or root_paths(index) != relation.paths:
        raise SourceUnavailable(f"table {name} is no longer the one that was read: its files, or their format, are others")
    options = scala_map(spark, read.options())
    return {key: value for key, value in options.items() if key.lower() not in ("path", "paths", "schema")}


def _escaped(path: str) -> str:
    """A path, not a pattern: it was read from a directory of that very name."""
    return "".join(f"\\{letter}" if letter in "*?[]{}\\" else letter for letter in path)


def _same_columns(frame: DataFrame, source: Source) -> DataFrame:
    from pyspark.sql import functions as F

    known = {name.lower() for name in frame.columns} | {"_metadata"}
    missing = [name for name in source.columns if name.lower() not in known]
    if missing:
        raise SourceUnavailable(f"source {source.relation.name} ({_where(source.relation)}) no longer has column {', '.join(missing)}")
    if tuple(frame.columns) == source.columns and _types(frame) == [a.type for a in source.output]:
        return frame
    chosen = [F.col(quoted([name])) for name in source.columns]
    return frame.select(*(_typed(frame, column, a.type) for column, a in zip(chosen, source.output, strict=True)))


def _typed(frame: DataFrame, column: Any, type_text: str) -> Any:
    # A table whose column was given a wider type since is read as the run read it; where that fails, Spark says so.
    now = frame.select(column).schema[0]
    return column if _type_text(now) == type_text else column.cast(type_text).alias(now.name)


def _types(frame: DataFrame) -> list[str]:
    return [_type_text(field) for field in frame.schema]


def _type_text(field: Any) -> str:
    from airflow_lineage_provider.catalyst.datatypes import ddl

    return ddl(field.jsonValue()["type"])


def version_of(
    spark: SparkSession, leaf: DataFrame, relation: Relation, is_output: Callable[[str], bool] = lambda _place: False
) -> SourceVersion:
    """What a run reads, so that a later change shows.

    Files (of a path or of a catalog table): number, bytes, and each file's size and modification time, or one digest of
    them all beyond 1,000 files. A table of another format: its own version where it has one. JDBC: the row count, which
    the database counts; it shows insertions and deletions only. A PostgreSQL table that is a run's output (``is_output`` tells by its
    place): a checksum of the rows too. Ranges and data of the session: nothing to compare.
    """
    node = leaf._jdf.queryExecution().analyzed()
    index = file_listing.file_index(node)
    if relation.kind in ("files", "table") and index is not None:
        read = file_listing.listed(spark, index)
        # Where a listing of the roots does not give what Spark reads (reader options), new files cannot be told.
        complete = file_listing.list_roots(spark, relation) == read
        elsewhere = relation.kind == "table" and relation.partition_columns and not relation.partitions_in_folders
        told = told_partitions(spark, node) if elsewhere else None
        return replace(files_version(read, complete=complete), partitions=None if told is None else partitions_digest(told))
    if relation.kind == "jdbc":
        return jdbc.rows_version(spark, scala_map(spark, node.relation().jdbcOptions().parameters().originalMap()), is_output)
    if relation.kind == "table":
        return snapshot_of(node.table())
    return NoVersion()


def changed(
    relation: Relation, version: SourceVersion, spark: SparkSession | None = None, jdbc_options: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """How a source differs from a recorded version, for people; empty when it does not.

    Files on this machine need no session.

    :raises SparkRequired: the source can only be looked at through Spark, and there is no session.
    """
    from airflow_lineage_provider.errors import SparkRequired

    if isinstance(version, NoVersion):
        return ()
    if isinstance(version, FilesVersion):
        found = file_differences(version, file_listing.list_roots(spark, relation))
        return found if spark is None or found else _partitions_differ(spark, relation, version)
    if spark is None:
        raise SparkRequired(
            f"whether {relation.name} ({_where(relation)}) has changed can only be seen through Spark, and no session was given"
        )
    return _now_differs(spark, relation, version, dict(jdbc_options or {}))


def _partitions_differ(spark: SparkSession, relation: Relation, version: FilesVersion) -> tuple[str, ...]:
    """Whether the catalog says otherwise now where the partitions of a table are; without Spark they are read by their folders' names."""
    if not relation.partition_columns or not (relation.partitions_in_folders or version.partitions):
        return ()
    with suppress(*_spark_errors()):  # who reads a table that is gone finds out
        told = told_partitions(
            spark, spark.table(dict(relation.options)["table"])._jdf.queryExecution().analyzed().collectLeaves().apply(0)
        )
        if told is None:
            return ()
        in_folders = partitions_in_folders(told, relation.paths, relation.partition_columns)
        if in_folders != relation.partitions_in_folders or (not in_folders and partitions_digest(told) != version.partitions):
            return (f"the catalog has partitions of {relation.name} in other folders than it had",)
    return ()


def files_as_read(relation: Relation, version: SourceVersion, spark: SparkSession | None = None) -> tuple[str, ...] | None:
    """The files that a run read, where all are there as they were and only others have come since: reading these is reading what it read.

    None where the source has not changed, has changed otherwise, or cannot be read file by file (partitions).
    """
    if not isinstance(version, FilesVersion) or not version.files or relation.partition_columns or not version.complete:
        return None
    read = version.files
    now = file_listing.list_roots(spark, relation)
    same = all(now.get(uri) == status for uri, status in read.items())
    return tuple(read) if same and len(now) > len(read) else None


def _now_differs(
    spark: SparkSession, relation: Relation, version: RowsVersion | SnapshotVersion, jdbc_options: dict[str, str]
) -> tuple[str, ...]:
    try:
        if isinstance(version, RowsVersion):
            return jdbc.rows_differ(spark, relation.name, _completed(spark, relation, jdbc_options), version)
        node = spark.table(dict(relation.options)["table"])._jdf.queryExecution().analyzed().collectLeaves().apply(0)
        return snapshot_differs(relation.name, version, snapshot_of(node.table()))
    except SourceUnavailable as problem:
        return (str(problem),)
    except _spark_errors() as problem:
        return (shown_text(f"{relation.name} cannot be read: {first_line(problem)}"),)


def snapshot_of(table: JavaObject) -> SnapshotVersion:
    """The version of a table that numbers its own (Spark's ``Table.version`` and ``Table.id``, from 4.1 on)."""
    methods = dir(table)  # py4j gives any name for a method's
    version, own = (getattr(table, name)() if name in methods else None for name in ("version", "id"))
    return SnapshotVersion(snapshot=None if version is None else str(version), table=None if own is None else str(own))


def snapshot_differs(name: str, then: SnapshotVersion, now: SnapshotVersion) -> tuple[str, ...]:
    """How a table differs from a recorded version, for people; empty when it does not, as far as both tell."""
    if then.table is not None and now.table is not None and then.table != now.table:
        return (f"{name} is another table of that name: it was dropped and made anew",)
    return () if now.snapshot == then.snapshot else (f"{name} is at version {now.snapshot}; it was at {then.snapshot}",)


def _where(relation: Relation) -> str:
    options = dict(relation.options)
    return options.get("table") or options.get("dbtable") or ", ".join(relation.paths) or relation.kind


def _spark_errors() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JJavaError


__all__ = ["changed", "files_as_read", "relation_of", "reopen", "version_of"]
