"""Can a frame be written to a place? Found out before the pipeline is computed: in our words, and with nothing left behind.

What only shows while rows are written (a disk that fills up, a database that is stopped) is not found here.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampType,
)

from airflow_lineage_provider.catalyst.datatypes import ddl
from airflow_lineage_provider.errors import InvalidOutput, LoadFailed, StoreNotPermitted
from airflow_lineage_provider.secrecy import redact
from airflow_lineage_provider.spark.executing.columns_there import columns_there
from airflow_lineage_provider.spark.executing.places import Place, place_of
from airflow_lineage_provider.spark.jvm_classes import java_class
from airflow_lineage_provider.store import Column
from airflow_lineage_provider.store.result_check import check_result_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from airflow_lineage_provider.words import OutputMode

_INSTEAD = "use +overwrite or +append, or another place"
# Whether a file format can hold a type is known to these alone.
_FORMATS = {"parquet": "ParquetFileFormat", "csv": "CSVFileFormat", "json": "JsonFileFormat", "orc": "OrcFileFormat"}

_HELD_BY_ALL = frozenset(
    {BooleanType, ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType, DecimalType, StringType, DateType, TimestampType}
)


def check_path(frame: DataFrame, path: str, format: str, mode: OutputMode) -> None:
    """:raises InvalidOutput: the frame cannot be written as files of this format at this path."""
    spark = frame.sparkSession
    _check_format(spark, format)
    _check_columns(frame, format, f"files of {format}")
    place = _place(spark, path)
    try:
        there = place.exists()
        if there and mode == "error":
            raise InvalidOutput(f"the output {path} exists already; {_INSTEAD}")
        if there and mode == "append" and place.is_folder():
            _check_same_columns(frame.schema, columns_there(spark, place, path, format), format, path)
        _check_writable(place if there and mode == "append" else _folder_above(place, there), path)
    except (Py4JJavaError, PySparkException, OSError) as error:
        raise InvalidOutput(f"the output {redact(path)} cannot be used: {_cause(error)}") from error


def check_table(frame: DataFrame, name: str, mode: OutputMode) -> None:
    """:raises InvalidOutput: the frame cannot be written as this table of Spark's catalog."""
    spark = frame.sparkSession
    format = str(spark.conf.get("spark.sql.sources.default"))
    try:
        parts = _parts(spark, name)
        if len(parts) > 1 and not spark.catalog.databaseExists(".".join(f"`{part.replace('`', '``')}`" for part in parts[:-1])):
            raise InvalidOutput(f"the output table {name} cannot be made: there is no database {'.'.join(parts[:-1])}")
        there = spark.catalog.tableExists(name)
        if there and mode == "error":
            raise InvalidOutput(f"the output table {name} exists already; {_INSTEAD}")
        if there and mode == "append":
            _check_assignable(frame, spark.table(name), name)
    except (Py4JJavaError, PySparkException) as error:
        raise InvalidOutput(f"the output table {name} cannot be used: {_cause(error)}") from error
    _check_columns(frame, format, f"a table of {format}")


def check_postgres(frame: DataFrame, url: str, name: str, mode: OutputMode) -> None:
    """:raises InvalidOutput: the frame cannot be written as this PostgreSQL table. :raises StoreUnavailable: the server does not answer."""
    columns = [Column(name=field.name, type=ddl(field.jsonValue()["type"])) for field in frame.schema]
    try:
        check_result_table(url, name, columns, mode)
    except (LoadFailed, StoreNotPermitted) as error:
        raise InvalidOutput(str(error)) from error


def _check_format(spark: SparkSession, format: str) -> None:
    if format.lower() in _FORMATS:
        return
    try:
        sources = java_class(spark, "org.apache.spark.sql.execution.datasources.DataSource")
        sources.lookupDataSource(format, spark._jsparkSession.sessionState().conf())
    except (Py4JJavaError, PySparkException) as error:
        raise InvalidOutput(f"output format {format!r} is not known to this Spark; it can be {', '.join(_FORMATS)}") from error


def _check_columns(frame: DataFrame, format: str, what: str) -> None:
    """Names that are not twice there, and types that the format can hold."""
    spark = frame.sparkSession
    names = frame.columns
    if not names:
        raise InvalidOutput(f"the result has no columns: it cannot be written as {what}; select at least one")
    same = names if spark.conf.get("spark.sql.caseSensitive") == "true" else [name.lower() for name in names]
    twice = sorted({name for name, key in zip(names, same, strict=True) if same.count(key) > 1})
    if twice:
        raise InvalidOutput(f"the result has several columns named {', '.join(twice)}: they cannot be written as {what}; name them apart")
    if format.lower() not in _FORMATS:
        return
    asked = [(at, field) for at, field in enumerate(frame.schema) if type(field.dataType) not in _HELD_BY_ALL]
    if not asked:
        return
    name = f"org.apache.spark.sql.execution.datasources.{format.lower()}.{_FORMATS[format.lower()]}"
    known, schema = java_class(spark, name)(), frame._jdf.schema()
    for at, field in asked:
        if not known.supportDataType(schema.apply(at).dataType()):
            raise InvalidOutput(f"column {field.name} is of type {field.dataType.simpleString()}, which {format} cannot hold")


def _place(spark: SparkSession, path: str) -> Place:
    scheme = path.partition(":")[0]
    try:
        return place_of(spark, path)
    except (Py4JJavaError, PySparkException) as error:
        if "No FileSystem for scheme" in str(error) or "ClassNotFoundException" in str(error):
            raise InvalidOutput(
                f"the output {redact(path)} cannot be reached: this Spark has no file system for {scheme!r} (its jar is missing, "
                "or it is no file system)"
            ) from error
        raise InvalidOutput(f"the output {redact(path)} cannot be reached: {_cause(error)}") from error


def _check_same_columns(ours: StructType, there: StructType | None, format: str, path: str) -> None:
    """Rows of other columns beside those that are there would make both unreadable, or be read as something else."""
    if there is None or not there.fields:
        return
    if format == "csv":  # the names are not in the files, and everything is text
        same = len(ours) == len(there)
    elif format == "json":  # a column that is NULL everywhere is not in the files
        same = set(there.names) <= set(ours.names)
    else:
        same = _named_types(ours) == _named_types(there)
    if not same:
        raise InvalidOutput(
            f"the output {path} has rows of other columns, to which the result cannot be appended: {_told(there)} there, {_told(ours)} here"
        )


def _check_assignable(frame: DataFrame, there: DataFrame, name: str) -> None:
    """By name, as `saveAsTable` appends; every value must fit by Spark's rules of assignment."""
    cast = java_class(frame.sparkSession, "org.apache.spark.sql.catalyst.expressions.Cast")
    ours, theirs = frame._jdf.schema(), there._jdf.schema()
    exact = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    places = {(each if exact else each.lower()): at for at, each in enumerate(there.columns)}
    found = [places.get(each if exact else each.lower()) for each in frame.columns]
    fits = all(
        at is not None and cast.canANSIStoreAssign(ours.apply(own).dataType(), theirs.apply(at).dataType()) for own, at in enumerate(found)
    )
    if not fits or len(frame.columns) != len(there.columns):
        raise InvalidOutput(
            f"the output table {name} has other columns, to which the result cannot be appended: "
            f"{_told(there.schema)} there, {_told(frame.schema)} here"
        )


def _folder_above(place: Place, there: bool) -> Place:
    """Where something has to be made or replaced: the folder above, or above that, which is there."""
    above = place.above() or place
    while not there and not above.exists() and (higher := above.above()) is not None:
        above = higher
    return above


def _check_writable(folder: Place, path: str) -> None:
    """Makes a folder there and takes it away again: rights, mounts and quotas have no other true answer."""
    if not folder.is_folder():
        raise InvalidOutput(f"the output {path} cannot be written: {redact(str(folder))} is a file, not a folder")
    try:
        made = folder.takes_folder(f".lineage-{secrets.token_hex(8)}")
    except (Py4JJavaError, PySparkException, OSError) as error:
        raise InvalidOutput(f"the output {path} cannot be written: {redact(str(folder))} takes no new files ({_cause(error)})") from error
    if not made:
        raise InvalidOutput(f"the output {path} cannot be written: {redact(str(folder))} takes no new files")


def _parts(spark: SparkSession, name: str) -> list[str]:
    found = spark._jsparkSession.sessionState().sqlParser().parseMultipartIdentifier(name)
    return [str(found.apply(at)) for at in range(found.size())]


def _named_types(schema: StructType) -> set[tuple[str, str]]:
    return {(field.name, field.dataType.simpleString()) for field in schema}


def _told(schema: StructType) -> str:
    named = [f"{field.name} {field.dataType.simpleString()}" for field in schema]
    return ", ".join(named[:20]) + (f" and {len(named) - 20} more" if len(named) > 20 else "")


def _cause(error: Exception) -> str:
    """The last thing that Java, or this machine, says went wrong, in one line."""
    if isinstance(error, OSError):
        text = error.strerror or str(error)
    elif isinstance(error, PySparkException):
        text = str(error)
    else:
        root = error.java_exception  # type: ignore[attr-defined]
        while root.getCause() is not None:
            root = root.getCause()
        text = f"{root.getClass().getSimpleName()}: {root.getMessage()}"
    return redact(text.strip().splitlines()[0])
