"""Plans captured from real sessions: right names, right leaves, and the generated SQL gives the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airflow_lineage_provider.errors import UdfUnavailable, UnsupportedOperator
from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.check import check
from airflow_lineage_provider.plan.expression_walk import expressions_in
from airflow_lineage_provider.plan.expressions import UdfCall
from airflow_lineage_provider.plan.walk import all_operators, children, operators, own_expressions, transform_up
from airflow_lineage_provider.rewrite.pipeline import PASSES
from airflow_lineage_provider.spark.capturing.capture import CapturedPipeline, capture
from airflow_lineage_provider.spark.executing.python_windows import with_window_functions
from airflow_lineage_provider.spark.executing.run import rows_of
from airflow_lineage_provider.spark.session import apply_conf
from airflow_lineage_provider.spark.sql_functions import register_captured
from airflow_lineage_provider.sql import ColumnRef, lower
from airflow_lineage_provider.tracing.binding import Key, LeafTable, bind
from tests.in_turn import sampled
from tests.spark.pipelines import PIPELINES, Pipeline, frame, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("tables")]


@contextmanager
def executed(spark: SparkSession, captured: CapturedPipeline) -> Iterator[DataFrame]:
    """The captured plan, as SQL, over views of its leaves."""
    plan = captured.pipeline.plan
    for one in PASSES:
        plan = one(plan)
        check(plan)
    tables: dict[Key, LeafTable] = {}
    for number, leaf in enumerate(captured.leaves):
        leaf.createOrReplaceTempView(f"leaf_{number}")
        tables["source", number] = LeafTable(name=(f"leaf_{number}",))
    udfs = {}
    for node in operators(plan):
        if isinstance(node, o.FunctionOperator):
            udfs[node.function] = f"captured_{node.function}"
            register_captured(spark, captured.udfs, node.call, udfs[node.function])
    registered: list[str] = []
    plan = with_window_functions(spark, plan, captured.udfs, "captured", registered)
    plan = _applied(spark, plan, captured, tables, udfs)
    with apply_conf(spark, dict(captured.pipeline.conf)):
        yield spark.sql(lower(plan, bind(plan, tables), dialect="spark", udfs=udfs)).toDF(*captured.pipeline.names)
    for number in range(len(captured.leaves)):
        spark.catalog.dropTempView(f"leaf_{number}")
    for name in registered:
        spark.sql(f"DROP TEMPORARY FUNCTION {name}")


def _applied(spark: SparkSession, plan: o.Plan, captured: CapturedPipeline, tables: dict[Key, LeafTable], udfs: dict[int, str]) -> o.Plan:
    """The plan over views of what functions of batches and groups give."""

    numbers = count()

    def called(node: o.Plan) -> o.Plan:
        if not isinstance(node, o.PythonMap | o.Generate) or node.call is None:
            return node
        number = next(numbers)  # a query that is written once may stand in the plan twice
        texts = [lower(child, bind(child, tables), dialect="spark", udfs=udfs) for child in children(node)]
        rows_of(node, captured, [spark.sql(text) for text in texts]).createOrReplaceTempView(f"python_{number}")
        leaf = o.SegmentOutput(segment=-1_000_000 - number, output=node.output)
        spelled = {a.id: ColumnRef(text=a.name) for a in node.output}
        tables["segment", leaf.segment] = LeafTable(name=(f"python_{number}",), by_id=spelled)
        return leaf

    return transform_up(plan, called)


@pytest.mark.parametrize("pipeline", sampled(PIPELINES.values()), ids=sampled(PIPELINES))
def test_the_captured_plan_gives_the_same_rows(spark: SparkSession, pipeline: Pipeline) -> None:
    df = frame(spark, pipeline)
    captured = capture(df)
    check(captured.pipeline.plan)
    assert codec.from_json(codec.to_json(captured.pipeline)) == captured.pipeline
    assert list(captured.pipeline.names) == df.columns
    assert_leaves_fit(captured)
    with executed(spark, captured) as again:
        assert [f.dataType.simpleString() for f in again.schema] == [f.dataType.simpleString() for f in df.schema]
        assert rows(again) == rows(df)


def assert_leaves_fit(captured: CapturedPipeline) -> None:
    sources = [node for node in all_operators(captured.pipeline.plan) if isinstance(node, o.Source)]
    assert [source.leaf for source in sources] == list(range(len(captured.leaves)))
    assert tuple(sources) == captured.sources
    for source, leaf in zip(sources, captured.leaves, strict=True):
        assert tuple(leaf.columns) == source.columns


@pytest.mark.parametrize(
    ("pipeline", "names"),
    [
        ("cte_twice", ["client", "client"]),
        ("self_join", ["client", "client"]),
        ("union_with_itself", ["client"] * 3),
        ("view_of_view", ["client"]),
        ("outer_joins", ["client", "debt", "loan"]),
        ("range_and_local", ["range", "local data"]),
        ("values", ["t"]),
        ("one_row", ["one row"]),
        ("nested_cte", ["client"] * 4),
    ],
)
def test_sources_have_the_names_that_people_use(spark: SparkSession, pipeline: str, names: list[str]) -> None:
    assert [source.relation.name for source in capture(frame(spark, PIPELINES[pipeline])).sources] == names


def test_files_without_a_view_are_named_after_the_last_part_of_their_path(spark: SparkSession, tables: Path) -> None:
    captured = capture(spark.read.parquet(f"{tables}/client").select("id"))
    assert captured.sources[0].relation.name == "client"
    assert captured.sources[0].columns == ("id", "name", "country", "income")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SELECT try_make_timestamp_ntz(DATE '2024-01-01', TIME '01:02:03') FROM client", "a try_ function over an expression"),
        ("SELECT count(*) FROM client GROUP BY session_window(timestamp_seconds(income), '1 day')", "session window"),
    ],
)
def test_what_is_not_supported_is_named_with_its_place_and_a_way_out(spark: SparkSession, text: str, what: str) -> None:
    with pytest.raises(UnsupportedOperator, match=r"is not supported \(at .*\)\. [A-Z].*\.$") as raised:
        capture(spark.sql(text))
    assert what in str(raised.value)


def test_the_place_names_operators_and_the_column(spark: SparkSession) -> None:
    text = "SELECT a + 1 AS b FROM (SELECT max(try_make_timestamp_ntz(DATE '2024-01-01', TIME '01:02:03')) AS latest, 1 AS a FROM client)"
    with pytest.raises(UnsupportedOperator, match='Project > Aggregate > column "latest"'):
        capture(spark.sql(text))


def test_a_plan_of_another_ansi_mode_is_refused(spark: SparkSession) -> None:
    df = spark.sql("SELECT CAST(name AS int) AS i FROM client")
    with apply_conf(spark, {"spark.sql.ansi.enabled": "false"}), pytest.raises(UnsupportedOperator, match=r"ansi\.enabled=true"):
        capture(df)


def test_under_legacy_rules_the_plan_gives_the_same_rows(spark: SparkSession) -> None:
    with apply_conf(spark, {"spark.sql.ansi.enabled": "false"}):
        df = spark.sql("SELECT CAST(name AS int) AS i, 1 / (income - 900) AS d, size(NULL) AS s, element_at(array(1), 3) AS e FROM client")
        expected, captured = rows(df), capture(df)
    assert dict(captured.pipeline.conf)["spark.sql.ansi.enabled"] == "false"
    with executed(spark, captured) as again:
        assert rows(again) == expected
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"


def test_columns_that_differ_in_case_only(spark: SparkSession) -> None:
    with apply_conf(spark, {"spark.sql.caseSensitive": "true"}):
        df = spark.sql("SELECT a, A FROM VALUES (1, 2), (3, 4) AS t(a, A) WHERE A > 2")
        captured = capture(df)
        with executed(spark, captured) as again:
            assert rows(again) == rows(df) == ["[3, 4]"]
    assert captured.pipeline.names == ("a", "A")


def test_a_udf_is_found_whatever_sql_calls_it(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    factor = 3

    @F.udf("bigint")
    def triple(x):  # type: ignore[no-untyped-def]  # Spark takes hints for another kind of UDF
        return None if x is None else x * factor

    spark.udf.register("judge", triple)
    captured = capture(spark.sql("SELECT judge(income) + judge(income) AS twice FROM client WHERE judge(income) BETWEEN 1 AND 99999"))
    assert {(udf.name, udf.function_name, udf.type, udf.deterministic) for udf in captured.udfs.values()} == {
        ("judge", "triple", "bigint", True)
    }
    calls = [part.call for part in _udf_calls(captured.pipeline.plan)]
    assert set(calls) == set(captured.udfs)
    register_captured(spark, captured.udfs, calls[0], "the_same")
    assert spark.sql("SELECT the_same(5) AS x").collect()[0]["x"] == 15
    with pytest.raises(UdfUnavailable, match="judge"):
        register_captured(spark, captured.udfs, -5, "none")


def _udf_calls(plan: o.Plan) -> list[UdfCall]:
    parts = (part for node in operators(plan) for own in own_expressions(node) for part in expressions_in(own))
    return [part for part in parts if isinstance(part, UdfCall)]


def test_a_thousand_columns(spark: SparkSession) -> None:
    df = spark.range(2).selectExpr(*(f"id + {i} AS c{i}" for i in range(1000)))
    captured = capture(df)
    assert len(captured.pipeline.plan.output) == 1000
    assert captured.pipeline.names[-1] == "c999"


def test_settings_are_restored(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.caseSensitive")
    with apply_conf(spark, {"spark.sql.caseSensitive": "true", "spark.sql.legacy.sizeOfNull": "true", "spark.master": "no"}):
        assert spark.conf.get("spark.sql.caseSensitive") == "true"
    assert spark.conf.get("spark.sql.caseSensitive") == before
    assert "spark.sql.legacy.sizeOfNull" not in spark.conf.getAll
