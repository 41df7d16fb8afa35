"""Whether two frames have the same rows, each as often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from airflow_lineage_provider.spark.frames import renamed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_DIGITS = 11
"""Digits of a floating-point number that are compared, after the first: sums of them differ in the last ones from run to run."""


def differing_rows(one: DataFrame, other: DataFrame) -> tuple[int, int]:
    """How many rows the first has that the second has not, and the other way round; each frame is computed once.

    Columns are compared by position, as texts.
    """
    both = _texts(one).select("row", F.lit(1).alias("more")).unionAll(_texts(other).select("row", F.lit(-1).alias("more")))
    more = both.groupBy("row").agg(F.sum("more").alias("more"))
    (found,) = more.agg(*(F.coalesce(F.sum(F.greatest(F.lit(0), sign * F.col("more"))), F.lit(0)) for sign in (1, -1))).collect()
    return found[0], found[1]


def _texts(frame: DataFrame) -> DataFrame:
    numbered = renamed(frame, [f"c{at}" for at in range(len(frame.columns))])
    columns = [_text(F.col(f"c{at}"), kind) for at, (_, kind) in enumerate(numbered.dtypes)]
    return numbered.select(F.to_json(F.array(*columns), {"ignoreNullFields": "false"}).alias("row"))


def _text(column: Column, kind: str) -> Column:
    if kind in ("float", "double"):
        plain = F.isnan(column) | (F.abs(column) == float("inf"))
        return F.when(plain, column.cast("string")).otherwise(F.format_string(f"%.{_DIGITS}e", column.cast("double") + F.lit(0.0)))
    return column.cast("string")
