"""Sketches that are captured while the run is made equal those that are captured after it, whatever it stores; its rows stay the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_lineage_provider import Lineage, Run, SketchOn
from airflow_lineage_provider.sketches.sketch import Sketch
from tests.in_turn import sampled
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
    "too many to be united": (
        "SELECT o_custkey, sum(o_price) AS s FROM orders WHERE o_price > 0 GROUP BY o_custkey ORDER BY s DESC, o_custkey LIMIT 3",
        {"orders": SketchOn(column="o_orderkey", cuts=list(range(1100)))},
    ),
    "a union": (
        "SELECT o_orderkey FROM orders WHERE o_price > 490 UNION ALL SELECT l_orderkey FROM lineitem WHERE l_price > 890",
        {"orders": "o_status", "lineitem": "l_mode"},
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


@pytest.mark.parametrize("strategy", ["function_materialization", "rerun", "auto"])
@pytest.mark.parametrize("name", sampled(CASES))
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
