"""Every operator beyond the first ones, from SQL and from the DataFrame API: the captured plan gives the rows that Spark gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import expressions_in
from airflow_lineage_provider.plan.expressions import ScalarSubquery, UdfCall
from airflow_lineage_provider.plan.text import plan_text
from airflow_lineage_provider.plan.walk import all_operators, own_expressions, subqueries
from airflow_lineage_provider.spark.capturing.capture import CapturedPipeline, capture
from tests.in_turn import sampled
from tests.spark.direct import rows_of
from tests.spark.operator_pipelines import PIPELINES, SUBQUERIES, TABLES, make
from tests.spark.pipelines import Pipeline, frame, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("small_tables")]


@pytest.fixture(scope="module")
def small_tables(spark: SparkSession) -> Iterator[None]:
    make(spark)
    yield
    for name in (*TABLES, "most", "days", "bands"):
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize("pipeline", sampled(PIPELINES.values(), 17), ids=sampled(PIPELINES, 17))
def test_the_captured_plan_gives_the_same_rows(spark: SparkSession, pipeline: Pipeline) -> None:
    df = frame(spark, pipeline)
    expected, captured = rows(df), capture(df)
    assert codec.from_json(codec.to_json(captured.pipeline)) == captured.pipeline
    assert list(captured.pipeline.names) == df.columns
    assert_leaves_fit(captured)
    assert rows_of(spark, captured) == expected


def assert_leaves_fit(captured: CapturedPipeline) -> None:
    found = {node.leaf: node for node in all_operators(captured.pipeline.plan) if isinstance(node, o.Source)}
    assert tuple(found[number] for number in range(len(found))) == captured.sources
    assert len(captured.leaves) == len(found)
    for source, leaf in zip(captured.sources, captured.leaves, strict=True):
        assert tuple(leaf.columns) == source.columns


@pytest.mark.parametrize("pipeline", sampled(SUBQUERIES.values(), 3), ids=sampled(SUBQUERIES, 3))
def test_what_is_left_of_subqueries_is_not_correlated(spark: SparkSession, pipeline: Pipeline) -> None:
    """Each is a whole plan: operators check in their constructors that they read nothing from outside."""
    for node in all_operators(capture(frame(spark, pipeline)).pipeline.plan):
        for subquery in subqueries(node):
            assert len(subquery.plan.output) == 1


def text_of(spark: SparkSession, pipeline: Pipeline) -> list[str]:
    return plan_text(capture(frame(spark, pipeline)).pipeline.plan).split("\n")


def test_how_subqueries_read(spark: SparkSession) -> None:
    assert text_of(spark, PIPELINES["not_in_correlated"])[:2] == [
        "π a, b, s",
        "  ▷ (((a = c) OR isnull((a = c))) AND (d > b))",
    ]
    assert text_of(spark, PIPELINES["exists_or"])[2:4] == ["    σ (exists OR (b = 3))", "      ∃ (c = a)"]
    assert text_of(spark, PIPELINES["exists_anything"])[2] == "    ⋉"
    assert text_of(spark, "SELECT * FROM t WHERE b > (SELECT avg(d) FROM u)") == [
        "π a, b, s",
        "  σ (cast(b AS double) > (α (); avg(d) AS avg(d);   u [c, d, e]))",
        "    t [a, b, s]",
    ]


def test_how_set_operations_read(spark: SparkSession) -> None:
    assert text_of(spark, PIPELINES["except_all"])[:4] == [
        "π a, b",
        "  γ explode(sequence(1, (copies - coalesce(copies, 0)))) → copy",
        "    σ (copies > coalesce(copies, 0))",
        "      − ((a <=> c) AND (b <=> d))",
    ]
    assert text_of(spark, PIPELINES["intersect"])[:2] == ["δ", "  ⋉ ((a <=> c) AND (b <=> d))"]


def test_how_grouping_sets_read(spark: SparkSession) -> None:
    assert text_of(spark, "SELECT a, sum(b) AS b FROM t GROUP BY ROLLUP (a)")[:3] == [
        "α a, spark_grouping_id; sum(b) AS b",
        "  π a, b, s, a, spark_grouping_id",
        "    γ inline(array(named_struct('c3', a, 'c4', 0), named_struct('c3', NULL, 'c4', 1))) → a, spark_grouping_id",
    ]


def test_plans_without_subqueries_are_read_as_they_are(spark: SparkSession) -> None:
    from airflow_lineage_provider.spark.capturing.subqueries import has_subqueries

    plain = spark.sql("WITH q AS (SELECT a FROM t) SELECT explode(array(a)) FROM q")._jdf.queryExecution().analyzed()
    assert not has_subqueries(spark, plain)
    nested = spark.sql("WITH q AS (SELECT a FROM t WHERE a IN (SELECT c FROM u)) SELECT a FROM q")._jdf.queryExecution().analyzed()
    assert has_subqueries(spark, nested)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT * FROM t WHERE a IN (SELECT c FROM u x WHERE x.d IN (SELECT d FROM v))", ["t", "u", "v"]),
        ("SELECT * FROM t WHERE b > (SELECT avg(d) FROM u WHERE EXISTS (SELECT 1 FROM v WHERE v.c = u.c))", ["t", "u", "v"]),
        ("SELECT a, (SELECT m FROM most WHERE c = a) AS m FROM t y", ["t", "u"]),
        ("WITH q AS (SELECT c FROM v) SELECT * FROM q x WHERE EXISTS (SELECT 1 FROM q WHERE q.c > x.c)", ["v", "v"]),
    ],
)
def test_sources_in_subqueries_have_the_names_that_people_use(spark: SparkSession, text: str, names: list[str]) -> None:
    assert [source.relation.name for source in capture(spark.sql(text)).sources] == names


def test_a_subquery_that_is_written_twice_is_one(spark: SparkSession) -> None:
    captured = capture(frame(spark, PIPELINES["scalar_twice"]))
    parts = [part for node in all_operators(captured.pipeline.plan) for own in own_expressions(node) for part in expressions_in(own)]
    found = [part for part in parts if isinstance(part, ScalarSubquery)]
    assert len(found) > 1
    assert len(set(found)) == 1
    assert [source.relation.name for source in captured.sources] == ["t", "u"]


def test_udfs_in_subqueries_are_captured(spark: SparkSession) -> None:
    from pyspark.sql.functions import udf

    spark.udf.register("inside", udf(lambda x: x, "int"))
    spark.udf.register("outside", udf(lambda x: x, "int"))
    captured = capture(
        spark.sql(
            "SELECT outside(a) AS o, (SELECT max(inside(d)) FROM u) AS m FROM t "
            "WHERE EXISTS (SELECT 1 FROM v WHERE inside(c) = a) OR b = (SELECT max(inside(d)) FROM v WHERE v.c = a)"
        )
    )
    parts = [part for node in all_operators(captured.pipeline.plan) for own in own_expressions(node) for part in expressions_in(own)]
    calls = {part.call: part.udf for part in parts if isinstance(part, UdfCall)}
    assert sorted(calls.values()) == ["inside", "inside", "inside", "outside"]
    assert {number: udf.name for number, udf in captured.udfs.items()} == calls


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, (SELECT e FROM u WHERE c = a) AS e FROM t",
        "SELECT a, (SELECT c FROM u WHERE c = a) AS c FROM t",
        "SELECT a FROM t WHERE (SELECT d FROM u WHERE c = a) = 5",
        "SELECT a, (SELECT e FROM u WHERE c >= a AND c < a + 1) AS e FROM t",
    ],
)
def test_several_rows_for_one_value_are_an_error(spark: SparkSession, text: str) -> None:
    """As in Spark, for a row with two partners."""
    captured = capture(spark.sql(text))
    with pytest.raises(Exception, match="More than one row returned by a subquery"):
        rows(spark.sql(text))
    with pytest.raises(Exception, match="More than one row returned by a subquery"):
        rows_of(spark, captured)


def test_several_rows_for_a_value_that_nobody_reads_are_none(spark: SparkSession) -> None:
    df = spark.sql("SELECT a FROM (SELECT a, (SELECT e FROM u WHERE c = a) AS e FROM t)")
    assert rows_of(spark, capture(df)) == rows(df)


RECURSIVE = {
    "read twice": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r a JOIN r b ON a.n = b.n + 1",
    "ended by a limit": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n AS m FROM r LIMIT 7",
    "one that reads another": (
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3), "
        "s(n) AS (SELECT n FROM r UNION ALL SELECT n * 2 FROM s WHERE n < 8) SELECT n, count(*) AS c FROM s GROUP BY n"
    ),
    "in a subquery": (
        "SELECT a FROM t WHERE a < (SELECT max(n) FROM (WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) "
        "SELECT * FROM r))"
    ),
    "over a table": "WITH RECURSIVE r(a) AS (SELECT min(a) FROM t UNION ALL SELECT r.a + 1 FROM r JOIN t ON t.a = r.a) SELECT * FROM r",
}


@pytest.mark.parametrize("text", RECURSIVE.values(), ids=RECURSIVE.keys())
def test_the_rows_of_recursive_queries_are_data_of_the_session(spark: SparkSession, text: str) -> None:
    df = spark.sql(text)
    captured = capture(df)
    assert "local" in {source.relation.kind for source in captured.sources}
    assert rows_of(spark, captured) == rows(df)


def test_transposed_rows_are_refused(spark: SparkSession) -> None:
    with pytest.raises(UnsupportedOperator, match=r"transpose\(\) is not supported. .* use unpivot and pivot"):
        capture(spark.table("v").transpose())


def _map_in_pandas(spark: SparkSession) -> DataFrame:
    return spark.table("t").select("b", "a").mapInPandas(lambda batches: batches, "b int, a int")


def _map_in_arrow(spark: SparkSession) -> DataFrame:
    return spark.table("t").mapInArrow(lambda batches: batches, "a int, b int, s string")


def _apply(spark: SparkSession) -> DataFrame:
    return spark.table("t").groupBy("s", (spark.table("t").a % 2).alias("odd")).applyInPandas(lambda group: group, "a int, b int, s string")


def _apply_arrow(spark: SparkSession) -> DataFrame:
    return spark.table("t").groupBy("a").applyInArrow(lambda group: group, "a int, b int, s string")


def _cogrouped(spark: SparkSession) -> DataFrame:
    left, right = spark.table("t").groupBy("a"), spark.table("u").groupBy("c")
    return left.cogroup(right).applyInPandas(lambda one, other: one, "a int, b int, s string")


@pytest.mark.parametrize(
    ("pipeline", "kind", "keys", "inputs"),
    [
        (_map_in_pandas, "map", [], [["b", "a"]]),
        (_map_in_arrow, "map", [], [["a", "b", "s"]]),
        (_apply, "grouped", ["s", "odd"], [["s", "odd", "a", "b", "s"]]),
        (_apply_arrow, "grouped", ["a"], [["a", "a", "b", "s"]]),
        (_cogrouped, "cogrouped", ["a", "c"], [["a", "a", "b", "s"], ["c", "c", "d", "e"]]),
    ],
)
def test_python_functions_over_rows(spark: SparkSession, pipeline: Pipeline, kind: str, keys: list[str], inputs: list[list[str]]) -> None:
    captured = capture(frame(spark, pipeline))
    plan = captured.pipeline.plan
    assert isinstance(plan, o.PythonMap)
    assert (plan.kind, [key.name for key in plan.keys]) == (kind, keys)
    assert [[a.name for a in child.output] for child in plan.children] == inputs
    assert captured.udfs[plan.call].eval_type == plan.eval_type
    with pytest.raises(UnsupportedOperator, match=r"the Python function lambda \(.*\) has no SQL text"):
        rows_of(spark, captured)


def _frequent_items(spark: SparkSession) -> DataFrame:
    return spark.table("t").stat.freqItems(["a"])


def _outer_call(spark: SparkSession) -> DataFrame:
    spark.udf.register("twice", lambda x: None if x is None else 2 * x, "int")
    return spark.sql("SELECT a, (SELECT d FROM u WHERE c > twice(a)) AS d FROM t")


def _with_replacement(spark: SparkSession) -> DataFrame:
    return spark.table("t").sample(withReplacement=True, fraction=0.5, seed=1)


def _tail(spark: SparkSession) -> DataFrame:
    return spark.table("t").groupBy("a").pivot("s").agg({"b": "max"}).offset(1).mapInPandas(lambda x: x, "a int", barrier=True)


@pytest.mark.parametrize(
    ("pipeline", "what"),
    [
        (_outer_call, "the UDF twice called in a correlated subquery on columns of the outer query"),
        ("SELECT count(*) FROM days GROUP BY session_window(at, '1 day')", "a session window"),
        ("SELECT count(*) FROM (SELECT CAST(at AS timestamp_ntz) AS at FROM days) GROUP BY window(at, '1 day')", "without time zone"),
        (_frequent_items, r"freqItems()"),
        (_with_replacement, "a sample with replacement"),
        (_tail, "MapInPandas with barrier=True"),
    ],
)
def test_what_is_not_supported_is_named_with_its_place_and_a_way_out(spark: SparkSession, pipeline: Pipeline, what: str) -> None:
    with pytest.raises(UnsupportedOperator, match=r"is not supported \(at .*\)[.:] [A-Z].*\.$") as raised:
        capture(frame(spark, pipeline))
    assert what in str(raised.value)


def test_columns_of_type_char_are_read_with_their_blanks(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE chars (id INT, code CHAR(4), name VARCHAR(4)) USING parquet")
    try:
        spark.sql("INSERT INTO chars VALUES (1, 'ab', 'ab'), (2, 'abcd', 'x'), (3, NULL, NULL)")
        df = spark.sql("SELECT id, code, length(code) AS n, name FROM chars WHERE code = 'ab' OR id > 1")
        assert rows_of(spark, capture(df)) == rows(df)
        assert [row.code for row in df.orderBy("id").collect()] == ["ab  ", "abcd", None]
    finally:
        spark.sql("DROP TABLE chars")
