"""What SQL says in few words, with lineage worked out by hand: SQL functions, session variables, LIMITs of subqueries, summaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.store import Store
from tests.answers import guarantees_of
from tests.in_turn import sampled
from tests.pipeline.test_lineage import SCHEMAS, T, U

pytestmark = pytest.mark.spark

DECLARED = (
    "CREATE OR REPLACE TEMPORARY FUNCTION doubled_in_sql(n INT) RETURNS INT RETURN 2 * n",
    "CREATE OR REPLACE TEMPORARY FUNCTION most_in_sql(k STRING) RETURNS INT RETURN (SELECT max(y) FROM u WHERE u.g = k)",
    "CREATE OR REPLACE TEMPORARY FUNCTION of_group_in_sql(k STRING) RETURNS TABLE (y INT) RETURN SELECT u.y FROM u WHERE u.g = k",
    "DECLARE OR REPLACE VARIABLE least INT DEFAULT 30",
)


def described(spark: SparkSession) -> DataFrame:
    return spark.table("t").where("g = 'a'").select("x").describe()


def summarized(spark: SparkSession) -> DataFrame:
    return spark.table("t").where("x >= 30").summary("count", "50%")


# (pipeline, target, rids of t, rids of u)
CASES: dict[str, tuple[str | Callable[..., Any], str, set[int], set[int]]] = {
    "exists, limited": ("SELECT rid AS r FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.g = t.g LIMIT 1)", "r = 1", {1}, {11, 12}),
    "exists, limited, not correlated": (
        "SELECT rid AS r FROM t WHERE EXISTS (SELECT y FROM u WHERE y < 3 LIMIT 5)",
        "r = 6",
        {6},
        {11, 12},
    ),
    "a SQL function": ("SELECT rid AS r, doubled_in_sql(x) AS d FROM t WHERE doubled_in_sql(x) > 50", "r = 3", {3}, set()),
    "a SQL function that asks a table": ("SELECT rid AS r, most_in_sql(g) AS m FROM t", "r = 1", {1}, {11, 12}),
    "a SQL table function": ("SELECT y FROM of_group_in_sql('a')", "y = 2", set(), {12}),
    "a SQL table function, lateral": ("SELECT t.rid AS r, f.y FROM t, LATERAL of_group_in_sql(t.g) AS f", "r = 2 AND y = 1", {2}, {11}),
    "a session variable": ("SELECT g, count(*) AS c FROM t WHERE x >= least GROUP BY g", "g = 'b'", {3, 5}, set()),
    "a limit that is computed": ("SELECT rid AS r FROM t ORDER BY rid LIMIT 1 + 1", "true", {1, 2}, set()),
    # The first of its group has a frame of itself; the second's has both, but no value is made of it.
    "rank in a correlated subquery": (
        "SELECT rid AS r, (SELECT max(y) FROM (SELECT y, rank() OVER (ORDER BY y DESC) AS k FROM u WHERE u.g = t.g) WHERE k = 1) AS m "
        "FROM t",
        "r = 1",
        {1},
        {12},
    ),
    "rank in a correlated subquery, unequal": (
        "SELECT rid AS r, (SELECT max(y) FROM (SELECT y, rank() OVER (ORDER BY y) AS k FROM u WHERE y * 10 <= t.x) WHERE k = 2) AS m "
        "FROM t",
        "r = 3",
        {3},
        {11, 12},
    ),
    "sorted within the group, over a window": (
        "SELECT rid AS r, listagg(CAST(y AS string), ',') WITHIN GROUP (ORDER BY y DESC) OVER (PARTITION BY g) AS l FROM u",
        "r = 11",
        set(),
        {11, 12},
    ),
    "the difference to the last counter": (
        "SELECT rid AS r, counter_diff(x) OVER (ORDER BY rid) AS d FROM t WHERE rid < 5",
        "r = 3",
        {1, 2, 3},
        set(),
    ),
    "counted where there is nothing": (
        "SELECT rid AS r, (SELECT count_if(y > 1) FROM u WHERE u.g = t.g) AS c FROM t",
        "c = 0",
        {3, 4, 5, 6},
        set(),
    ),
    "grouped by a collation": (
        "SELECT k, count(*) AS c FROM (SELECT if(rid < 2, 'A', g) COLLATE utf8_lcase AS k FROM t WHERE rid < 5) GROUP BY k",
        "c = 2",
        {1, 2},
        set(),
    ),
    "described": (described, "summary = 'max'", {1, 2}, set()),
    "summarized": (summarized, "summary = '50%'", {3, 4, 5}, set()),
}


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lineage]:
    folder: Path = tmp_path_factory.mktemp("tables")
    for name, rows in (("t", T), ("u", U)):
        spark.createDataFrame(rows, SCHEMAS[name]).coalesce(1).write.parquet(str(folder / name))
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    for statement in DECLARED:
        spark.sql(statement)
    yield Lineage(spark, store=store)
    for name in ("doubled_in_sql", "most_in_sql", "of_group_in_sql"):
        spark.sql(f"DROP TEMPORARY FUNCTION {name}")
    spark.sql("DROP TEMPORARY VARIABLE least")
    for name in SCHEMAS:
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize("case", sampled(CASES))
def test_source_lineage(lineage: Lineage, case: str, spark: SparkSession) -> None:
    pipeline, target, of_t, of_u = CASES[case]
    run = lineage.run(pipeline, name=case)
    expected = spark.sql(pipeline) if isinstance(pipeline, str) else pipeline(spark)
    try:
        assert sorted(map(repr, run.result.collect())) == sorted(map(repr, expected.collect()))
        assert rids_behind(run, target) == (of_t, of_u)
    finally:
        run.close()


def rids_behind(run: Run, target: str) -> tuple[set[int], set[int]]:
    found = run.explain(target, save=False)
    rids: dict[str, set[int]] = {"t": set(), "u": set()}
    for name, table in found.sources.items():
        rids[name[0]] |= set(table.column("rid").to_pylist())
    assert {one.level for one in guarantees_of(found).values()} == {"exact"}, guarantees_of(found)
    return rids["t"], rids["u"]


def test_a_run_keeps_the_value_that_a_variable_had(lineage: Lineage, spark: SparkSession) -> None:
    run = lineage.run("SELECT rid AS r FROM t WHERE x >= least", name="variable", strategy="rerun")
    try:
        spark.sql("SET VARIABLE least = 0")
        assert rids_behind(run, "true") == ({3, 4, 5}, set())
    finally:
        spark.sql("SET VARIABLE least = 30")
        run.close()


def test_equal_by_a_collation_is_equal_in_what_the_run_stored(lineage: Lineage) -> None:
    text, target, of_t, of_u = CASES["grouped by a collation"]
    run = lineage.run(text, name="collation", strategy="full_materialization")
    assert rids_behind(run, target) == (of_t, of_u)
    run.close()


def test_a_limit_without_an_order_has_the_rows_that_the_run_chose(lineage: Lineage) -> None:
    text = "SELECT t.rid AS r, b.y FROM t JOIN LATERAL (SELECT y FROM u WHERE u.g = t.g OR t.x = 40 LIMIT 1) AS b"
    run = lineage.run(text, name="any of them", strategy="rerun")
    try:
        chosen = {row.r: row.y for row in run.result.collect()}
        assert set(chosen) == {1, 2, 4}
        for r, y in chosen.items():
            assert rids_behind(run, f"r = {r}") == ({r}, {10 + y})
    finally:
        run.close()
