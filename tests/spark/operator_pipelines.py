"""Pipelines of every operator beyond selection, projection, join and aggregation, over small awkward tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from tests.spark.pipelines import Pipeline

# NULLs, duplicates, rows without partners, and tables with no row at all.
TABLES = {
    "t": (
        "a int, b int, s string",
        [(1, 2, "x"), (1, 2, "x"), (2, None, "y"), (None, 3, None), (3, 7, "x"), (None, None, "z"), (4, -1, "")],
    ),
    "u": ("c int, d int, e string", [(1, 5, "x"), (1, 2, "y"), (2, None, "y"), (None, 3, "z"), (5, 7, None), (5, 7, None)]),
    "v": ("c int, d int", [(1, 2), (1, 2), (3, 7), (4, -1), (None, None), (None, 9)]),
    "nothing": ("c int, d int", []),
    "nested": (
        "k int, xs array<int>, m map<string,int>, ss array<struct<p:int,q:string>>, j string",
        [
            (1, [1, None, 1], {"x": 1}, [(1, "a"), None], '{"a": 1, "b": "z"}'),
            (2, [], {}, [], "{}"),
            (None, None, None, None, None),
            (1, [7], {"y": None}, [(None, None)], '{"a": null}'),
        ],
    ),
    "g": (
        "k string, n int, w double, d date",
        [
            ("a", 1, 0.5, None),
            ("a", 1, -0.0, None),
            ("a", 5, None, None),
            ("a", None, 2.5, None),
            ("b", 9, 1.5, None),
            (None, 2, 3.5, None),
        ],
    ),
}


def make(spark: SparkSession) -> None:
    for name, (schema, rows) in TABLES.items():
        spark.createDataFrame(rows, schema).createOrReplaceTempView(name)
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW bands AS SELECT * FROM VALUES (0, 2, 'few'), (2, 4, 'some'), (4, 99, NULL) AS b (low, high, name)"
    )
    spark.sql("CREATE OR REPLACE TEMP VIEW most AS SELECT c, max(d) AS m FROM u GROUP BY c")
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW days AS SELECT k, n, date_add(DATE '2024-01-01', n) AS day, "
        "TIMESTAMP '2024-01-01 00:00:00' + make_dt_interval(n) AS at, CAST(n AS bigint) AS big, CAST(n AS decimal(10, 2)) AS dec FROM g"
    )


SUBQUERIES: dict[str, Pipeline] = {
    "in": "SELECT * FROM t WHERE a IN (SELECT c FROM u)",
    "in_nothing": "SELECT * FROM t WHERE a IN (SELECT c FROM nothing)",
    "not_in": "SELECT * FROM t WHERE a NOT IN (SELECT c FROM u WHERE c IS NOT NULL)",
    "not_in_nulls": "SELECT * FROM t WHERE a NOT IN (SELECT c FROM u)",
    "not_in_nothing": "SELECT * FROM t WHERE a NOT IN (SELECT c FROM nothing)",
    "not_in_correlated": "SELECT * FROM t WHERE a NOT IN (SELECT c FROM u WHERE d > b)",
    "in_two_columns": "SELECT * FROM t WHERE (a, b) IN (SELECT c, d FROM v)",
    "not_in_two_columns": "SELECT * FROM t WHERE (a, b) NOT IN (SELECT c, d FROM v WHERE c IS NOT NULL)",
    "exists": "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE c = a AND d > b)",
    "not_exists": "SELECT * FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE c = a)",
    "exists_anything": "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u)",
    "exists_nothing": "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM nothing)",
    "not_exists_nothing": "SELECT * FROM t WHERE NOT EXISTS (SELECT 1 FROM nothing)",
    "exists_or": "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE c = a) OR b = 3",
    "in_or": "SELECT * FROM t WHERE a IN (SELECT c FROM u) OR b IS NULL",
    "not_in_or": "SELECT * FROM t WHERE a NOT IN (SELECT c FROM u) OR b = 7",
    "not_of_or": "SELECT * FROM t WHERE NOT (a IN (SELECT c FROM u) OR b = 3)",
    "exists_column": "SELECT *, EXISTS (SELECT 1 FROM u WHERE c = a) AS e, NOT EXISTS (SELECT 1 FROM u) AS n FROM t",
    "in_column": "SELECT *, a IN (SELECT c FROM u) AS e FROM t",
    "exists_case": "SELECT a, CASE WHEN EXISTS (SELECT 1 FROM u WHERE c = a) THEN 'yes' WHEN b > 2 THEN 'big' ELSE 'no' END AS w FROM t",
    "exists_grouped": "SELECT a, count(*) AS n FROM t GROUP BY a HAVING EXISTS (SELECT 1 FROM u WHERE c = a)",
    "exists_in_aggregate": "SELECT count_if(EXISTS (SELECT 1 FROM u WHERE c = a)) AS n, sum(b) AS s FROM t",
    "exists_join": "SELECT t.a, v.d FROM t JOIN v ON t.a = v.c AND EXISTS (SELECT 1 FROM u WHERE u.c = t.a)",
    "in_join": "SELECT t.a, v.d FROM t JOIN v ON t.a = v.c AND v.d IN (SELECT d FROM u)",
    "in_in": "SELECT * FROM t WHERE a IN (SELECT c FROM u WHERE d IN (SELECT b FROM t t2 WHERE t2.a = c))",
    "not_in_not_exists": "SELECT * FROM t WHERE a NOT IN (SELECT c FROM u WHERE c IS NOT NULL AND NOT EXISTS "
    "(SELECT 1 FROM v WHERE v.c = u.c))",
    "scalar": "SELECT * FROM t WHERE b > (SELECT avg(d) FROM u)",
    "scalar_no_row": "SELECT a, (SELECT d FROM nothing) AS x FROM t",
    "scalar_column": "SELECT a + (SELECT max(c) FROM u) AS x, (SELECT count(*) FROM nothing) AS n FROM t",
    "scalar_twice": "SELECT a + (SELECT max(d) FROM u) AS x, count(*) AS n FROM t GROUP BY a + (SELECT max(d) FROM u)",
    "scalar_nested": "SELECT * FROM t WHERE b > (SELECT min(d) FROM u WHERE c = (SELECT min(c) FROM v WHERE EXISTS "
    "(SELECT 1 FROM t t2 WHERE t2.a = c)))",
    "scalar_in_aggregate": "SELECT sum(b + (SELECT min(d) FROM u)) AS s FROM t",
    "scalar_in_having": "SELECT a, sum(b) AS s FROM t GROUP BY a HAVING sum(b) > (SELECT avg(d) FROM u WHERE c < 3)",
    "scalar_correlated_below": "SELECT *, (SELECT count(*) FROM u WHERE d > b) AS n FROM t",
    "scalar_correlated_on_both": "SELECT *, (SELECT sum(d) FROM u WHERE c = a AND d <= b) AS n FROM t",
    "scalar_correlated_having": "SELECT a, (SELECT max(d) FROM u WHERE c = a HAVING count(*) > 1) AS m FROM t",
    "scalar_correlated_select": "SELECT a, (SELECT max(x) FROM (SELECT d + b AS x FROM u WHERE c < a)) AS m FROM t",
    "scalar_correlated_no_table": "SELECT a, (SELECT max(x) FROM (SELECT a + b AS x)) AS m FROM t",
    "scalar_correlated_over_a_join": "SELECT t.a, v.d, (SELECT count(*) FROM u WHERE u.d < t.b + v.d) AS n FROM t JOIN v ON t.a = v.c",
    "scalar_correlated_twice": "SELECT a FROM t WHERE b > (SELECT min(d) FROM u WHERE c <= a) OR b < (SELECT max(d) FROM v WHERE c >= a)",
    "scalar_correlated_nested": "SELECT a, (SELECT count(*) FROM (SELECT c, (SELECT count(*) FROM v WHERE v.d < u.d) AS m FROM u) AS w "
    "WHERE w.m < t.b) AS n FROM t",
    "scalar_correlated_union": "SELECT a, (SELECT sum(x) FROM (SELECT d AS x FROM u WHERE c < a UNION ALL SELECT c FROM v WHERE d < b)) "
    "AS m FROM t",
    "in_correlated_group": "SELECT * FROM t WHERE a IN (SELECT max(c) FROM u WHERE d = b)",
    "not_in_correlated_group": "SELECT * FROM t WHERE a NOT IN (SELECT max(c) FROM u WHERE d > b GROUP BY e)",
    "exists_correlated_group": "SELECT * FROM t WHERE EXISTS (SELECT e FROM u WHERE d > b GROUP BY e HAVING count(*) > 1) OR b = 7",
    "lateral_correlated_group": "SELECT * FROM t, LATERAL (SELECT max(d) AS m, count(*) AS n FROM u WHERE c = a)",
    "lateral_correlated_first": "SELECT * FROM t LEFT JOIN LATERAL (SELECT c, d FROM u WHERE c <= a ORDER BY d DESC, c LIMIT 1)",
    "scalar_in_order": "SELECT a, b FROM t ORDER BY a - (SELECT max(d) FROM u)",
    "correlated": "SELECT *, (SELECT max(d) FROM u WHERE c = a) AS m FROM t",
    "correlated_count": "SELECT *, (SELECT count(*) FROM u WHERE c = a) AS n, (SELECT count(d) + 1 FROM u WHERE e = s) AS k FROM t",
    "correlated_filter": "SELECT * FROM t WHERE b < (SELECT avg(d) FROM u WHERE c = a)",
    "correlated_view": "SELECT *, (SELECT m FROM most WHERE c = a) AS m FROM t",
    "correlated_limit": "SELECT a, (SELECT d FROM u WHERE c = a ORDER BY d DESC LIMIT 1) AS top FROM t",
    "correlated_single": "SELECT a, (SELECT e FROM u WHERE c = a AND d IS NULL) AS e FROM t",
    "correlated_single_cast": "SELECT a, (SELECT e FROM u "
    "WHERE CAST(c AS bigint) + 1 = CAST(a AS bigint) + 1 AND d IS NULL AND b IS NULL) AS e FROM t",
    "correlated_single_between": "SELECT a, b, (SELECT e FROM u WHERE a >= c AND a < c + 1 AND d IS NULL) AS e FROM t",
    "correlated_single_unequal": "SELECT a FROM t WHERE b >= coalesce((SELECT low FROM bands WHERE low <= a AND a < high), 2)",
    "correlated_single_twice": "SELECT a, b, (SELECT name FROM bands WHERE low <= a AND a < high) AS of_a, "
    "(SELECT upper(name) FROM bands WHERE low <= b AND b < high AND low < a) AS of_b FROM t",
    "correlated_single_map": "SELECT a, (SELECT m FROM nested WHERE k = a AND k = 2) AS m FROM t",
    "lateral": "SELECT * FROM t, LATERAL (SELECT d, e FROM u WHERE c = a)",
    "lateral_left": "SELECT * FROM t LEFT JOIN LATERAL (SELECT d, e FROM u WHERE c = a AND d > 2) ON true",
    "lateral_expression": "SELECT * FROM t, LATERAL (SELECT a + 1 AS x)",
    "cte_inside_and_outside": "WITH q AS (SELECT a, sum(b) AS s FROM t GROUP BY a) SELECT * FROM q x WHERE x.s = (SELECT max(s) FROM q) "
    "OR EXISTS (SELECT 1 FROM q y WHERE y.a = x.a + 1)",
    "cte_in_subquery": "SELECT * FROM t WHERE a IN (WITH q AS (SELECT c FROM u WHERE d > 2) SELECT c FROM q UNION ALL SELECT c FROM q)",
    "tpch_2": "SELECT a, b, d FROM t, u WHERE a = c AND d = (SELECT min(v.d) FROM v, u u2 WHERE v.c = a AND u2.c = v.c)",
    "tpch_16": "SELECT s, count(DISTINCT b) AS n FROM t WHERE s <> 'y' AND a NOT IN (SELECT c FROM u WHERE e LIKE '%y%') GROUP BY s",
    "tpch_18": "SELECT s, sum(b) AS b FROM t, u WHERE a IN (SELECT c FROM v GROUP BY c HAVING sum(d) > 3) AND a = c GROUP BY s",
    "tpch_20": "SELECT s FROM t WHERE a IN (SELECT c FROM u WHERE c IN (SELECT c FROM v WHERE d > 1) AND d > "
    "(SELECT 0.5 * sum(v.d) FROM v WHERE v.c = u.c AND v.d <= 7)) ORDER BY s",
    "tpch_21": "SELECT s, count(*) AS n FROM t JOIN u ON a = c WHERE EXISTS (SELECT * FROM u u2 WHERE u2.c = u.c AND u2.d <> u.d) "
    "AND NOT EXISTS (SELECT * FROM u u3 WHERE u3.c = u.c AND u3.d <> u.d AND u3.e > u.e) GROUP BY s",
    "tpch_22": "SELECT substring(s, 1, 1) AS x, count(*) AS n FROM t WHERE b > (SELECT avg(d) FROM u WHERE d > 0 AND e IN ('x', 'y')) "
    "AND NOT EXISTS (SELECT * FROM v WHERE v.c = a) GROUP BY 1",
    "exists_struct_of_the_same_name": "SELECT *, EXISTS (SELECT 1 FROM (SELECT named_struct('a', c) AS t FROM u) q WHERE q.t.a = t.a) AS e "
    "FROM t",
    "exists_above_views": "SELECT a, x, EXISTS (SELECT 1 FROM nested LATERAL VIEW explode(xs) AS y WHERE y = x) AS e "
    "FROM t LATERAL VIEW explode(array(a, b)) AS x",
    "exists_of_window": "SELECT * FROM t WHERE a IN (SELECT c FROM (SELECT c, row_number() OVER (ORDER BY d, c) AS r FROM u) WHERE r < 3)",
    "tpch_17": "SELECT sum(b) / 7.0 AS x FROM t, u WHERE a = c AND b < (SELECT 1.2 * avg(d) FROM v WHERE v.c = t.a)",
}


def df_exists(spark: SparkSession) -> DataFrame:
    from pyspark.sql import functions as F

    t, u = spark.table("t"), spark.table("u")
    return t.where(u.where(F.col("c") == F.col("a").outer()).exists() | (t.b == 3))


def df_scalar(spark: SparkSession) -> DataFrame:
    from pyspark.sql import functions as F

    t, u = spark.table("t"), spark.table("u")
    most = u.where(F.col("c") == F.col("a").outer()).select(F.max("d")).scalar()
    return t.select("a", most.alias("m"), u.select(F.min("d")).scalar().alias("least"))


def df_in(spark: SparkSession) -> DataFrame:
    t, u = spark.table("t"), spark.table("u")
    return t.where(~t.a.isin(u.select("c").where("c IS NOT NULL")))


def df_lateral(spark: SparkSession) -> DataFrame:
    from pyspark.sql import functions as F

    t, u = spark.table("t"), spark.table("u")
    return t.lateralJoin(u.where(F.col("c") == F.col("a").outer()).select("d"), how="left")


SUBQUERIES |= {"df_exists": df_exists, "df_scalar": df_scalar, "df_in": df_in, "df_lateral": df_lateral}

_FRAMES = """
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING
    ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING
    ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
    ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING
    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    RANGE BETWEEN 2 PRECEDING AND CURRENT ROW
    RANGE BETWEEN 1 FOLLOWING AND 4 FOLLOWING
    RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
"""


def _frames() -> str:
    columns = [f"sum(n) OVER (PARTITION BY k ORDER BY n {frame}) AS s{i}" for i, frame in enumerate(_FRAMES.strip().split("\n"))]
    return f"SELECT k, n, {', '.join(columns)} FROM g"


def df_window(spark: SparkSession) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    by = Window.partitionBy("k").orderBy(F.col("n").desc_nulls_last(), "w")
    return (
        spark.table("g")
        .withColumn("r", F.row_number().over(by))
        .withColumn("m", F.max("n").over(Window.partitionBy("k")))
        .withColumn("c", F.count("*").over(Window.partitionBy()))
        .withColumn("f", F.first("w", ignorenulls=True).over(by.rowsBetween(-1, 1)))
        .where("r <= 2")
    )


WINDOWS: dict[str, Pipeline] = {
    "frames": _frames(),
    "ranks": "SELECT k, n, row_number() OVER (PARTITION BY k ORDER BY n, w) AS rn, rank() OVER (PARTITION BY k ORDER BY n) AS r, "
    "dense_rank() OVER (PARTITION BY k ORDER BY n) AS dr, percent_rank() OVER (PARTITION BY k ORDER BY n) AS pr, "
    "cume_dist() OVER (PARTITION BY k ORDER BY n DESC) AS cd, ntile(2) OVER (PARTITION BY k ORDER BY n, w) AS nt FROM g",
    "offsets": "SELECT k, n, lag(n) OVER (PARTITION BY k ORDER BY n, w) AS l, lag(n, 2, -1) OVER (PARTITION BY k ORDER BY n, w) AS l2, "
    "lead(w, 1) IGNORE NULLS OVER (PARTITION BY k ORDER BY n, w) AS ld, lead(n, -1) OVER (PARTITION BY k ORDER BY n, w) AS back, "
    "lag(w, 1, w) OVER (PARTITION BY k ORDER BY n, w) AS own FROM g",
    "choosing": "SELECT k, n, first_value(w) IGNORE NULLS OVER (PARTITION BY k ORDER BY n, w) AS f, "
    "last_value(w) OVER (PARTITION BY k ORDER BY n, w ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) AS l, "
    "nth_value(w, 2) OVER (PARTITION BY k ORDER BY n, w) AS v, nth_value(w, 2) IGNORE NULLS OVER (PARTITION BY k ORDER BY n, w) AS vi, "
    "any_value(n) IGNORE NULLS OVER (PARTITION BY k ORDER BY n, w) AS av, "
    "collect_list(n) OVER (PARTITION BY k ORDER BY n, w) AS c, count(*) OVER (PARTITION BY k) AS cn FROM g",
    "range_of_types": "SELECT k, n, count(*) OVER (PARTITION BY k ORDER BY day RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS d, "
    "count(*) OVER (PARTITION BY k ORDER BY day RANGE BETWEEN INTERVAL 2 DAYS PRECEDING AND INTERVAL 1 DAY FOLLOWING) AS di, "
    "count(*) OVER (PARTITION BY k ORDER BY at RANGE BETWEEN INTERVAL '2 01:00' DAY TO MINUTE PRECEDING AND CURRENT ROW) AS ti, "
    "count(*) OVER (PARTITION BY k ORDER BY day RANGE BETWEEN INTERVAL '1' MONTH PRECEDING AND CURRENT ROW) AS mi, "
    "count(*) OVER (PARTITION BY k ORDER BY big RANGE BETWEEN 4 PRECEDING AND 1 PRECEDING) AS b, "
    "count(*) OVER (PARTITION BY k ORDER BY dec DESC RANGE BETWEEN 0.5 PRECEDING AND 4 FOLLOWING) AS dc, "
    "count(*) OVER (PARTITION BY k ORDER BY CAST(n AS double) RANGE BETWEEN 1.5 PRECEDING AND 0 FOLLOWING) AS db FROM days",
    "no_partition": "SELECT n, sum(n) OVER (ORDER BY n, w DESC) AS s, count(*) OVER () AS c FROM g",
    "over_aggregate": "SELECT k, sum(n) AS s, rank() OVER (ORDER BY sum(n) DESC) AS r, sum(sum(n)) OVER () AS total FROM g GROUP BY k",
    "by_expression": "SELECT n, sum(n + 1) OVER (PARTITION BY upper(k), n > 1 ORDER BY -n) + 1 AS s FROM g WHERE n > 0",
    "two_windows": "SELECT k, sum(r) OVER (ORDER BY r, k) AS s FROM (SELECT k, n, rank() OVER (PARTITION BY k ORDER BY n) AS r FROM g)",
    "top_of_each": "SELECT k, n FROM g QUALIFY row_number() OVER (PARTITION BY k ORDER BY n DESC, w) = 1",
    "window_of_nothing": "SELECT c, sum(d) OVER (PARTITION BY c) AS s FROM nothing",
    "window_distinct": "SELECT DISTINCT k, max(n) OVER (PARTITION BY k) AS m FROM g",
    "df_window": df_window,
}


def df_explode(spark: SparkSession) -> DataFrame:
    from pyspark.sql import functions as F

    return spark.table("nested").select("k", F.explode_outer("xs").alias("x"), "j").where("x IS NULL OR x > 0")


def df_unpivot(spark: SparkSession) -> DataFrame:
    return spark.table("t").unpivot(["s"], ["a", "b"], "key", "value")


def df_cube(spark: SparkSession) -> DataFrame:
    from pyspark.sql import functions as F

    return spark.table("t").cube("a", "s").agg(F.sum("b").alias("b"), F.grouping("a").alias("ga"), F.grouping_id().alias("id"))


GENERATORS: dict[str, Pipeline] = {
    "explode": "SELECT k, explode(xs) AS x FROM nested",
    "explode_map": "SELECT k, explode(m) AS (key, value) FROM nested",
    "explode_outer_view": "SELECT k, x FROM nested LATERAL VIEW OUTER explode(xs) e AS x",
    "posexplode": "SELECT k, p, x FROM nested LATERAL VIEW posexplode(xs) e AS p, x",
    "posexplode_outer": "SELECT k, posexplode_outer(xs) FROM nested",
    "inline": "SELECT k, inline(ss) FROM nested",
    "inline_outer": "SELECT k, p, q FROM nested LATERAL VIEW OUTER inline(ss) AS p, q",
    "stack": "SELECT k, stack(2, k, j, k + 1, 'second') FROM nested",
    "json_tuple": "SELECT k, json_tuple(j, 'a', 'b') FROM nested",
    "two_views": "SELECT k, x, y FROM nested LATERAL VIEW explode(xs) AS x LATERAL VIEW explode(sequence(1, x)) AS y WHERE x IS NOT NULL",
    "view_then_join": "SELECT n.k, x, d FROM (SELECT k, x FROM nested LATERAL VIEW explode(xs) AS x) n JOIN u ON u.c = n.x",
    "join_then_view": "SELECT nested.k, x, d FROM nested JOIN u ON u.c = nested.k LATERAL VIEW explode(xs) AS x",
    "explode_grouped": "SELECT x, count(*) AS n FROM nested LATERAL VIEW explode(xs) AS x GROUP BY x",
    "explode_of_aggregate": "SELECT a, explode(collect_list(b)) AS b FROM t GROUP BY a",
    "explode_of_nothing": "SELECT c, explode_outer(array(d)) AS x FROM nothing",
    "variant": "SELECT k, e.key FROM nested, LATERAL variant_explode(parse_json(j)) AS e",
    "variant_outer": "SELECT k, e.key, d FROM nested, LATERAL variant_explode_outer(parse_json(j)) AS e LEFT JOIN u ON u.c = k",
    "unpivot": "SELECT * FROM (SELECT a, b, s FROM t) UNPIVOT (v FOR k IN (a, b))",
    "unpivot_nulls": "SELECT * FROM (SELECT a, b, s FROM t) UNPIVOT INCLUDE NULLS (v FOR k IN (a, b))",
    "rollup": "SELECT a, s, sum(b) AS b, count(*) AS n, grouping(a) AS ga, grouping_id() AS id FROM t GROUP BY ROLLUP (a, s)",
    "cube": "SELECT a, s, sum(b) AS b, grouping_id(a, s) AS id FROM t GROUP BY CUBE (a, s) HAVING grouping_id(a, s) < 3",
    "grouping_sets": "SELECT a, s, sum(b + a) AS x, count(DISTINCT b) AS n FROM t GROUP BY GROUPING SETS ((a), (s), (a, s), ())",
    "grouping_sets_twice": "SELECT a, count(*) AS n FROM t GROUP BY GROUPING SETS ((a), (a))",
    "rollup_expression": "SELECT a % 2 AS odd, sum(a) AS x FROM t GROUP BY ROLLUP (a % 2)",
    "rollup_of_nothing": "SELECT c, count(*) AS n FROM nothing GROUP BY ROLLUP (c)",
    "time_window": "SELECT window, count(*) AS n FROM days GROUP BY window(at, '3 days')",
    "time_window_sliding": "SELECT k, window.start AS s, window.end AS e, sum(n) AS n "
    "FROM days GROUP BY k, window(at, '3 days', '2 days', '5 hours')",
    "time_window_time": "SELECT window_time(window) AS t FROM (SELECT window FROM days GROUP BY window(at, '3 days'))",
    "df_explode": df_explode,
    "df_unpivot": df_unpivot,
    "df_cube": df_cube,
}


def df_pivot(spark: SparkSession) -> DataFrame:
    from pyspark.sql import functions as F

    return spark.table("t").groupBy("a").pivot("s", ["x", "y", ""]).agg(F.sum("b").alias("sum"), F.count("b").alias("n"))


def df_pivot_found(spark: SparkSession) -> DataFrame:
    return spark.table("t").groupBy("s").pivot("a").max("b")


PIVOTS: dict[str, Pipeline] = {
    "pivot": "SELECT * FROM (SELECT a, b, s FROM t) PIVOT (sum(b) AS x, max(b) AS y FOR a IN (1, 2, NULL))",
    "pivot_strings": "SELECT * FROM (SELECT a, b, s FROM t) PIVOT (max(s) FOR a IN (1 AS one, 3 AS three))",
    "pivot_lists": "SELECT * FROM (SELECT a, b, s FROM t) PIVOT (collect_list(b) FOR a IN (1, 3))",
    "pivot_dates": "SELECT * FROM (SELECT k, n, day FROM days) PIVOT (sum(n) FOR day IN (DATE '2024-01-02', DATE '2024-01-06'))",
    "pivot_decimals": "SELECT * FROM (SELECT k, n, dec FROM days) PIVOT (sum(n) FOR dec IN (1.00, 5.00))",
    "df_pivot": df_pivot,
    "df_pivot_found": df_pivot_found,
}


def _set_operation(name: str) -> Callable[[SparkSession], DataFrame]:
    def pipeline(spark: SparkSession) -> DataFrame:
        left: DataFrame = spark.table("t").select("a", "b")
        made: DataFrame = getattr(left, name)(spark.table("v"))
        return made

    return pipeline


def df_against_itself(spark: SparkSession) -> DataFrame:
    t = spark.table("t").select("a", "b")
    return t.intersectAll(t).exceptAll(t.where("a = 1").limit(1))


SET_OPERATIONS: dict[str, Pipeline] = {
    "intersect": "SELECT a, b FROM t INTERSECT SELECT c, d FROM v",
    "intersect_all": "SELECT a, b FROM t INTERSECT ALL SELECT c, d FROM v",
    "except": "SELECT a, b FROM t EXCEPT SELECT c, d FROM v",
    "except_all": "SELECT a, b FROM t EXCEPT ALL SELECT c, d FROM (SELECT * FROM v LIMIT 1)",
    "except_all_more": "SELECT a, b FROM t UNION ALL SELECT a, b FROM t EXCEPT ALL SELECT c, d FROM v",
    "except_nothing": "SELECT a, b FROM t EXCEPT SELECT c, d FROM nothing",
    "intersect_nothing": "SELECT a, b FROM t INTERSECT ALL SELECT c, d FROM nothing",
    "widened": "SELECT CAST(a AS bigint) AS a FROM t INTERSECT SELECT c FROM v",
    "df_intersect": _set_operation("intersect"),
    "df_intersect_all": _set_operation("intersectAll"),
    "df_subtract": _set_operation("subtract"),
    "df_except_all": _set_operation("exceptAll"),
    "df_against_itself": df_against_itself,
}


def drop_duplicates(spark: SparkSession) -> DataFrame:
    return spark.table("t").selectExpr("a", "a * 2 AS twice", "a IS NULL AS missing").dropDuplicates(["a"])


def drop_duplicates_all(spark: SparkSession) -> DataFrame:
    return spark.table("t").select("a", "b", "a").dropDuplicates()


def sample(spark: SparkSession) -> DataFrame:
    return spark.range(0, 1000, 1, 3).sample(fraction=0.3, seed=5)


def sample_after_filter(spark: SparkSession) -> DataFrame:
    return spark.range(0, 1000, 1, 3).where("id % 7 > 2").sample(fraction=0.5, seed=-3).where("id > 100")


def random_split(part: int) -> Callable[[SparkSession], DataFrame]:
    def pipeline(spark: SparkSession) -> DataFrame:
        return spark.range(0, 500, 1, 3).selectExpr("(id * 7919) % 500 AS x", "id % 3 AS y").randomSplit([0.5, 0.2, 0.3], seed=11)[part]

    return pipeline


ROWS: dict[str, Pipeline] = {
    "within_group": "SELECT k, percentile_cont(0.25) WITHIN GROUP (ORDER BY n DESC) AS c, "
    "percentile_disc(0.5) WITHIN GROUP (ORDER BY w) AS d, mode() WITHIN GROUP (ORDER BY w DESC) AS m, "
    "mode(n, true) AS least FROM g GROUP BY k",
    "listagg": "SELECT listagg(k, '-') WITHIN GROUP (ORDER BY n DESC NULLS FIRST, w) || '!' AS l FROM g",
    "listagg_distinct": "SELECT listagg(DISTINCT k) WITHIN GROUP (ORDER BY k DESC) AS some FROM g",
    "pipes": "FROM t |> WHERE a > 1 |> EXTEND a + b AS c |> AGGREGATE sum(c) AS c, count(*) AS n GROUP BY s "
    "|> WHERE n > 0 |> ORDER BY s, c",
    "pipes_within": "SELECT a FROM t WHERE EXISTS (FROM u |> WHERE c = a |> SELECT d) AND a > (FROM u |> AGGREGATE min(c))",
    "drop_duplicates": drop_duplicates,
    "drop_duplicates_all": drop_duplicates_all,
    "sample": sample,
    "sample_after_filter": sample_after_filter,
    "tablesample": "SELECT * FROM (SELECT id FROM range(0, 1000, 1, 2)) TABLESAMPLE (20 PERCENT) REPEATABLE (7)",
    "tablesample_rows": "SELECT count(*) AS n FROM t TABLESAMPLE (3 ROWS)",
    **{f"random_split_{part}": random_split(part) for part in range(3)},
}

PIPELINES: dict[str, Pipeline] = {**SUBQUERIES, **WINDOWS, **GENERATORS, **PIVOTS, **SET_OPERATIONS, **ROWS}
