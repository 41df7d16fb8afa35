"""Rows in ranges of columns, a range a file, and in their order: files by whose statistics most of them are skipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from airflow_lineage_provider.errors import InvalidOutput
from airflow_lineage_provider.spark.frames import quoted
from airflow_lineage_provider.spark.jvm_classes import java_class

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check_clustering(frame: DataFrame, columns: Sequence[str]) -> None:
    """:raises InvalidOutput: the frame has no such column, or its values have no order."""
    exact = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    places = {(name if exact else name.lower()): at for at, name in enumerate(frame.columns)}
    found = [places.get(name if exact else name.lower()) for name in columns]
    missing = [name for name, at in zip(columns, found, strict=True) if at is None]
    if missing:
        raise InvalidOutput(f"cluster_by names column {missing[0]}, which the result has not; it has {', '.join(frame.columns)}")
    if len(set(found)) < len(found):
        raise InvalidOutput(f"cluster_by names a column twice: {', '.join(columns)}")
    ordering = java_class(frame.sparkSession, "org.apache.spark.sql.catalyst.expressions.RowOrdering")
    for at in (one for one in found if one is not None):
        field = frame.schema[at]
        if not ordering.isOrderable(frame._jdf.schema().apply(at).dataType()):
            raise InvalidOutput(f"cluster_by names column {field.name}, which is {field.dataType.simpleString()}: its values have no order")


def in_order(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The same rows in the same partitions, sorted within each; as they are where there are no columns."""
    return frame.sortWithinPartitions(*(F.col(quoted(name)) for name in columns)) if columns else frame


def clustered(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The same rows, in ranges of equally many, sorted within each; as many as Spark's shuffles have partitions, or its adaptive execution
    makes of them. Where the ranges begin is found by drawing rows first: what computes the frame runs twice, if it is not kept."""
    keys = [F.col(quoted(name)) for name in columns]
    return frame.repartitionByRange(*keys).sortWithinPartitions(*keys)
