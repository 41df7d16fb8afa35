"""Rows between Spark and Arrow: the types that PySpark carries to nobody travel as others, and come back as themselves.

A year-month interval travels as its number of months, an interval of no fixed length (`make_interval`) as Spark's text of it; also
inside arrays, maps and structs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from airflow_lineage_provider.catalyst.datatypes import ddl
from airflow_lineage_provider.sql.types import travelling

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession


def carried(frame: DataFrame) -> DataFrame:
    """The frame in types that Arrow takes; values and names are the same."""
    schema = frame.schema
    if "interval" not in schema.simpleString():
        return frame
    steps = [travelling(ddl(field.jsonValue()["type"])) for field in schema]
    return _cast(frame, steps) if any(steps) else frame


def to_arrow(frame: DataFrame) -> pa.Table:
    """The frame's rows.

    :raises pyspark.errors.PySparkException, py4j.protocol.Py4JError: Spark failed.
    """
    return carried(frame).toArrow()


def schema_of(types: Iterable[str]) -> str:
    """The schema under which rows of these types come from Arrow: columns ``c0`` …"""
    return ", ".join(f"c{i} {(travelling(text) or (text,))[-1]}" for i, text in enumerate(types))


def received(frame: DataFrame, types: Sequence[str]) -> DataFrame:
    """A frame that came from Arrow under `schema_of`, with its own types."""
    back = []
    for text in types:
        steps = travelling(text)
        back.append((*reversed(steps[:-1]), text) if steps else ())
    return _cast(frame, back) if any(back) else frame


def arrow_frame(spark: SparkSession, table: pa.Table, types: Sequence[str]) -> DataFrame:
    """An Arrow table as a frame with columns ``c0`` … of exactly these Spark types (Arrow's say less: time zones, collations)."""
    schema = schema_of(types)
    if not table.num_rows:
        return received(spark.createDataFrame([], schema), types)
    # In one chunk: Spark stops reading at the first empty one.
    numbered = table.rename_columns([f"c{i}" for i in range(table.num_columns)]).combine_chunks()
    return received(spark.createDataFrame(numbered, schema), types)


def _cast(frame: DataFrame, steps: Sequence[Sequence[str]]) -> DataFrame:
    """Columns cast step by step; by position, since names may repeat."""
    names = frame.columns
    numbered = frame.toDF(*(f"c{i}" for i in range(len(names))))
    columns: list[Column] = []
    for i, casts in enumerate(steps):
        column = F.col(f"c{i}")
        for one in casts:
            column = column.cast(one)
        columns.append(column.alias(f"c{i}"))
    return numbered.select(*columns).toDF(*names)
