"""The user's partitions: the same number of files, and the same rows together, whatever is recorded on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.running.output import Output
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.answers import guarantees_of
from tests.in_turn import STRATEGIES, in_turn
from tests.pipeline.small_files import rids, view

pytestmark = pytest.mark.spark


@pytest.fixture
def lineage(spark: SparkSession, store: Store, tmp_path: Path) -> Iterator[Lineage]:
    view(spark, tmp_path, "w", [(i, i % 3) for i in range(30)], "rid int, k int")
    spark.udf.register("plus", lambda x: x + 1, "int")
    yield Lineage(spark, store=store)
    spark.catalog.dropTempView("w")
    spark.sql("DROP TEMPORARY FUNCTION plus")


FILES = {
    "SELECT /*+ REPARTITION(5) */ rid, plus(k) AS j FROM w": 5,
    "SELECT /*+ COALESCE(1) */ rid, plus(k) AS j FROM (SELECT /*+ REPARTITION(4) */ * FROM w)": 1,
    "SELECT /*+ REPARTITION_BY_RANGE(3, rid) */ rid, plus(k) AS j FROM w": 3,
    "SELECT /*+ REPARTITION(6, rid) */ rid, plus(k) AS j FROM w WHERE rid >= 0": 6,
}


@pytest.mark.parametrize(("sql", "strategy"), in_turn(FILES, STRATEGIES))
def test_an_output_has_as_many_files(lineage: Lineage, spark: SparkSession, tmp_path: Path, sql: str, strategy: Strategy) -> None:
    run = lineage.run(sql, strategy=strategy, output=Output.path(str(tmp_path / "out")))
    run.close()
    assert len(list((tmp_path / "out").glob("*.parquet"))) == FILES[sql]
    assert spark.read.parquet(str(tmp_path / "out")).count() == 30
    assert rids(run.explain("rid = 7"), "w") == [7]


def by_partition(spark: SparkSession) -> DataFrame:
    """The first row of each batch, in partitions by k and sorted in them: one row a partition."""

    def first(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            yield batch.groupby("k", as_index=False, sort=False).first()[["k", "rid"]]

    spread = spark.table("w").repartition(2, "k").sortWithinPartitions("k", "rid", ascending=[True, False])
    return spread.mapInPandas(first, "k int, rid int")


def test_a_function_of_batches_sees_the_same_rows_together(lineage: Lineage) -> None:
    run = lineage.run(by_partition)
    assert sorted(map(tuple, run.result.collect())) == [(0, 27), (1, 28), (2, 29)]
    run.close()


def test_a_script_sees_the_rows_in_the_order_asked_for(lineage: Lineage, spark: SparkSession) -> None:
    sql = "SELECT TRANSFORM(k) USING 'uniq' AS (k int) FROM (SELECT k FROM w DISTRIBUTE BY k % 2 SORT BY k)"
    run = lineage.run(sql)
    assert sorted(map(tuple, run.result.collect())) == sorted(map(tuple, spark.sql(sql).collect())) == [(0,), (1,), (2,)]
    run.close()
    found = run.explain("k = 1")
    assert (len(rids(found, "w")), guarantees_of(found)["w"].level) == (30, "superset")


def computed(spark: SparkSession) -> DataFrame:
    return spark.table("w").repartition(4, F.col("rid") % 5).repartitionByRange(2, F.col("rid").desc()).groupBy("k").count()


def test_computed_keys_and_what_stands_above(lineage: Lineage) -> None:
    run = lineage.run(computed)
    assert run.result.count() == 3
    run.close()
    assert rids(run.explain("k = 1"), "w") == list(range(1, 30, 3))
