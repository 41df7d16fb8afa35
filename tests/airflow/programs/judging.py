"""A function that is called by a driver, with a reasoned UDF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import reasoned_udf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@reasoned_udf("boolean")
def is_large(number: int, limit: int) -> bool:
    return number >= limit


@is_large.with_reason
def why_is_large(number: int, limit: int) -> tuple[bool, Any]:
    return number >= limit, {"above": number - limit}


def judge(spark: SparkSession, rows: int, limit: int, folder: str, key: str = "") -> DataFrame:
    """Writes its input, and gives what it makes of it."""
    is_large.register(spark)
    spark.range(rows).write.mode("overwrite").parquet(f"{folder}/numbers")
    numbers = spark.read.parquet(f"{folder}/numbers")
    return numbers.selectExpr("id", f"is_large(id, {limit}) AS large", f"sha2(cast(id AS string) || '{key}', 256) AS pseudonym")


def fail(spark: SparkSession, folder: str) -> None:
    spark.range(3).write.parquet(f"{folder}/before_it_fails")
    raise ValueError("it is not to be")
