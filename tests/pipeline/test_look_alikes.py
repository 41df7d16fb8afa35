"""What looks like one thing and is two, and what looks like two and is one to Spark: functions of one name, the time, random columns."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.answers import guarantees_of, links_of, sources_of
from tests.in_turn import STRATEGIES, in_turn, sampled

pytestmark = pytest.mark.spark

T = [(1, "a", 1), (2, "a", 5), (3, "b", 5), (4, "b", None), (5, None, 7)]
U = [(11, "a", 1), (12, "a", 2), (13, "b", 5), (14, "c", 6), (15, "b", None)]

plus_one = F.udf(lambda x: None if x is None else x + 1, IntegerType())
times_ten = F.udf(lambda x: None if x is None else x * 10, IntegerType())
as_text = F.udf(lambda x: str(x), StringType())


@reasoned_udf("int")
def twice(x: int | None) -> int | None:
    return None if x is None else 2 * x


@twice.with_reason
def _(x: int | None) -> tuple[int | None, Any]:
    return twice.main(x), {"x": x}


@reasoned_udf("int", name="score")
def champion(x: int | None) -> int:
    return (x or 0) + 100


@champion.with_reason
def _(x: int | None) -> tuple[int, Any]:
    return champion.main(x), {"by": "champion"}


@reasoned_udf("int", name="score")
def challenger(x: int | None) -> int:
    return (x or 0) + 200


@challenger.with_reason
def _(x: int | None) -> tuple[int, Any]:
    return challenger.main(x), {"by": "challenger"}


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lineage]:
    folder: Path = tmp_path_factory.mktemp("look_alikes")
    for name, rows in (("t", T), ("u", U)):
        spark.createDataFrame(rows, "rid int, g string, d int").repartition(2, "rid").write.parquet(str(folder / name))
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    twice.register(spark)
    yield Lineage(spark, store=store)
    for name in ("t", "u"):
        spark.catalog.dropTempView(name)


def two_columns(spark: SparkSession) -> DataFrame:
    return spark.table("t").select("rid", plus_one("d").alias("a"), times_ten("d").alias("b"))


def two_types(spark: SparkSession) -> DataFrame:
    return spark.table("t").select("rid", plus_one("d").alias("a"), as_text("d").alias("b"))


def a_condition(spark: SparkSession) -> DataFrame:
    return spark.table("t").where((plus_one("d") > 5) & (times_ten("d") < 60)).select("rid")


def groups(spark: SparkSession) -> DataFrame:
    return spark.table("t").groupBy(plus_one("d").alias("a")).agg(F.sum(times_ten("d")).alias("s"), F.max(plus_one("d")).alias("m"))


@pytest.mark.parametrize(("pipeline", "strategy"), in_turn([two_columns, two_types, a_condition, groups], STRATEGIES))
def test_two_functions_of_one_name_are_two(lineage: Lineage, spark: SparkSession, pipeline: Any, strategy: Strategy) -> None:
    """All lambdas are called ``lambda``."""
    run = lineage.run(pipeline, strategy=strategy)
    assert Counter(map(tuple, run.result.collect())) == Counter(map(tuple, pipeline(spark).collect()))
    found = run.explain("true", save=False)
    assert {guarantees_of(found)[name].level for name in sources_of(found)} == {"exact"}
    assert {"lambda", "lambda_2"} <= set(found.reasons)
    run.close()


def test_one_function_that_is_called_twice_is_one(lineage: Lineage) -> None:
    run = lineage.run(lambda spark: spark.table("t").select("rid", plus_one("d").alias("a"), (plus_one("d") + 1).alias("b")))
    assert list(run.explain("rid = 1", save=False).reasons) == ["lambda"]
    run.close()


@pytest.mark.parametrize("strategy", ["function_materialization", "rerun"])
def test_two_declared_functions_of_one_name_give_their_own_reasons(lineage: Lineage, strategy: Strategy) -> None:
    """They are stored under every strategy: a derivation would find but one of them."""
    run = lineage.run(
        lambda spark: spark.table("t").select("rid", champion.column("d").alias("a"), challenger.column("d").alias("b")),
        reasons="eager",
        strategy=strategy,
    )
    assert {tuple(row) for row in run.result.where("rid < 3").collect()} == {(1, 101, 201), (2, 105, 205)}
    found = run.explain("rid = 1", save=False)
    told = {(row["value"], '"champion"' in row["reason"]) for table in found.reasons.values() for row in table.to_pylist()}
    assert told == {(101, True), (201, False)}
    run.close()


@pytest.mark.parametrize("strategy", ["function_materialization", "rerun"])
def test_the_time_is_one_in_the_whole_pipeline(lineage: Lineage, strategy: Strategy) -> None:
    run = lineage.run(
        "SELECT rid, b = current_timestamp() AND now() = b AS same, c = current_date() AS day "
        "FROM (SELECT rid, twice(d) AS z, current_timestamp() AS b, current_date() AS c FROM t) WHERE z > 2 AND c <= 'Today' "
        "AND CAST(' yesterday' AS DATE) < c AND DATE'2000-01-01' IN (SELECT CAST('2000-01-01' AS DATE) WHERE current_date() < 'tomorrow')",
        strategy=strategy,
    )
    assert {(row["same"], row["day"]) for row in run.result.collect()} == {(True, True)}
    # Of what the text says the plan has the day that it was then.
    assert not re.search("today|yesterday|tomorrow", repr(run.plan), re.IGNORECASE)
    run.close()


@pytest.mark.parametrize("made", ["uuid()", "shuffle(array(rid, 2, 3, 4, 5, 6, 7, 8, 9))", "rand()"])
def test_a_random_column_that_is_read_twice_is_one(lineage: Lineage, made: str) -> None:
    run = lineage.run(f"WITH c AS (SELECT rid, {made} AS id FROM t) SELECT a.rid FROM c AS a JOIN c AS b ON a.id = b.id AND a.rid = b.rid")
    assert run.result.count() == 5
    run.close()


def test_a_table_expression_of_a_random_udf_is_read_once(lineage: Lineage, spark: SparkSession) -> None:
    spark.udf.register("dice", F.udf(lambda x: random.random(), "double").asNondeterministic())
    with pytest.raises(UnsupportedOperator, match="non-deterministic UDF dice and is read 2 times"):
        lineage.run("WITH c AS (SELECT rid, dice(d) AS v FROM t) SELECT a.rid FROM c AS a JOIN c AS b ON a.rid = b.rid WHERE a.v = b.v")
    run = lineage.run("WITH c AS (SELECT rid, dice(d) AS v FROM t) SELECT rid FROM c WHERE v < 2")
    assert run.result.count() == 5
    run.close()


# --- correlated subqueries ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "subquery",
    [
        "(SELECT max(twice(c)) FROM explode(array(t.d)) AS e(c))",
        "(SELECT sum(twice(c)) FROM (SELECT explode(array(t.d)) AS c))",
        "(SELECT count(*) FROM u, explode(array(t.d)) AS e(c) WHERE twice(c) > u.d)",
    ],
)
def test_a_udf_of_generated_outer_columns_is_refused(lineage: Lineage, subquery: str) -> None:
    with pytest.raises(UnsupportedOperator, match="the UDF twice called in a correlated subquery on columns of the outer query"):
        lineage.run(f"SELECT rid, {subquery} AS v FROM t")


LIMITS = {
    "u.d <= t.d ORDER BY u.d DESC LIMIT 2": {(1, 11), (2, 13), (2, 12), (3, 13), (3, 12), (5, 14), (5, 13)},
    "u.g = t.g ORDER BY u.d DESC LIMIT 1 OFFSET 1": {(1, 11), (2, 11), (3, 15), (4, 15)},
}


@pytest.mark.parametrize(("limit", "strategy"), in_turn(LIMITS, STRATEGIES))
def test_a_limit_in_a_lateral_join_has_its_rows_alone(lineage: Lineage, limit: str, strategy: Strategy) -> None:
    """Not those that they outdid, although Spark numbers them all."""
    run = lineage.run(f"SELECT t.rid, x.rid AS other FROM t, LATERAL (SELECT u.rid, u.d FROM u WHERE {limit}) AS x", strategy=strategy)
    found = run.explain("true", save=False)
    rids = {name: table.column("rid").to_pylist() for name, table in found.sources.items()}
    behind: dict[int, set[int]] = {}
    for link in links_of(found)["target"].to_pylist():
        behind.setdefault(link["row"], set()).add(rids[link["source"]][link["source_row"]])
    pairs = [tuple(row.values()) for row in found.target.to_pylist()]
    assert set(pairs) == LIMITS[limit]
    assert [behind[at] for at in range(len(pairs))] == [set(pair) for pair in pairs]
    assert {one.level for one in guarantees_of(found).values()} == {"exact"}
    run.close()


@pytest.mark.parametrize(("rid", "latest"), sampled([(2, {13}), (1, {11}), (4, set()), (3, {13}), (5, {14})], 2))
def test_the_first_by_a_column_that_is_not_selected(lineage: Lineage, rid: int, latest: set[int]) -> None:
    run = lineage.run("SELECT rid, (SELECT u.rid FROM u WHERE u.d <= t.d ORDER BY u.d DESC LIMIT 1) AS other FROM t")
    assert {row["rid"]: row["other"] for row in run.result.collect()}[rid] == next(iter(latest), None)
    assert set(sources_of(run.explain(f"rid = {rid}", save=False))["u"].column("rid").to_pylist()) == latest
    run.close()


@pytest.mark.parametrize("strategy", sampled(["function_materialization", "full_materialization", "rerun"], 3))
def test_what_became_of_rows_of_a_subquery_with_a_udf(lineage: Lineage, strategy: Strategy) -> None:
    """Its rows are joined with the outer query's values, and a stored row is one of a row and a value."""
    run = lineage.run("SELECT rid FROM t WHERE EXISTS (SELECT u.g FROM u WHERE twice(u.d) <= t.d GROUP BY u.g)", strategy=strategy)
    found = run.why_not("true", table="u")
    assert found.guarantee.level == "exact", found.guarantee
    fates = dict(zip(found.rows.column("rid").to_pylist(), (fate.path[-1].descendants for fate in found.fates), strict=True))
    assert fates == {11: 3, 12: 3, 13: 0, 14: 0, 15: 0}
    run.close()


def test_two_subqueries_over_sums_of_doubles(lineage: Lineage, spark: SparkSession) -> None:
    """The second one's domain does not compute the first one's sum again, which might come out otherwise."""
    sql = "SELECT rid, (SELECT avg(u.d) FROM u WHERE u.d < t.d) AS a, (SELECT max(u.d) FROM u WHERE u.d > t.d) AS b FROM t"
    run = lineage.run(sql)
    assert Counter(map(tuple, run.result.collect())) == Counter(map(tuple, spark.sql(sql).collect()))
    assert set(sources_of(run.explain("rid = 2", save=False))["u"].column("rid").to_pylist()) == {11, 12, 14}
    run.close()


def test_an_empty_list_for_no_row(lineage: Lineage) -> None:
    run = lineage.run("SELECT rid, (SELECT collect_list(u.rid) FROM u WHERE u.g = t.g) AS others FROM t")
    assert {row["rid"]: sorted(row["others"]) for row in run.result.collect()}[5] == []
    assert sources_of(run.explain("rid = 5", save=False))["u"].num_rows == 0
    run.close()
