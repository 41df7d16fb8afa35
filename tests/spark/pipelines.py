"""Pipelines that the capture tests run: SQL texts, or functions of a session. The tables are made by `tables.make_tables`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Pipeline = str | Callable[["SparkSession"], "DataFrame"]


def self_join(spark: SparkSession) -> DataFrame:
    from pyspark.sql import functions as F

    client = spark.table("client")
    return client.alias("a").join(client.alias("b"), F.col("a.country") == F.col("b.country")).select("a.id", "b.name")


def union_with_itself(spark: SparkSession) -> DataFrame:
    client = spark.table("client").select("id", "income")
    return client.union(client).union(client.where("income > 1000"))


def using_join(spark: SparkSession) -> DataFrame:
    return spark.table("client").join(spark.table("debt"), "id", "full")


def semi_join(spark: SparkSession) -> DataFrame:
    return spark.table("client").join(spark.table("debt"), "id", "left_semi")


def union_by_name(spark: SparkSession) -> DataFrame:
    client = spark.table("client")
    return client.select("id", "income").unionByName(client.select("income", "name", "id"), allowMissingColumns=True)


def same_column_twice(spark: SparkSession) -> DataFrame:
    return spark.table("client").select("country", "country").distinct()


def without_nulls(spark: SparkSession) -> DataFrame:
    return spark.table("client").dropna(thresh=3).fillna({"income": 0})


def limits(spark: SparkSession) -> DataFrame:
    return spark.table("client").orderBy("id").limit(3).offset(1)


def hints(spark: SparkSession) -> DataFrame:
    return spark.table("client").repartition(3, "id").hint("broadcast").coalesce(1).sortWithinPartitions("id").dropDuplicates()


def range_and_local(spark: SparkSession) -> DataFrame:
    return spark.range(1, 7, 2).join(spark.createDataFrame([(1, "a"), (3, "b")], "id int, letter string"), "id")


def odd_names(spark: SparkSession) -> DataFrame:
    return spark.table("odd").selectExpr("`a.b`", '`say "x"` AS `Größe ✓`', "`back``tick`", "`with space`.`in ner`", "`with space`")


def python_udf(spark: SparkSession) -> DataFrame:
    from pyspark.sql import functions as F

    judge = F.udf(lambda income: "Reject" if (income or 0) < 2000 else "Accept", "string")
    return spark.table("client").withColumn("judge", judge("income")).where("judge = 'Reject'")


PIPELINES: dict[str, Pipeline] = {
    "self_join": self_join,
    "union_with_itself": union_with_itself,
    "using_join": using_join,
    "semi_join": semi_join,
    "union_by_name": union_by_name,
    "same_column_twice": same_column_twice,
    "without_nulls": without_nulls,
    "limits": limits,
    "hints": hints,
    "range_and_local": range_and_local,
    "odd_names": odd_names,
    "case_insensitive": "SELECT ID, c.NAME, Income + 1 AS more FROM Client C WHERE INCOME IS NOT NULL",
    "grouped": "SELECT country, count(*) AS n, sum(DISTINCT income) FILTER (WHERE income > 1000) AS s, first(name, true) AS f "
    "FROM client GROUP BY country HAVING count(*) > 1 ORDER BY max(income) DESC",
    "grouped_by_expression": "SELECT upper(country) AS c, avg(income * 2) + 1 AS a FROM client GROUP BY upper(country)",
    "global_aggregation": "SELECT count(DISTINCT country) AS countries, max(income) AS most FROM client WHERE income > 1000000",
    "cte_twice": "WITH rich AS (SELECT id, country FROM client WHERE income > 2000) "
    "SELECT a.id, b.id AS other FROM rich a JOIN rich b ON a.country = b.country AND a.id < b.id",
    "nested_cte": "WITH a AS (WITH b AS (SELECT id FROM client) SELECT x.id FROM b x JOIN b y ON x.id = y.id), c AS (SELECT id FROM a) "
    "SELECT * FROM a UNION ALL SELECT * FROM c",
    "view_of_view": "SELECT * FROM rich_names WHERE name LIKE 'h%' OR name ILIKE '%E_'",
    "catalog_table": "SELECT l.id, l.year, l.amount / 3 AS third FROM loan l WHERE l.year = 2021",
    "natural_join": "SELECT * FROM client NATURAL JOIN debt",
    "anti_join": "SELECT * FROM client LEFT ANTI JOIN debt ON client.id = debt.id",
    "cross_join": "SELECT c.id, d.sum FROM client c CROSS JOIN debt d",
    "outer_joins": "SELECT c.id, d.sum, l.amount FROM client c LEFT JOIN debt d ON c.id = d.id RIGHT JOIN loan l ON l.id = c.id",
    "escapes": r"SELECT name LIKE 'a/%%' ESCAPE '/' AS l, 'it''s \"so\" \\ ${x}\n' AS s, "
    "trim(BOTH 'x' FROM name) AS t, '日本' AS u FROM client",
    "case_when": "SELECT CASE WHEN income > 3000 THEN 'a' WHEN income > 1000 THEN 'b' END AS c, "
    "CASE country WHEN 'UK' THEN 1 ELSE 0 END AS d, if(income IS NULL, 'x', 'y') AS i FROM client",
    "in_between": "SELECT id FROM client WHERE country IN ('UK', 'US') AND income BETWEEN 1000 AND 5000 "
    "AND id NOT IN ('0002') AND NOT income <=> 7",
    "try_functions": "SELECT try_add(income, 1) AS a, try_divide(income, 0) AS d, try_cast(name AS int) AS c, "
    "try_element_at(array(1), 3) AS e, "
    "try_to_timestamp(name) AS t, nvl(income, 0) AS n, nullif(country, 'UK') AS u FROM client",
    "dates": "SELECT date_part('year', d) AS y, d + 1 AS n, date_trunc('month', t) AS m, t - INTERVAL '1 02:03' DAY TO MINUTE AS i, "
    "t - TIMESTAMP '2019-01-01 00:00:00' AS age, d - DATE '2019-01-01' AS days, mi * 2 AS twice, di / 2 AS half, d + mi AS later, "
    "to_date('2020-01-31', 'yyyy-MM-dd') AS p, add_months(d, 1) AS a, "
    "t BETWEEN TIMESTAMP '1999-01-01 00:00:00' AND now() AS b FROM everything",
    "literals": "SELECT DATE '2020-02-29' AS d, TIMESTAMP '2020-01-01 01:02:03.5' AS t, "
    "TIMESTAMP_NTZ '2020-01-01 01:02:03' AS n, X'00ff' AS b, "
    "1.50BD AS dec, 2.5D AS dbl, 1.5F AS f, 12L AS l, 3S AS s, 4Y AS y, NULL AS nothing, true AS yes, INTERVAL -'1-2' YEAR TO MONTH AS ym, "
    "INTERVAL '-1 02:03:04.5' DAY TO SECOND AS ds, double('NaN') AS nan, -0.0D AS zero FROM client",
    "nested": "SELECT s.a, s.inner.b, arr[0] AS first, m['k'] AS k, struct(id, arr) AS packed, array_of.a AS all_a, "
    "transform(arr, (x, i) -> x + i) AS t, filter(arr, x -> x > 1) AS f, aggregate(arr, 0, (acc, x) -> acc + x) AS total FROM everything",
    "lambda_over_columns": "SELECT transform(arr, id -> exists(arr, x -> x > id) AND size(arr) > everything.id) AS t FROM everything",
    "every_type": "SELECT * FROM everything",
    "one_row": "SELECT 1 AS one, upper('x') AS x",
    "values": "SELECT x, y FROM VALUES (1, 'a'), (2, NULL), (2, NULL) AS t(x, y)",
    "json": "SELECT from_json('{\"a\":1}', 'a INT') AS j, to_json(struct(id, income)) AS t, "
    "get_json_object('{\"a\":1}', '$.a') AS g, from_json('{a:01/**/}', 'a INT', map('allowUnquotedFieldNames', 'true', "
    "'allowComments', 'true', 'mode', 'PERMISSIVE', 'allowNumericLeadingZeros', 'true', 'allowSingleQuotes', 'false')) AS o FROM client",
    "python_udf": python_udf,
}


def frame(spark: SparkSession, pipeline: Pipeline) -> DataFrame:
    return spark.sql(pipeline) if isinstance(pipeline, str) else pipeline(spark)


def rows(df: DataFrame) -> list[str]:
    """The rows as text in a fixed order: a bag that can be compared, NaN and nested values included."""
    # PySpark cannot collect an interval of months.
    texts = [f"CAST(c{i} AS string)" if f.dataType.simpleString().startswith("interval") else f"c{i}" for i, f in enumerate(df.schema)]
    plain = df.toDF(*(f"c{i}" for i in range(len(texts)))).selectExpr(*texts)
    return sorted(repr(_comparable(tuple(row))) for row in plain.collect())


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted((repr(key), _comparable(item)) for key, item in value.items())
    return [_comparable(item) for item in value] if isinstance(value, list | tuple) else value


# --- Python functions over rows, batches and groups: recorded, and run by the tests of pipelines ------------------------


def limited_udf(spark: SparkSession) -> DataFrame:
    """A limit above a UDF, which goes below it."""
    from pyspark.sql import functions as F

    doubled = F.udf(lambda income: None if income is None else 2 * income, "int")
    return spark.table("client").select("id", doubled("income").alias("doubled")).limit(2)


def batches(spark: SparkSession) -> DataFrame:
    return spark.table("client").select("id", "income").mapInPandas(lambda frames: frames, "id string, income int").where("income > 0")


def groups(spark: SparkSession) -> DataFrame:
    client = spark.table("client").groupBy("country")
    return client.applyInPandas(lambda frame: frame[["country", "income"]], "country string, income int")


PYTHON: dict[str, Pipeline] = {"limited_udf": limited_udf, "batches": batches, "groups": groups}
