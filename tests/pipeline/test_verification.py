"""`verify=True`: the pipeline over the derived lineage alone gives the target again, up to rounding."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.errors import LineageError
from tests.answers import guarantees_of
from tests.pipeline.small_files import view

pytestmark = pytest.mark.spark


@reasoned_udf("double")
def ratio(x: float) -> float:
    return x / 3


def test_verification_with_every_shape_of_column(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(
        spark,
        tmp_path,
        "w",
        [(1, {"k": 1.5}, [math.nan], (1, "x"), datetime.datetime(2024, 3, 31, 2, 30)), (2, None, None, None, None)],
        "rid int, m map<string,double>, a array<double>, s struct<x: int, y: string>, t timestamp_ntz",
    )
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        run = lineage.run("SELECT * FROM w")
        for rid in (1, 2):
            found = run.explain(f"rid = {rid}", verify=True)
            assert found.verified, found.verification
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_verification_of_float_sums(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    spark.range(0, 20000, 1, 7).selectExpr("id AS rid", "id % 3 AS g", "0.1D * (id * 7919 % 1000) AS x").write.parquet(str(tmp_path / "w"))
    spark.read.parquet(str(tmp_path / "w")).createOrReplaceTempView("w")
    found = lineage.run("SELECT g, sum(x) AS s FROM w GROUP BY g").explain("g = 1", verify=True)
    assert found.verified, found.verification


def test_verification_with_an_undeclared_udf(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a")], "rid int, g string")
    plain = F.udf(lambda x: x * 2, "int")
    run = lineage.run(lambda session: session.table("w").select(plain("rid").alias("twice")))
    with pytest.raises(LineageError):
        run.explain("twice = 2", verify=True)


def test_values_that_rounding_or_nan_makes_differ_are_the_same(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, 0.1), (2, 0.2)], "rid int, x double")

    @reasoned_udf("array<double>", name="wobbly", vectorized="arrow")
    def wobbly(x: Any) -> Any:
        return pa.array([[v * (1 + 1e-15 * len(x)), math.nan] for v in x.to_pylist()])

    @wobbly.with_reason
    def _(x: Any) -> Any:
        return wobbly.main(x), [{"x": v} for v in x.to_pylist()]

    wobbly.register(spark)
    run = lineage.run("SELECT rid, wobbly(x) AS y FROM w")
    found = run.explain("rid = 1")
    assert guarantees_of(found)["wobbly"].level == "exact", guarantees_of(found)
