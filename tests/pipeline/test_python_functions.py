"""Functions over batches and groups of rows: the result is Spark's, and the lineage says what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import DoubleType, LongType

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.store import Store
from tests.answers import guarantees_of, sources_of
from tests.in_turn import sampled

pytestmark = pytest.mark.spark

A_ROWS = [(i, i % 3, "ab"[i % 2]) for i in range(8)]
B_ROWS = [(100 + i, i % 5, "ab"[i % 2]) for i in range(4)]


def double(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for batch in batches:
        yield batch.assign(k=batch.k * 2)


def arrow_double(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def largest(group: pd.DataFrame) -> pd.DataFrame:
    return group.nlargest(1, "rid")[["rid"]]


def counted(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"who": [key[0]], "n": [len(group)]})


def nothing(group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame()


def by_position(group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame([[len(group), "x"]])


def both(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"n": [len(left)], "m": [len(right)]})


def both_with_key(key: tuple[Any, ...], left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"key": [key[0]], "n": [len(left) + len(right)]})


def arrow_counted(key: tuple[Any, ...], group: pa.Table) -> pa.Table:
    return pa.table({"key": pa.array([key[0].as_py()], pa.string()), "n": pa.array([group.num_rows], pa.int64())})


@pandas_udf(DoubleType())
def spread(values: pd.Series) -> float:
    return float(values.max() - values.min())


@pandas_udf(LongType())
def weighed(values: pd.Series, weights: pd.Series) -> int:
    return int((values * weights).sum())


@pandas_udf(LongType())
def how_many(rids: pd.Series) -> int:
    return len(rids)


Pipeline = Callable[[SparkSession], DataFrame]
# (pipeline, target, rids of a, rids of b)
GROUPED: dict[str, tuple[Pipeline, str, set[int], set[int]]] = {
    "a group": (lambda s: s.table("a").groupBy("s").applyInPandas(largest, "rid int"), "rid = 7", {1, 3, 5, 7}, set()),
    "a computed key": (
        lambda s: s.table("a").groupBy((F.col("rid") % 4).alias("p")).applyInPandas(counted, "who int, n long"), "who = 3", {3, 7}, set(),
    ),
    "a key that is NULL": (
        lambda s: s.table("a").selectExpr("rid", "nullif(k, 0) AS k").groupBy("k").applyInPandas(largest, "rid int"),
        "rid = 6", {0, 3, 6}, set(),
    ),
    "columns by position": (lambda s: s.table("a").groupBy("k").applyInPandas(by_position, "n long, x string"), "n = 2", {2, 5}, set()),
    "two groups": (
        lambda s: s.table("a").groupBy("s").cogroup(s.table("b").groupBy("s")).applyInPandas(both, "n long, m long"),
        "n = 4", set(range(8)), {100, 101, 102, 103},
    ),
    "two groups with their key": (
        lambda s: s.table("a").groupBy("k").cogroup(s.table("b").groupBy("k")).applyInPandas(both_with_key, "key int, n long"),
        "key = 3", set(), {103},
    ),
    "an arrow group": (
        lambda s: s.table("a").groupBy("s").applyInArrow(arrow_counted, "key string, n long"), "key = 'a'", {0, 2, 4, 6}, set(),
    ),
    "an aggregate function": (lambda s: s.table("a").groupBy("s").agg(spread("rid").alias("d")), "s = 'a'", {0, 2, 4, 6}, set()),
    "aggregate functions by a computed key, in expressions": (
        lambda s: s.table("a").groupBy((F.col("rid") % 4).alias("p")).agg((spread("rid") + 1).alias("d"), weighed("rid", "k").alias("w"))
        .where("d > 2"),
        "p = 3", {3, 7}, set(),
    ),
    "an aggregate function of all rows": (lambda s: s.table("a").where("k = 1").agg(spread("rid").alias("d")), "d = 6", {1, 4, 7}, set()),
    "an aggregate function in SQL, joined": (
        lambda s: s.sql("SELECT b.s, of_rids(a.rid) AS d FROM a JOIN b ON a.k = b.k GROUP BY b.s HAVING count_rids(a.rid) > 1"),
        "s = 'b'", {1, 4, 7}, {101},
    ),
    "a group over a join, then grouped again": (
        lambda s: s.table("a").join(s.table("b").select("s", F.col("rid").alias("other")), "s").groupBy("k")
        .applyInPandas(largest, "rid int").groupBy().agg(F.max("rid").alias("m")),
        "m = 7", set(range(8)), {100, 101, 102, 103},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lineage]:
    tmp_path = tmp_path_factory.mktemp("tables")
    for name, rows in (("a", A_ROWS), ("b", B_ROWS)):
        spark.createDataFrame(rows, "rid int, k int, s string").coalesce(1).write.parquet(str(tmp_path / name))
        spark.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    spark.udf.register("of_rids", spread)
    spark.udf.register("count_rids", how_many)
    yield Lineage(spark, store=store)
    for name in ("a", "b"):
        spark.catalog.dropTempView(name)


def rids(found: Any, name: str) -> set[int]:
    return set(found.sources[name].column("rid").to_pylist()) if name in sources_of(found) else set()


@pytest.mark.parametrize("name", sampled(GROUPED, 3))
def test_a_group_is_shown_whole_and_marked(lineage: Lineage, spark: SparkSession, name: str) -> None:
    pipeline, target, of_a, of_b = GROUPED[name]
    run = lineage.run(pipeline, name=name)
    assert sorted(map(tuple, run.result.collect())) == sorted(map(tuple, pipeline(spark).collect()))
    run.close()
    found = lineage.get_run(run.id).explain(target, save=False)
    assert (rids(found, "a"), rids(found, "b")) == (of_a, of_b)
    assert found.guarantee.level == "superset"
    assert "whole groups" in found.guarantee.cause


def test_a_function_that_returns_nothing(lineage: Lineage) -> None:
    run = lineage.run(lambda s: s.table("a").groupBy("s").applyInPandas(nothing, "rid int, x string"), name="nothing")
    assert run.result.collect() == []
    run.close()


@pytest.mark.parametrize("method", ["mapInPandas", "mapInArrow"])
def test_a_function_of_batches_is_unavailable_unless_a_key_passes_through(lineage: Lineage, spark: SparkSession, method: str) -> None:
    function = double if method == "mapInPandas" else arrow_double

    def pipeline(spark: SparkSession) -> DataFrame:
        mapped: DataFrame = getattr(spark.table("a").where("rid < 6"), method)(function, "rid int, k int, s string")
        return mapped

    run = lineage.run(pipeline)
    assert sorted(map(tuple, run.result.collect())) == sorted(map(tuple, pipeline(spark).collect()))
    run.close()
    found = lineage.get_run(run.id).explain("rid = 5", save=False)
    assert rids(found, "a") == set()
    assert guarantees_of(found)["a"].level == "unavailable"
    assert "name a column that passes through" in guarantees_of(found)["a"].cause

    keyed = lineage.run(pipeline, keys={function.__name__: ["rid"]})
    keyed.close()
    found = lineage.get_run(keyed.id).explain("rid = 5", save=False)
    assert rids(found, "a") == {5}
    assert guarantees_of(found)["a"].level == "exact"


def test_a_key_that_the_function_does_not_have_is_refused(lineage: Lineage) -> None:
    def pipeline(spark: SparkSession) -> DataFrame:
        return spark.table("a").mapInPandas(double, "rid int, k int, s string")

    with pytest.raises(PlanError, match="column other"):
        lineage.run(pipeline, keys={"double": ["other"]})
