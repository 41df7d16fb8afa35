"""A UDF's call and a subquery in one SELECT: behind the decision stand the rows that the function read, not those of the subquery."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.answers import guarantees_of, links_of
from tests.in_turn import in_turn, sampled

pytestmark = pytest.mark.spark


@reasoned_udf("int")
def twice(x: int | None) -> int | None:
    return None if x is None else 2 * x


@twice.with_reason
def _(x: int | None) -> tuple[int | None, dict[str, int | None]]:
    return twice.main(x), {"x": x}


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store) -> Iterator[Lineage]:
    twice.register(spark)
    careful.register(spark)
    spark.createDataFrame([(1, "a", 1), (2, "a", 5), (3, "b", 5), (4, "b", None)], "rid int, g string, d int").createOrReplaceTempView("t")
    spark.createDataFrame([(11, "a", 1), (12, "a", 2), (13, "b", 5), (14, "c", 6)], "rid int, g string, d int").createOrReplaceTempView("u")
    yield Lineage(spark, store=store)
    for name in ("t", "u"):
        spark.catalog.dropTempView(name)


@reasoned_udf("int")
def careful(x: int | None) -> int:
    if x is None:
        raise ValueError("no number")
    return x


@careful.with_reason
def _(x: int | None) -> tuple[int, dict[str, int | None]]:
    return careful.main(x), {"x": x}


OF_EACH_ROW = {("twice", 1): {1}, ("twice", 5): {2, 3}, ("twice", None): {4}}
# The pipeline, the target, the rows behind the target, and those behind each call by its argument.
CASES: dict[str, tuple[str, str, set[int], dict[tuple[str, int | None], set[int]]]] = {
    "a plain subquery": (
        "SELECT rid, twice(d) AS v, (SELECT max(d) FROM u) AS m FROM t", "true", {1, 2, 3, 4, 11, 12, 13, 14}, OF_EACH_ROW,
    ),
    "a correlated subquery": (
        "SELECT rid, twice(d) AS v, (SELECT max(d) FROM u WHERE u.g = t.g) AS m FROM t", "rid = 1", {1, 11, 12}, {("twice", 1): {1}},
    ),
    "several subqueries": (
        "SELECT rid, twice(d) AS v, (SELECT count(*) FROM u WHERE u.g = t.g) AS m, (SELECT min(rid) FROM u) AS n FROM t",
        "rid = 1", {1, 11, 12, 13, 14}, {("twice", 1): {1}},
    ),
    "correlated by more than equality": (
        "SELECT rid, twice(d) AS v, (SELECT count(*) FROM u WHERE u.d <= t.d) AS m FROM t", "rid = 1", {1, 11}, {("twice", 1): {1}},
    ),
    "not aggregated": (
        "SELECT rid, twice(d) AS v, (SELECT rid FROM u WHERE u.d = t.d) AS m FROM t", "rid = 1", {1, 11}, {("twice", 1): {1}},
    ),
    "EXISTS among the columns": (
        "SELECT rid, twice(d) AS v, EXISTS (SELECT 1 FROM u WHERE u.g = t.g) AS m FROM t", "rid = 1", {1, 11, 12}, {("twice", 1): {1}},
    ),
    "IN among the columns": (
        "SELECT rid, d IN (SELECT d FROM u) AND twice(d) = 2 AS v FROM t", "rid = 1", {1, 11}, {("twice", 1): {1}},
    ),
    "a condition on both": (
        "SELECT rid FROM t WHERE twice(d) > (SELECT count(*) FROM u WHERE u.g = t.g) AND g = 'b'", "true", {3, 13}, {("twice", 5): {3}},
    ),
    "the same call twice": (
        "SELECT rid, twice(d) + 1 AS v FROM t WHERE twice(d) > (SELECT count(*) FROM u WHERE u.g = t.g) AND g = 'b'",
        # That of SELECT is made of what the condition let pass.
        "true", {3, 13}, {("twice", 5): {3, 13}},
    ),
    "EXISTS in a condition with a call": (
        "SELECT rid FROM t WHERE g = 'a' AND (twice(d) = 10 OR EXISTS (SELECT 1 FROM u WHERE u.d = t.d))",
        "rid = 1", {1, 11}, {("twice", 1): {1}},
    ),
    "a condition lets no row pass that the function fails on": (
        "SELECT rid FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.d = t.d) AND (careful(d) = 1 OR rid IN (SELECT rid FROM u))",
        "true", {1, 11}, {("careful", 1): {1, 11}},
    ),
    "in groups": (
        "SELECT twice(d) AS v, count(*) AS c, (SELECT max(d) FROM u) AS m FROM t GROUP BY twice(d)", "v = 10",
        {2, 3, 11, 12, 13, 14}, {("twice", 5): {2, 3}},
    ),
    "in an aggregate": (
        "SELECT g, max(twice(d)) AS v, (SELECT max(d) FROM u) AS m FROM t GROUP BY g", "g = 'a'",
        {1, 2, 11, 12, 13, 14}, {("twice", 1): {1}, ("twice", 5): {2}},
    ),
    "a call in a call": (
        "SELECT rid, twice(twice(d)) AS v, (SELECT max(d) FROM u) AS m FROM t", "rid = 1", {1, 11, 12, 13, 14},
        {("twice", 1): {1}, ("twice", 2): {1}},
    ),
    "the call reads the subquery": (
        "SELECT rid, twice((SELECT count(*) FROM u WHERE u.g = t.g)) AS v FROM t", "rid = 1", {1, 11, 12}, {("twice", 2): {1, 11, 12}},
    ),
    "inside a subquery": (
        "SELECT rid, (SELECT sum(z.v) FROM (SELECT g, twice(d) + (SELECT min(d) FROM t) AS v FROM u) AS z WHERE z.g = t.g) AS s FROM t",
        "rid = 3", {1, 2, 3, 4, 13}, {("twice", 5): {13}},
    ),
    "as the paper has it, the call above the subquery": (
        "SELECT rid, twice(d) AS v FROM (SELECT *, (SELECT max(d) FROM u WHERE u.g = t.g) AS m FROM t)", "rid = 1", {1, 11, 12},
        {("twice", 1): {1, 11, 12}},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "strategy"), in_turn(sampled(CASES), ("function_materialization", "rerun")))
def test_a_decision_is_made_of_what_the_function_read(name: str, strategy: Strategy, lineage: Lineage, spark: SparkSession) -> None:
    query, target, rows, calls = CASES[name]
    run = lineage.run(query, name="calls beside subqueries", strategy=strategy)
    assert sorted(map(str, run.result.collect())) == sorted(map(str, spark.sql(query).collect()))
    found = run.explain(target, save=False)
    run.close()
    assert {one.level for one in guarantees_of(found).values()} == {"exact"}
    rids = {table: data.column("rid").to_pylist() for table, data in found.sources.items()}
    assert {rid for some in rids.values() for rid in some} == rows
    assert _behind_calls(found, rids) == calls
    lineage.drop(run.id)


def test_the_call_of_a_data_frame(lineage: Lineage, spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    call = F.call_function("twice", "d").alias("v")
    frame = spark.table("t").select("rid", call, spark.table("u").agg(F.max("d")).scalar().alias("m"))
    run = lineage.run(lambda spark: frame, name="calls beside subqueries")
    found = run.explain("rid = 1", save=False)
    run.close()
    assert _behind_calls(found, {name: data.column("rid").to_pylist() for name, data in found.sources.items()}) == {("twice", 1): {1}}
    lineage.drop(run.id)


def _behind_calls(found: Explanation, rids: dict[str, list[int]]) -> dict[tuple[str, int | None], set[int]]:
    behind: dict[tuple[str, int | None], set[int]] = {}
    for name, table in found.reasons.items():
        udf = name.split("_")[0]
        arguments = table.column(1).to_pylist()
        for link in links_of(found)[name].to_pylist():
            behind.setdefault((udf, arguments[link["row"]]), set()).add(rids[link["source"]][link["source_row"]])
    return behind
