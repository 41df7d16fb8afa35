"""Runs that read sources through provenance sketches: they give the rows of the plain run, or say why they read everything."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from airflow_lineage_provider import Lineage, Run, SketchOn, reasoned_udf
from airflow_lineage_provider.answers.why_not import WhyNot
from airflow_lineage_provider.errors import ReadThroughSketch
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.sketches import kept_cuts
from airflow_lineage_provider.sketches.partition import Partition
from airflow_lineage_provider.sketches.sketch import Sketch
from airflow_lineage_provider.sketches.use import FEW, FOR_READER, selection
from airflow_lineage_provider.spark.selected import DICTIONARIES, selected
from tests.in_turn import sampled
from tests.pipeline.sketched import BIG_ORDERS, ON_KEY, ORDERS, TOP, bag, captured, states, tables_of_orders

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_sketches")]
pytest.importorskip("z3")


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with tables_of_orders(spark, tmp_path_factory.mktemp("sketches")) as folder:
        yield folder


SAFE = {
    "having a sum": BIG_ORDERS,
    "having a count of any column": """
        SELECT o_custkey, count(*) AS n FROM orders WHERE o_price > 400 GROUP BY o_custkey HAVING count(*) >= 5""",
    "Q18": f"""
        SELECT c_name, o_orderkey, o_price, sum(l_quantity) AS total FROM customer, orders, lineitem
        WHERE o_orderkey IN (SELECT l_orderkey FROM ({BIG_ORDERS})) AND c_custkey = o_custkey AND o_orderkey = l_orderkey
        GROUP BY c_name, o_orderkey, o_price""",
    "a semi-join": "SELECT * FROM orders WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem WHERE l_quantity > 48 AND l_mode = 'AIR')",
    "a left join": """
        SELECT o_orderkey, l_line FROM orders LEFT JOIN lineitem ON o_orderkey = l_orderkey AND l_quantity > 49 WHERE o_price > 480""",
    "without partners": """
        SELECT o_orderkey FROM orders o WHERE NOT EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey) AND o_price > 450""",
    "the best customers": "SELECT o_custkey, sum(o_price) AS s FROM orders WHERE o_price > 0 GROUP BY o_custkey ORDER BY s DESC LIMIT 3",
    "Q3": """
        SELECT l_orderkey, sum(l_price) AS revenue, o_status FROM customer, orders, lineitem
        WHERE c_segment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
        GROUP BY l_orderkey, o_status ORDER BY revenue DESC LIMIT 10""",
    "the first in a total order": "SELECT o_price, o_orderkey FROM orders WHERE o_status = 'F' ORDER BY o_price DESC, o_orderkey LIMIT 5",
    "a selection above a limit":
        "SELECT * FROM (SELECT o_orderkey, o_price FROM orders ORDER BY o_price, o_orderkey LIMIT 20) WHERE o_orderkey > 300",
    "some of the best customers": """
        SELECT * FROM (
            SELECT o_custkey, sum(o_price) AS s FROM orders WHERE o_price > 0 GROUP BY o_custkey ORDER BY s DESC, o_custkey LIMIT 6)
        WHERE o_custkey % 2 = 0""",
    "an offset": "SELECT o_price, o_orderkey FROM orders WHERE o_status = 'F' ORDER BY o_price DESC, o_orderkey LIMIT 5 OFFSET 3",
    "the best of each": """
        SELECT * FROM (SELECT o_custkey, o_orderkey, max(o_price) OVER (PARTITION BY o_custkey) AS best FROM orders)
        WHERE best > 495""",
    "a union": "SELECT o_orderkey FROM orders WHERE o_price > 490 UNION ALL SELECT l_orderkey FROM lineitem WHERE l_price > 890",
    "different values": "SELECT DISTINCT o_custkey FROM orders WHERE o_price > 490",
    "a limit that cuts none": "SELECT o_orderkey, o_status FROM orders WHERE o_price > 490 LIMIT 500",
    "nothing": "SELECT o_custkey, sum(o_price) AS s FROM orders GROUP BY o_custkey HAVING sum(o_price) > 1000000",
    "a self-join": """
        SELECT a.o_orderkey, b.o_orderkey AS other FROM orders a JOIN orders b ON a.o_custkey = b.o_custkey AND a.o_orderkey < b.o_orderkey
        WHERE a.o_price > 495 AND b.o_price > 300""",
}  # fmt: skip
REFUSED = {
    "the first of a group": (
        "SELECT o_custkey, first(o_price) AS p FROM orders WHERE o_price > 300 GROUP BY o_custkey", "a value is of any row",
    ),
    "a limit without an order": (
        "SELECT * FROM orders WHERE o_price > 100 LIMIT 5",
        "it is safe only for a result of fewer than 5 rows, of which the limit cuts none, and this one has 5",
    ),
    "a selection above a limit where rows tie": (
        "SELECT * FROM (SELECT o_orderkey, o_status FROM orders ORDER BY o_status LIMIT 20) WHERE o_orderkey > 300",
        "are in its first 20 places, and another run may take others",
    ),
    "a count of all": ("SELECT count(*) AS n FROM orders HAVING count(*) < 10", "safe only for a result that has rows"),
    "a random value": ("SELECT * FROM orders WHERE rand(3) < 0.1", "may give something else each time"),
    "a limit of another table": (
        "SELECT o_orderkey FROM orders JOIN (SELECT c_custkey FROM customer LIMIT 5) ON o_custkey = c_custkey",
        "may be others in another run",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sampled(SAFE))
def test_a_run_through_sketches_gives_the_plain_rows(spark: SparkSession, lineage: Lineage, name: str) -> None:
    plain = bag(spark.sql(SAFE[name]))
    first = lineage.run(SAFE[name], name=f"sketched {name}", sketches="eager")
    assert bag(first.result) == plain
    assert "captured" in states(first).values(), first.sketches
    seen: set[str | None] = set()
    again = lineage.run(
        SAFE[name],
        name=f"sketched {name}",
        sketches="eager",
        verify_sketches=True,
        progress=lambda _: seen.add(spark.conf.get(DICTIONARIES, None)),
    )
    assert bag(again.result) == plain
    assert "used" in states(again).values(), again.sketches
    # Each range would read a row group's dictionary anew; what the session has said is as it was.
    assert (seen, spark.conf.get(DICTIONARIES, None)) == ({None, "false"}, None)
    for one in again.sketches:
        assert one.state != "used" or (one.run_id == first.id and one.rows is not None and one.total is not None and one.rows < one.total)
    assert again.result_table().num_rows == plain.total()


@pytest.mark.parametrize("name", sampled(REFUSED))
def test_what_could_go_wrong_is_refused_and_says_why(spark: SparkSession, lineage: Lineage, name: str) -> None:
    sql, told = REFUSED[name]
    first = lineage.run(sql, name=f"refused {name}", sketches="eager")
    assert all(one.state == "unused" for one in first.sketches)
    assert any(told in one.because for one in first.sketches), first.sketches
    again = lineage.run(sql, name=f"refused {name}", sketches="use")
    assert all(one.state == "unused" for one in again.sketches)


def test_one_sketch_skips_in_both_tables_of_an_equality(spark: SparkSession, lineage: Lineage) -> None:
    """Spark knows by ``l_orderkey = o_orderkey`` that the ranges of the one hold of the other, and gives them to both readers."""
    sql = """
        SELECT o_orderkey, sum(l_price) AS s FROM orders JOIN lineitem ON o_orderkey = l_orderkey
        GROUP BY o_orderkey HAVING sum(l_price) > 3700"""
    on = {"orders": SketchOn(column="o_orderkey", cuts=list(range(0, ORDERS, 4)))}
    plain = bag(spark.sql(sql))
    run = lineage.run(sql, name="both tables", sketches="capture", sketch_on=on)
    assert states(run)["orders.o_orderkey"] == "captured", run.sketches
    for other in lineage.sketches("both tables"):
        if other.table != "orders":
            lineage.drop_sketch(other.id)
    through = lineage.run(sql, name="both tables", sketches="use", sketch_on=on)
    assert states(through) == {"orders.o_orderkey": "used", "lineitem.": "unused"}
    assert bag(through.result) == plain
    pushed = _given_to_readers(spark, sql, lineage, run.sketches[0].sketch)
    assert sorted(pushed) == ["lineitem", "orders"]
    assert "GreaterThanOrEqual(o_orderkey," in pushed["orders"]
    assert "GreaterThanOrEqual(l_orderkey," in pushed["lineitem"]


def _given_to_readers(spark: SparkSession, sql: str, lineage: Lineage, sketch_id: str) -> dict[str, str]:
    """The filters that Spark gives the readers of both tables, where orders is read through the sketch as a run reads it."""
    found = lineage.store.sketch(sketch_id)
    assert found is not None
    sketch, partition = Sketch.from_bytes(found[0].content), kept_cuts.from_bytes(found[0].cuts)
    chosen = selection(partition, sketch.fragments, Attribute(id=0, name="o_orderkey", type="int"))
    selected(spark.table("orders"), chosen, "o_orderkey").createOrReplaceTempView("sketched_orders")
    spark.conf.set("spark.sql.maxMetadataStringLength", "100000")
    try:
        plan = spark.sql(sql.replace("FROM orders", "FROM sketched_orders"))._jdf.queryExecution().executedPlan().toString()
    finally:
        spark.conf.unset("spark.sql.maxMetadataStringLength")
        spark.catalog.dropTempView("sketched_orders")
    tables = {"o": "orders", "l": "lineitem"}
    return {
        tables[column]: given for column, given in re.findall(r"FileScan parquet \[([ol])_.*?PushedFilters: \[(.*?)\], ReadSchema", plan)
    }


# --- the lineage of a run through a sketch -----------------------------------------------------------------------------


def traced(run: Run) -> dict[str, Counter[Any]]:
    """The source rows of every row of the result, as the rows of the result say which; the tables' rows are all different."""
    rows = [tuple(row.values()) for row in run.result_table().to_pylist()]
    found = {}
    for table, behind in run.backward("true").items():
        sources = [tuple(map(str, row.values())) for row in behind.rows.to_pylist()]
        found[table] = Counter((str(rows[result]), sources[source]) for result, source in links(behind))
        assert behind.guarantee.level == "exact"
    return found


def links(behind: Any) -> list[tuple[int, int]]:
    return [tuple(pair.values()) for pair in behind.links.to_pylist()]


@pytest.mark.parametrize("strategy", sampled(["function_materialization", "rerun", "auto"]))
def test_lineage_through_a_sketch_is_that_of_the_plain_run(spark: SparkSession, lineage: Lineage, strategy: Any) -> None:
    """Files and positions are the rows' own when pages are skipped; a model is called for the rows of the sketch alone."""
    calls = spark.sparkContext.accumulator(0)

    @reasoned_udf("int", name="weight", version="1")
    def weight(quantity: int) -> int:
        calls.add(1)
        return quantity * 2

    def heavy(spark: SparkSession) -> Any:
        weight.register(spark)
        return spark.sql(
            "SELECT l_orderkey, count(*) AS lines, sum(weight(l_quantity)) AS total FROM lineitem GROUP BY l_orderkey "
            "HAVING sum(l_quantity) > 200"
        )

    plain = lineage.run(heavy, strategy=strategy, sketches="capture", sketch_on=ON_KEY)
    expected, all_calls, calls.value = traced(plain), calls.value, 0
    through = lineage.run(heavy, strategy=strategy, sketches="use")
    assert states(through) == {"lineitem.l_orderkey": "used"}
    assert bag(through.result) == bag(plain.result)
    calls_through = calls.value
    assert traced(through) == expected
    assert 0 < calls_through < all_calls / 2
    assert [one.explain("l_orderkey >= 0", verify=True).verified for one in (plain, through)] == [True, True]
    asked = "l_quantity = 50"
    descended = [Counter(map(str, one.forward(asked, table="lineitem").rows.to_pylist())) for one in (plain, through)]
    assert descended[0] == descended[1]
    _outside(lineage, through, plain, asked)


def _outside(lineage: Lineage, through: Run, plain: Run, asked: str) -> None:
    """What became of rows outside the sketch (a key is a fragment), and that nothing is said of those inside."""
    inside = {row["l_orderkey"] for row in plain.result.collect()}
    assert lineage.spark is not None
    rows = lineage.spark.table("lineitem").where(asked).collect()
    read = sum(row["l_orderkey"] in inside for row in rows)
    assert 0 < read < len(rows)
    told = rf"through a sketch of l_orderkey, .*; {read} of the {len(rows)} rows that are asked about it has read"
    with pytest.raises(ReadThroughSketch, match=told):
        through.why_not(asked, table="lineitem", max_rows=1000)
    others = f"{asked} AND l_orderkey NOT IN ({', '.join(map(str, sorted(inside)))})"
    found = lineage.get_run(through.id).why_not(others, table="lineitem", max_rows=1000)
    assert (found.rows.num_rows, found.surviving) == (len(rows) - read, 0)
    assert plain.why_not(others, table="lineitem", max_rows=1000).surviving == 0
    (use,) = through.sketches
    assert {(fate.lost, fate.drop.reason if fate.drop else None) for fate in found.fates} == {(1, "sketch")}
    kept = lineage.get_run(through.id).why_not(others, table="lineitem", max_rows=1000, save=True)
    again = lineage.answer(kept.id)
    assert isinstance(again, WhyNot)
    assert list(again.fates) == list(found.fates)
    text = f"not read: outside sketch {use.sketch} of run {plain.id}, which has all rows that can matter to the result"
    assert {fate.drop.text for fate in found.fates if fate.drop} == {text}
    shown = io.StringIO()
    found.show(Console(file=shown, width=200), rows=1)
    assert text in shown.getvalue()
    assert "σ l_orderkey in" in shown.getvalue()


def test_pages_are_skipped_and_positions_stay(spark: SparkSession, tables: Path) -> None:
    from airflow_lineage_provider.spark.selected import selected

    place = str(tables / "lineitem")
    partition = Partition(type="int", cuts=tuple(range(0, ORDERS, 5)))
    asked = selection(partition, frozenset({3, 50, 51, 110}), Attribute(id=0, name="l_orderkey", type="int"))
    columns = ["l_orderkey", "l_line", "_metadata.row_index"]
    everything = {(row[0], row[1]): row[2] for row in spark.read.parquet(place).select(*columns).collect()}
    chosen = spark.read.parquet(place).select(*columns)
    chosen = selected(chosen, asked, "l_orderkey")
    found = {(row[0], row[1]): row[2] for row in chosen.collect()}
    assert found == {key: at for key, at in everything.items() if partition.fragment_of(key[0]) in {3, 50, 51, 110}}
    read = chosen._jdf.queryExecution().executedPlan().collectLeaves().apply(0).metrics().apply("numOutputRows").value()
    assert len(found) <= read < len(everything) / 2


def test_scattered_fragments_are_searched_and_the_result_is_a_source(spark: SparkSession, lineage: Lineage) -> None:
    """The selection is a search among bounds then, which a pipeline over the run's result has in its plan."""
    sql = "SELECT l_orderkey, sum(l_quantity) AS total FROM lineitem WHERE l_orderkey % 10 = 3 GROUP BY l_orderkey"
    on = {"lineitem": SketchOn(column="l_orderkey", cuts=sorted({at * 3 + at % 2 for at in range(ORDERS // 3)}))}
    plain = lineage.run(sql, name="scattered", sketches="capture", sketch_on=on)
    through = lineage.run(sql, name="scattered", sketches="use", sketch_on=on)
    (use,) = through.sketches
    assert use.state == "used"
    assert FOR_READER > use.fragments > FEW
    assert bag(through.result) == bag(plain.result)
    above = lineage.run(through.result.where("total > 100"), name="above")
    assert bag(above.result) == bag(plain.result.where("total > 100"))
    (row, *_) = above.result.collect()
    explained = above.explain(f"l_orderkey = {row.l_orderkey}").sources["lineitem"]
    expected = spark.table("lineitem").where(f"l_orderkey = {row.l_orderkey}").count()
    assert len(explained.rows) == expected


@pytest.mark.parametrize(("array", "of"), [("10,20,30,40", "bigint"), ("a,b,d", "string")])
def test_a_search_is_said_in_functions_that_sql_has(spark: SparkSession, lineage: Lineage, array: str, of: str) -> None:
    """Where it is found, else where it would be, and NULL for NULL: as Spark's own search says."""
    from pyspark.sql import functions as F
    from pyspark.sql.internal import InternalFunction

    values = {"bigint": (5, 10, 15, 20, 40, 41, None), "string": ("", "a", "c", "d", "e", None)}[of]
    frame = spark.createDataFrame([(one,) for one in values], f"v {of}")
    constant = F.split(F.lit(array), ",").cast(f"array<{of}>")
    frame = frame.select("v", InternalFunction.array_binary_search(constant, F.col("v")).alias("place"))
    run = lineage.run(frame, name="searched")
    stored = run.result_table().to_pylist()
    assert Counter(map(str, stored)) == Counter(str(row.asDict()) for row in frame.collect())


# --- when a sketch is not used -----------------------------------------------------------------------------------------


def test_other_constants_and_settings_are_other_instances(spark: SparkSession, lineage: Lineage) -> None:
    from airflow_lineage_provider.spark.session import apply_conf

    captured(lineage, "constants", params={"least": 220})
    (use,) = lineage.run(TOP, name="another name", params={"least": 220}, sketches="use").sketches
    assert use.state == "used"
    with apply_conf(spark, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        (use,) = lineage.run(TOP, name="constants", params={"least": 220}, sketches="use").sketches
    assert (use.state, use.because) == ("unused", "no sketch was captured of a run of this pipeline")
    assert lineage.run(TOP, params={"least": 220}).sketches == ()


@pytest.mark.parametrize(
    ("sql", "old", "others"),
    [
        (TOP, {"least": 190}, [{"least": 200}, {"least": 230}]),
        ("SELECT o_orderkey FROM orders WHERE o_price > :least AND o_status = 'F'", {"least": 450}, [{"least": 470}]),
        (
            "SELECT o_price, o_orderkey FROM orders WHERE o_status = 'P' ORDER BY o_price DESC, o_orderkey LIMIT :count",
            {"count": 9}, [{"count": 3}],
        ),
    ],
)  # fmt: skip
def test_a_sketch_serves_other_constants_where_that_is_proved(
    spark: SparkSession, lineage: Lineage, sql: str, old: dict[str, int], others: list[dict[str, int]]
) -> None:
    lineage.run(sql, name="old", params=old, sketches="capture")
    for params in others:
        run = lineage.run(sql, name="new", params=params, sketches="use", verify_sketches=True)
        (use,) = run.sketches
        assert use.state == "used", use
        assert "with other constants, which has all that this one needs" in use.because
        assert bag(run.result) == bag(spark.sql(sql, params))
    less = {name: value - 5 if name == "least" else value + 1 for name, value in old.items()}
    run = lineage.run(sql, name="new", params=less, sketches="use")
    (use,) = run.sketches
    assert use.state == "unused"
    assert "are of other constants: " in use.because
    assert bag(run.result) == bag(spark.sql(sql, less))


def test_a_day_that_is_computed_is_a_constant(spark: SparkSession, lineage: Lineage, tmp_path: Path) -> None:
    place = str(tmp_path / "days")
    spark.range(90).selectExpr("id", "date_add(DATE'2025-09-05', CAST(id AS INT)) AS day").coalesce(1).write.parquet(place)
    sql = f"SELECT id FROM parquet.`{place}` WHERE day >= date_sub(:day, :days)"
    run = lineage.run(sql, name="days", params={"day": "2025-12-01", "days": 7}, sketches="capture", sketch_on={"days": "day"})
    assert [one.state for one in run.sketches] == ["captured"], run.sketches
    for params, state in (({"day": "2025-12-02", "days": 3}, "used"), ({"day": "2025-12-01", "days": 8}, "unused")):
        run = lineage.run(sql, name="days", params=params, sketches="use", verify_sketches=True)
        assert [one.state for one in run.sketches] == [state], run.sketches
        assert bag(run.result) == bag(spark.sql(sql, params))


def test_a_day_that_a_task_renders_is_a_constant(spark: SparkSession, lineage: Lineage, tmp_path: Path) -> None:
    """``{{ ds }}`` in a text, as Airflow renders it before the run: another day is another instance of the same template."""
    from jinja2 import Template

    place = str(tmp_path / "days")
    spark.range(90).selectExpr("id", "date_add(DATE'2025-09-05', CAST(id AS INT)) AS day").coalesce(1).write.parquet(place)
    text = f"SELECT id FROM parquet.`{place}` WHERE day >= date_sub(DATE'{{{{ ds }}}}', 7)"

    def rendered(ds: str) -> str:
        return str(Template(text).render(ds=ds))

    run = lineage.run(rendered("2025-11-20"), name="rendered", sketches="capture", sketch_on={"days": "day"})
    assert [one.state for one in run.sketches] == ["captured"], run.sketches
    for ds, state in (("2025-11-20", "used"), ("2025-11-25", "used"), ("2025-11-19", "unused")):
        again = lineage.run(rendered(ds), name="rendered", sketches="use", verify_sketches=True)
        assert [one.state for one in again.sketches] == [state], again.sketches
        assert bag(again.result) == bag(spark.sql(rendered(ds)))


def test_rows_that_tie_at_a_limit(spark: SparkSession, lineage: Lineage) -> None:
    """Where others of the sketch tie with the last row it is not kept; a sketch that has no others gives the very rows again."""
    sql = "SELECT o_orderkey, o_status FROM orders WHERE o_price > 300 ORDER BY o_status LIMIT 3"
    run = lineage.run(sql, name="tied", sketches="capture", sketch_on={"orders": SketchOn(column="o_orderkey", cuts=[300])})
    (use,) = run.sketches
    assert use.state == "unused"
    assert "are in its first 3 places, and another run may take others" in use.because
    run = lineage.run(sql, name="tied", sketches="capture", sketch_on={"orders": "o_orderkey"})
    assert [one.state for one in run.sketches] == ["captured"]
    again = lineage.run(sql, name="tied", sketches="use")
    assert [(one.state, one.rows) for one in again.sketches] == [("used", 3)]
    assert bag(again.result) == bag(run.result)
    (use,) = lineage.run(sql.replace("LIMIT 3", "LIMIT 2"), name="tied", sketches="use").sketches
    assert "another run may give others" in use.because


def test_two_sources_are_read_together_where_rows_may_tie_over_one(spark: SparkSession, lineage: Lineage) -> None:
    """It is counted over both at once, and is not asked over each."""
    on = {"orders": "o_orderkey", "lineitem": "l_orderkey"}
    sql = "SELECT o_orderkey, l_line FROM orders JOIN lineitem ON o_orderkey = l_orderkey WHERE o_price > 300 ORDER BY o_status LIMIT 3"
    many = lineage.run(sql.replace("= l_orderkey", "<= l_orderkey"), name="tied together", sketches="capture", sketch_on=on)
    assert {one.state for one in many.sketches} == {"unused"}
    assert any("over the sketches" in one.because for one in many.sketches), many.sketches
    sql = sql.replace("WHERE", "WHERE l_line = 1 AND")
    run = lineage.run(sql, name="tied together", sketches="capture", sketch_on=on)
    assert states(run) == {"orders.o_orderkey": "captured", "lineitem.l_orderkey": "captured"}, run.sketches
    again = lineage.run(sql, name="tied together", sketches="use")
    assert states(again) == {"orders.o_orderkey": "used", "lineitem.l_orderkey": "used"}, again.sketches
    assert bag(again.result) == bag(run.result)
    lineage.drop_sketch(next(one.sketch for one in run.sketches if one.table == "orders"))
    alone = lineage.run(sql, name="tied together", sketches="use")
    assert {one.state for one in alone.sketches} == {"unused"}
    assert any("together" in one.because for one in alone.sketches), alone.sketches


def test_the_best_by_a_models_value(spark: SparkSession, lineage: Lineage) -> None:
    """The model below the limit is called to count ties, and for the rows of the sketch alone when it is used."""

    @reasoned_udf("int", name="points", version="1")
    def points(quantity: int) -> int:
        return quantity * 3

    def best(spark: SparkSession) -> Any:
        points.register(spark)
        return spark.sql("SELECT l_orderkey, sum(points(l_quantity)) AS p FROM lineitem GROUP BY l_orderkey ORDER BY p DESC LIMIT 2")

    run = lineage.run(best, sketches="capture", sketch_on=ON_KEY)
    assert [one.state for one in run.sketches] == ["captured"], run.sketches
    again = lineage.run(best, sketches="use", verify_sketches=True)
    assert [one.state for one in again.sketches] == ["used"]
    assert bag(again.result) == bag(run.result) == bag(best(spark))


def test_a_changed_source_makes_a_sketch_outdated(spark: SparkSession, lineage: Lineage, tmp_path: Path) -> None:
    """Of any source of the pipeline, not only of the one that is sketched."""
    for name in ("here", "there"):
        spark.range(100).selectExpr("id AS k", "id % 10 AS g").write.parquet(str(tmp_path / name))
        spark.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    sql = "SELECT here.g, count(*) AS n FROM here JOIN there ON here.k = there.k WHERE here.k < 30 GROUP BY here.g"
    first = lineage.run(sql, name="changing", sketches="eager")
    assert set(states(first).values()) == {"captured"}
    spark.range(1000, 1001).selectExpr("id AS k", "id % 10 AS g").write.mode("append").parquet(str(tmp_path / "there"))
    for name in ("here", "there"):
        spark.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    again = lineage.run(sql, name="changing", sketches="use")
    assert {one.state for one in again.sketches} == {"unused"}
    told = {one.table: one.because for one in again.sketches}
    assert told["here"] == "a source has changed since the sketch was captured: there"
    assert told["there"].startswith("there was appended to since the sketch was captured, and it is not used: groups have rows in several")
    assert bag(again.result) == bag(spark.sql(sql))


def test_a_source_that_changes_meanwhile_is_read_again(
    spark: SparkSession, lineage: Lineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_lineage_provider.running import run as running
    from airflow_lineage_provider.running.computing import compute

    place = str(tmp_path / "t")
    spark.range(100).selectExpr("id AS k").coalesce(1).write.parquet(place)

    def small(spark: SparkSession) -> Any:
        return spark.read.parquet(place).where("k < 10")

    lineage.run(small, sketches="capture")

    def changing(*arguments: Any) -> Any:
        made = compute(*arguments)
        if arguments[1].sketching.used:
            spark.range(5, 6).selectExpr("id AS k").write.mode("append").parquet(place)
        return made

    monkeypatch.setattr(running, "compute", changing)
    run = lineage.run(small, sketches="use", output=str(tmp_path / "out"))
    assert run.record.status == "complete"
    assert [one.state for one in run.sketches] == ["unused"]
    assert "changed while it was read through a sketch" in run.sketches[0].because
    assert spark.read.parquet(str(tmp_path / "out")).count() == 11


def test_rows_that_differ_are_counted(spark: SparkSession) -> None:
    """Each as often as it is there; last digits of floating-point numbers aside, and whatever the type."""
    from airflow_lineage_provider.spark.executing.same_rows import differing_rows

    schema = "a int, x double, t array<string>, m map<string,int>"
    rows = [(1, 0.1 + 0.2, ["a"], {"b": 1}), (1, 0.3, ["a"], {"b": 1}), (None, float("nan"), None, None), (2, -0.0, [], {})]
    frame = spark.createDataFrame(rows, schema)
    same: list[tuple[Any, ...]] = [(1, 0.3, ["a"], {"b": 1})] * 2 + [(2, 0.0, [], {}), (None, float("nan"), None, None)]
    assert differing_rows(frame, spark.createDataFrame(same, schema)) == (0, 0)
    fewer = spark.createDataFrame(same[1:], schema)
    assert differing_rows(frame, fewer) == (1, 0)
    assert differing_rows(fewer, frame) == (0, 1)
    other = spark.createDataFrame([(1, 0.3000001, ["a"], {"b": 1}), *same[1:]], schema)
    assert differing_rows(frame, other) == (1, 1)
