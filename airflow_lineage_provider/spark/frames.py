"""Frames of a frame in a call or two: PySpark asks Java some ten times for each Column, and once for each name in a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.spark.jvm_classes import static_method
from airflow_lineage_provider.spark.jvm_functions import text_array

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def of_sql(spark: SparkSession, text: str) -> DataFrame:
    """The frame of a SQL text without parameters."""
    return _frame(spark, spark._jsparkSession.sql(text))


def columns_named(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """These columns, in this order."""
    if not names:
        return frame.select()
    first, *others = map(quoted, names)
    if not others:
        return frame.select(first)
    return _frame(frame.sparkSession, frame._jdf.select(first, text_array(frame.sparkSession, others)))


def renamed(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """The same columns under these names."""
    return _frame(frame.sparkSession, frame._jdf.toDF(text_array(frame.sparkSession, names))) if names else frame.toDF()


def with_columns(frame: DataFrame, columns: Mapping[str, str]) -> DataFrame:
    """The frame's columns and further ones, by their names, as SQL under its default rules writes them (`session.PARSER`)."""
    return selected(frame, ["*", *(f"{expression} AS {quoted(name)}" for name, expression in columns.items())])


def selected(frame: DataFrame, expressions: Sequence[str]) -> DataFrame:
    """These columns, written likewise."""
    return _frame(frame.sparkSession, frame._jdf.selectExpr(text_array(frame.sparkSession, expressions)))


def persisted(frame: DataFrame) -> DataFrame:
    """The frame, whose rows Spark keeps once they are made: in memory, then on disk, serialized, once."""
    level = static_method(frame.sparkSession, "org.apache.spark.storage.StorageLevel", "MEMORY_AND_DISK_SER")()
    return _frame(frame.sparkSession, frame._jdf.persist(level))


def described(frame: DataFrame, schema: StructType) -> DataFrame:
    """The frame, its columns with the metadata of these."""
    missing = [(own, given) for own, given in zip(frame.schema, schema, strict=True) if own.metadata != given.metadata]
    if not missing or len(set(map(str.lower, frame.columns))) < len(frame.columns):
        return frame
    from pyspark.sql import functions as F

    metadata = {given.name: given.metadata for _, given in missing}
    columns = [F.col(quoted(name)) for name in frame.columns]
    return frame.select([column.alias(name, metadata=metadata[name]) if name in metadata else column
                         for name, column in zip(frame.columns, columns, strict=True)])  # fmt: skip


def _frame(spark: SparkSession, java: JavaObject) -> DataFrame:
    from pyspark.sql.classic.dataframe import DataFrame

    return DataFrame(java, spark)


def quoted(name: str) -> str:
    """A column's name as Spark's functions take it."""
    return "`" + name.replace("`", "``") + "`"
