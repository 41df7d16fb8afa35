"""The Python functions that Spark's own SQL tests call by name, as its suite declares them, in our own words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register_python_functions(spark: SparkSession) -> None:
    """``udf`` gives its argument as text, ``udaf`` counts a group's values, the others make tables of numbers or of partitions."""
    from pyspark.sql.pandas.functions import pandas_udf

    spark.udf.register("udf", _text, "string")
    spark.udf.register("udaf", pandas_udf(_counted, "int"))
    spark.udtf.register("udtf", _table_function(_Differences, "x int, y int"))
    spark.udtf.register("UDTFCountSumLast", _table_function(_CountSumLast, "count int, total int, last int"))
    spark.udtf.register("UDTFWithSinglePartition", _table_function(_SinglePartition))
    spark.udtf.register("UDTFPartitionByOrderBy", _table_function(_PartitionedByColumn))


def _table_function(of: type, returns: str | None = None) -> Any:
    """PySpark's types leave open whether this is a function or a decorator of one."""
    from pyspark.sql.functions import udtf

    return udtf(of, returnType=returns)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _counted(values: pd.Series) -> int:
    return int(values.count())


class _Differences:
    def eval(self, a: int, b: int) -> Iterator[tuple[int, int]]:
        if a > 0 and b > 0:
            yield a, a - b
            yield b, b - a
        elif a == 0 and b == 0:
            yield 0, 0


class _CountSumLast:
    def __init__(self) -> None:
        self.count, self.total, self.last = 0, 0, 0

    def eval(self, row: Any) -> None:
        self.count, self.total, self.last = self.count + 1, self.total + row["input"], row["input"]

    def terminate(self) -> Iterator[tuple[int, int, int]]:
        yield self.count, self.total, self.last


class _SinglePartition(_CountSumLast):
    @staticmethod
    def analyze(initial: Any, table: Any) -> Any:
        from pyspark.sql.types import IntegerType, StructType
        from pyspark.sql.udtf import AnalyzeResult, OrderingColumn

        schema = StructType().add("count", IntegerType()).add("total", IntegerType()).add("last", IntegerType())
        order = [OrderingColumn("input"), OrderingColumn("partition_col")]
        return AnalyzeResult(schema=schema, withSinglePartition=True, orderBy=order)

    def eval(self, initial: int, row: Any) -> None:  # type: ignore[override]
        super().eval(row)


class _PartitionedByColumn:
    def __init__(self) -> None:
        self.partition, self.inner = 0, _CountSumLast()

    @staticmethod
    def analyze(table: Any) -> Any:
        from pyspark.sql.types import IntegerType, StructType
        from pyspark.sql.udtf import AnalyzeResult, OrderingColumn, PartitioningColumn

        names = ("partition_col", "count", "total", "last")
        schema = StructType()
        for name in names:
            schema.add(name, IntegerType())
        return AnalyzeResult(schema=schema, partitionBy=[PartitioningColumn("partition_col")], orderBy=[OrderingColumn("input")])

    def eval(self, row: Any) -> None:
        self.partition = row["partition_col"]
        self.inner.eval(row)

    def terminate(self) -> Iterator[tuple[int, int, int, int]]:
        for found in self.inner.terminate():
            yield self.partition, *found
