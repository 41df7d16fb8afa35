"""Sketches that are captured of a recorded run, by `Run.capture_sketches` and by its operator: those that the run would have captured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.errors import PlanError, SketchError, SketchUnsafe, SourceUnavailable
from airflow_lineage_provider.store.schema import sketch_runs
from tests.in_turn import sampled
from tests.pipeline.conftest import forget_sketches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.store import Store

pytestmark = pytest.mark.spark
pytest.importorskip("z3")


@reasoned_udf("int")
def tripled(x: int) -> int:
    return 3 * x


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    random, folder = Random(9), tmp_path_factory.mktemp("later")
    orders = [(key, random.randint(0, 30), random.randint(1, 500)) for key in range(300)]
    items = [(key, at, random.randint(1, 50)) for key in range(300) for at in range(key % 4)]
    for name, schema, rows in (
        ("orders", "o_key int, o_customer int, o_price int", orders),
        ("items", "i_key int, i_line int, i_count int", items),
    ):
        frame = spark.createDataFrame(rows, schema).coalesce(1)
        frame.write.options(**{"parquet.block.size": "1024", "parquet.page.size": "512"}).parquet(str(folder / name))
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    tripled.register(spark)
    yield folder
    for name in ("orders", "items"):
        spark.catalog.dropTempView(name)


def forgotten(store: Store) -> None:
    forget_sketches(store)
    with store._transaction("a test") as connection:
        connection.execute(sketch_runs.delete())


@pytest.fixture
def lineage(spark: SparkSession, store: Store) -> Lineage:
    forgotten(store)
    return Lineage(spark, store=store)


BIG = "SELECT i_key, sum(i_count) AS total FROM items GROUP BY i_key HAVING sum(i_count) > 100"
QUERIES = {
    "having": BIG,
    "a semi-join": f"SELECT * FROM orders WHERE o_key IN (SELECT i_key FROM ({BIG}))",
    "a join and a left join": """
        SELECT o_key, a.i_line, b.i_line AS other FROM orders JOIN items a ON o_key = a.i_key
        LEFT JOIN items b ON o_key = b.i_key AND b.i_count > 45 WHERE o_price > 480""",
    "the best": "SELECT o_customer, sum(o_price) AS s FROM orders WHERE o_price > 0 GROUP BY o_customer ORDER BY s DESC, 1 LIMIT 3",
    "a model below": """
        SELECT i_key, sum(three) AS total FROM (SELECT i_key, tripled(i_count) AS three FROM items) GROUP BY i_key
        HAVING sum(three) > 300""",
    "some of the best": """
        SELECT o_customer, s FROM (SELECT o_customer, sum(o_price) AS s FROM orders WHERE o_price > 0 GROUP BY o_customer
        ORDER BY s DESC, o_customer LIMIT 6 OFFSET 1) WHERE o_customer % 2 = 0""",
    "a model below a limit": """
        SELECT * FROM (SELECT i_key, i_line, tripled(i_count) AS three FROM items ORDER BY three DESC, i_key, i_line LIMIT 9)
        WHERE i_key > 100""",
    "nothing that is safe": "SELECT o_customer FROM orders WHERE o_price > 100 LIMIT 5",
}  # fmt: skip


def said(found: Any) -> list[tuple[Any, ...]]:
    return [(one.leaf, one.table, one.column, one.state, one.fragments, one.count, one.rows, one.total) for one in found]


@pytest.mark.parametrize("name", sampled(QUERIES))
def test_they_are_those_that_the_run_would_have_captured(lineage: Lineage, store: Store, name: str) -> None:
    with_it = lineage.run(QUERIES[name], name="with it", sketches="capture")
    forgotten(store)
    run = lineage.run(QUERIES[name], name="later", sketches="use")
    assert {one.state for one in run.sketches} == {"unused"}
    again = Lineage(lineage.spark, store=store).get_run(run.id)  # another process knows what is recorded
    assert said(again.capture_sketches()) == said(with_it.sketches)
    assert said(lineage.get_run(run.id).sketches) == said(again.sketches)
    through = lineage.run(QUERIES[name], name="after", sketches="use", verify_sketches=True)
    captured = [one.leaf for one in again.sketches if one.state == "captured"]
    assert [one.leaf for one in through.sketches if one.state == "used"] == captured
    assert bool(captured) == (name != "nothing that is safe")


def test_the_columns_may_be_named(lineage: Lineage) -> None:
    run = lineage.run(BIG.replace("sum(i_count) > 100", "min(i_count) > 40"), name="named", sketches="use")
    with pytest.raises(PlanError, match="names table loans, which the pipeline does not read; it reads items"):
        run.capture_sketches(sketch_on={"loans": "i_key"})
    with pytest.raises(SketchUnsafe, match="a sketch of i_line of items is not safe"):
        run.capture_sketches(sketch_on={"items": "i_line"})
    assert run.sketches[0].state == "unused"
    (found,) = run.capture_sketches(sketch_on={"items": "I_KEY"})
    assert (found.state, found.column) == ("captured", "i_key")
    (anew,) = run.capture_sketches()
    assert anew.sketch != found.sketch
    assert [one.id for one in lineage.sketches("named")] == [anew.sketch], "in place of the other"


def test_keys_of_the_run_are_known_later(lineage: Lineage) -> None:
    """What stands behind a group is of one customer where the group is one order."""
    sql = "SELECT o_key, sum(o_price) AS s FROM orders GROUP BY o_key HAVING min(o_price) > 480"
    with pytest.raises(SketchUnsafe):
        lineage.run(sql, name="no key", sketches="use").capture_sketches(sketch_on={"orders": "o_customer"})
    keyed = lineage.run(sql, name="a key", sketches="use", keys={"orders": ["O_KEY"]})
    (found,) = keyed.capture_sketches(sketch_on={"orders": "o_customer"})
    assert (found.state, found.column) == ("captured", "o_customer")
    (used,) = lineage.run(sql, name="a key", sketches="use", keys={"orders": ["o_key"]}, verify_sketches=True).sketches
    assert (used.state, used.sketch) == ("used", found.sketch)


def test_who_names_no_key_does_not_rely_on_one(lineage: Lineage) -> None:
    """The proof hangs on a key that is none: of two rows of a customer one would be in another fragment."""
    sql = "SELECT o_customer, min(o_price) AS s FROM orders GROUP BY o_customer HAVING min(o_price) > 100"
    keyed = {"keys": {"orders": ["o_customer"]}}
    (wrong,) = lineage.run(sql, name="wrong", sketches="capture", sketch_on={"orders": "o_price"}, **keyed).sketches  # type: ignore[arg-type]
    assert wrong.state == "captured"
    (unused,) = lineage.run(sql, name="right", sketches="use", verify_sketches=True).sketches
    assert (unused.state, unused.because) == ("unused", "no sketch was captured of a run of this pipeline")
    (used,) = lineage.run(sql, name="wrong again", sketches="use", **keyed).sketches  # type: ignore[arg-type]
    assert used.state == "used", "the claim is its own"


def test_what_cannot_be_captured(spark: SparkSession, lineage: Lineage, tmp_path: Path) -> None:
    with pytest.raises(SketchError, match="it was made with sketches='off'"):
        lineage.run(BIG, name="off").capture_sketches()
    made_up = lineage.run("SELECT id FROM range(5)", name="no version", sketches="use")
    with pytest.raises(SketchError, match="has no version that tells"):
        made_up.capture_sketches()
    lineage.run(BIG, name="first", sketches="capture")
    with pytest.raises(SketchError, match="has read through a sketch"):
        lineage.run(BIG, name="second", sketches="use").capture_sketches()
    place = str(tmp_path / "items")
    spark.table("items").write.parquet(place)
    changed = lineage.run(BIG.replace("items", f"parquet.`{place}`"), name="changed", sketches="use")
    spark.table("items").where("i_key < 9").write.mode("overwrite").parquet(place)
    with pytest.raises(SourceUnavailable, match="is another now"):
        changed.capture_sketches()
