"""What `DataFrameWriter` and `DataFrameWriterV2` are about to write, read from their Java side, and the same writers over other rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.spark.frames import quoted
from airflow_lineage_provider.spark.jvm_classes import static_method
from airflow_lineage_provider.spark.jvm_trees import items
from airflow_lineage_provider.spark.scala_maps import scala_map
from airflow_lineage_provider.spark.writing.given import GivenWrite, named_as_in
from airflow_lineage_provider.words import RecordedKind, RecordedMode

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession

FILES = ("parquet", "csv", "json", "orc", "text", "xml", "avro")
"""Formats of which a write is a number of files under a path, and nothing else."""
ACTIONS = frozenset({"save", "insertInto", "saveAsTable", "jdbc", *FILES})
"""What makes `DataFrameWriter` write."""
ACTIONS_V2: dict[str, RecordedMode] = {
    "create": "error", "replace": "overwrite", "createOrReplace": "overwrite", "append": "append", "overwrite": "overwrite_where",
    "overwritePartitions": "overwrite_partitions",
}  # fmt: skip
"""What makes `DataFrameWriterV2` write, and what becomes of the rows that are there."""
_MODES: dict[str, RecordedMode] = {"ErrorIfExists": "error", "Overwrite": "overwrite", "Append": "append", "Ignore": "ignore"}
_COMMANDS = {"saveAsTable": "saveAsTableCommand", "insertInto": "insertIntoCommand"}
_STATIC, _FINAL = 0x8, 0x10


def of_writer(frame: DataFrame, writer: JavaObject, action: str, arguments: tuple[Any, ...]) -> GivenWrite:
    """What ``df.write``, as it is set up, is about to write by one of `ACTIONS`."""
    spark, format = frame.sparkSession, str(writer.source()) if action in ("save", "saveAsTable", "insertInto") else action
    options = scala_map(spark, writer.extraOptions().originalMap())
    if action == "jdbc":
        url, table, properties = arguments
        options |= {str(name): str(properties.getProperty(name)) for name in properties.stringPropertyNames()}
        options |= {"url": str(url), "dbtable": str(table)}
    kind, target = _place(action, format, options, arguments)
    mode = _MODES[str(writer.curmode().toString())]

    def make(rows: DataFrame) -> None:
        other = like(spark, writer, rows._jdf.write())
        if mode == "ignore":  # there was nothing: if there is something now, somebody else has written it
            other.mode("error")
        getattr(other, action)(*arguments)

    def command() -> JavaObject | None:
        if kind in ("jdbc", "source"):
            return None
        other = like(spark, writer, frame._jdf.write())
        if action in _COMMANDS:
            return _planned(getattr(other, _COMMANDS[action]), arguments[0])
        other.format(format)
        path = static_method(spark, "scala.Option", "apply")(arguments[0] if arguments else None)
        return _planned(other.saveCommand, path)

    if action == "insertInto":
        mode = "overwrite" if mode == "overwrite" else "append"
        if spark.catalog.tableExists(target):  # where there is none, Spark says so when the command is analyzed
            frame = named_as_in(target, frame)
    return GivenWrite(
        frame=frame, kind=kind, target=target, format=format, mode=mode, make=make, command=command, options=options
    )  # fmt: skip


def _place(action: str, format: str, options: dict[str, str], arguments: tuple[Any, ...]) -> tuple[RecordedKind, str]:
    lowered = {name.lower(): value for name, value in options.items()}
    if action in ("saveAsTable", "insertInto"):
        return "table", str(arguments[0])
    if format.lower() == "jdbc":
        return "jdbc", lowered.get("dbtable", "")
    path = str(arguments[0]) if arguments else lowered.get("path", "")
    return ("path", path) if path and format.lower() in FILES else ("source", path or format)


def of_writer_v2(frame: DataFrame, writer: JavaObject, action: str, arguments: tuple[Any, ...]) -> GivenWrite:
    """What ``df.writeTo(table)``, as it is set up, is about to write by one of `ACTIONS_V2`."""
    spark, fields = frame.sparkSession, dict(_fields(writer))
    table = table_name(fields["tableName"].get(writer))

    def make(rows: DataFrame) -> None:
        getattr(like(spark, writer, rows._jdf.writeTo(table)), action)(*arguments)

    def command() -> JavaObject | None:
        if action in ("replace", "createOrReplace"):
            return _planned(writer.replaceCommand, action == "createOrReplace")
        return _planned(getattr(writer, f"{action}Command"), *arguments)

    return GivenWrite(frame=frame, kind="table", target=table, format="table", mode=ACTIONS_V2[action], make=make, command=command)


def like(spark: SparkSession, writer: JavaObject, other: JavaObject) -> JavaObject:
    """Another frame's writer, set up as this one is.

    By the fields that Java has: a writer of the second version tells nobody how it was set up.
    """
    for name, one in _fields(writer):
        final = bool(one.getModifiers() & _FINAL)
        if not final:
            one.set(other, one.get(writer))
        elif name in ("options", "properties"):
            java_map = static_method(spark, "scala.jdk.javaapi.CollectionConverters", "asJava")
            java_map(one.get(other)).putAll(java_map(one.get(writer)))
    return other


def _fields(writer: JavaObject) -> Iterator[tuple[str, JavaObject]]:
    kind = writer.getClass()
    while str(kind.getName()) != "java.lang.Object":
        for one in kind.getDeclaredFields():
            if not one.getModifiers() & _STATIC:
                one.setAccessible(True)
                yield str(one.getName()), one
        kind = kind.getSuperclass()


def _planned(method: Any, *arguments: Any) -> JavaObject | None:
    """The plan that a method gives; None where this Spark has no such method."""
    from py4j.protocol import Py4JError, Py4JJavaError

    try:
        return method(*arguments)
    except Py4JJavaError:
        raise
    except Py4JError:
        return None


def table_name(parts: JavaObject) -> str:
    """The name of a table, as Spark reads it again."""
    return ".".join(str(part) if re.fullmatch(r"[A-Za-z_]\w*", str(part), re.ASCII) else quoted(str(part)) for part in items(parts))
