"""Where other lineage systems go wrong: extra rows, empty lineage, errors, or nothing said. Worked out by hand, the strategies in turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Explanation, Lineage, reasoned_udf
from airflow_lineage_provider.store import Store
from tests.answers import links_of
from tests.in_turn import STRATEGIES, sampled

pytestmark = pytest.mark.spark

# The numbers of the rows collide on purpose: row 1 of t is not row 1 of u.
T = [(1, "a", 10), (2, "a", 20), (3, "b", 30), (4, None, 40), (5, "b", 30)]
U = [(1, "a", 1), (2, "c", 2), (3, None, 3)]
SCHEMAS = {"t": "rid int, g string, x int", "u": "rid int, g string, y int"}

# (pipeline, target, rows of t, rows of u, tables that stand as a whole)
CASES: dict[str, tuple[str, str, set[int], set[int], set[str]]] = {
    "not exists": ("SELECT rid AS r FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.g = t.g)", "r = 3", {3}, set(), {"u"}),
    "not exists, a NULL": ("SELECT rid AS r FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.g = t.g)", "r = 4", {4}, set(), {"u"}),
    "not in, without NULLs": (
        "SELECT rid AS r FROM t WHERE g NOT IN (SELECT g FROM u WHERE g IS NOT NULL)", "r = 3", {3}, set(), {"u"},
    ),
    "exists": ("SELECT rid AS r FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.g = t.g)", "r = 2", {2}, {1}, set()),
    "exists beside another condition": (
        "SELECT rid AS r FROM t WHERE x > 35 OR EXISTS (SELECT 1 FROM u WHERE u.g = t.g)", "r = 1", {1}, {1}, set(),
    ),
    "exists beside another condition that holds": (
        "SELECT rid AS r FROM t WHERE x > 35 OR EXISTS (SELECT 1 FROM u WHERE u.g = t.g)", "r = 4", {4}, set(), {"u"},
    ),
    "left join without a partner": ("SELECT t.rid AS r, u.y FROM t LEFT JOIN u ON t.g = u.g", "r = 3", {3}, set(), set()),
    "left join without a partner, then grouped": (
        "SELECT t.g, count(u.y) AS n FROM t LEFT JOIN u ON t.g = u.g GROUP BY t.g", "g = 'b'", {3, 5}, set(), set(),
    ),
    "scalar subquery": ("SELECT rid AS r, (SELECT max(y) FROM u) AS m FROM t", "r = 5", {5}, {1, 2, 3}, set()),
    "scalar subquery in a condition": ("SELECT rid AS r FROM t WHERE x > (SELECT avg(x) FROM t)", "r = 4", {1, 2, 3, 4, 5}, set(), set()),
    "correlated scalar subquery": ("SELECT rid AS r, (SELECT max(y) FROM u WHERE u.g = t.g) AS m FROM t", "r = 1", {1}, {1}, set()),
    "correlated scalar subquery over nothing": (
        "SELECT rid AS r, (SELECT count(*) FROM u WHERE u.g = t.g) AS n FROM t", "r = 3 AND n = 0", {3}, set(), set(),
    ),
    "except": ("SELECT g FROM t EXCEPT SELECT g FROM u", "g = 'b'", {3, 5}, set(), {"u"}),
    "except all": ("SELECT g FROM t EXCEPT ALL SELECT g FROM u", "g = 'a'", {1, 2}, set(), {"u"}),
    "intersect": ("SELECT g FROM t INTERSECT SELECT g FROM u", "g IS NULL", {4}, {3}, set()),
    "intersect all": ("SELECT g FROM t INTERSECT ALL SELECT g FROM u", "g = 'a'", {1, 2}, {1}, set()),
    "window over a partition": ("SELECT rid AS r, sum(x) OVER (PARTITION BY g) AS s FROM t", "r = 1", {1, 2}, set(), set()),
    "running sum": (
        "SELECT rid AS r, sum(x) OVER (ORDER BY rid ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM t", "r = 3", {2, 3}, set(), set(),
    ),
    "rank with peers": ("SELECT rid AS r, rank() OVER (ORDER BY x) AS k FROM t", "r = 3", {1, 2, 3, 5}, set(), set()),
    "lag": ("SELECT rid AS r, lag(x) OVER (ORDER BY rid) AS before FROM t", "r = 5", {4, 5}, set(), set()),
    "top row of each group": (
        "SELECT r FROM (SELECT rid AS r, row_number() OVER (PARTITION BY g ORDER BY rid DESC) AS n FROM t) WHERE n = 1",
        "r = 2", {2}, set(), set(),
    ),
    "union, second branch": ("SELECT rid AS r, g FROM t UNION ALL SELECT rid, g FROM u", "g = 'c'", set(), {2}, set()),
    "union of both": ("SELECT g FROM t UNION SELECT g FROM u", "g = 'a'", {1, 2}, {1}, set()),
    "rows of the same number in two tables": ("SELECT t.rid AS r FROM t JOIN u ON t.rid = u.rid", "r = 2", {2}, {2}, set()),
    "grouping sets": (
        "SELECT g, x, count(*) AS n FROM t GROUP BY GROUPING SETS ((g), (x), ())", "g = 'b'", {3, 5}, set(), set(),
    ),
    "grouping sets, the grand total": (
        "SELECT g, grouping(g) AS k, count(*) AS n FROM t GROUP BY ROLLUP (g)", "k = 1", {1, 2, 3, 4, 5}, set(), set(),
    ),
    "a NULL group beside the grand total": (
        "SELECT g, grouping(g) AS k, count(*) AS n FROM t GROUP BY ROLLUP (g)", "g IS NULL AND k = 0", {4}, set(), set(),
    ),
    "explode": ("SELECT rid AS r, item FROM t LATERAL VIEW explode(array(x, rid)) AS item", "item = 30", {3, 5}, set(), set()),
    "explode, then grouped": (
        "SELECT item, count(*) AS n FROM (SELECT explode(array(x, rid * 10)) AS item FROM t) GROUP BY item",
        "item = 30", {3, 5}, set(), set(),
    ),
    "cte used twice": (
        "WITH c AS (SELECT g, count(*) AS n FROM t GROUP BY g) SELECT l.g, r.n FROM c AS l JOIN c AS r ON l.g = r.g",
        "g = 'a'", {1, 2}, set(), set(),
    ),
    "cte used in a subquery and outside": (
        "WITH c AS (SELECT g, sum(x) AS s FROM t GROUP BY g) SELECT g FROM c WHERE s = (SELECT max(s) FROM c)",
        "g = 'b'", {1, 2, 3, 4, 5}, set(), set(),
    ),
    "project over aggregate": (
        "SELECT upper(g) AS h, n * 2 AS m FROM (SELECT g, count(*) AS n FROM t GROUP BY g)", "h = 'B'", {3, 5}, set(), set(),
    ),
    "having": ("SELECT g FROM t GROUP BY g HAVING sum(x) > 50", "g = 'b'", {3, 5}, set(), set()),
}  # fmt: skip


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lineage]:
    folder: Path = tmp_path_factory.mktemp("pitfalls")
    for name, rows in (("t", T), ("u", U)):
        spark.createDataFrame(rows, SCHEMAS[name]).coalesce(1).write.parquet(str(folder / name))
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    yield Lineage(spark, store=store)
    for name in ("t", "u"):
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize("name", sampled(CASES, 6))
def test_pitfall(lineage: Lineage, spark: SparkSession, name: str) -> None:
    sql, target, of_t, of_u, whole = CASES[name]
    strategy = STRATEGIES[list(CASES).index(name) % len(STRATEGIES)]
    run = lineage.run(sql, name=name, strategy=strategy)
    assert sorted(map(repr, run.result.collect())) == sorted(map(repr, spark.sql(sql).collect()))
    run.close()
    found = lineage.get_run(run.id).explain(target, save=False)
    rids = {source: set(table.column("rid").to_pylist()) for source, table in found.sources.items()}
    assert (rids.get("t", set()), rids.get("u", set())) == (of_t, of_u), strategy
    assert {source for control in found.controls for source in control.sources} == whole
    assert found.guarantee.level == "exact"
    if 0 in run.plan.materialized:  # and as an index has them, alone
        run.capture()
        again = lineage.get_run(run.id).backward(target, lazy=False)
        behind = {source: set(rows.rows.column("rid").to_pylist()) for source, rows in again.items()}
        assert (behind.get("t", set()), behind.get("u", set())) == (of_t, of_u), strategy


def test_a_difference_can_be_left_out_or_enumerated(lineage: Lineage) -> None:
    run = lineage.run("SELECT rid AS r FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.g = t.g)")
    data = run.explain("r = 3", difference="data", save=False)
    assert data.controls == ()
    assert data.sources["u"].num_rows == 0
    rows = run.explain("r = 3", difference="rows", save=False)
    assert sorted(rows.sources["u"].column("rid").to_pylist()) == [1, 2, 3]
    assert [(one.sources, one.rows, one.listed) for one in rows.controls] == [(("u",), (0,), True)]
    run.close()


@reasoned_udf("int")
def twice(x: int) -> int:
    return 2 * x


def test_the_rows_of_a_difference_are_in_no_decision(lineage: Lineage, spark: SparkSession) -> None:
    twice.register(spark)
    inner = "SELECT g FROM u WHERE NOT EXISTS (SELECT 1 FROM t AS w WHERE w.x > 35 AND w.g = u.g)"
    run = lineage.run(f"SELECT r, twice(x) AS v FROM (SELECT rid AS r, x FROM t WHERE g NOT IN ({inner} AND g = 'c'))", name="decisions")
    for difference in ("control", "rows"):
        found = run.explain("r = 3", difference=difference, save=False)
        assert {(link["source"], link["source_row"]) for link in links_of(found)["twice"].to_pylist()} == {("t", _place(found, "t", 3))}
        # The right side's own difference let rows of u through, and not the row that was asked about.
        assert [(one.sources, one.rows) for one in found.controls] == [(("u", "t"), (0,))]
        assert {link["source"] for link in links_of(found)["target"].to_pylist()} == ({"t", "u"} if difference == "rows" else {"t"})
    run.close()


def _place(found: Explanation, table: str, rid: int) -> int:
    return list(found.sources[table].column("rid").to_pylist()).index(rid)
