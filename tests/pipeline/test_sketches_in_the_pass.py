"""Sketches that are captured while the run is made equal those that are captured after it, whatever it stores; its rows stay the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_lineage_provider import Lineage, Run, SketchOn, reasoned_udf
from airflow_lineage_provider.sketches.sketch import Sketch
from tests.in_turn import in_turn, sampled
from tests.pipeline.sketched import BIG_ORDERS, bag, tables_of_orders

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_sketches")]
pytest.importorskip("z3")


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with tables_of_orders(spark, tmp_path_factory.mktemp("in_the_pass")) as folder:
        yield folder


KEY = SketchOn(column="o_orderkey", fragments=50)
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "late": (BIG_ORDERS, {"lineitem": "l_orderkey"}),
    "a semi-join": ("SELECT * FROM orders WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem WHERE l_quantity > 48)", {}),
    "Q18": (
        f"""
        SELECT c_name, o_orderkey, o_price, sum(l_quantity) AS total FROM customer, orders, lineitem
        WHERE o_orderkey IN (SELECT l_orderkey FROM ({BIG_ORDERS})) AND c_custkey = o_custkey AND o_orderkey = l_orderkey
        GROUP BY c_name, o_orderkey, o_price""",
        {"orders": KEY, "lineitem": "l_orderkey"},
    ),
    "sets": (
        "SELECT o_custkey, count(*) AS n FROM orders WHERE o_price > 400 GROUP BY o_custkey HAVING count(*) >= 5",
        {"orders": SketchOn(column="o_orderkey", cuts=[7, 100, 101, 450])},
    ),
    "words": (
        "SELECT o_custkey, sum(o_price) AS s FROM orders WHERE o_price > 0 GROUP BY o_custkey ORDER BY s DESC, o_custkey LIMIT 3",
        {"orders": KEY},
    ),
    "sets below a limit by their keys": (
        "SELECT o_custkey, sum(o_price) AS s FROM orders WHERE o_price > 0 GROUP BY o_custkey ORDER BY s DESC, o_custkey LIMIT 3",
        {"orders": SketchOn(column="o_orderkey", cuts=list(range(1100)))},
    ),
    "too many to be united": (
        "SELECT o_custkey, sum(o_price) AS s FROM orders WHERE o_price > 0 GROUP BY o_custkey ORDER BY s DESC LIMIT 3",
        {"orders": SketchOn(column="o_orderkey", cuts=list(range(1100)))},
    ),
    "a union": (
        "SELECT o_orderkey FROM orders WHERE o_price > 490 UNION ALL SELECT l_orderkey FROM lineitem WHERE l_price > 890",
        {"orders": KEY, "lineitem": SketchOn(column="l_orderkey", fragments=50)},
    ),
    "a window": (
        "SELECT * FROM (SELECT o_custkey, o_orderkey, max(o_price) OVER (PARTITION BY o_custkey) AS best FROM orders) WHERE best > 495",
        {"orders": "o_custkey"},
    ),
    "a left join": (
        "SELECT o_orderkey, l_line FROM orders LEFT JOIN lineitem ON o_orderkey = l_orderkey AND l_quantity > 49 WHERE o_price > 480",
        {"orders": "o_price"},
    ),
    "different values": ("SELECT DISTINCT o_status FROM orders WHERE o_price > 490", {"orders": "o_custkey"}),
    "nothing": ("SELECT o_custkey, sum(o_price) AS s FROM orders GROUP BY o_custkey HAVING sum(o_price) > 1000000", {}),
}  # fmt: skip


def sketches(lineage: Lineage, run: Run) -> dict[str, Any]:
    """What is kept of each source, but for where and when."""
    assert lineage.store is not None
    found = {}
    for one in lineage.store.sketches_of_run(run.id):
        sketch = Sketch.from_bytes(one.content)
        found[f"{one.table}.{one.column}"] = (one.leaf, sketch.fragments, sketch.kind, one.cuts, one.rows, one.total)
    return found


@pytest.mark.parametrize(("name", "strategy"), in_turn(sampled(CASES), ["function_materialization", "rerun", "auto"]))
def test_it_is_the_sketch_that_is_captured_after(spark: SparkSession, lineage: Lineage, tmp_path: Path, name: str, strategy: Any) -> None:
    sql, on = CASES[name]
    plain = bag(spark.sql(sql))
    run = lineage.run(sql, name=name, strategy=strategy, sketches="capture", sketch_on=on)
    assert bag(run.result) == plain
    captured = [one for one in run.sketches if one.state == "captured"]
    assert captured, run.sketches
    together = ["captured in the run's own pass" in one.because for one in captured]
    assert all(together) if name != "too many to be united" else not any(together), run.sketches
    found = sketches(lineage, run)
    run.capture_sketches(sketch_on=on)
    assert all("own pass" not in one.because for one in run.sketches)
    assert sketches(lineage, run) == found
    written = lineage.run(sql, name=name, strategy=strategy, sketches="capture", sketch_on=on, output=str(tmp_path / "out"))
    assert sketches(lineage, written) == found
    assert bag(spark.read.parquet(str(tmp_path / "out"))) == plain


@pytest.mark.parametrize("strategy", sampled(["function_materialization", "rerun", "auto"]))
def test_a_model_is_called_as_often_as_without(spark: SparkSession, lineage: Lineage, strategy: Any) -> None:
    """Below a group whose numbers are united, and above it."""
    calls = spark.sparkContext.accumulator(0)

    @reasoned_udf("int", name="doubled", version="1")
    def doubled(value: int) -> int:
        calls.add(1)
        return value * 2

    def pipeline(spark: SparkSession) -> Any:
        doubled.register(spark)
        counts = "SELECT l_mode, doubled(l_quantity) AS d, count(*) AS n FROM lineitem WHERE l_quantity > 40 GROUP BY ALL"
        return spark.sql(f"SELECT l_mode, d, n, doubled(d) AS twice FROM ({counts})")

    on = {"lineitem": SketchOn(column="l_orderkey", cuts=[100, 200, 590])}
    results, given = [], list[dict[str, Any]]([{}, {"sketches": "capture", "sketch_on": on}])
    for options in given:
        calls.value = 0
        run = lineage.run(pipeline, strategy=strategy, **options)
        results.append((bag(run.result), calls.value))
    assert results[0] == results[1]
    assert calls.value > 0
    assert all("too many to be worth it" in one.because or "own pass" in one.because for one in run.sketches)


def test_what_was_lost_is_found_after_the_run(lineage: Lineage, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_lineage_provider.spark.executing import marked

    found = sketches(lineage, lineage.run(BIG_ORDERS, name="kept", sketches="capture", sketch_on={"lineitem": "l_orderkey"}))
    monkeypatch.setattr(marked, "lost_executors", lambda spark: frozenset({"7"}))
    run = lineage.run(BIG_ORDERS, name="lost", sketches="capture", sketch_on={"lineitem": "l_orderkey"})
    (use,) = run.sketches
    assert "captured after the run: an executor was lost, and with it what its rows carried" in use.because
    assert sketches(lineage, run) == found


def test_a_column_is_looked_at_once(lineage: Lineage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cuts, and how many rows each fragment has, serve another pipeline over the same version."""
    from airflow_lineage_provider.spark.rereading import sketched

    on = {"orders": SketchOn(column="o_status", fragments=7)}
    first = lineage.run(
        "SELECT o_status, count(*) AS n FROM orders WHERE o_status = 'P' GROUP BY o_status", name="one", sketches="capture", sketch_on=on
    )
    assert [one.state for one in first.sketches] == ["captured"]

    def looked_at(*_: Any) -> Any:
        raise AssertionError("the column is read again")

    monkeypatch.setattr(sketched, "column_of", looked_at)
    monkeypatch.setattr(sketched.SketchedColumn, "__init__", looked_at)
    second = lineage.run(
        "SELECT o_orderkey FROM orders WHERE o_status = 'P' AND o_price > 100", name="two", sketches="capture", sketch_on=on
    )
    assert [one.state for one in second.sketches] == ["captured"], second.sketches
    assert sketches(lineage, second)["orders.o_status"][3:] == sketches(lineage, first)["orders.o_status"][3:]


def test_a_column_in_the_names_of_folders_has_a_fragment_for_each_value(spark: SparkSession, lineage: Lineage, tmp_path: Path) -> None:
    """NULL's folder among them; a run through the sketch reads these folders alone."""
    place = str(tmp_path / "days")
    spark.range(400).selectExpr("id", "CASE WHEN id % 8 < 7 THEN concat('day ', id % 8) END AS day").write.partitionBy("day").parquet(place)
    sql = f"SELECT day, count(*) AS n FROM parquet.`{place}` WHERE id > 390 GROUP BY day HAVING count(*) > 1"
    run = lineage.run(sql, name="days", sketches="capture", sketch_on={"days": SketchOn(column="day")})
    (use,) = run.sketches
    assert (use.state, use.count, use.rows, use.total) == ("captured", 7 + 2, 50 * use.fragments, 400), use
    assert "own pass" in use.because
    again = lineage.run(sql, name="days", sketches="use", verify_sketches=True)
    assert [(one.state, one.rows) for one in again.sketches] == [("used", use.rows)]
    assert bag(again.result) == bag(run.result) == bag(spark.sql(sql))
