"""Descriptions of a plan's leaves: told so that each can be read again months later."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.secrecy.options import WITHHELD_URL, recorded_options
from airflow_lineage_provider.secrecy.urls import database_url
from airflow_lineage_provider.spark.capturing.partition_folders import partitions_in_folders, refuse_one_folder_twice, told_partitions
from airflow_lineage_provider.spark.jvm_functions import texts
from airflow_lineage_provider.spark.scala_maps import scala_map

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

# Paths are told on their own; the schema is told by the columns.
_LEFT_OUT = frozenset({"path", "paths", "inferschema", "schema"})


_NO_SOURCES = {
    "UnionLoopRef": (
        "a recursive common table expression (WITH RECURSIVE)", "Write its steps out, or compute the hierarchy in an earlier pipeline"
    ),
    "Transpose": ("transpose()", "Its columns are named after rows, which Spark collects first; use unpivot and pivot with the names"),
    "UnresolvedCatalogRelation": ("a table that Spark has not resolved", "Read it with spark.table"),
}  # fmt: skip


def relation_of(spark: SparkSession, leaf: JavaObject, name: str) -> Relation:
    """The description of a leaf; ``name`` is the view or alias directly above it, or ``""``.

    :raises UnsupportedOperator: it reads from something that could not be read again.
    """
    kind = str(leaf.nodeName())
    class_name = str(leaf.getClass().getSimpleName())
    if leaf.isStreaming():
        raise UnsupportedOperator(f"reading from a stream ({kind}) is not supported: use spark.read instead of spark.readStream.")
    if class_name == "LogicalRelation":
        return _v1(spark, leaf, name)
    if class_name in ("DataSourceV2Relation", "DataSourceV2ScanRelation"):
        return _v2(spark, leaf, name)
    if class_name == "Range":
        options = (("start", str(leaf.start())), ("end", str(leaf.end())), ("step", str(leaf.step())))
        return Relation(name=name or "range", kind="range", options=options)
    if class_name == "OneRowRelation":
        return Relation(name="one row", kind="local")
    if class_name in ("LocalRelation", "LogicalRDD", "ExternalRDD"):
        return Relation(name=name or "local data", kind="local")
    if class_name in _NO_SOURCES:
        what, advice = _NO_SOURCES[class_name]
        raise UnsupportedOperator(f"{what} is not supported. {advice}.")
    raise UnsupportedOperator(
        f"reading from {kind} is not supported{f' ({name})' if name else ''}. Sources are files, catalog tables, JDBC tables, "
        "spark.range and data of the session; write this one to a table and let the pipeline start from there."
    )


def _v1(spark: SparkSession, leaf: JavaObject, name: str) -> Relation:
    relation = leaf.relation()
    class_name = relation.getClass().getSimpleName()
    if class_name == "JDBCRelation":
        return _jdbc(spark, relation, name)
    if class_name != "HadoopFsRelation":
        what = f"reading from {_unknown(relation)} is not supported{f' ({name})' if name else ''}"
        raise UnsupportedOperator(f"{what}. Write its rows to a Parquet table first.")
    paths = root_paths(relation.location())
    format_name = str(relation.fileFormat().shortName())
    partitions = tuple(str(column) for column in relation.partitionSchema().fieldNames())
    options = _kept(scala_map(spark, relation.options()))
    if leaf.catalogTable().isDefined():
        identifier = leaf.catalogTable().get().identifier()
        named = (("table", table_name(identifier)),)
        table = str(identifier.table())
        told = told_partitions(spark, leaf) if partitions else None
        are_in_folders = partitions_in_folders(told, paths, partitions)
        if told and not are_in_folders:
            refuse_one_folder_twice(told, table_name(identifier))
        return Relation(
            name=name or table, kind="table", format=format_name, paths=paths, options=named, partition_columns=partitions,
            partitions_in_folders=are_in_folders,
        )  # fmt: skip
    return Relation(
        name=name or _last_part(paths), kind="files", format=format_name, paths=paths, options=options, partition_columns=partitions
    )


def _unknown(relation: JavaObject) -> str:
    """What a relation is that is no source. Delta's is one of files, and which of them are the table's its own index says."""
    kind = relation.getClass()
    of_files = "HadoopFsRelation" in str(kind.getSuperclass().getSimpleName())
    if of_files and str(relation.location().getClass().getSimpleName()).startswith("Tahoe"):
        return "a Delta table"
    return str(kind.getSimpleName()) or f"a relation of {kind.getName()}"  # a class without a name has that of the one it is in


def _v2(spark: SparkSession, leaf: JavaObject, name: str) -> Relation:
    relation = leaf.relation() if hasattr(leaf, "relation") and leaf.nodeName() == "DataSourceV2ScanRelation" else leaf
    table = relation.table()
    if relation.identifier().isDefined() and relation.catalog().isDefined():
        parts = [
            str(relation.catalog().get().name()),
            *map(str, relation.identifier().get().namespace()),
            str(relation.identifier().get().name()),
        ]
        return Relation(name=name or parts[-1], kind="table", format="v2", options=(("table", quoted(parts)),))
    if "FileTable" in str(table.getClass().getSuperclass().getSimpleName()):
        paths = root_paths(table.fileIndex())
        partitions = tuple(str(column) for column in table.fileIndex().partitionSchema().fieldNames())
        options = _kept(scala_map(spark, relation.options().asCaseSensitiveMap()))
        return Relation(
            name=name or _last_part(paths), kind="files", format=str(table.formatName()).lower(), paths=paths, options=options,
            partition_columns=partitions,
        )  # fmt: skip
    raise UnsupportedOperator(f"reading from the data source {table.name()} is not supported. Write its rows to a table first.")


def _jdbc(spark: SparkSession, relation: JavaObject, name: str) -> Relation:
    options = relation.jdbcOptions()
    parameters = scala_map(spark, options.parameters().originalMap())
    kept = {key: value for key, value in _kept(parameters, ("url", "dbtable", "query")) if key.lower() != "driver" or value}
    table = str(parameters_value(parameters, "dbtable") or parameters_value(parameters, "query") or options.tableOrQuery())
    url, withheld = database_url(str(options.url()))
    kept |= {"url": url} | recorded_options({f"{WITHHELD_URL}{property}": value for property, value in withheld.items()})
    kept |= {"dbtable" if parameters_value(parameters, "query") is None else "query": table}
    short = table if re.fullmatch(r"[\w.\"`]+", table) else "JDBC query"
    return Relation(name=name or short.rsplit(".", 1)[-1].strip('"`'), kind="jdbc", format="jdbc", options=tuple(sorted(kept.items())))


def parameters_value(parameters: Mapping[str, str], name: str) -> str | None:
    """A reader option, whatever its case."""
    return next((value for key, value in parameters.items() if key.lower() == name), None)


def table_name(identifier: JavaObject) -> str:
    """A catalog table's full name, quoted."""
    parts = [str(part.get()) for part in (identifier.catalog(), identifier.database()) if part.isDefined()]
    return quoted([*parts, str(identifier.table())])


def quoted(parts: list[str]) -> str:
    """A name of several parts as SQL writes it."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def root_paths(index: JavaObject) -> tuple[str, ...]:
    """The URIs of a file index's roots."""
    found = texts(index.rootPaths())
    return tuple(found) if found != [""] else ()


def _kept(options: Mapping[str, str], also_out: tuple[str, ...] = ()) -> tuple[tuple[str, str], ...]:
    left_out = _LEFT_OUT | set(also_out)
    return tuple(sorted(recorded_options({key: value for key, value in options.items() if key.lower() not in left_out}).items()))


def _last_part(paths: tuple[str, ...]) -> str:
    parts = [part for part in (paths[0] if paths else "").split("/") if part]
    return parts[-1] if parts else "files"
