"""Lineage of small pipelines, worked out by hand: for every target, the rows of t and u (by their rid) that made it.

Every pipeline runs on Parquet (lineage keys are file positions), on CSV with a primary key, on CSV without one (a digest of the
row), and on data that only the session holds (stored by the run); the answer is the same, because rid tells all rows apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.store import Store
from tests.answers import guarantees_of, links_of
from tests.in_turn import sampled

pytestmark = pytest.mark.spark

T = [(1, "a", 10), (2, "a", 20), (3, "b", 30), (4, None, 40), (5, "b", 30), (6, None, None)]
U = [(11, "a", 1), (12, "a", 2), (13, "c", 3), (14, None, 4)]
SCHEMAS = {"t": "rid int, g string, x int", "u": "rid int, g string, y int"}


@reasoned_udf("string")
def size_of(x: int | None) -> str:
    return "none" if x is None else "big" if x >= 30 else "small"


@size_of.with_reason
def _(x: int | None) -> tuple[str, Any]:
    return size_of.main(x), {"x": x}


@reasoned_udf("string")
def shout(text: str | None) -> str | None:
    return None if text is None else text.upper()


COUNTED = "(SELECT g, count(*) AS n FROM u GROUP BY g)"
# (pipeline, target, rids of t, rids of u)
CASES: dict[str, tuple[str, str, set[int], set[int]]] = {
    "join and group": ("SELECT t.g, sum(y) AS s FROM t JOIN u ON t.g = u.g GROUP BY t.g", "g = 'a'", {1, 2}, {11, 12}),
    "left join, no partner": ("SELECT t.rid AS r, u.rid AS ur FROM t LEFT JOIN u ON t.g = u.g", "r = 3", {3}, set()),
    "left join, partners": ("SELECT t.rid AS r, u.rid AS ur FROM t LEFT JOIN u ON t.g = u.g", "r = 1", {1}, {11, 12}),
    "right join, no partner": ("SELECT t.rid AS r, u.rid AS ur FROM t RIGHT JOIN u ON t.g = u.g", "ur = 13", set(), {13}),
    "full join, left missing": ("SELECT t.rid AS r, u.rid AS ur FROM t FULL JOIN u ON t.g = u.g", "r IS NULL", set(), {13, 14}),
    "full join, right missing": ("SELECT t.rid AS r, u.rid AS ur FROM t FULL JOIN u ON t.g = u.g", "ur IS NULL", {3, 4, 5, 6}, set()),
    "left join, then group": ("SELECT t.g, count(u.rid) AS c FROM t LEFT JOIN u ON t.g = u.g GROUP BY t.g", "g = 'b'", {3, 5}, set()),
    "cross join": ("SELECT t.rid AS r, u.rid AS ur FROM t CROSS JOIN u", "r = 2 AND ur = 13", {2}, {13}),
    "theta join": ("SELECT t.rid AS r, u.rid AS ur FROM t JOIN u ON t.x < u.y * 10", "r = 2", {2}, {13, 14}),
    "using": ("SELECT g, y FROM t JOIN u USING (g)", "g = 'a' AND y = 2", {1, 2}, {12}),
    "null group": ("SELECT g, count(*) AS c FROM t GROUP BY g", "g IS NULL", {4, 6}, set()),
    "null and other groups": ("SELECT g, count(*) AS c FROM t GROUP BY g", "c = 2", {1, 2, 3, 4, 5, 6}, set()),
    "two keys": ("SELECT g, x, count(*) AS c FROM t GROUP BY g, x", "c > 1", {3, 5}, set()),
    "global": ("SELECT count(*) AS c, max(x) AS m FROM t WHERE x > 15", "c = 4", {2, 3, 4, 5}, set()),
    "global over nothing": ("SELECT count(*) AS c FROM t WHERE x > 1000", "c = 0", set(), set()),
    "union all": ("SELECT g FROM t UNION ALL SELECT g FROM u", "g = 'c'", set(), {13}),
    "union all, both": ("SELECT g FROM t UNION ALL SELECT g FROM u", "g IS NULL", {4, 6}, {14}),
    "union": ("SELECT g FROM t UNION SELECT g FROM u", "g = 'a'", {1, 2}, {11, 12}),
    "union then group": (
        "SELECT g, count(*) AS c FROM (SELECT g FROM t UNION ALL SELECT g FROM u) GROUP BY g",
        "g = 'a'",
        {1, 2},
        {11, 12},
    ),
    "distinct": ("SELECT DISTINCT g, x FROM t", "g = 'b'", {3, 5}, set()),
    "self-join": ("SELECT a.rid AS r, b.rid AS br FROM t a JOIN t b ON a.g = b.g AND a.rid < b.rid", "r = 1", {1, 2}, set()),
    "nested groups": ("SELECT max(c) AS m FROM (SELECT g, count(*) AS c FROM t GROUP BY g)", "m = 2", {1, 2, 3, 4, 5, 6}, set()),
    "nested keys": (
        "SELECT g, sum(c) AS s FROM (SELECT g, x, count(*) AS c FROM t GROUP BY g, x) GROUP BY g",
        "g = 'a'",
        {1, 2},
        set(),
    ),
    "group by what a group counted": (
        "SELECT n, count(*) AS c FROM (SELECT g, count(*) AS n FROM u GROUP BY g) GROUP BY n",
        "n = 1",
        set(),
        {13, 14},
    ),
    "having": ("SELECT g FROM t GROUP BY g HAVING sum(x) > 50", "true", {3, 5}, set()),
    "key not in the result": ("SELECT count(*) AS c, sum(x) AS s FROM t GROUP BY g", "s = 60", {3, 5}, set()),
    "key computed": ("SELECT x div 20 AS k, count(*) AS c FROM t GROUP BY x div 20", "k = 1", {2, 3, 5}, set()),
    "key computed, and more": ("SELECT upper(g) || '!' AS k, sum(x) + 1 AS s FROM t GROUP BY upper(g)", "k = 'B!'", {3, 5}, set()),
    "count distinct": ("SELECT g, count(DISTINCT x) AS c FROM t GROUP BY g", "g = 'b'", {3, 5}, set()),
    "filtered count": ("SELECT g, count(*) FILTER (WHERE x > 15) AS c FROM t GROUP BY g", "g = 'a'", {1, 2}, set()),
    "join with groups": (f"SELECT t.rid AS r, n FROM t JOIN {COUNTED} s ON t.g = s.g", "r = 1", {1}, {11, 12}),
    "left join with groups": (f"SELECT t.rid AS r, n FROM t LEFT JOIN {COUNTED} s ON t.g = s.g", "r = 3", {3}, set()),
    "group of a join with groups": (f"SELECT n, count(*) AS c FROM t JOIN {COUNTED} s ON t.g = s.g GROUP BY n", "n = 2", {1, 2}, {11, 12}),
    "join over a union": (
        "SELECT v.g, u.rid AS ur FROM (SELECT g FROM t WHERE x > 15 UNION ALL SELECT g FROM t WHERE x <= 15) v JOIN u ON v.g = u.g",
        "ur = 11",
        {1, 2},
        {11},
    ),
    "union of a join": ("SELECT t.rid AS r FROM t JOIN u ON t.g = u.g UNION ALL SELECT rid FROM u", "r IN (2, 13)", {2}, {11, 12, 13}),
    "order and limit": ("SELECT rid AS r FROM t ORDER BY x DESC NULLS LAST, rid LIMIT 2", "true", {3, 4}, set()),
    "limit below a group": ("SELECT count(*) AS c FROM (SELECT * FROM t ORDER BY rid LIMIT 3)", "c = 3", {1, 2, 3}, set()),
    "limit below a join": ("SELECT s.rid AS r, y FROM (SELECT * FROM t ORDER BY rid LIMIT 1) s JOIN u ON s.g = u.g", "y = 1", {1}, {11}),
    "subquery twice": (
        "WITH q AS (SELECT g, count(*) AS n FROM t GROUP BY g) SELECT a.g, b.n FROM q a JOIN q b ON a.g = b.g",
        "g = 'a'",
        {1, 2},
        set(),
    ),
    "looked up between": ("SELECT rid AS r, (SELECT y FROM u WHERE x >= y * 10 AND x < y * 10 + 10) AS s FROM t", "r = 2", {2}, {12}),
    "looked up between, nothing found": (
        "SELECT rid AS r, (SELECT y FROM u WHERE x >= y * 10 AND x < y * 10 + 10) AS s FROM t",
        "s IS NULL",
        {6},
        set(),
    ),
    "a window of time": (
        "SELECT window, max(rid) AS r FROM (SELECT *, timestamp_seconds(60 * rid) AS at FROM t) GROUP BY window(at, '2 minutes')",
        "r = 3",
        {2, 3},
        set(),
    ),
    "windows of time that slide": (
        "SELECT max(rid) AS r FROM (SELECT *, timestamp_seconds(60 * rid) AS at FROM t) GROUP BY window(at, '4 minutes', '2 minutes')",
        "r = 3",
        {1, 2, 3},
        set(),
    ),
    "sorted within the group": (
        "SELECT listagg(CAST(x AS string), ',') WITHIN GROUP (ORDER BY x DESC) AS l FROM t GROUP BY g",
        "l = '20,10'",
        {1, 2},
        set(),
    ),
    "pipes": ("FROM t |> WHERE x > 15 |> AGGREGATE count(*) AS c GROUP BY g", "g = 'b'", {3, 5}, set()),
    "correlated by less than": ("SELECT rid AS r, (SELECT sum(y) FROM u WHERE y * 10 <= x) AS s FROM t", "r = 2", {2}, {11, 12}),
    "correlated by less than, over nothing": (
        "SELECT rid AS r, (SELECT count(*) FROM u WHERE y * 10 < x) AS c FROM t",
        "r IN (1, 6)",
        {1, 6},
        set(),
    ),
    # Rows 3 and 5 have the same x: neither stands behind the other's sum.
    "correlated, equal outer rows": (
        "SELECT rid AS r FROM t WHERE (SELECT max(y) FROM u WHERE y * 10 <= x) = 3",
        "r = 3",
        {3},
        {11, 12, 13},
    ),
    "correlated groups": (
        "SELECT rid AS r FROM t WHERE EXISTS (SELECT u.g FROM u WHERE y * 10 <= x GROUP BY u.g HAVING count(*) > 1)",
        "r = 4",
        {4},
        {11, 12},
    ),
    "lateral, the largest that fits": (
        "SELECT t.rid AS r, b.y FROM t, LATERAL (SELECT y FROM u WHERE y * 10 <= x AND u.g IS NOT NULL ORDER BY y DESC LIMIT 1) b",
        "r = 4",
        {4},
        {13},
    ),
    "constant": ("SELECT 1 AS one, rid AS r FROM t", "r = 4", {4}, set()),
    "no columns of the source": ("SELECT 'x' AS c FROM u", "c = 'x'", set(), {11, 12, 13, 14}),
    "case": ("SELECT CASE WHEN x >= 30 THEN 'big' ELSE 'small' END AS s, count(*) AS c FROM t GROUP BY 1", "s = 'big'", {3, 4, 5}, set()),
    "udf": ("SELECT rid AS r, size_of(x) AS s FROM t", "r = 2", {2}, set()),
    "udf in a filter": ("SELECT rid AS r FROM t WHERE size_of(x) = 'big' AND rid > 3", "true", {4, 5}, set()),
    "udf as a key": ("SELECT size_of(x) AS s, count(*) AS c FROM t GROUP BY size_of(x)", "s = 'small'", {1, 2}, set()),
    "udf of a sum": ("SELECT g, size_of(CAST(sum(x) AS int)) AS s FROM t GROUP BY g", "g = 'b'", {3, 5}, set()),
    "udf of a udf": ("SELECT rid AS r, shout(size_of(x)) AS s FROM t", "s = 'NONE'", {6}, set()),
    "udf in a join condition": ("SELECT t.rid AS r, u.rid AS ur FROM t JOIN u ON shout(t.g) = upper(u.g)", "r = 1", {1}, {11, 12}),
    "udf over both sides": (
        "SELECT t.rid AS r, u.rid AS ur FROM t JOIN u ON t.g = u.g AND size_of(t.x + u.y) = 'small'",
        "r = 2",
        {2},
        {11, 12},
    ),
    "udf in a branch": ("SELECT rid AS r, CASE WHEN x > 15 THEN size_of(x) END AS s FROM t", "r = 3", {3}, set()),
    "udf below and above": (
        "SELECT shout(s) AS l, c FROM (SELECT size_of(x) AS s, count(*) AS c FROM t GROUP BY size_of(x))",
        "l = 'BIG'",
        {3, 4, 5},
        set(),
    ),
    "udf on both branches": ("SELECT size_of(x) AS s FROM t UNION ALL SELECT size_of(y) FROM u", "s = 'small'", {1, 2}, {11, 12, 13, 14}),
    "udf in an aggregate": ("SELECT g, count(DISTINCT size_of(x)) AS c FROM t GROUP BY g", "g = 'a'", {1, 2}, set()),
    "limit above a udf": ("SELECT rid AS r, size_of(x) AS s FROM t ORDER BY rid DESC LIMIT 2", "s = 'big'", {5}, set()),
    "udf as a sort key": ("SELECT rid AS r FROM t ORDER BY size_of(x), rid LIMIT 1", "true", {3}, set()),
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], None]]:
    """Makes tables of a kind the session's views t and u; those of each kind are written once."""
    frames: dict[tuple[str, str], DataFrame] = {}

    def made(kind: str, name: str, rows: list[Any]) -> DataFrame:
        frame = spark.createDataFrame(rows, SCHEMAS[name]).repartition(2, "rid")
        if kind == "session":
            return frame
        where = str(tmp_path_factory.mktemp("tables") / name)
        frame.write.format(kind).save(where)
        return spark.read.format(kind).schema(SCHEMAS[name]).load(where)

    def show(kind: str) -> None:
        for name, rows in (("t", T), ("u", U)):
            if (kind, name) not in frames:
                frames[kind, name] = made(kind, name, rows)
            frames[kind, name].createOrReplaceTempView(name)

    for udf in (size_of, shout):
        udf.register(spark)
    yield show
    for name in SCHEMAS:
        spark.catalog.dropTempView(name)


@pytest.fixture
def lineage(
    request: pytest.FixtureRequest, tables: Callable[[str], None], spark: SparkSession, store: Store
) -> tuple[Lineage, dict[str, list[str]] | None]:
    tables(request.param.split()[0])
    return Lineage(spark, store=store), {"t": ["rid"], "u": ["rid"]} if request.param == "csv with a key" else None


# What a lineage key does is seen in these; the operators are all run on one of the kinds (and on the others by the random pipelines).
KEYED = (
    "join and group",
    "left join, no partner",
    "union all, both",
    "distinct",
    "self-join",
    "join with groups",
    "limit below a join",
    "udf as a key",
    "subquery twice",
    "correlated, equal outer rows",
    "udf on both branches",
)


KINDS = ("parquet", "session", "csv with a key", "csv")
RUNS = [(kind, case) for kind in KINDS for case in CASES if kind == KINDS[0] or case in KEYED]


@pytest.mark.parametrize(("lineage", "case"), sampled(RUNS, 9), indirect=["lineage"])
def test_source_lineage(lineage: tuple[Lineage, Any], case: str, spark: SparkSession) -> None:
    sql, target, of_t, of_u = CASES[case]
    tables = {name for name in ("t", "u") if f" {name}" in sql.replace("\n", " ")}
    keys = lineage[1] and {name: key for name, key in lineage[1].items() if name in tables}
    run = lineage[0].run(sql, name=case, keys=keys)
    try:
        assert Counter(map(tuple, run.result.collect())) == Counter(map(tuple, spark.sql(sql).collect()))
        found = run.explain(target, save=False)
    finally:
        run.close()
    # Session data that stands twice in a plan is stored twice: the second table is t_2.
    rids: dict[str, set[int]] = {"t": set(), "u": set()}
    for name, table in found.sources.items():
        rids[name[0]] |= set(table.column("rid").to_pylist())
    assert (rids["t"], rids["u"]) == (of_t, of_u)
    # shout declares no reason.
    assert {one.level for name, one in guarantees_of(found).items() if name != "shout"} == {"exact"}, guarantees_of(found)


@pytest.mark.parametrize("lineage", KINDS, indirect=True)
def test_duplicate_rows_have_each_their_own_lineage(lineage: tuple[Lineage, Any]) -> None:
    keys = lineage[1] and {"t": ["rid"]}
    found = lineage[0].run("SELECT g, x FROM t", keys=keys).explain("g = 'b'")
    rids = found.sources["t"].column("rid").to_pylist()
    behind = [[rids[link["source_row"]] for link in links_of(found)["target"].to_pylist() if link["row"] == row] for row in (0, 1)]
    assert found.target.to_pylist() == [{"g": "b", "x": 30}] * 2
    assert sorted(behind) == [[3], [5]]
