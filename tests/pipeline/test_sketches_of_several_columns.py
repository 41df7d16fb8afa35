"""Sketches whose fragments are of several columns together: a fragment a group, where each column alone has many groups in each."""

from __future__ import annotations

import io
from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from airflow_lineage_provider import Lineage, SketchOn
from airflow_lineage_provider.deriving import derivation as deriving
from airflow_lineage_provider.deriving.own_sketches import own_selections
from airflow_lineage_provider.errors import PlanError, SketchUnsafe
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.sketches import kept_cuts
from airflow_lineage_provider.sketches.column_text import of_columns
from airflow_lineage_provider.sketches.sketch import Sketch
from airflow_lineage_provider.sketches.use import selection
from tests.pipeline.sketched import bag

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider import Run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_sketches")]
pytest.importorskip("z3")

BUSY = "SELECT store, day, sum(amount) AS total FROM sales GROUP BY store, day HAVING sum(amount) > 400"
NAME = of_columns(["store", "day"])
FIRST = date(2024, 1, 1)
SCHEMA = "store string, day date, amount int"
STORES = ("a", "b", "é", None)


def add(spark: SparkSession, place: Path, rows: list[tuple[str | None, date | None, int]]) -> None:
    """One file of small pages, sorted by store and day."""
    options = {"parquet.block.size": "4096", "parquet.page.size": "512", "parquet.page.row.count.limit": "20"}
    frame = spark.createDataFrame(rows, SCHEMA).coalesce(1).sortWithinPartitions("store", "day")
    frame.write.mode("append").options(**options).parquet(str(place))
    spark.read.schema(SCHEMA).parquet(str(place)).createOrReplaceTempView("sales")


@pytest.fixture
def sales(spark: SparkSession, tmp_path: Path) -> Path:
    """A few groups of one store and one day are busy, one of them of no store and one of no day; each store and each third day has one."""
    random, days = Random(3), [FIRST + timedelta(at) for at in range(24)] + [None]
    rows = [(store, day, random.randint(1, 40)) for store in STORES for day in days for _ in range(8)]
    busy = [("a", days[2]), ("b", days[5]), ("é", days[8]), (None, days[11]), ("a", None)]
    add(spark, tmp_path / "sales", rows + [(*one, 500) for one in busy])
    return tmp_path / "sales"


def kept(lineage: Lineage, run: Run) -> tuple[str, Sketch, int]:
    assert lineage.store is not None
    (one,) = lineage.store.sketches_of_run(run.id)
    return one.id, Sketch.from_bytes(one.content), one.rows


def test_a_fragment_a_group(spark: SparkSession, lineage: Lineage, monkeypatch: pytest.MonkeyPatch, sales: Path) -> None:
    run = lineage.run(BUSY, name="busy", strategy="rerun", sketches="capture", sketch_on={"sales": ["store", "Day"]})
    (use,) = run.sketches
    of = [{row.store: 1 for row in run.result.collect()}, {row.day: 1 for row in run.result.collect()}]
    assert [len(one) for one in of] == [4, 5], "each column alone has rows of every store, or of five days"
    assert (use.state, use.column, use.fragments, use.rows, use.total) == ("captured", NAME, 5, 5 * 9, 4 * 25 * 8 + 5), use
    assert "captured in the run's own pass" in use.because
    _, sketch, _ = kept(lineage, run)
    # From the recorded lineage it is the same.
    run.capture_sketches(sketch_on={"sales": ("store", "day")})
    assert "own pass" not in run.sketches[0].because
    assert kept(lineage, run)[1] == sketch
    # The run's explanations read through it.
    behind = run.explain("true").sources["sales"]
    assert run._asking.answered("a test of", None, None, lambda asked: own_selections(asked, spark.version)[0][0]) == NAME
    assert behind.rows.num_rows == use.rows
    with monkeypatch.context() as patch:
        patch.setattr(deriving, "own_selections", lambda *_: {})
        assert Counter(map(str, behind.rows.to_pylist())) == Counter(map(str, run.explain("true").sources["sales"].rows.to_pylist()))
    # Later runs, with other constants, too. (A command has the columns with a comma between them.)
    plain = lineage.run(BUSY, name="plain")
    through = lineage.run(BUSY, name="busy", sketches="use", sketch_on={"sales": "STORE,day"}, verify_sketches=True)
    assert [(one.state, one.column, one.rows) for one in through.sketches] == [("used", NAME, 45)], through.sketches
    assert bag(through.result) == bag(plain.result)
    keys = [{str(row) for row in one.backward("true")["sales"].keys.to_pylist()} for one in (plain, through)]  # type: ignore[union-attr]
    assert keys[0] == keys[1]
    assert len(keys[0]) == 45
    (other,) = lineage.run(BUSY.replace("400", "555"), name="busy", sketches="use", verify_sketches=True).sketches
    assert (other.state, "with other constants" in other.because) == ("used", True), other
    # What is outside it the run has not read, and says so.
    (fate, *_) = through.why_not("store = 'a' AND day IS NOT NULL AND day <> DATE '2024-01-03'", table="sales", max_rows=1000).fates
    assert fate.drop is not None
    assert fate.drop.text.startswith("not read: outside sketch")
    # A file more: new groups (in the fragment that begins with the last day of "b"), and more rows of one that had not been busy.
    add(spark, sales, [("zz", FIRST, 900), ("b", FIRST + timedelta(3), 450), ("b", FIRST + timedelta(30), 1)])
    appended = lineage.run(BUSY, name="busy", sketches="use", verify_sketches=True)
    assert [(one.state, one.new_files, one.rows) for one in appended.sketches] == [("used", 1, 45 + 3 + 2 * 8)], appended.sketches
    assert bag(appended.result) == bag(spark.sql(BUSY))
    assert len(bag(appended.result)) == 7
    # What is in it is shown; it is dropped.
    number, _, _ = kept(lineage, run)
    shown = io.StringIO()
    lineage.sketch(number).show(Console(file=shown, width=200))
    assert f"sales.{NAME}" in shown.getvalue()
    assert "from (NULL, 2024-01-12), below (NULL, 2024-01-13)" in shown.getvalue()
    assert "from (a, NULL), below (a, 2024-01-01)" in shown.getvalue()
    lineage.drop_sketch(number)
    assert [one.state for one in lineage.check_sketches(BUSY, name="busy")] == ["unused"]


def test_pages_are_skipped_where_rows_are_sorted_by_both(spark: SparkSession, lineage: Lineage, sales: Path) -> None:
    from airflow_lineage_provider.spark.selected import selected_by

    cuts = [("a", FIRST + timedelta(at)) for at in range(0, 24, 4)] + [("b", None), ("b", FIRST + timedelta(6))]
    on = {"sales": SketchOn(column=["store", "day"], cuts=cuts)}
    (use,) = lineage.run(BUSY, name="cut", sketches="capture", sketch_on=on).sketches
    assert "too many to be worth it" in use.because
    run = lineage.run(BUSY + " AND store = 'a'", name="cut", sketches="capture", sketch_on=on)
    assert lineage.store is not None
    (one,) = lineage.store.sketches_of_run(run.id)
    partition = kept_cuts.from_bytes(one.cuts)
    assert list(partition.cuts) == cuts
    columns = Attribute(id=0, name="store", type="string"), Attribute(id=1, name="day", type="date")
    everything = spark.table("sales").collect()
    for inside in (frozenset({3, 4}), frozenset({6, 7})):  # days of one store; the last ones of a store, and the first ones of the next
        frame = selected_by(spark.read.schema(SCHEMA).parquet(str(sales)), selection(partition, inside, *columns), NAME)
        plain = [row for row in everything if partition.fragment_of((row.store, row.day)) in inside]
        assert Counter(map(str, frame.collect())) == Counter(map(str, plain))
        read = frame._jdf.queryExecution().executedPlan().collectLeaves().apply(0).metrics().apply("numOutputRows").value()
        assert 0 < len(plain) <= read < len(everything) / 4


def test_the_rows_of_a_limit(lineage: Lineage, sales: Path) -> None:
    """Rows that tie are counted over the sketch (there are none); of a limit whose rows are dropped above they are made once more."""
    best = "SELECT store, day, amount FROM sales ORDER BY amount DESC, store, day LIMIT 5"
    for sql, told in ((best, "own pass"), (f"SELECT store, day FROM ({best}) WHERE store = 'a'", "from the rows of the limit")):
        run = lineage.run(sql, name="best", sketches="capture", sketch_on={"sales": ["day", "store"]})
        (use,) = run.sketches
        assert (use.state, use.column, use.fragments, use.rows) == ("captured", of_columns(["day", "store"]), 5, 45), use
        assert told in use.because
        (again,) = lineage.run(sql, name="best", sketches="use", verify_sketches=True).sketches
        assert (again.state, again.rows) == ("used", 45), again


def test_what_is_refused(lineage: Lineage, sales: Path) -> None:
    by_store = "SELECT store, sum(amount) AS total FROM sales GROUP BY store HAVING sum(amount) < 400"
    with pytest.raises(SketchUnsafe, match=r"a sketch of `store`, `day` of sales is not safe: a row may pass over a sketch"):
        lineage.run(by_store, sketches="capture", sketch_on={"sales": ["store", "day"]})
    with pytest.raises(PlanError, match="sketch_on names column nowhere of sales; the table has store, day, amount"):
        lineage.run(BUSY, sketches="capture", sketch_on={"sales": ["store", "nowhere"]})
    with pytest.raises(PlanError, match="up to 4 columns, each once"):
        lineage.run(BUSY, sketches="capture", sketch_on={"sales": "store,STORE"})
    run = lineage.run(BUSY, sketches="capture", sketch_on={"sales": SketchOn(column=["store", "day"], cuts=["a", "b"])})
    assert "'a' is no cut of 2 columns" in run.sketches[0].because
