"""Unions of which Spark's optimizer loses columns, in what the package asks and not in the pipeline: asked again without these rules."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.words import Strategy
from tests.in_turn import sampled

pytestmark = pytest.mark.spark

SQL = """
    SELECT * FROM (SELECT *, l.k NOT IN (SELECT k FROM (SELECT k FROM broken_t UNION ALL SELECT k FROM broken_t)) AS found
                   FROM (SELECT k FROM broken_t UNION ALL SELECT k FROM broken_t) AS l) WHERE found OR found
    UNION SELECT k, true AS x FROM broken_u"""


@pytest.mark.parametrize("strategy", sampled(["function_materialization", "rerun"]))
def test_a_union_above_an_in_that_becomes_a_column(spark: SparkSession, lineage: Lineage, strategy: Strategy) -> None:
    spark.createDataFrame([(100, 0)], "rid int, k int").createOrReplaceTempView("broken_t")
    spark.createDataFrame([(200, 0)], "rid int, k int").createOrReplaceTempView("broken_u")
    run = lineage.run(SQL, strategy=strategy)
    assert [tuple(row) for row in run.result.collect()] == [(0, True)]
    found = run.explain("k = 0", save=False, verify=True)
    assert found.sources["broken_u"].rows.column("rid").to_pylist() == [200]
    assert found.verified
