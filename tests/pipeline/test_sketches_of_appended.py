"""Runs over sources that files were added to since their sketches were captured: the plain run's rows, lineage and reasons."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from airflow_lineage_provider import Lineage, Run, reasoned_udf
from airflow_lineage_provider.records.sketches import SketchUse
from airflow_lineage_provider.records.versions import FilesVersion, NoVersion, SourceVersion
from airflow_lineage_provider.running.appended_source import added_files
from airflow_lineage_provider.spark import local_files
from airflow_lineage_provider.spark.local_files import files_version
from tests.in_turn import sampled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_sketches")]
pytest.importorskip("z3")

ORDERS = 400
OF_ORDERS = "o_orderkey int, o_status string"
ITEMS = "l_orderkey int, l_line int, l_quantity int, l_price decimal(12,2)"
SMALL = {"parquet.block.size": "2048", "parquet.page.size": "512", "parquet.page.row.count.limit": "20"}
ON_KEY = {"items": "l_orderkey"}


class Tables:
    """Orders, and items that are clustered by the order's key, in a place of their own; files can be added to both."""

    def __init__(self, spark: SparkSession, place: Path) -> None:
        self.spark, self.place, self.random = spark, place, Random(5)

    @classmethod
    def made(cls, spark: SparkSession, place: Path) -> Tables:
        tables = cls(spark, place)
        tables.add("orders", [(key, tables.random.choice("OFP")) for key in range(ORDERS)], OF_ORDERS)
        for first in range(0, ORDERS, 100):
            tables.add_items(range(first, first + 100))
        return tables

    def copied(self, place: Path) -> Tables:
        """The same tables in another place: writing them takes Spark longer than what a test asks."""
        shutil.copytree(self.place, place, dirs_exist_ok=True)
        tables = Tables(self.spark, place)
        tables.random.setstate(self.random.getstate())
        for table, schema in (("orders", OF_ORDERS), ("items", ITEMS)):
            tables.view(table, schema)
        return tables

    def add(self, table: str, rows: Sequence[tuple[Any, ...]], schema: str) -> None:
        place = str(self.place / f"{table} 100%")
        self.spark.createDataFrame(rows, schema).coalesce(1).write.mode("append").options(**SMALL).parquet(place)
        self.view(table, schema)

    def view(self, table: str, schema: str) -> None:
        self.spark.read.schema(schema).parquet(str(self.place / f"{table} 100%")).createOrReplaceTempView(table)

    def add_items(self, keys: Sequence[int], line: int = 0, quantity: tuple[int, int] = (1, 50)) -> None:
        """Six items of each order; what there is most of is dear."""
        items = [(key, line + at, self.random.randint(*quantity), self.random.randint(1, 90_000)) for key in keys for at in range(6)]
        self.add("items", [(*rest, many, Decimal(price + 2_000 * many).scaleb(-2)) for *rest, many, price in items], ITEMS)


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return Tables.made(spark, tmp_path_factory.mktemp("appended"))


@pytest.fixture
def tables(made: Tables, tmp_path: Path) -> Tables:
    return made.copied(tmp_path)


GROUPED = "SELECT l_orderkey, sum(l_quantity) AS total FROM items GROUP BY l_orderkey"
SERVED = {
    "linear": "SELECT * FROM items WHERE l_quantity > 45 AND l_orderkey < 90",
    "linear, joined": "SELECT o_status, l_line FROM orders JOIN items ON o_orderkey = l_orderkey WHERE l_orderkey < 90 AND l_quantity > 40",
    "linear, with partners": """
        SELECT * FROM items WHERE l_quantity > 49 AND l_orderkey IN (SELECT o_orderkey FROM orders WHERE o_orderkey < 90)""",
    "groups": f"{GROUPED} HAVING sum(l_quantity) > 215",
    "groups by steps": """
        SELECT l_orderkey div 10 AS ten, sum(l_quantity) FROM items GROUP BY l_orderkey div 10 HAVING sum(l_quantity) < 1350""",
    "groups, joined": f"SELECT o_status, total FROM orders JOIN ({GROUPED} HAVING avg(l_quantity) > 36) ON o_orderkey = l_orderkey",
    "order": "SELECT l_orderkey, sum(l_price) AS s FROM items WHERE l_price > 0 GROUP BY l_orderkey ORDER BY s DESC, l_orderkey LIMIT 4",
    "order of rows": "SELECT l_price, l_orderkey, l_line FROM items ORDER BY l_price DESC, l_orderkey, l_line LIMIT 4",
}  # fmt: skip


def bag(frame: DataFrame) -> Counter[Any]:
    return Counter(tuple(row) for row in frame.collect())


def of_items(run: Run) -> SketchUse:
    (found,) = [one for one in run.sketches if one.table == "items"]
    return found


@pytest.mark.parametrize("name", sampled(SERVED))
def test_a_sketch_serves_with_new_files(
    spark: SparkSession, lineage: Lineage, tables: Tables, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Some of the new rows are of old orders, some of new ones. Of more files than are listed one digest is recorded."""
    sql = SERVED[name]
    monkeypatch.setattr(local_files, "LISTED_FILES", 3 if name == "groups by steps" else 1_000)
    captured = lineage.run(sql, name=name, sketches="capture", sketch_on=ON_KEY)
    before, result = of_items(captured), bag(captured.result)
    assert before.state == "captured", before
    read = next(one.version for one in captured.record.inputs if one.name == "items")
    assert isinstance(read, FilesVersion)
    assert (read.files is None) is (name == "groups by steps")
    tables.add_items([3, 250, 251, *range(ORDERS, ORDERS + 5)], line=6, quantity=(1, 9))
    tables.add_items([60], line=12, quantity=(60, 60))
    run = lineage.run(sql, name=name, sketches="use", verify_sketches=True)
    use = of_items(run)
    assert (use.state, use.run_id, use.new_files) == ("used", captured.id, 2), use
    assert bag(run.result) == bag(spark.sql(sql))
    assert bag(run.result) != result
    assert use.total == spark.table("items").count()
    assert use.rows is not None
    assert before.rows is not None
    new, groups = 54, not name.startswith("linear") and name != "order of rows"
    assert before.rows + new <= use.rows < use.total * 0.75
    assert (use.rows > before.rows + new) is groups  # of old rows, those of the orders that new ones are of
    assert f"2 files with {new} rows" in use.because
    assert [one.state for one in run.sketches if one.table != "items"] == ["unused"] * ("JOIN" in sql or " IN " in sql)
    assert lineage.get_run(run.id).sketches == run.sketches


def test_lineage_and_reasons_are_those_of_the_plain_run(spark: SparkSession, lineage: Lineage, tables: Tables) -> None:
    """Of a union of two scans, and of one; models are called for the rows that are read."""
    calls = spark.sparkContext.accumulator(0)

    @reasoned_udf("int", name="twice", version="1")
    def twice(quantity: int) -> int:
        calls.add(1)
        return quantity * 2

    @twice.with_reason
    def _(quantity: int) -> tuple[int, str]:
        return quantity * 2, f"twice {quantity}"

    def large(spark: SparkSession) -> DataFrame:
        twice.register(spark)
        return spark.sql("SELECT l_orderkey, l_line, twice(l_quantity) AS t FROM items WHERE twice(l_quantity) > 98 AND l_orderkey < 90")

    def heavy(spark: SparkSession) -> DataFrame:
        twice.register(spark)
        return spark.sql("SELECT l_orderkey, sum(twice(l_quantity)) AS twice FROM items GROUP BY l_orderkey HAVING sum(l_quantity) > 220")

    for pipeline in (large, heavy):
        lineage.run(pipeline, sketches="capture", sketch_on=ON_KEY)
    tables.add_items([5, 250, ORDERS], line=6, quantity=(40, 50))
    for pipeline in (large, heavy):
        calls.value = 0
        plain = lineage.run(pipeline, name="plain")
        expected, all_calls, calls.value = traced(plain), calls.value, 0
        through = lineage.run(pipeline, sketches="use")
        assert of_items(through).state == "used", through.sketches
        found = traced(through)
        assert 0 < calls.value < all_calls
        assert found == expected
        assert any(int(line) >= 6 for _, (_, line, *_) in expected["source"])  # new rows are among them


def traced(run: Run) -> dict[str, Counter[Any]]:
    """Behind every row of the result its rows of the source with their lineage keys, and the reasons."""
    rows = [tuple(map(str, row.values())) for row in run.result_table().to_pylist()]
    behind = run.backward("true")["items"]
    assert behind.guarantee.level == "exact"
    assert behind.keys is not None
    keys = [tuple(map(str, row.values())) for row in behind.rows.to_pylist()]
    links = [tuple(pair.values()) for pair in behind.links.to_pylist()]
    explained = run.explain("true", verify=True)
    assert explained.verified is True
    return {
        "source": Counter((rows[result], keys[source]) for result, source in links),
        "keys": Counter(map(str, behind.keys.to_pylist())),
        "reasons": Counter(
            (name, str(sorted(row.items(), key=str))) for name, reasons in explained.reasons.items() for row in reasons.rows.to_pylist()
        ),
    }


def test_partitions_that_came(spark: SparkSession, lineage: Lineage, tmp_path: Path) -> None:
    """A day's directory, and a file in one that was there."""
    place = str(tmp_path / "days")

    def add(first: int, last: int, day: str) -> None:
        rows = spark.range(first, last).selectExpr("id AS k", "id % 7 AS v", f"'{day}' AS day")
        rows.coalesce(1).write.mode("append").partitionBy("day").parquet(place)
        spark.read.parquet(place).createOrReplaceTempView("days")

    add(0, 300, "2025-12-01")
    add(300, 600, "2025-12-02 à 10%")
    read = {
        "SELECT k, day FROM days WHERE k < 20 AND v = 3": 3 + 6,
        "SELECT k, sum(v) AS s FROM days GROUP BY k HAVING sum(v) > 5 AND k < 20": 2 + 6 + 3,
    }
    for sql in read:
        first = lineage.run(sql, name=sql, sketches="capture", sketch_on={"days": "k"})
        assert [one.state for one in first.sketches] == ["captured"]
    add(10, 13, "2025-12-02 à 10%")
    add(10, 13, "2025-12-03")
    for sql, rows in read.items():
        run = lineage.run(sql, name=sql, sketches="use", verify_sketches=True)
        assert [(one.state, one.new_files, one.rows, one.total) for one in run.sketches] == [("used", 2, rows, 606)], run.sketches
        assert bag(run.result) == bag(spark.sql(sql))


# --- when it is not used -----------------------------------------------------------------------------------------------

NO_RULE = {
    "no rule": (
        "SELECT o_orderkey FROM orders WHERE o_orderkey IN (SELECT l_orderkey FROM items WHERE l_quantity > 48 AND l_orderkey < 90)",
        "there is no rule for new rows below",
    ),
    "parts of groups": (
        "SELECT l_line, count(*) AS n FROM items WHERE l_orderkey < 9 GROUP BY l_line HAVING n > 1",
        "groups have rows in several fragments",
    ),
    "worse in the order": (
        "SELECT l_orderkey, sum(l_quantity - 25) AS s FROM items GROUP BY l_orderkey ORDER BY s DESC, l_orderkey LIMIT 3",
        "a row may be better over a sketch",
    ),
    "ties": (
        "SELECT l_orderkey, max(l_price) AS s FROM items WHERE l_price > 0 GROUP BY l_orderkey ORDER BY s DESC LIMIT 3",
        "rows may tie at the limit",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sampled(NO_RULE))
def test_without_a_rule_everything_is_read(spark: SparkSession, lineage: Lineage, tables: Tables, name: str) -> None:
    sql, told = NO_RULE[name]
    first = lineage.run(sql, name=name, sketches="capture", sketch_on=ON_KEY)
    assert of_items(first).state == "captured", first.sketches
    tables.add_items([60], line=12)
    run = lineage.run(sql, name=name, sketches="use")
    use = of_items(run)
    assert use.state == "unused"
    assert use.because.startswith("items was appended to since the sketch was captured, and it is not used: ")
    assert told in use.because
    assert bag(run.result) == bag(spark.sql(sql))


def test_other_sources_must_be_as_they_were_and_are_read_in_full(spark: SparkSession, lineage: Lineage, tables: Tables) -> None:
    sql = SERVED["linear, joined"]
    lineage.run(sql, name="both", sketches="capture", sketch_on=ON_KEY | {"orders": "o_orderkey"})
    tables.add_items([60], line=12)
    lineage.run(sql, name="both", sketches="capture", sketch_on={"items": "l_quantity", "orders": "o_orderkey"})
    told = {one.table: (one.state, one.because) for one in lineage.run(sql, name="both", sketches="use", sketch_on=ON_KEY).sketches}
    assert told["orders"][0] == "used"
    assert told["items"][0] == "unused"
    assert told["items"][1].endswith("it is not used: another source is read through a sketch")
    tables.add("orders", [(ORDERS, "O")], OF_ORDERS)
    run = lineage.run(sql, name="both", sketches="use")
    told = {one.table: (one.state, one.because) for one in run.sketches}
    # Of the sketch of before both appends both have changed, of that of after the first one orders alone.
    assert told["orders"][0] == "used"
    assert "1 file with 1 rows" in told["orders"][1]
    assert told["items"][0] == "unused"
    assert bag(run.result) == bag(spark.sql(sql))


def test_a_source_that_is_read_twice(spark: SparkSession, lineage: Lineage, tables: Tables) -> None:
    sql = """SELECT a.l_line, b.l_line AS other FROM items a JOIN items b ON a.l_orderkey = b.l_orderkey
             WHERE a.l_quantity > 49 AND a.l_orderkey < 90"""
    lineage.run(sql, name="twice", sketches="capture", sketch_on=ON_KEY)
    tables.add_items([60], line=12)
    run = lineage.run(sql, name="twice", sketches="use")
    assert [one.because for one in run.sketches] == ["a source has changed since the sketch was captured: items"] * 2
    assert bag(run.result) == bag(spark.sql(sql))


def test_other_constants_and_a_second_append(spark: SparkSession, lineage: Lineage, tables: Tables) -> None:
    """The sketch of before all of them serves on, until what is read is not worth it."""
    sql = f"{GROUPED} HAVING sum(l_quantity) > :least"
    captured = lineage.run(sql, name="twice appended", params={"least": 205}, sketches="capture", sketch_on=ON_KEY)
    tables.add_items([7], line=6)
    tables.add_items([390], line=6)
    for least in (205, 225):
        run = lineage.run(sql, name="twice appended", params={"least": least}, sketches="eager", verify_sketches=True)
        assert (of_items(run).state, of_items(run).run_id, of_items(run).new_files) == ("used", captured.id, 2)
        assert bag(run.result) == bag(spark.sql(sql, {"least": least}))
    use = of_items(lineage.run(sql, name="twice appended", params={"least": 200}, sketches="use"))
    assert use.state == "unused"
    assert "it is of other constants: " in use.because
    tables.add_items(range(ORDERS), line=12)
    use = of_items(lineage.run(sql, name="twice appended", params={"least": 205}, sketches="use"))
    assert use.state == "unused"
    assert use.because.endswith("rows would be read: too many to be worth it")


# --- which files are new -----------------------------------------------------------------------------------------------


def version(files: dict[str, tuple[int, int]] | None, complete: bool = True) -> FilesVersion:
    return FilesVersion(count=0, bytes=0, files=files, complete=complete)


@pytest.mark.parametrize(
    ("then", "now", "found"),
    [
        (version({"a": (1, 1)}), version({"a": (1, 1), "b": (2, 2), "c": (3, 3)}), ("b", "c")),
        (version({"a": (1, 1)}), version({"a": (1, 2), "b": (2, 2)}), "files are gone, or were written again"),
        (version({"a": (1, 1)}), version({"b": (2, 2), "c": (2, 2)}), "files are gone, or were written again"),
        (version({"a": (1, 1)}, False), version({"a": (1, 1), "b": (2, 2)}), "a version does not tell which of its rows are new"),
        (NoVersion(), version({"a": (1, 1)}), "a version does not tell which of its rows are new"),
    ],
)
def test_which_files_are_new(then: SourceVersion, now: SourceVersion, found: object) -> None:
    assert added_files(then, now, lambda: pytest.fail("all files are known")) == found


def at(first: int, last: int, seconds: int, folder: str = "") -> dict[str, tuple[int, int]]:
    """Files that were written one after the other, from a second on."""
    return {f"{folder}part-{number:04}": (100 + number % 7, 1_000 * seconds + number) for number in range(first, last)}


MANY, LATER = at(0, 1_500, 10), at(0, 3, 20, "later/")
OTHERS = "of its files then only a digest is recorded, and those that changed first have another: some are gone, or came again"


@pytest.mark.parametrize(
    ("then", "now", "found"),
    [
        (MANY, MANY | LATER, tuple(LATER)),
        (MANY, LATER | MANY, tuple(LATER)),  # in whatever order they are listed
        (at(0, 900, 10), at(0, 900, 10) | at(900, 1_100, 20), tuple(at(900, 1_100, 20))),  # a list then, a digest now
        (MANY, dict(list(MANY.items())[1:]) | LATER, OTHERS),
        (MANY, MANY | {"part-0007": (100, 30_000)} | LATER, OTHERS),  # written again, later than the new ones
        (MANY, MANY | {"part-0007": (100, 10_006)} | LATER, OTHERS),  # written again, and given nearly its time
        (MANY, MANY | at(0, 3, 5, "copied/"), OTHERS),  # new ones that were given an older time
        (MANY, dict(list(MANY.items())[:40]), OTHERS),
        (MANY, MANY | {"same time": (1, 11_499)}, ("same time",)),
        (MANY, MANY | {"of the same time": (1, 11_499)}, OTHERS),  # nobody knows which was first
        (at(0, 900, 10), at(1, 1_200, 10), "files are gone, or were written again"),
        (MANY, MANY | at(0, 1_001, 20, "later/"), "more than 1,000 files are new"),
    ],
)
def test_which_of_many_files_are_new(then: dict[str, tuple[int, int]], now: dict[str, tuple[int, int]], found: object) -> None:
    """Beyond 1,000 files a version has one digest of them all."""
    before, after = files_version(then), files_version(now)
    assert (before.files is None, after.files is None) == (len(then) > 1_000, len(now) > 1_000)
    assert added_files(before, after, lambda: now) == found


def test_files_that_change_while_they_are_looked_at() -> None:
    told = added_files(files_version(MANY), files_version(MANY | LATER), lambda: MANY | LATER | at(5, 6, 30, "later/"))
    assert told == "its files change at this very time"


def test_spark_reads_the_files_that_are_meant(spark: SparkSession, tables: Tables) -> None:
    """Those alone: the others are not opened. Their names are escaped, and are found by what a version calls them."""
    from airflow_lineage_provider.spark.executing.new_files import counted_values, named_as_read, of_files, of_other_files
    from airflow_lineage_provider.spark.local_files import list_local

    frame = spark.read.parquet(str(tables.place / "items 100%"))
    listed = sorted(list_local([f"file:{tables.place / 'items 100%'}"], nested=False))
    files = named_as_read(frame, listed[:2])
    assert files is not None
    assert all("%20100%25" in one for one in files)
    assert named_as_read(frame, [*listed, "file:/gone"]) is None
    parts = of_files(frame, files), of_other_files(frame, files)
    assert parts[0].union(parts[1]).count() == frame.count()
    for part, count in zip(parts, (2, 2), strict=True):
        chosen = part.where("l_orderkey >= 0")
        assert len(chosen.collect()) == part.count() == count * 600
        metrics = chosen._jdf.queryExecution().executedPlan().collectLeaves().apply(0).metrics()
        assert metrics.apply("numFiles").value() == count
    values = counted_values(parts[0], ["l_orderkey"], 200)
    assert values is not None
    assert (len(values[0]), values[1]) == (200, 1_200)
    assert counted_values(parts[0], ["l_orderkey"], 199) is None
